// Builds a new database from all rows of a damaged one that can be read, and reports what is missing. The damaged file is only
// read, page by page; a bad page costs only the rows on it.
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { describeCause, randomHex } from "../../../lib/index.ts";
import { PageFile, textOf, type Value } from "../../../lib/sqlite-pages.ts";
import type { LostRows } from "../../errors.ts";
import { fileBehind } from "../damage.ts";
import { copyDatabase, removeParts } from "../database-file.ts";
import { ADD_SESSIONS } from "../repair-steps.ts";
import { SCHEMA_VERSION, TABLES } from "../schema.ts";
import {
  classOfTable,
  indexFamily,
  isOwnIndex,
  isSearchTable,
  isVirtual,
  type SchemaRow,
} from "./table-classes.ts";
import {
  matchOf,
  POSSIBLE_DECLARATIONS,
  quoted,
  RowInserter,
  shapeOf,
  type TableShape,
} from "./table-rows.ts";
import { EVERY_ROWID, Forest, type Gap, type Row, type Tree } from "./trees.ts";

export type Salvage = {
  /** Row counts of the new file. */
  readonly rows: Readonly<Record<string, number>>;
  readonly lost: readonly LostRows[];
  /** Sessions whose row is lost. A new row is made for each from indexes and messages. */
  readonly standIns: readonly string[];
  /** Search indexes, which the new file lacks; their program rebuilds them when it opens it. */
  readonly leftOut: readonly string[];
  /** Further information for the user. */
  readonly notes: readonly string[];
};

type Rebuilt = {
  readonly row: SchemaRow;
  readonly shape: TableShape;
  readonly tree: Tree;
  readonly inserter: RowInserter;
};

/** The version stored for a file with columns of a later schema when its own version is lost. */
const LATER_VERSION = 30;
const PAGES_BETWEEN_TURNS = 256;

export type SalvageCopy = Disposable & Salvage & { readonly path: string };

/** Uses up to twice the size of the database in the folder for temporary files, until it is disposed of. */
export async function salvageCopy(path: string): Promise<SalvageCopy> {
  const folder = mkdtempSync(join(tmpdir(), "hermes-salvage-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const target = join(folder, "state.db");
    const { salvage } = await salvageInto(fileBehind(path), target);
    if ((salvage.rows.sessions ?? 0) === 0 && (salvage.rows.messages ?? 0) === 0)
      throw new Error(`No conversation could be read from ${path}.`);
    return { ...salvage, path: target, [Symbol.dispose]: remove };
  } catch (cause) {
    remove();
    throw cause;
  }
}

/** The damaged file is copied first and not touched. */
export async function salvageInto(
  file: string,
  target: string,
): Promise<{ readonly salvage: Salvage; readonly fingerprint: string }> {
  const copy = `${target}.reading-${randomHex(6)}`;
  try {
    const fingerprint = await copyDatabase(file, copy);
    mergeLogs(copy);
    return { salvage: await rebuild(copy, target), fingerprint };
  } finally {
    removeParts(copy);
  }
}

/** Closing the last connection merges the log into the file, and an interrupted transaction is rolled back. */
function mergeLogs(copy: string): void {
  try {
    using db = new DatabaseSync(copy, { timeout: 50 });
    db.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get();
  } catch {
    // The schema cannot be read, but SQLite has processed the logs before it found that out.
  }
}

/** `damaged` must be a copy that no process has open, with its log merged into it. Throws SQLite's errors for `target`. */
export async function rebuild(damaged: string, target: string): Promise<Salvage> {
  try {
    using file = new PageFile(damaged);
    using db = createLike(file, target);
    const salvage = await new Rebuilding(file, db).run();
    finish(db, file);
    db.close();
    const fd = openSync(target, "r+");
    fsyncSync(fd);
    closeSync(fd);
    return salvage;
  } catch (cause) {
    removeParts(target);
    throw cause;
  }
}

/** An empty database with those settings of the damaged one that are fixed at creation. */
function createLike({ header }: PageFile, target: string): DatabaseSync {
  closeSync(openSync(target, "wx", 0o600));
  const db = new DatabaseSync(target, { defensive: false, enableForeignKeyConstraints: false });
  db.exec(`PRAGMA page_size = ${header.pageSize}; PRAGMA encoding = '${header.encoding}'`);
  db.exec(`PRAGMA auto_vacuum = ${header.autoVacuum}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF`);
  return db;
}

function finish(db: DatabaseSync, { header }: PageFile): void {
  db.exec(`PRAGMA user_version = ${header.userVersion}; PRAGMA application_id = ${header.applicationId}`);
  db.exec(`PRAGMA schema_version = ${header.schemaCookie + 1}`);
  db.exec(`PRAGMA journal_mode = ${header.isWal ? "WAL" : "DELETE"}`);
}

class Rebuilding {
  readonly #file: PageFile;
  readonly #db: DatabaseSync;
  readonly #forest: Forest;
  readonly #schema: readonly SchemaRow[];
  readonly #isSchemaWhole: boolean;
  readonly #tables = new Map<string, Rebuilt>();
  /** Of indexes, and of tables that are not copied. */
  readonly #otherTrees = new Map<string, Tree>();
  readonly #leftOut = new Set<string>();
  readonly #notes: string[] = [];
  #lastError = "";

  constructor(file: PageFile, db: DatabaseSync) {
    this.#file = file;
    this.#db = db;
    this.#forest = new Forest(file);
    const { rows, isWhole } = this.#forest.schema();
    this.#schema = rows;
    this.#isSchemaWhole = isWhole;
  }

  async run(): Promise<Salvage> {
    this.#db.exec("BEGIN");
    this.#createTables();
    for (const table of this.#tables.values()) await this.#copy(table);
    this.#walkOthers();
    this.#createForgotten();
    await this.#adoptUnreachable();
    for (const row of this.#schema)
      if (row.type === "index" && row.sql !== null && this.#tables.has(row.table)) this.#create(row);
    const lost = [...this.#tables.values()].flatMap((table) => this.#lossOf(table) ?? []);
    const standIns = this.#standIn(lost.some(({ table }) => table === "sessions"));
    lost.push(...this.#lossOfNameless());
    this.#clearDanglingKeys();
    this.#restoreCounters();
    this.#createRest();
    this.#db.exec("COMMIT");
    const rows = Object.fromEntries(
      [...this.#tables.keys()].map((name) => [name, this.#count(name)] as const),
    );
    return { rows, lost, standIns, leftOut: [...this.#leftOut].sort(), notes: this.#notes };
  }

  #createTables(): void {
    for (const row of this.#schema) {
      if (row.type !== "table" || row.name.startsWith("sqlite_") || isVirtual(row)) continue;
      if (isSearchTable(row.name)) this.#leftOut.add(indexFamily(row.name));
      else this.#createTable(row);
    }
  }

  #createTable(row: SchemaRow): void {
    if (this.#tables.has(row.name)) return;
    const declarations = [row.sql, ...(POSSIBLE_DECLARATIONS.get(row.name) ?? [])];
    if (!declarations.some((sql) => this.#tryExec(sql))) {
      this.#notes.push(`The declaration of table ${row.name} cannot be read, so its rows are lost.`);
      return;
    }
    const shape = shapeOf(this.#db, row.name);
    // Root 0 means unknown: the whole tree is missing.
    const tree = shape.hasRowid ? this.#forest.table(row.root) : this.#forest.index(row.root);
    this.#tables.set(row.name, { row, shape, tree, inserter: new RowInserter(this.#db, shape) });
  }

  async #copy(table: Rebuilt): Promise<void> {
    const { shape, tree } = table;
    if (!shape.hasRowid) {
      for (const values of this.#forest.entries(tree)) this.#insert(table, { rowid: 0n, values });
      return;
    }
    for (const [at, number] of tree.pages.entries()) {
      if (at % PAGES_BETWEEN_TURNS === PAGES_BETWEEN_TURNS - 1) await setImmediate();
      for (const row of this.#forest.rows(tree, number)) this.#insert(table, row);
    }
  }

  #insert(table: Rebuilt, row: Row): void {
    if (row.values.length <= table.shape.columns.length && table.inserter.insert(row)) return;
    table.tree.gaps.push({ above: row.rowid - 1n, upTo: row.rowid });
  }

  /** Claims the pages of what is not copied, so that they do not count as unreachable. */
  #walkOthers(): void {
    for (const { type, name, root } of this.#schema) {
      if (root === 0 || this.#tables.has(name)) continue;
      const isIndex = type === "index" || this.#file.page(root)?.kind.startsWith("index");
      this.#otherTrees.set(name, isIndex ? this.#forest.index(root) : this.#forest.table(root));
    }
  }

  /** Sessions and messages whose declaration was lost with a page of the schema: takes the one that fits the most unreachable pages. */
  #createForgotten(): void {
    if (this.#isSchemaWhole) return;
    const leaves = [...this.#forest.unreachableLeaves()];
    for (const [name, declarations] of POSSIBLE_DECLARATIONS) {
      if (this.#tables.has(name)) continue;
      const indexes = this.#schema.filter(({ type, table }) => type === "index" && table === name);
      const [best] = declarations
        .map((sql) => ({ sql, ...howWell(name, sql, leaves, indexes) }))
        .sort((a, b) => b.fitting - a.fitting || b.indexes - a.indexes);
      this.#createTable({ type: "table", name, table: name, root: 0, sql: best?.sql ?? null });
    }
  }

  /** Leaf pages below a lost page. Each is assigned to the table whose gap and columns it fits best. */
  async #adoptUnreachable(): Promise<void> {
    const broken = [...this.#tables.values()].filter(
      ({ row, shape, tree }) =>
        shape.hasRowid && tree.gaps.length > 0 && classOfTable(row.name) !== "passing",
    );
    if (broken.length === 0) return;
    const gaps = new Map(broken.map((table) => [table, [...table.tree.gaps]]));
    let seen = 0;
    for (const { number, rows } of this.#forest.unreachableLeaves()) {
      seen += 1;
      if (seen % PAGES_BETWEEN_TURNS === 0) await setImmediate();
      const [best] = broken
        .filter((table) => rows.every((row) => isInGap(row.rowid, gaps.get(table) ?? [])))
        .map((table) => ({ table, score: scoreOf(table.shape, rows) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score);
      if (best === undefined) continue;
      this.#forest.claim(number);
      best.table.tree.pages.push(number);
      for (const row of this.#forest.rows(best.table.tree, number)) this.#insert(best.table, row);
    }
  }

  /** Undefined when nothing is missing. Only an index that is whole tells how many rows are. */
  #lossOf({ row, shape, tree }: Rebuilt): LostRows | undefined {
    if (tree.gaps.length === 0) return undefined;
    const { rows, isWhole } = shape.hasRowid
      ? this.#missingFromIndexes(row.name, tree.gaps)
      : { rows: new Map<bigint, Map<string, Value>>(), isWhole: false };
    if (isWhole && rows.size === 0) return undefined; // a page without rows
    return {
      table: row.name,
      class: classOfTable(row.name),
      rows: isWhole ? rows.size : null,
      ids: rangesOf([...rows.keys()]),
    };
  }

  /** Rows that belong to no table whose declaration is left. */
  #lossOfNameless(): LostRows[] {
    if (this.#isSchemaWhole || [...this.#forest.unreachableLeaves()].every(({ rows }) => rows.length === 0))
      return [];
    this.#notes.push(
      "Part of the schema is gone. Tables whose declaration was in it are only in the backup.",
    );
    return [{ table: "tables without a declaration", class: "canonical", rows: null, ids: [] }];
  }

  /** Rows that an index of the table names but the new table lacks, with the columns that the indexes contain. */
  #missingFromIndexes(
    table: string,
    gaps: readonly Gap[],
  ): { readonly rows: ReadonlyMap<bigint, Map<string, Value>>; readonly isWhole: boolean } {
    const rows = new Map<bigint, Map<string, Value>>();
    let isWhole = false;
    const has = this.#db.prepare(`SELECT 1 FROM ${quoted(table)} NOT INDEXED WHERE rowid = ?`);
    for (const index of this.#schema) {
      const tree =
        index.type === "index" && index.table === table ? this.#otherTrees.get(index.name) : undefined;
      if (tree === undefined) continue;
      const columns = this.#db
        .prepare("SELECT name FROM pragma_index_xinfo(?) ORDER BY seqno")
        .all(index.name)
        .map(({ name }) => (typeof name === "string" ? name : ""));
      if (columns.length === 0) continue;
      for (const values of this.#forest.entries(tree)) {
        const rowid = values.at(-1);
        if (typeof rowid !== "bigint" || values.length !== columns.length || !isInGap(rowid, gaps)) continue;
        if (has.get(rowid) !== undefined) continue;
        const known = rows.get(rowid) ?? new Map<string, Value>();
        for (const [at, name] of columns.slice(0, -1).entries()) known.set(name, values[at] ?? null);
        rows.set(rowid, known);
      }
      const isPartial = /\bWHERE\b/i.test(index.sql ?? "");
      if (tree.gaps.length === 0 && !isPartial) isWhole = true;
    }
    return { rows, isWhole };
  }

  /**
   * Creates rows for lost sessions that messages, other sessions or an index name, so that foreign keys and listings work. Indexes still
   * have owner, source, title and parent.
   */
  #standIn(hasLost: boolean): string[] {
    const sessions = this.#tables.get("sessions");
    if (sessions === undefined || !this.#tables.has("messages")) return [];
    const last = this.#db.prepare("SELECT COALESCE(max(rowid), 0) AS id FROM sessions").get()?.id ?? 0;
    if (hasLost)
      for (const told of this.#missingFromIndexes("sessions", [EVERY_ROWID]).rows.values())
        this.#insertStandIn(sessions.shape, told);
    this.#db.exec(ADD_SESSIONS);
    const made = this.#db.prepare("SELECT id FROM sessions WHERE rowid > ? ORDER BY id").all(last);
    return made.map(({ id }) => String(id));
  }

  #insertStandIn({ columns }: TableShape, told: ReadonlyMap<string, Value>): void {
    const { encoding } = this.#file.header;
    const id = textOf(told.get("id"), encoding);
    if (id === undefined) return;
    this.#db
      .prepare(
        `INSERT OR IGNORE INTO sessions (id, source, started_at, message_count)
         SELECT :id, 'unknown', COALESCE(min(timestamp), 0), count(*) FROM messages
         WHERE session_id = :id AND typeof(timestamp) IN ('real', 'integer')`,
      )
      .run({ id });
    for (const { name } of columns) {
      const stored = told.get(name);
      const isNumber = typeof stored === "number" || typeof stored === "bigint";
      const value = isNumber ? stored : textOf(stored, encoding);
      if (value !== undefined)
        this.#db
          .prepare(`UPDATE OR IGNORE sessions SET ${quoted(name)} = :value WHERE id = :id`)
          .run({ value, id });
    }
  }

  /** Sets foreign keys that point to missing rows to NULL where allowed: the next write to such a row would fail. */
  #clearDanglingKeys(): void {
    const cleared = new Map<string, number>();
    for (const found of this.#db.prepare("PRAGMA foreign_key_check").all()) {
      const table = String(found.table);
      if (found.rowid === null) continue;
      const columns = this.#db
        .prepare('SELECT "from" AS name FROM pragma_foreign_key_list(?) WHERE id = ?')
        .all(table, Number(found.fkid));
      for (const { name } of columns)
        this.#tryExec(
          `UPDATE ${quoted(table)} SET ${quoted(String(name))} = NULL WHERE rowid = ${Number(found.rowid)}`,
        );
      const what = `${table} named a row of ${String(found.parent)} that is gone`;
      cleared.set(what, (cleared.get(what) ?? 0) + 1);
    }
    for (const [what, count] of cleared)
      this.#notes.push(`${count} row(s) of ${what}; the name was cleared.`);
  }

  /** Restores the highest id ever assigned, and the schema version. */
  #restoreCounters(): void {
    const tree = this.#otherTrees.get("sqlite_sequence");
    for (const { values } of tree?.pages.flatMap((number) => [...this.#forest.rows(tree, number)]) ?? []) {
      const name = textOf(values[0], this.#file.header.encoding);
      const seq = values[1];
      if (name === undefined || typeof seq !== "bigint" || !this.#tables.has(name)) continue;
      const raise = this.#db.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?");
      if (raise.run(seq, name).changes === 0)
        this.#db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, seq);
    }
    if (this.#has("schema_version") && this.#count("schema_version") > 0) return;
    const version = this.#tables.get("schema_version");
    if (version === undefined ? this.#isSchemaWhole : version.tree.gaps.length === 0) return;
    // The columns tell whether a later version of Hermes Agent has used the file.
    const isLater =
      this.#tables.get("messages")?.shape.columns.some(({ name }) => name === "compacted") ?? false;
    this.#tryExec(TABLES.schema_version);
    this.#db.exec(
      `INSERT INTO schema_version (version) VALUES (${isLater ? LATER_VERSION : SCHEMA_VERSION})`,
    );
  }

  /** Views and triggers last, so that no trigger fires. Without those of a search index, which is left out. */
  #createRest(): void {
    for (const row of this.#schema) if (row.type === "table" && isVirtual(row)) this.#leftOut.add(row.name);
    const names = [
      ...this.#leftOut,
      ...this.#schema.filter(({ name }) => isOwnIndex(name)).map(({ name }) => name),
    ];
    const gone = names.length === 0 ? undefined : new RegExp(`\\b(?:${names.join("|")})\\b`, "i");
    for (const kind of ["view", "trigger"])
      for (const row of this.#schema) {
        if (row.type !== kind || row.sql === null || isOwnIndex(row.name)) continue;
        if (kind === "trigger" && gone?.test(row.sql)) continue;
        this.#create(row);
      }
  }

  #create(row: SchemaRow): void {
    if (this.#has(row.name) || this.#tryExec(row.sql)) return;
    this.#notes.push(`The ${row.type} ${row.name} could not be made again: ${this.#lastError}.`);
  }

  #tryExec(sql: string | null | undefined): boolean {
    if (sql == null) return false;
    try {
      this.#db.exec(sql);
      return true;
    } catch (cause) {
      this.#lastError = describeCause(cause);
      return false;
    }
  }

  #has(name: string): boolean {
    return this.#db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(name) !== undefined;
  }

  #count(table: string): number {
    return Number(this.#db.prepare(`SELECT count(*) AS n FROM ${quoted(table)} NOT INDEXED`).get()?.n);
  }
}

function isInGap(rowid: bigint, gaps: readonly Gap[]): boolean {
  return gaps.some(({ above, upTo }) => rowid > above && rowid <= upTo);
}

/** 0 when one of the rows cannot belong to this table. */
function scoreOf(shape: TableShape, rows: readonly Row[]): number {
  let score = shape.columns.length; // of several matching tables, the one with more columns is the safer choice
  for (const row of rows) {
    const match = matchOf(shape, row);
    if (match === 0) return 0;
    if (match === 2) score += 100 / rows.length;
  }
  return score;
}

/** How many of the pages fit a table with this declaration, and how many of its indexes do. */
function howWell(
  name: string,
  sql: string,
  leaves: readonly { readonly rows: readonly Row[] }[],
  indexes: readonly SchemaRow[],
): { readonly fitting: number; readonly indexes: number } {
  using scratch = new DatabaseSync(":memory:");
  scratch.exec(sql);
  const shape = shapeOf(scratch, name);
  const fitting = leaves.filter(({ rows }) => rows.every((row) => matchOf(shape, row) > 0)).length;
  const possible = indexes.filter((index) => {
    try {
      scratch.exec(index.sql ?? "");
      return true;
    } catch {
      return false; // it names a column that this declaration lacks
    }
  });
  return { fitting, indexes: possible.length };
}

function rangesOf(ids: readonly bigint[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (const id of ids.map(Number).sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && id === last.to + 1) last.to = id;
    else ranges.push({ from: id, to: id });
  }
  return ranges.slice(0, 200);
}

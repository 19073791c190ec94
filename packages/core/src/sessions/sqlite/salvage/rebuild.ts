// Builds a new database from all rows of a damaged one that can be read, and reports what is missing. The damaged file is only
// read, page by page; a bad page costs only the rows on it.
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { describeCause } from "../../../lib/index.ts";
import { PageFile, textOf, type Value } from "../../../lib/sqlite-pages.ts";
import type { LostRows } from "../../errors.ts";
import { SCHEMA_VERSION, TABLES } from "../schema.ts";
import {
  classOfTable,
  indexFamily,
  isOwnIndex,
  isSearchTable,
  isUpstreamIndex,
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
  /** Search indexes missing from the new file; their program rebuilds them when it opens it. */
  readonly leftOut: readonly string[];
  /** Further information for the user. */
  readonly notes: readonly string[];
};

type Rebuilt = {
  readonly row: SchemaRow;
  readonly shape: TableShape;
  readonly tree: Tree;
  readonly inserter: RowInserter;
  /** Rows found on pages that the table refused. */
  refused: number;
};

/** The version stored for a file with columns of a later schema when its own version is lost. */
const LATER_VERSION = 30;
/** Columns c1, c2, ... in the order of the record. */
const NAMELESS = "hermes_memory_found";
const PAGES_BETWEEN_TURNS = 256;

/** `damaged` must be a copy that no process has open, with its log merged into it. Throws SQLite's errors for `target`. */
export async function rebuild(damaged: string, target: string): Promise<Salvage> {
  try {
    using file = new PageFile(damaged);
    using db = createLike(file, target);
    const salvage = await new Rebuilding(file, db).run();
    finish(db, file);
    return salvage;
  } catch (cause) {
    for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(target + suffix, { force: true });
    throw cause;
  } finally {
    syncFile(target);
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
  db.exec("PRAGMA writable_schema = OFF");
  db.exec(`PRAGMA user_version = ${header.userVersion}; PRAGMA application_id = ${header.applicationId}`);
  db.exec(`PRAGMA schema_version = ${header.schemaCookie + 1}`);
  db.exec(`PRAGMA journal_mode = ${header.isWal ? "WAL" : "DELETE"}`);
}

function syncFile(path: string): void {
  try {
    const fd = openSync(path, "r+");
    fsyncSync(fd);
    closeSync(fd);
  } catch {
    // The file was not created.
  }
}

class Rebuilding {
  readonly #file: PageFile;
  readonly #db: DatabaseSync;
  readonly #forest: Forest;
  readonly #schema: readonly SchemaRow[];
  readonly #isSchemaWhole: boolean;
  readonly #tables = new Map<string, Rebuilt>();
  readonly #indexTrees = new Map<string, Tree>();
  readonly #leftOut = new Set<string>();
  readonly #notes: string[] = [];
  /** Rows in the table for rows without a name. */
  #nameless = 0;
  /** May be the row of `schema_version`: a table of one row with one small number. */
  #foundVersion: bigint | undefined;
  #sequenceRows: ReadonlyMap<string, bigint> | undefined;
  /** Rows written directly into the schema. */
  #virtualRows = 0;
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
    if (!this.#isSchemaWhole)
      this.#notes.push("Part of the schema is gone: tables of other programs may have lost their names.");
    this.#db.exec("BEGIN");
    this.#createTables();
    for (const table of this.#tables.values()) await this.#copy(table);
    this.#walkIndexes();
    this.#createForgotten();
    await this.#adoptUnreachable();
    this.#createIndexes();
    const lost = [...this.#tables.values()].flatMap((table) => this.#lossOf(table) ?? []);
    const standIns = this.#standIn(lost.some(({ table }) => table === "sessions"));
    this.#clearDanglingKeys();
    this.#restoreCounters();
    const messagesAreWhole = !lost.some(({ table }) => table === "messages" || table === "sessions");
    await this.#keepUpstreamIndexes(messagesAreWhole && this.#tables.has("messages"));
    this.#createRest();
    if (this.#nameless > 0)
      this.#notes.push(
        `${this.#nameless} row(s) of tables whose declaration is lost are kept in the table ${NAMELESS}.`,
      );
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
    this.#tables.set(row.name, { row, shape, tree, inserter: new RowInserter(this.#db, shape), refused: 0 });
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
    table.refused += 1;
    table.tree.gaps.push({ above: row.rowid - 1n, upTo: row.rowid });
  }

  /** Claims the pages of indexes, so that they do not count as unreachable. */
  #walkIndexes(): void {
    for (const row of this.#schema) {
      if (row.root === 0 || this.#tables.has(row.name)) continue;
      if (row.type === "index") this.#indexTrees.set(row.name, this.#forest.index(row.root));
      else if (row.type === "table") {
        if (this.#isIndexRoot(row.root)) this.#forest.index(row.root);
        else this.#forest.table(row.root);
      }
    }
  }

  #isIndexRoot(root: number): boolean {
    return this.#file.page(root)?.kind.startsWith("index") ?? false;
  }

  /** Tables whose declaration was lost with a page of the schema: uses the known one that fits the most unreachable pages. */
  #createForgotten(): void {
    if (this.#isSchemaWhole) return;
    const leaves = [...this.#forest.unreachableLeaves()];
    for (const [name, declarations] of POSSIBLE_DECLARATIONS) {
      if (this.#tables.has(name)) continue;
      const indexes = this.#schema.filter(({ type, table }) => type === "index" && table === name);
      const [best] = declarations
        .map((sql) => ({ sql, ...howWell(name, sql, leaves, indexes) }))
        .sort((a, b) => b.fitting - a.fitting || b.indexes - a.indexes);
      if (best !== undefined && (best.fitting > 0 || name === "sessions" || name === "messages"))
        this.#createTable({ type: "table", name, table: name, root: 0, sql: best.sql });
    }
  }

  /** Leaf pages below a lost page. Each is assigned to the table whose gap and columns it fits best. */
  async #adoptUnreachable(): Promise<void> {
    const broken = [...this.#tables.values()].filter(
      ({ row, shape, tree }) =>
        shape.hasRowid && tree.gaps.length > 0 && classOfTable(row.name) !== "passing",
    );
    if (broken.length === 0 && this.#isSchemaWhole) return;
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
      if (best === undefined) {
        if (!this.#isSchemaWhole) this.#keepNameless(number, rows);
        continue;
      }
      this.#forest.claim(number);
      best.table.tree.pages.push(number);
      for (const row of this.#forest.rows(best.table.tree, number)) this.#insert(best.table, row);
    }
  }

  /** Rows of a table whose name and declaration are lost. They are kept unchanged, in case their program can identify them. */
  #keepNameless(page: number, rows: readonly Row[]): void {
    if (rows.every(({ values }) => isSearchRecord(values))) return; // rebuilt from the messages
    const [first] = rows;
    const version = rows.length === 1 && first?.values.length === 1 ? first.values[0] : undefined;
    if (typeof version === "bigint" && version > 0n && version < 100n) this.#foundVersion = version;
    const most = Math.max(...rows.map(({ values }) => values.length));
    this.#db.exec(`CREATE TABLE IF NOT EXISTS ${NAMELESS} (page INTEGER, row INTEGER)`);
    for (let width = shapeOf(this.#db, NAMELESS).columns.length - 2; width < most; width += 1)
      this.#db.exec(`ALTER TABLE ${NAMELESS} ADD COLUMN c${width + 1}`);
    const inserter = new RowInserter(this.#db, shapeOf(this.#db, NAMELESS));
    for (const { rowid, values } of rows) {
      this.#nameless += 1;
      inserter.insert({ rowid: BigInt(this.#nameless), values: [BigInt(page), rowid, ...values] });
    }
  }

  #createIndexes(): void {
    for (const row of this.#schema)
      if (row.type === "index" && row.sql !== null && this.#tables.has(row.table)) this.#create(row);
  }

  /** Undefined when nothing is missing. */
  #lossOf({ row, shape, tree, refused }: Rebuilt): LostRows | undefined {
    if (tree.gaps.length === 0) return undefined;
    const unknown = { table: row.name, class: classOfTable(row.name), ids: [], sessions: [] };
    if (!shape.hasRowid) return { ...unknown, rows: null, isExact: false };
    const { rows: indexed, isWhole } = this.#missingFromIndexes(row.name, tree.gaps);
    if (isWhole) {
      if (indexed.size === 0) return undefined; // a page without rows
      return {
        ...unknown,
        rows: indexed.size,
        isExact: true,
        ids: rangesOf([...indexed.keys()]),
        sessions: sessionsIn(row.name, [...indexed.values()]),
      };
    }
    const { rows, ids } = this.#widestLoss(row.name, shape, tree.gaps);
    if (rows === 0 && refused === 0) return undefined;
    return { ...unknown, rows, ids, isExact: false, sessions: sessionsIn(row.name, [...indexed.values()]) };
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
        index.type === "index" && index.table === table ? this.#indexTrees.get(index.name) : undefined;
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
        for (const [at, name] of columns.entries())
          if (at < values.length - 1) known.set(name, values[at] ?? null);
        rows.set(rowid, known);
      }
      const isPartial = /\bWHERE\b/i.test(index.sql ?? "");
      if (tree.gaps.length === 0 && !isPartial) isWhole = true;
    }
    return { rows, isWhole };
  }

  /** From the last row before a gap to the first one after it; no more can be lost there. */
  #widestLoss(
    table: string,
    { rowidName }: TableShape,
    gaps: readonly Gap[],
  ): { rows: number | null; ids: LostRows["ids"] } {
    if (rowidName === undefined) return { rows: null, ids: [] };
    const rowid = quoted(rowidName);
    const before = this.#db.prepare(
      `SELECT max(${rowid}) AS id FROM ${quoted(table)} NOT INDEXED WHERE ${rowid} <= ?`,
    );
    const after = this.#db.prepare(
      `SELECT min(${rowid}) AS id FROM ${quoted(table)} NOT INDEXED WHERE ${rowid} > ?`,
    );
    const sequence = this.#sequence().get(table);
    const highest = sequence === undefined ? undefined : Number(sequence);
    const ranges = new Map<number, number>();
    let isOpen = false;
    for (const { above, upTo } of gaps) {
      // Walks the rest of the gap, because rows found in other ways lie inside it.
      let from = Math.max(Number(above), 0);
      const end = Number(upTo);
      for (let steps = 0; from < end && steps < 200; steps += 1) {
        const last = Number(before.get(BigInt(Math.trunc(from)))?.id ?? 0);
        const next = after.get(BigInt(Math.trunc(Math.max(last, from))))?.id;
        const to = next == null ? Math.min(end, highest ?? end) : Math.min(Number(next) - 1, end);
        if (next == null && highest === undefined && end > Number.MAX_SAFE_INTEGER) isOpen = true;
        else if (to > Math.max(last, from)) ranges.set(Math.max(last, from) + 1, to);
        if (next == null) break;
        from = Math.max(Number(next), to + 1);
        if (Number(next) > end) break;
      }
    }
    const ids = [...ranges].map(([from, to]) => ({ from, to })).sort((a, b) => a.from - b.from);
    const rows = ids.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    return { rows: isOpen ? null : rows, ids: ids.slice(0, 200) };
  }

  /** Creates rows for lost sessions that messages, other sessions or an index name, so that foreign keys and listings work. */
  #standIn(hasLost: boolean): string[] {
    const sessions = this.#tables.get("sessions");
    if (sessions === undefined || !this.#tables.has("messages")) return [];
    const told = new Map<string, Map<string, Value>>();
    const { encoding } = this.#file.header;
    const indexed = hasLost ? this.#missingFromIndexes("sessions", [EVERY_ROWID]).rows.values() : [];
    for (const values of indexed) {
      const id = textOf(values.get("id"), encoding);
      if (id !== undefined) told.set(id, values);
    }
    const named = this.#db
      .prepare(
        `SELECT session_id AS id FROM messages WHERE session_id NOT IN (SELECT id FROM sessions WHERE id IS NOT NULL)
         UNION SELECT parent_session_id FROM sessions WHERE parent_session_id IS NOT NULL
           AND parent_session_id NOT IN (SELECT id FROM sessions WHERE id IS NOT NULL)`,
      )
      .all();
    for (const { id } of named) if (typeof id === "string" && !told.has(id)) told.set(id, new Map());
    for (const [id, values] of told) this.#insertStandIn(sessions.shape, id, values);
    return [...told.keys()].sort();
  }

  #insertStandIn({ columns }: TableShape, id: string, told: ReadonlyMap<string, Value>): void {
    const facts = this.#db
      .prepare(
        "SELECT count(*) AS messages, min(timestamp) AS first FROM messages WHERE session_id = ? AND typeof(timestamp) IN ('real', 'integer')",
      )
      .get(id);
    const values: Record<string, string | number | bigint | null> = {
      id,
      source: "unknown",
      started_at: Number(facts?.first ?? 0),
      message_count: Number(facts?.messages ?? 0),
    };
    const required = this.#db
      .prepare("SELECT name FROM pragma_table_info('sessions') WHERE \"notnull\" AND dflt_value IS NULL")
      .all();
    for (const { name } of required) values[String(name)] ??= "";
    for (const { name } of columns) {
      const stored = told.get(name);
      const isNumber = typeof stored === "number" || typeof stored === "bigint";
      const value = isNumber ? stored : textOf(stored, this.#file.header.encoding);
      if (value !== undefined) values[name] = value;
    }
    const names = Object.keys(values);
    this.#db
      .prepare(
        `INSERT OR IGNORE INTO sessions (${names.map(quoted).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
      )
      .run(...Object.values(values));
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
    const sequences = this.#sequence();
    if (this.#has("sqlite_sequence"))
      for (const [name, seq] of sequences) {
        const { changes } = this.#db
          .prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?")
          .run(seq, name);
        if (changes === 0 && this.#tables.has(name))
          this.#db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, seq);
      }
    if (this.#has("schema_version") && this.#count("schema_version") > 0) return;
    const version = this.#tables.get("schema_version");
    if (version === undefined ? this.#isSchemaWhole : version.tree.gaps.length === 0) return;
    // The columns tell whether a later version of Hermes Agent has used the file.
    const isLater =
      this.#tables.get("messages")?.shape.columns.some(({ name }) => name === "compacted") ?? false;
    const number = this.#foundVersion ?? (isLater ? LATER_VERSION : SCHEMA_VERSION);
    this.#tryExec(TABLES.schema_version);
    this.#db.exec(`INSERT INTO schema_version (version) VALUES (${number})`);
  }

  #sequence(): ReadonlyMap<string, bigint> {
    if (this.#sequenceRows !== undefined) return this.#sequenceRows;
    const found = new Map<string, bigint>();
    const row = this.#schema.find(({ name }) => name === "sqlite_sequence");
    if (row !== undefined) {
      const page = this.#file.page(row.root);
      for (const offset of page?.kind === "table-leaf" ? page.cells : []) {
        const cell = page && this.#file.cell(page, offset);
        const [name, seq] = (cell && this.#file.record(cell)) ?? [];
        const called = textOf(name, this.#file.header.encoding);
        if (called !== undefined && typeof seq === "bigint") found.set(called, seq);
      }
    }
    this.#sequenceRows = found;
    return found;
  }

  /** Keeps an index of Hermes Agent if all of its tables could be read completely. */
  async #keepUpstreamIndexes(canKeep: boolean): Promise<void> {
    for (const virtual of this.#schema) {
      if (virtual.type !== "table" || !isVirtual(virtual)) continue;
      const isForeign = !isSearchTable(virtual.name);
      if (isForeign)
        this.#insertSchemaRow(virtual); // its tables were copied like other tables of that program
      else if (canKeep && isUpstreamIndex(virtual.name) && !virtual.sql?.includes("hermes_memory_"))
        await this.#keepIndex(virtual);
      else this.#leftOut.add(virtual.name);
    }
  }

  async #keepIndex(virtual: SchemaRow): Promise<void> {
    const shadows = this.#schema.filter(
      ({ type, name }) => type === "table" && name !== virtual.name && indexFamily(name) === virtual.name,
    );
    const forest = new Forest(this.#file); // a new Forest, because the first walk claimed these pages
    this.#db.exec("SAVEPOINT shadows");
    let isWhole = shadows.length > 0;
    for (const row of shadows) {
      if (!isWhole || !this.#tryExec(row.sql)) {
        isWhole = false;
        break;
      }
      const shape = shapeOf(this.#db, row.name);
      const tree = shape.hasRowid ? forest.table(row.root) : forest.index(row.root);
      const inserter = new RowInserter(this.#db, shape);
      if (shape.hasRowid)
        for (const number of tree.pages)
          for (const stored of forest.rows(tree, number)) isWhole &&= inserter.insert(stored);
      else for (const values of forest.entries(tree)) isWhole &&= inserter.insert({ rowid: 0n, values });
      isWhole &&= tree.gaps.length === 0;
      await setImmediate();
    }
    if (isWhole) this.#leftOut.delete(virtual.name);
    else {
      this.#db.exec("ROLLBACK TO shadows");
      this.#leftOut.add(virtual.name);
    }
    this.#db.exec("RELEASE shadows");
    if (isWhole) this.#insertSchemaRow(virtual);
  }

  /** Like `.dump`: the tables behind the virtual table exist already. It works from the next open on. */
  #insertSchemaRow({ type, name, table, sql }: SchemaRow): void {
    if (this.#virtualRows === 0) this.#db.exec("PRAGMA writable_schema = ON");
    this.#virtualRows += 1;
    this.#db
      .prepare("INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)")
      .run(type, name, table, sql);
  }

  /** Views and triggers last, so that no trigger fires. Without those of an index that is left out. */
  #createRest(): void {
    const names = [
      ...this.#leftOut,
      ...this.#schema.filter(({ name }) => isOwnIndex(name)).map(({ name }) => name),
    ];
    const gone = names.length === 0 ? undefined : new RegExp(`\\b(?:${names.join("|")})\\b`, "i");
    for (const kind of ["view", "trigger"])
      for (const row of this.#schema) {
        if (row.type !== kind || row.sql === null || isOwnIndex(row.name)) continue;
        if (kind === "trigger" && gone?.test(row.sql)) continue;
        // A trigger may name the virtual table, which is known only after the next open.
        if (this.#virtualRows > 0) this.#insertSchemaRow(row);
        else this.#create(row);
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

/** FTS5's tables of blocks and sizes have a rowid and a blob. */
function isSearchRecord(values: readonly Value[]): boolean {
  const [rowid, blob] = values;
  return values.length === 2 && rowid === null && blob instanceof Uint8Array;
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

/** How many of the pages fit a table with this declaration, and how many of its indexes it could have. */
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

function sessionsIn(table: string, rows: readonly Map<string, Value>[]): { id: string; rows: number }[] {
  const column = table === "messages" ? "session_id" : table === "sessions" ? "id" : undefined;
  if (column === undefined) return [];
  const counts = new Map<string, number>();
  for (const row of rows) {
    const id = textOf(row.get(column), "UTF-8");
    if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return [...counts].map(([id, count]) => ({ id, rows: count })).sort((a, b) => (a.id < b.id ? -1 : 1));
}

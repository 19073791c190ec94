// Damages one page in a copy of a database, repairs the copy, and looks for missing rows that were not on that page. Used by the
// benchmark (all pages) and by the slow test (a sample).
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSessionStore, type RepairReport, repairDatabase } from "@hermes-memory/core/internal/sessions";

/** The rows of each table except indexes, every row as one text with its types. */
type Content = ReadonlyMap<string, ReadonlySet<string>>;

type PageFacts = { readonly owner: string; readonly kind: string };

export type Subject = {
  readonly path: string;
  readonly pages: number;
  readonly pageSize: number;
  readonly content: Content;
  /** The rows that have a byte on each page, read with SQLite before the damage. */
  rowsOn(page: number): Content;
  factsOf(page: number): PageFacts;
};

export type Damage = "zeros" | "noise" | "half";

export type Trial = {
  readonly page: number;
  readonly facts: PageFacts;
  /** The store could be opened for writing without a repair. */
  readonly opens: boolean;
  readonly report: RepairReport;
  /** Lost rows that had no byte on the page. The promise is that there are none. */
  readonly missing: readonly string[];
  /** Lost rows that were on the page, by table. */
  readonly lost: Readonly<Record<string, number>>;
  /** The repair stated an exact loss that is wrong. */
  readonly misreported: readonly string[];
  /**
   * Rows whose text continues in an overflow page of zeros (SQLite reads the zeros as text, so no query can detect it), and rows
   * whose reference to a lost row was cleared, which the report mentions.
   */
  readonly altered: number;
  /** Rows of the repaired file that the original does not have, except stand-ins. */
  readonly invented: readonly string[];
};

/** Rebuilt by their programs, or derived again. */
const NOT_COMPARED = /^(?:messages_fts|hermes_memory_(?!prompts|origin)|sqlite_)/;

export function subjectOf(path: string): Subject {
  using db = new DatabaseSync(path, { readOnly: true });
  const facts = new Map<number, PageFacts>();
  for (const row of db.prepare("SELECT name, pageno, pagetype FROM dbstat").all()) {
    facts.set(Number(row.pageno), { owner: String(row.name), kind: String(row.pagetype) });
  }
  const pageSize = Number(db.prepare("PRAGMA page_size").get()?.page_size);
  const pages = Number(db.prepare("PRAGMA page_count").get()?.page_count);
  const content = contentOf(db);
  const located = locateRows(db);
  return {
    path,
    pages,
    pageSize,
    content,
    rowsOn: (page) => located.get(page) ?? new Map(),
    factsOf: (page) => facts.get(page) ?? { owner: "free space", kind: "free" },
  };
}

/** Damages and repairs a copy; the subject itself is unchanged. */
export async function tryPage(subject: Subject, page: number, damage: Damage): Promise<Trial> {
  const folder = mkdtempSync(join(tmpdir(), "hermes-damage-"));
  try {
    const path = join(folder, "state.db");
    const fresh = (): void => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
      copyFileSync(subject.path, path);
      chmodSync(path, 0o600);
      damageFile(path, subject, page, damage);
    };
    fresh();
    const opens = await canBeOpened(path);
    fresh(); // the repair command starts from the damaged file, not from one that opening has already repaired
    const report = await repairDatabase(path);
    return {
      page,
      facts: subject.factsOf(page),
      opens,
      report,
      ...compare(subject, page, damage, path, report),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function damageFile(path: string, { pages, pageSize }: Subject, page: number, damage: Damage): void {
  if (damage === "half") {
    truncateSync(path, Math.floor(pages / 2) * pageSize);
    return;
  }
  const bytes = Buffer.alloc(pageSize);
  // A generator seeded with the page number gives the same noise in every run.
  let seed = page;
  if (damage === "noise")
    for (let at = 0; at < pageSize; at += 1) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      bytes[at] = seed >> 16;
    }
  const fd = openSync(path, "r+");
  writeSync(fd, bytes, 0, pageSize, (page - 1) * pageSize);
  closeSync(fd);
}

async function canBeOpened(path: string): Promise<boolean> {
  try {
    await (await openSessionStore({ path })).close();
    return true;
  } catch {
    return false;
  }
}

type Comparison = Pick<Trial, "missing" | "lost" | "misreported" | "altered" | "invented">;

function compare(
  subject: Subject,
  page: number,
  damage: Damage,
  path: string,
  report: RepairReport,
): Comparison {
  if (!report.repaired)
    return { missing: ["everything"], lost: {}, misreported: [], altered: 0, invented: [] };
  using db = new DatabaseSync(path, { readOnly: true });
  const after = contentOf(db);
  const onPage = damage === "half" ? rowsBeyond(subject) : subject.rowsOn(page);
  const missing: string[] = [];
  const lost: Record<string, number> = {};
  const misreported: string[] = [];
  const invented: string[] = [];
  let altered = 0;
  const isSchemaPage = subject.factsOf(page).owner === "sqlite_schema" || damage === "half";
  for (const [table, rows] of subject.content) {
    const left = after.get(table);
    // A schema page holds table declarations; rows of a table that lost its declaration are kept under another name.
    if (left === undefined && isSchemaPage) {
      lost[table] = rows.size;
      continue;
    }
    const gone = [...rows].filter((row) => left?.has(row) !== true);
    const unexpected = gone.filter((row) => onPage.get(table)?.has(row) !== true);
    const extra = [...(left ?? [])].filter((row) => !rows.has(row)).length;
    if (subject.factsOf(page).kind === "overflow" && extra === 1 && gone.length === 1) {
      altered += 1;
      continue;
    }
    const cleared = clearedKeys(report, table);
    if (cleared > 0 && extra === cleared && gone.length === cleared) {
      altered += cleared;
      continue;
    }
    if (unexpected.length > 0) missing.push(`${table}: ${unexpected.length} row(s)`);
    const told = report.lost?.find((loss) => loss.table === table);
    const standIns = table === "sessions" ? (report.stand_ins?.length ?? 0) : 0;
    // Some stand-ins are equal to the lost row.
    if (typeof told?.rows === "number" && told.rows < gone.length)
      misreported.push(`${table}: ${told.rows} told, ${gone.length} gone`);
    if (gone.length > 0 && told === undefined)
      misreported.push(`${table}: ${gone.length} gone, nothing told`);
    if (gone.length > 0) lost[table] = gone.length;
    if (extra > standIns) invented.push(`${table}: ${extra - standIns} row(s)`);
  }
  return { missing, lost, misreported, altered, invented };
}

function clearedKeys({ notes = [] }: RepairReport, table: string): number {
  const found = notes.map((note) => new RegExp(`^(\\d+) row\\(s\\) of ${table} named `).exec(note)?.[1] ?? 0);
  return found.reduce<number>((sum, count) => sum + Number(count), 0);
}

function rowsBeyond(subject: Subject): Content {
  const all = new Map<string, Set<string>>();
  for (let page = Math.floor(subject.pages / 2) + 1; page <= subject.pages; page += 1)
    for (const [table, rows] of subject.rowsOn(page)) {
      const known = all.get(table) ?? new Set();
      for (const row of rows) known.add(row);
      all.set(table, known);
    }
  return all;
}

function tablesIn(db: DatabaseSync): string[] {
  return db
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !NOT_COMPARED.test(name) && name !== "hermes_memory_found");
}

function expressionOf(db: DatabaseSync, table: string): string {
  const columns = db.prepare("SELECT name FROM pragma_table_info(?)").all(table);
  return columns.map(({ name }) => `typeof("${name}") || hex("${name}")`).join(" || ' ' || ");
}

function contentOf(db: DatabaseSync): Content {
  return new Map(
    tablesIn(db).map((table) => {
      const rows = db.prepare(`SELECT ${expressionOf(db, table)} AS row FROM "${table}" NOT INDEXED`).all();
      return [table, new Set(rows.map(({ row }) => String(row)))];
    }),
  );
}

/**
 * Finds the rows on each page without the code under test: SQLite's dbstat lists the leaf pages of a tree in order of rowid, with the
 * number of cells in each, so counting rows is enough. The path of an overflow page contains the number of its cell.
 */
function locateRows(db: DatabaseSync): ReadonlyMap<number, Content> {
  const located = new Map<number, Map<string, Set<string>>>();
  const put = (page: number, table: string, row: string): void => {
    const tables = located.get(page) ?? new Map<string, Set<string>>();
    const rows = tables.get(table) ?? new Set<string>();
    located.set(page, tables.set(table, rows.add(row)));
  };
  for (const table of tablesIn(db)) {
    const isPlain =
      db.prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?").get(table)?.wr === 0;
    const rows = db
      .prepare(
        `SELECT ${expressionOf(db, table)} AS row FROM "${table}" NOT INDEXED ${isPlain ? "ORDER BY rowid" : ""}`,
      )
      .all()
      .map(({ row }) => String(row));
    const pages = db
      .prepare("SELECT pageno, pagetype, ncell, path FROM dbstat WHERE name = ? ORDER BY path")
      .all(table);
    let next = 0;
    const starts = new Map<string, number>();
    for (const { pageno, pagetype, ncell, path: place } of pages) {
      if (pagetype !== "leaf") {
        if (!isPlain) throw new Error(`${table}: a table without rowids must fit one page here`);
        continue;
      }
      starts.set(String(place), next);
      for (let at = 0; at < Number(ncell); at += 1) put(Number(pageno), table, rows[next + at] ?? "");
      next += Number(ncell);
    }
    for (const { pageno, pagetype, path: place } of pages) {
      if (pagetype !== "overflow") continue;
      const [, leaf = "", cell = "0"] = /^(.*\/)([0-9a-f]+)\+/.exec(String(place)) ?? [];
      const start = starts.get(leaf);
      if (start !== undefined) put(Number(pageno), table, rows[start + Number.parseInt(cell, 16)] ?? "");
    }
    if (next !== rows.length)
      throw new Error(`${table}: ${rows.length} rows, but dbstat counts ${next} cells`);
  }
  return located;
}

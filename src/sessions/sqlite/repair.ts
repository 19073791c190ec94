// Repairs a database whose schema SQLite calls malformed. Everything is rehearsed on a copy first, and only what healed
// the copy is done to the file, in one transaction: a file that cannot be repaired keeps every byte it had.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { describeCause, errnoCode, randomHex, syncDirectory } from "../../lib/index.ts";
import { isBusy, sqliteCode } from "./failures.ts";
import { BUILD } from "./index-layout.ts";
import { rawDescriptor } from "./journal-mode.ts";

export type RepairStrategy = "dedup_schema" | "drop_fts_rebuild";

export type RepairReport = {
  readonly repaired: boolean;
  readonly strategy: RepairStrategy | null;
  readonly backup_path: string | null;
  readonly error: string | null;
  /** How many sessions the file holds, when they could be counted. */
  readonly sessions?: number;
  readonly healthy?: boolean;
};

export type RepairOptions = {
  /** Keep a copy of the file as it was. Default true. */
  readonly backup?: boolean;
  /** Only look; nothing is changed. */
  readonly checkOnly?: boolean;
  /** Names the backup. Default: now. */
  readonly now?: Date;
};

/**
 * Never rejects. A healthy file is reported as repaired; of it at most a wrong search index is made anew.
 * `drop_fts_rebuild` leaves a file without search index, which the next writable open builds.
 */
export async function repairDatabase(path: string, options: RepairOptions = {}): Promise<RepairReport> {
  try {
    return await attempt(path, options);
  } catch (cause) {
    return report({ error: `${path} was not repaired: ${describeCause(cause)}` });
  }
}

/** SQLite found the schema or the pages of the file broken; `repairDatabase` may help. */
export function isMalformed(cause: unknown): boolean {
  return says(cause, 11, /malformed database schema|database disk image is malformed/);
}

/** The file is something else, or encrypted; nothing of it may be touched. */
export function isNotSqlite(cause: unknown): boolean {
  return says(cause, 26, /file is not a database/);
}

async function attempt(path: string, options: RepairOptions): Promise<RepairReport> {
  const file = existing(path);
  if (file === undefined) return report({ error: `${path} does not exist` });
  const found = await look(file);
  if (found.kind === "healthy") {
    if (options.checkOnly) return healthy(found, false, null);
    await patiently(() => rebuildWrongIndexes(file));
    return healthy(found, true, "dedup_schema");
  }
  if (found.kind === "unusable" || options.checkOnly)
    return report({ error: `${path}: ${found.problem}`, healthy: false });

  let backup: string | null = null;
  let outcome: RepairReport;
  try {
    if (options.backup !== false) backup = await keepCopy(file, options.now ?? new Date());
    outcome = await heal(path, file);
  } catch (cause) {
    outcome = report({ error: `${path} was not repaired: ${describeCause(cause)}`, healthy: false });
  }
  // Programs that open a damaged file at the same time get into each other's way; one of them may have healed it.
  const after = outcome.repaired ? undefined : await look(file);
  if (after?.kind === "healthy") outcome = healthy(after, true, "dedup_schema");
  return { ...outcome, backup_path: backup };
}

async function heal(path: string, file: string): Promise<RepairReport> {
  const rehearsal = `${file}.repair-${randomHex(6)}`;
  let problem = "";
  try {
    await copyDatabase(file, rehearsal);
    const before = census(rehearsal);
    for (const step of STEPS) {
      const outcome = await rehearse(step, rehearsal, before.rows);
      if (outcome === undefined) return await perform(step, path, file, before.cookie);
      problem = outcome;
    }
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(rehearsal + suffix, { force: true });
  }
  const error = `${path} cannot be repaired (${problem}) and was left as it was.`;
  return report({ error, healthy: false });
}

/** What is still wrong with the copy afterwards; undefined when it is healed. */
async function rehearse(
  step: Step,
  copy: string,
  before: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  try {
    await apply(step, copy);
  } catch (cause) {
    return describeCause(cause);
  }
  const after = await look(copy);
  if (after.kind !== "healthy") return after.problem;
  const left = census(copy).rows;
  const short = [...before].find(([table, rows]) => (left.get(table) ?? -1) < rows);
  return short === undefined ? undefined : `${step.strategy} would lose rows of ${short[0]}`;
}

async function perform(step: Step, path: string, file: string, cookie: number): Promise<RepairReport> {
  const applied = await apply(step, file, cookie);
  const found = await look(file);
  if (found.kind === "healthy") return healthy(found, true, step.strategy);
  const why = applied ? found.problem : "another program changed it at the same time; try again";
  return report({ error: `${path} was not repaired: ${why}`, healthy: false });
}

// ---- what is done ----

type Step = { readonly strategy: RepairStrategy; readonly sql: string };

const DEDUP_SCHEMA = `
  DELETE FROM sqlite_master WHERE rowid NOT IN (SELECT min(rowid) FROM sqlite_master GROUP BY type, name)
`;

// The index tables with all they consist of, and what is attached to them. A table of somebody else that only begins
// like them stays.
const DROP_FTS = `
  DELETE FROM sqlite_master WHERE (name GLOB 'messages_fts*' OR tbl_name GLOB 'messages_fts*') AND (
    type <> 'table' OR name IN ('messages_fts', 'messages_fts_trigram') OR sql LIKE 'CREATE VIRTUAL TABLE%'
    OR name GLOB '*_data' OR name GLOB '*_idx' OR name GLOB '*_content' OR name GLOB '*_docsize' OR name GLOB '*_config'
  )
`;

// What optimize.ts has built so far of a second index. It is made of the same text as the first and can start again.
const DROP_HALF_BUILT = `
  DELETE FROM sqlite_master WHERE name GLOB 'hermes_memory_new_*' OR name GLOB '${BUILD}*'
`;

// An index or trigger without its table makes the schema malformed again.
const DROP_ORPHANS = `
  DELETE FROM sqlite_master WHERE type IN ('index', 'trigger') AND lower(tbl_name) NOT IN (
    SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')
  )
`;

// They hold nothing of their own, and every open creates those that are missing.
const DROP_INDEXES = `
  DELETE FROM sqlite_master
  WHERE type = 'index' AND name GLOB 'idx_*' AND tbl_name IN ('sessions', 'messages', 'compression_locks')
`;

const NO_SEARCH_INDEX = [DROP_FTS, DROP_HALF_BUILT];

/** Gentle ones first. */
const STEPS: readonly Step[] = [
  { strategy: "dedup_schema", sql: DEDUP_SCHEMA },
  { strategy: "drop_fts_rebuild", sql: [DEDUP_SCHEMA, ...NO_SEARCH_INDEX, DROP_ORPHANS].join(";") },
  {
    strategy: "drop_fts_rebuild",
    sql: [DEDUP_SCHEMA, ...NO_SEARCH_INDEX, DROP_INDEXES, DROP_ORPHANS].join(";"),
  },
];

/** False when the file's schema is no longer the one that was rehearsed with; nothing was done then. */
async function apply(step: Step, file: string, expectedCookie?: number): Promise<boolean> {
  const applied = await patiently(() => editSchema(step, file, expectedCookie));
  if (!applied || step.strategy === "dedup_schema") return applied;
  for (const sql of ["REINDEX", "VACUUM"]) {
    try {
      await patiently(() => {
        using db = new DatabaseSync(file, { timeout: 50 }); // a fresh one, which knows the schema as it is now
        db.exec(sql);
      });
    } catch {
      // Whoever called looks at the outcome. Pages of the old index may stay in the file, unused, until the next VACUUM.
    }
  }
  return true;
}

function editSchema({ sql }: Step, file: string, expectedCookie: number | undefined): boolean {
  using db = openForSurgery(file);
  db.exec("BEGIN IMMEDIATE");
  try {
    const cookie = schemaCookie(db);
    const isAsRehearsed = expectedCookie === undefined || expectedCookie === cookie;
    if (isAsRehearsed) {
      db.exec(sql);
      db.exec(`PRAGMA schema_version = ${cookie + 1}`); // or open connections of others would not notice
    }
    db.exec("COMMIT");
    return isAsRehearsed;
  } catch (cause) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw cause;
  }
}

/** At rank 1 FTS5 also compares an index with the text, which `PRAGMA integrity_check` does not. */
function rebuildWrongIndexes(file: string): void {
  using db = new DatabaseSync(file, { timeout: 50 });
  const found = db.prepare(
    "SELECT name FROM sqlite_master WHERE name IN ('messages_fts', 'messages_fts_trigram')",
  );
  for (const { name } of found.all()) {
    try {
      db.exec(`INSERT INTO ${name}(${name}, rank) VALUES('integrity-check', 1)`);
    } catch (cause) {
      if (!isMalformed(cause)) throw cause;
      db.exec(`INSERT INTO ${name}(${name}) VALUES('rebuild')`);
    }
  }
}

/** A connection that reads past broken schema rows and may edit them. */
function openForSurgery(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { defensive: false, timeout: 50, enableForeignKeyConstraints: false });
  db.exec("PRAGMA writable_schema = ON");
  return db;
}

function schemaCookie(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA schema_version").get()?.schema_version);
}

// ---- looking ----

type Look =
  | { readonly kind: "healthy"; readonly sessions: number }
  | { readonly kind: "damaged"; readonly problem: string }
  | { readonly kind: "unusable"; readonly problem: string };

async function look(file: string): Promise<Look> {
  try {
    return await patiently(() => {
      // Read-only: the last writer to leave moves the -wal into the file, and a damaged file is to stay as it is.
      using db = new DatabaseSync(file, { readOnly: true, timeout: 50 });
      return inspect(db);
    });
  } catch (cause) {
    const problem = describeCause(cause);
    const isIndexBroken = /vtable constructor failed: messages_fts/.test(problem);
    return { kind: isMalformed(cause) || isIndexBroken ? "damaged" : "unusable", problem };
  }
}

// Complaints about the content of a search index, which can be rebuilt, and about pages nobody uses.
const HARMLESS = /inverted index for FTS\d table|never used$/;

function inspect(db: DatabaseSync): Look {
  db.prepare("PRAGMA journal_mode").get();
  const complaints = db.prepare("PRAGMA integrity_check(10000)").all();
  const problem = complaints
    .map((row) => String(row.integrity_check))
    .find((line) => line !== "ok" && !HARMLESS.test(line));
  if (problem !== undefined) return { kind: "damaged", problem };
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  if (tables.length === 0) return { kind: "healthy", sessions: 0 }; // created, never used
  if (!tables.some((row) => row.name === "sessions"))
    return { kind: "unusable", problem: "it has no table of sessions, so it is no session database" };
  return { kind: "healthy", sessions: countRows(db, "sessions") };
}

const DERIVED = new RegExp(`^(?:messages_fts|hermes_memory_new_|${BUILD}$)`);

/** Rows per table, as far as they can be counted, without the search index; and the number of the schema. */
function census(file: string): { rows: ReadonlyMap<string, number>; cookie: number } {
  using db = openForSurgery(file);
  const rows = new Map<string, number>();
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").all();
  for (const { name } of tables) {
    if (typeof name !== "string" || DERIVED.test(name)) continue;
    try {
      rows.set(name, countRows(db, name));
    } catch {
      // It cannot be read now; it can only get better.
    }
  }
  return { rows, cookie: schemaCookie(db) };
}

/** Of the table itself: an index may be what is broken. */
function countRows(db: DatabaseSync, table: string): number {
  const row = db.prepare(`SELECT count(*) AS count FROM "${table.replaceAll('"', '""')}" NOT INDEXED`).get();
  return Number(row?.count);
}

// ---- files ----

/** What the path leads to, where SQLite keeps the -wal beside it; undefined when there is nothing. */
function existing(path: string): string | undefined {
  try {
    const file = realpathSync(path);
    if (!statSync(file).isFile()) throw new Error("it is not a file");
    return file;
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}

/** What belongs to the file beside it. Not the -shm: SQLite makes it anew from the -wal. */
const LOGS = ["-wal", "-journal"];
const PARTS = ["", ...LOGS];

async function keepCopy(file: string, now: Date): Promise<string> {
  const name = `${file}.malformed-backup-${timestamp(now)}`;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}_${number}`;
    if (PARTS.some((suffix) => existsSync(candidate + suffix))) continue;
    try {
      await copyDatabase(file, candidate);
    } catch (cause) {
      if (errnoCode(cause) === "EEXIST") continue; // another process took the name just now
      throw cause;
    }
    syncDirectory(dirname(file));
    return candidate;
  }
}

const COPY_ATTEMPTS = 20;

/** All parts as they were at one moment: when another program wrote meanwhile, the copy is made again. */
async function copyDatabase(from: string, to: string): Promise<void> {
  for (let attempt = 1; attempt <= COPY_ATTEMPTS; attempt += 1) {
    const before = fingerprint(from);
    await copyBytes(rawDescriptor(from), to); // fails, and leaves it alone, when there is such a file
    try {
      for (const suffix of LOGS) await copyLog(from + suffix, to + suffix);
      if (fingerprint(from) === before) return;
    } catch (cause) {
      removeParts(to);
      throw cause;
    }
    removeParts(to);
    await aMoment();
  }
  throw new Error("another program keeps writing to it; close that program and try again");
}

function removeParts(file: string): void {
  for (const suffix of PARTS) rmSync(file + suffix, { force: true });
}

function fingerprint(file: string): string {
  return PARTS.map((suffix) => {
    const stats = statSync(file + suffix, { bigint: true, throwIfNoEntry: false });
    // An empty log comes and goes with every reader.
    return stats === undefined || stats.size === 0n ? "-" : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  }).join("; ");
}

const CHUNK_BYTES = 4 * 1024 * 1024;

async function copyLog(from: string, to: string): Promise<void> {
  if ((statSync(from, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const source = openSync(from, "r"); // holds no locks, so it may be closed
  try {
    await copyBytes(source, to);
  } finally {
    closeSync(source);
  }
}

async function copyBytes(source: number, to: string): Promise<void> {
  const target = openSync(to, "wx", 0o600);
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let at = 0; ; ) {
      const length = readSync(source, chunk, 0, chunk.length, at);
      if (length === 0) break;
      for (let done = 0; done < length; ) done += writeSync(target, chunk, done, length - done, at + done);
      at += length;
      await setImmediate(); // a large file is copied without keeping others waiting
    }
    fsyncSync(target);
  } catch (cause) {
    rmSync(to, { force: true }); // half a copy is none
    throw cause;
  } finally {
    closeSync(target);
  }
}

// ---- small things ----

/** The error itself, or the one it was thrown for. */
function says(cause: unknown, code: number, text: RegExp): boolean {
  if (((sqliteCode(cause) ?? 0) & 0xff) === code || text.test(describeCause(cause))) return true;
  return cause instanceof Error && cause.cause !== undefined && says(cause.cause, code, text);
}

const BUSY_ATTEMPTS = 15;

/** Waits for a file that another connection holds, a few seconds at most. */
async function patiently<T>(work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause) || attempt === BUSY_ATTEMPTS) throw cause;
    }
    await aMoment();
  }
}

function aMoment(): Promise<void> {
  return setTimeout(20 + Math.random() * 130);
}

function report(parts: Partial<RepairReport>): RepairReport {
  return { repaired: false, strategy: null, backup_path: null, error: null, ...parts };
}

function healthy(
  found: { readonly sessions: number },
  repaired: boolean,
  strategy: RepairStrategy | null,
): RepairReport {
  return report({ repaired, strategy, sessions: found.sessions, healthy: true });
}

/** YYYYMMDD_HHMMSS in local time, like session ids. */
function timestamp(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  return `${date}_${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
}

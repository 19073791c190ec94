// Puts a database into WAL mode or, if the file system does not support WAL, keeps it in DELETE mode. Programs that share a file
// must use the same mode, because mixed modes corrupt it; so a temporary error never changes the mode stored in the file.
import { readSync } from "node:fs";
import { describeCause, errnoCode, sqliteCode } from "../../lib/index.ts";
import { rawDescriptor } from "./database-file.ts";

export type JournalMode = "wal" | "delete";

/** The part of a `DatabaseSync` that is needed. */
export type JournalDatabase = {
  prepare(sql: string): { get(): unknown };
  exec(sql: string): void;
};

export type JournalModeOptions = {
  /** The name of the database in warnings, which are given once per process and label. */
  readonly label: string;
  readonly path: string;
  warn(message: string): void;
};

/** Throws SQLite's errors, also when another process holds the file: the caller decides whether to retry. */
export function setJournalMode(db: JournalDatabase, options: JournalModeOptions): JournalMode {
  if (probe(db) === "wal") return "wal"; // setting it again would need an exclusive lock
  let mode: string | undefined;
  try {
    mode = modeIn(db.prepare("PRAGMA journal_mode=WAL").get());
  } catch (cause) {
    if (!isWalRefusal(cause) || headerMaySayWal(options.path)) throw cause;
    warnOnce(options, describeCause(cause));
    db.exec("PRAGMA journal_mode=DELETE");
    return "delete";
  }
  if (mode === "wal") return "wal";
  // SQLite refused without an error (no shared memory), so the file keeps its mode. An in-memory database has no journal.
  if (mode !== "memory") warnOnce(options, `SQLite stayed in ${mode ?? "an unknown mode"}`);
  return "delete";
}

/** The two errors of file systems that do not support WAL: SQLITE_PROTOCOL and SQLITE_AUTH. */
function isWalRefusal(cause: unknown): boolean {
  const code = (sqliteCode(cause) ?? 0) & 0xff;
  return code === 15 || code === 23 || /locking protocol|not authorized/i.test(describeCause(cause));
}

function probe(db: JournalDatabase): string | undefined {
  try {
    return modeIn(db.prepare("PRAGMA journal_mode").get());
  } catch {
    return undefined; // a real problem shows when the mode is set
  }
}

function modeIn(row: unknown): string | undefined {
  if (typeof row !== "object" || row === null || !("journal_mode" in row)) return undefined;
  return typeof row.journal_mode === "string" ? row.journal_mode.toLowerCase() : undefined;
}

const FORMAT_VERSIONS_AT = 18; // write version, read version: 1 is a rollback journal, 2 is WAL

/** Also true when the file cannot be read: only a header that was read may allow another mode. */
function headerMaySayWal(path: string): boolean {
  const versions = Buffer.alloc(2);
  try {
    readSync(rawDescriptor(path), versions, 0, 2, FORMAT_VERSIONS_AT);
  } catch (cause) {
    return errnoCode(cause) !== "ENOENT";
  }
  return versions.includes(2);
}

const warned = new Set<string>();

function warnOnce({ label, warn }: JournalModeOptions, cause: string): void {
  if (warned.has(label)) return;
  warned.add(label);
  warn(
    `${label}: write-ahead logging is not possible here (${cause}), so it runs with journal_mode=DELETE. ` +
      "That is slower and allows one program at a time; use a local disk instead of a network share.",
  );
}

// Puts a database into WAL mode, or, where the file system cannot do that, keeps it out of it. Programs that share a
// file must agree on the mode: mixed ones corrupt it, so a passing fault never changes what the file says.
import { readSync } from "node:fs";
import { describeCause, errnoCode } from "../../lib/index.ts";
import { rawDescriptor } from "./database-file.ts";
import { sqliteCode } from "./failures.ts";

export type JournalMode = "wal" | "delete";

/** What is needed of a connection; a `DatabaseSync` is one. */
export type JournalDatabase = {
  prepare(sql: string): { get(): unknown };
  exec(sql: string): void;
};

export type JournalModeOptions = {
  /** The name people know the database by; warnings are given once per process and label. */
  readonly label: string;
  readonly path: string;
  warn(message: string): void;
};

/** Throws what SQLite throws, also when another process holds the file: the caller decides about trying again. */
export function setJournalMode(db: JournalDatabase, options: JournalModeOptions): JournalMode {
  if (probe(db) === "wal") return "wal"; // setting it again would want a lock that nobody has to give
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
  // SQLite declined without an error (no shared memory): what the file has is what it keeps. Memory has no journal.
  if (mode !== "memory") warnOnce(options, `SQLite stayed in ${mode ?? "an unknown mode"}`);
  return "delete";
}

/** The two ways a file system says that it cannot do WAL: SQLITE_PROTOCOL and SQLITE_AUTH. */
function isWalRefusal(cause: unknown): boolean {
  const code = (sqliteCode(cause) ?? 0) & 0xff;
  return code === 15 || code === 23 || /locking protocol|not authorized/i.test(describeCause(cause));
}

function probe(db: JournalDatabase): string | undefined {
  try {
    return modeIn(db.prepare("PRAGMA journal_mode").get());
  } catch {
    return undefined; // if something is really wrong, setting the mode says it
  }
}

function modeIn(row: unknown): string | undefined {
  if (typeof row !== "object" || row === null || !("journal_mode" in row)) return undefined;
  return typeof row.journal_mode === "string" ? row.journal_mode.toLowerCase() : undefined;
}

const FORMAT_VERSIONS_AT = 18; // write version, read version: 1 is a rollback journal, 2 is WAL

/** True also when the file cannot be read: only a header that was seen may allow another mode. */
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
      "That is slower and lets one program in at a time; a local disk does better than a network share.",
  );
}

// Write-ahead logging, where the file system can do it.
import { describeCause } from "../../../lib/index.ts";

/** What is needed of a connection; a `DatabaseSync` is one. */
export type JournalDatabase = {
  prepare(sql: string): { get(): Record<string, unknown> | undefined };
  exec(sql: string): void;
};

export type JournalOptions = { readonly path: string; readonly warn: (message: string) => void };

let hasWarned = false;

/**
 * A file that is in WAL mode already stays so, whatever happens: programs that disagree about the mode damage the file.
 * Throws what SQLite throws, also when another process holds the file.
 */
export function setJournalMode(db: JournalDatabase, { path, warn }: JournalOptions): void {
  try {
    if (db.prepare("PRAGMA journal_mode").get()?.journal_mode !== "wal") db.exec("PRAGMA journal_mode = WAL");
    // A process that dies loses nothing. A power cut may take the newest facts, never the file. Waiting for the disk at
    // every fact would be most of what adding one costs.
    db.exec("PRAGMA synchronous = NORMAL");
  } catch (cause) {
    const reason = describeCause(cause);
    if (!/locking protocol|not authorized/i.test(reason)) throw cause;
    db.exec("PRAGMA journal_mode = DELETE");
    if (hasWarned) return;
    hasWarned = true;
    warn(
      `${path}: write-ahead logging is not possible here (${reason}), so it runs with journal_mode=DELETE.`,
    );
  }
}

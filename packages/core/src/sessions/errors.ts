// What can go wrong with a session store, as codes of `HermesError`.
import { HermesError } from "../lib/index.ts";

export type SessionErrorCode =
  | "session-db-locked" // another process kept the write lock longer than we wait
  | "session-db-full" // no space left, or the file may not grow
  | "session-db-damaged" // SQLite says the file is malformed
  | "session-db-not-sqlite" // the file is something else
  | "session-db-read-only" // opened read-only, by wish, by permission or because it is from the future
  | "session-db-unavailable" // cannot be opened for any other reason
  | "session-db-closed"
  | "query-too-complex" // the file is fine, but SQLite refuses what was asked of it
  | "unknown-session"
  | "unknown-parent"
  | "unknown-message"
  | "not-a-user-message"
  | "title-too-long"
  | "title-taken"
  | "lock-lost"
  | "lease-lost" // another process works on the session
  | "session-busy" // another process runs a turn in it, or compacts it, so it may not be changed now
  | "session-closed" // a compaction closed it: what follows belongs into its continuation
  | "already-continued"
  | "bad-session-id"
  | "bad-user-id"
  | "not-for-one-user" // the store is bound to a user, and the call concerns everybody
  | "bad-message"
  | "no-summary-nodes"; // another program keeps something else where summaries would go

export function sessionError(
  code: SessionErrorCode,
  message: string,
  options: { hint?: string; cause?: unknown } = {},
): HermesError {
  return new HermesError(code, message, options);
}

// Error codes of the session store, why the database could not be opened, and the report of rows that damage has cost.
import { HermesError } from "../lib/index.ts";
import { redactSecrets } from "../security/index.ts";

/** The codes of the `HermesError`s that a session store throws. */
export type SessionErrorCode =
  | "session-db-locked" // another process held the write lock longer than our wait limit
  | "session-db-full" // no space left, or a quota is reached
  | "session-db-damaged" // SQLite says the file is malformed
  | "session-db-not-sqlite" // the file is not a SQLite database
  | "session-db-read-only" // opened read-only: on request, by file permission, or because a newer program made it
  | "session-db-unavailable" // cannot be opened for another reason
  | "session-db-closed"
  | "query-too-complex" // the file is sound, but SQLite refuses the query
  | "unknown-session"
  | "unknown-parent"
  | "unknown-message"
  | "not-a-user-message"
  | "title-too-long"
  | "title-taken"
  | "lock-lost"
  | "lease-lost" // another process now works on the session
  | "session-changed" // another program wrote to it after the caller read it
  | "session-busy" // another process runs a turn in it or compacts it, so it cannot be changed now
  | "session-closed" // a compaction closed it: new messages belong to its continuation
  | "already-continued"
  | "bad-session-id"
  | "bad-user-id"
  | "bad-message"
  | "no-summary-nodes"; // another program uses the table name that summaries need

export function sessionError(
  code: SessionErrorCode,
  message: string,
  options: { hint?: string; cause?: unknown } = {},
): HermesError {
  return new HermesError(code, message, options);
}

// ---- Why the session database could not be opened ----
// Kept for later: an agent continues without the database, and a tool call may ask hours after the failure. A later success does
// not clear it.

const NETWORK_HINT = " (state.db may be on NFS/SMB/FUSE — see https://www.sqlite.org/wal.html)";

type OpenFailure = { readonly text: string; readonly isWalRefusal: boolean };

let lastFailure: OpenFailure | undefined;

export function rememberOpenFailure(cause: unknown): void {
  const text = redactSecrets(`${typeOf(cause)}: ${messageOf(cause)}`);
  lastFailure = { text, isWalRefusal: chainOf(cause).some(mentionsWalRefusal) };
}

/** One sentence for users and models. `prefix` replaces its beginning. */
export function sessionDatabaseUnavailable(prefix = "Session database not available"): string {
  if (lastFailure === undefined) return `${prefix}.`;
  return `${prefix}: ${lastFailure.text}${lastFailure.isWalRefusal ? NETWORK_HINT : ""}.`;
}

function typeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return "Error";
  // node:sqlite throws plain errors with this code.
  return "code" in cause && cause.code === "ERR_SQLITE_ERROR" ? "SqliteError" : cause.name;
}

/** On one line and without its final full stop, because it becomes part of a sentence. */
function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/\s+/g, " ").trim().replace(/\.$/, "");
}

/** The error and its chain of causes. Stops at a cycle. */
function chainOf(cause: unknown): unknown[] {
  const chain: unknown[] = [];
  for (
    let at = cause;
    at !== undefined && !chain.includes(at);
    at = at instanceof Error ? at.cause : undefined
  )
    chain.push(at);
  return chain;
}

function mentionsWalRefusal(cause: unknown): boolean {
  return /locking protocol|not authorized/i.test(messageOf(cause));
}

// ---- Rows that could not be read from a damaged database ----
/**
 * - `canonical`: conversations, our records and tables of other programs; their rows exist nowhere else
 * - `passing`: locks, leases and counters; computed or taken again
 * - `derived`: search indexes with their tables; rebuilt from the messages
 */
export type ObjectClass = "canonical" | "passing" | "derived";

export type LostRows = {
  readonly table: string;
  readonly class: ObjectClass;
  /** How many rows. Null when no readable index of the table names them all. */
  readonly rows: number | null;
  /** Ranges of rowids (in `messages`, the ids). At most 200. */
  readonly ids: readonly { readonly from: number; readonly to: number }[];
};

/** One line about the lost rows of a table. */
export function describeLoss({ table, rows, ids }: LostRows): string {
  const count = rows === null ? "an unknown number of rows" : `${rows} row(s)`;
  const ranges = ids.slice(0, 5).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`));
  const where = ranges.length === 0 ? "" : `, ids ${ranges.join(", ")}${ids.length > 5 ? " and others" : ""}`;
  return `${table}: ${count}${where}`;
}

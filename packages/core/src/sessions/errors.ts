// What can go wrong with a session store, as codes of `HermesError`.
import { HermesError } from "../lib/index.ts";
import { redactSecrets } from "../security/index.ts";

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

// ----
// Why the session database could not be opened, kept for whoever is asked later: an agent goes on without it and a
// tool call may come hours after the failure. A later success does not clear it.

const NETWORK_HINT = " (state.db may be on NFS/SMB/FUSE — see https://www.sqlite.org/wal.html)";

type OpenFailure = { readonly text: string; readonly isWalRefusal: boolean };

let lastFailure: OpenFailure | undefined;

export function rememberOpenFailure(cause: unknown): void {
  const text = redactSecrets(`${typeOf(cause)}: ${messageOf(cause)}`);
  lastFailure = { text, isWalRefusal: chainOf(cause).some(mentionsWalRefusal) };
}

/** One sentence for users and models; the beginning can be replaced. */
export function sessionDatabaseUnavailable(prefix = "Session database not available"): string {
  if (lastFailure === undefined) return `${prefix}.`;
  return `${prefix}: ${lastFailure.text}${lastFailure.isWalRefusal ? NETWORK_HINT : ""}.`;
}

function typeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return "Error";
  // node:sqlite throws plain errors with a code of their own.
  return "code" in cause && cause.code === "ERR_SQLITE_ERROR" ? "SqliteError" : cause.name;
}

/** On one line and without its full stop, because it becomes part of a sentence. */
function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/\s+/g, " ").trim().replace(/\.$/, "");
}

/** The error and what it was thrown for; a loop of causes ends. */
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

// What could not be read of a damaged database.
/**
 * - `canonical`: conversations, and tables of other programs; nothing else can tell their rows
 * - `side`: rows worth keeping that no conversation needs; what cannot be read is given up and listed
 * - `passing`: locks, leases and counters; worked out again or taken again
 * - `derived`: search indexes with their tables; made anew from the messages
 */
export type ObjectClass = "canonical" | "side" | "passing" | "derived";

export type LostRows = {
  readonly table: string;
  readonly class: ObjectClass;
  /** How many; the most it can be when `isExact` is false, null when not even that is known. */
  readonly rows: number | null;
  /** True when an index of the table, which could be read, names each of them. */
  readonly isExact: boolean;
  /** Ranges of rowids, which are the ids in `messages`. At most 200. */
  readonly ids: readonly { readonly from: number; readonly to: number }[];
  /** For `messages`: how many each session lost. For `sessions`: the ids of the lost rows. As far as an index tells. */
  readonly sessions: readonly { readonly id: string; readonly rows: number }[];
};

/** One line about what a table has lost. */
export function describeLoss({ table, rows, isExact, ids, sessions }: LostRows): string {
  const count = rows === null ? "an unknown number of rows" : `${isExact ? "" : "at most "}${rows} row(s)`;
  const ranges = ids.slice(0, 5).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`));
  const where = ranges.length === 0 ? "" : `, ids ${ranges.join(", ")}${ids.length > 5 ? " and others" : ""}`;
  const named = sessions.slice(0, 5).map(({ id }) => id);
  const more = sessions.length > 5 ? ` and ${sessions.length - 5} more` : "";
  const whose = named.length === 0 ? "" : `, of session(s) ${named.join(", ")}${more}`;
  return `${table}: ${count}${where}${whose}`;
}

// Why the session database could not be opened, kept for whoever is asked later: an agent goes on without it and a
// tool call may come hours after the failure. A later success does not clear it.
import { redactSecrets } from "../security/index.ts";

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

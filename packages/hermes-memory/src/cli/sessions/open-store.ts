// The session database of the chosen home. Looking at it makes neither a home nor a file.
import { statSync } from "node:fs";
import { type SessionFiles, sessionDatabasePath, sessionFiles } from "@hermes-memory/core/home";
import { describeCause, errnoCode, HermesError } from "@hermes-memory/core/lib";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/sessions";
import type { CommandContext } from "../command.ts";
import { printable } from "../printing.ts";

export function databasePath({ home }: CommandContext): string {
  return sessionDatabasePath(home.home);
}

/** What goes with a session. */
export function filesOf({ home }: CommandContext): Required<SessionFiles> {
  return sessionFiles(home.home);
}

/** Undefined when there is no database yet. */
export async function openExisting(
  context: CommandContext,
  mode: "read" | "write",
): Promise<SessionStore | undefined> {
  const path = databasePath(context);
  return isThere(path) ? open(path, mode, context) : undefined;
}

/** Made with its home where it is missing. */
export function openOrCreate(context: CommandContext): Promise<SessionStore> {
  return open(databasePath(context), "write", context);
}

/** What a command that finds no database says. */
export function noDatabaseNote(context: CommandContext): string {
  const path = printable(databasePath(context));
  return (
    `There is no session database yet; it will be ${path}. Agents that use this home write their conversations ` +
    "there, and 'hermes sessions import FILE' fills it from an export."
  );
}

function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return false;
    throw openFailure(cause);
  }
}

async function open(path: string, mode: "read" | "write", { io }: CommandContext): Promise<SessionStore> {
  try {
    const store = await openSessionStore({ path, readOnly: mode === "read" });
    // At once: what opening had to work around is worth knowing also when the command fails.
    for (const warning of store.warnings) io.note(`${printable(warning)}\n`);
    return store;
  } catch (cause) {
    throw openFailure(cause);
  }
}

function openFailure(cause: unknown): HermesError {
  const { code, hint } =
    cause instanceof HermesError ? cause : { code: "session-db-unavailable", hint: undefined };
  const message = `Could not open session database: ${printable(describeCause(cause))}`;
  return new HermesError(code, message, { cause, ...(hint === undefined ? {} : { hint }) });
}

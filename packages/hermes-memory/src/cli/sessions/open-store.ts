// The session database of the chosen home. Looking at it makes neither a home nor a file.
import { type SessionFiles, sessionDatabasePath, sessionFiles } from "@hermes-memory/core/home";
import { describeCause, HermesError } from "@hermes-memory/core/lib";
import type { SessionStore } from "@hermes-memory/core/sessions";
import type { CommandContext } from "../command.ts";
import { printable } from "../printing.ts";

export function databasePath({ home }: CommandContext): string {
  return sessionDatabasePath(home.home);
}

/** What goes with a session. */
export function filesOf({ home }: CommandContext): Required<SessionFiles> {
  return sessionFiles(home.home);
}

/**
 * For the owner of the home, who sees every session. Undefined when there is no database yet. The home closes it after the command.
 */
export async function openSessions(
  context: CommandContext,
  mode: "read" | "write",
): Promise<SessionStore | undefined> {
  return told(context, () => context.memory.owner.sessions({ mode }));
}

/** Made with its home where it is missing. */
export async function openOrMakeSessions(context: CommandContext): Promise<SessionStore> {
  return told(context, () => context.memory.owner.sessions({ mode: "write", create: true }));
}

/** What a command that finds no database says. */
export function noDatabaseNote(context: CommandContext): string {
  const path = printable(databasePath(context));
  return (
    `There is no session database yet; it will be ${path}. Agents that use this home write their conversations ` +
    "there, and 'hermes sessions import FILE' fills it from an export."
  );
}

async function told<Store extends SessionStore | undefined>(
  { io }: CommandContext,
  open: () => Promise<Store>,
): Promise<Store> {
  try {
    const store = await open();
    // At once: what opening had to work around is worth knowing also when the command fails.
    for (const warning of store?.warnings ?? []) io.note(`${printable(warning)}\n`);
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

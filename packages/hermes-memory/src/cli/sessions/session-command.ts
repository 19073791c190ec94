// Shared by the session commands: opening the database, finding the session a user means, reading flags.
import { type SessionFiles, sessionDatabasePath, sessionFiles } from "@hermes-memory/core/internal/home";
import { describeCause, HermesError, systemClock } from "@hermes-memory/core/internal/lib";
import { type HomeStore, parseMoment, type SessionRow } from "@hermes-memory/core/internal/sessions";
import { type CommandContext, CommandFailure, type CommandInput, usageFailure } from "../command.ts";
import { oneLine, printable } from "../printing.ts";

export function databasePath({ home }: CommandContext): string {
  return sessionDatabasePath(home.home);
}

/** Files that are deleted together with a session. */
export function filesOf({ home }: CommandContext): Required<SessionFiles> {
  return sessionFiles(home.home);
}

/**
 * As the owner of the home, who sees every session. Undefined when there is no database yet: reading creates neither a home nor a
 * file. The home closes the store after the command.
 */
export async function openSessions(
  context: CommandContext,
  mode: "read" | "write",
): Promise<HomeStore | undefined> {
  return reportingWarnings(context, () => context.memory.administrator.sessions({ mode }));
}

/** Creates home and database if needed. */
export async function openOrMakeSessions(context: CommandContext): Promise<HomeStore> {
  return reportingWarnings(context, () =>
    context.memory.administrator.sessions({ mode: "write", create: true }),
  );
}

/** For commands that find no database. */
export function noDatabaseNote(context: CommandContext): string {
  const path = printable(databasePath(context));
  return (
    `There is no session database yet; it will be ${path}. Agents that use this home write their conversations ` +
    "there, and 'hermes sessions import FILE' fills it from an export."
  );
}

async function reportingWarnings<Store extends HomeStore | undefined>(
  { io }: CommandContext,
  open: () => Promise<Store>,
): Promise<Store> {
  try {
    const store = await open();
    // Print them now, so that the user sees them even if the command fails.
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
  return new HermesError(code, message, { cause, hint });
}

const LISTED_CANDIDATES = 10;

/** By its id, or by a beginning that only one id has. A failure lists the sessions that match. */
export async function findSession(store: HomeStore, asked: string): Promise<SessionRow> {
  const id = await store.resolveSessionId(asked);
  const row = id === null ? null : await store.getSession(id);
  if (row !== null) return row;
  // One more than is listed, to know whether there are more.
  const candidates =
    asked === "" ? [] : await store.listSessionIds({ prefix: asked, limit: LISTED_CANDIDATES + 1 });
  if (candidates.length < 2) throw notFound(asked);
  const shown = await Promise.all(
    candidates.slice(0, LISTED_CANDIDATES).map((each) => store.getSession(each)),
  );
  throw ambiguous(
    asked,
    shown.filter((each) => each !== null),
    candidates.length > LISTED_CANDIDATES,
  );
}

/** The store, and the session that the user means in it. */
export async function openSession(
  asked: string,
  context: CommandContext,
  mode: "read" | "write",
): Promise<{ readonly store: HomeStore; readonly session: SessionRow }> {
  const store = await openSessions(context, mode);
  if (!store) throw notFoundAnywhere(asked, context);
  return { store, session: await findSession(store, asked) };
}

export function notFound(asked: string, hint = "'hermes sessions list' shows the ids."): CommandFailure {
  return new CommandFailure(`Session '${printable(asked)}' not found.`, {
    hint,
    details: { kind: "unknown-session", asked },
  });
}

/** The same failure when there is no database. */
export function notFoundAnywhere(asked: string, context: CommandContext): CommandFailure {
  return notFound(asked, noDatabaseNote(context));
}

function ambiguous(asked: string, shown: readonly SessionRow[], hasMore: boolean): CommandFailure {
  const lines = shown.map(({ id, title }) => `  ${oneLine(title === null ? id : `${id}  ${title}`, 80)}`);
  return new CommandFailure(`'${printable(asked)}' matches several sessions. Type more of the id.`, {
    hint: [...lines, ...(hasMore ? ["  ..."] : [])].join("\n"),
    details: { kind: "ambiguous", asked, candidates: shown.map(({ id }) => id) },
  });
}

export function textFlag({ flags }: CommandInput, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

/** A moment in seconds: a date, or a span before now. */
export function momentFlag(input: CommandInput, name: string): number | undefined {
  const written = textFlag(input, name);
  const moment = written === undefined ? undefined : parseMoment(written, systemClock.now());
  if (written !== undefined && moment === undefined)
    throw usageFailure(`--${name}: '${printable(written)}' is not a time that can be read.`, {
      hint: "Write a date (2026-01-31), a date with a time (2026-01-31 09:45), or an age (12h, 7d, 3mo).",
    });
  return moment;
}

/** Of a flag that may be given several times. */
export function listFlag({ flags }: CommandInput, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value : [];
}

export function numberFlag({ flags }: CommandInput, name: string, standard: number): number {
  const value = flags[name];
  return typeof value === "number" ? value : standard;
}

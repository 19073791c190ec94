// From what somebody typed to a session: a whole id or a beginning that fits one session only.
import type { SessionRow, SessionStore } from "@hermes-memory/core/sessions";
import { type CommandContext, CommandFailure } from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import { noDatabaseNote } from "./open-store.ts";

const LISTED_CANDIDATES = 10;

/** The row, or a failure that says what else there is. */
export async function findSession(store: SessionStore, asked: string): Promise<SessionRow> {
  const id = await store.resolveSessionId(asked);
  const row = id === null ? null : await store.getSession(id);
  if (row !== null) return row;
  // One more than is listed is enough to know that there are more.
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

export function notFound(asked: string, hint = "'hermes sessions list' shows the ids."): CommandFailure {
  return new CommandFailure(`Session '${printable(asked)}' not found.`, {
    hint,
    details: { kind: "unknown-session", asked },
  });
}

/** The same where there is not even a database. */
export function notFoundAnywhere(asked: string, context: CommandContext): CommandFailure {
  return notFound(asked, noDatabaseNote(context));
}

function ambiguous(asked: string, shown: readonly SessionRow[], hasMore: boolean): CommandFailure {
  const lines = shown.map(({ id, title }) => `  ${oneLine(title === null ? id : `${id}  ${title}`, 80)}`);
  return new CommandFailure(`'${printable(asked)}' fits several sessions. Type more of the id.`, {
    hint: [...lines, ...(hasMore ? ["  ..."] : [])].join("\n"),
    details: { kind: "ambiguous", asked, candidates: shown.map(({ id }) => id) },
  });
}

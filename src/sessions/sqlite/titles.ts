// Titles in the database: unique, and numbered along a lineage.
import { sessionError } from "../errors.ts";
import type { Scope, SessionStore } from "../store.ts";
import { baseOfTitle, nextTitle, numberOfTitle, sanitizeTitle } from "../titles.ts";
import type { Connection } from "./connection.ts";
import { EVERYBODY, type StoreContext, visibleTo } from "./context.ts";
import { isVisible, userPlatform } from "./lineage-sql.ts";
import { findSession } from "./sessions.ts";

const HOLDER = "SELECT id FROM sessions WHERE title = :title AND id <> :id";
/** Titles are unique in the whole file. Whose the other session is, is for its own user to know, and for a session without one. */
const IS_SHOWN = `
  SELECT 1 FROM sessions s JOIN sessions other ON other.id = :other
  WHERE s.id = :id AND (s.user_id IS NULL
    OR (other.user_id = s.user_id AND ${userPlatform("other")} = ${userPlatform("s")}))
`;
const SET = "UPDATE sessions SET title = :title WHERE id = :id";
/** Numbered forms are matched in any (ASCII) case: a number too high does no harm, one that is taken does. */
const OF_LINE = `
  SELECT id, title FROM sessions s WHERE (title = :base OR title LIKE :numbered ESCAPE '\\')
    AND ${isVisible("s")} ORDER BY started_at DESC, id DESC
`;

export type TitleOperations = Pick<
  SessionStore,
  "setSessionTitle" | "getSessionTitle" | "getNextTitleInLineage" | "resolveSessionByTitle"
>;

export function titleOperations({ connection }: StoreContext): TitleOperations {
  return {
    async setSessionTitle(id, title) {
      const clean = sanitizeTitle(title);
      return connection.write(() => writeTitle(connection, id, clean));
    },
    getSessionTitle: (id, scope) => connection.read(() => findSession(connection, id, scope)?.title ?? null),
    getNextTitleInLineage: (base) => connection.read(() => nextTitleInLineage(connection, base)),
    resolveSessionByTitle: (title, scope) => connection.read(() => sessionOfTitle(connection, title, scope)),
  };
}

/** Inside a transaction. False for an unknown session. */
export function writeTitle(connection: Connection, id: string, title: string | null): boolean {
  const other = title === null ? undefined : connection.get<{ id: string }>(HOLDER, { title, id });
  if (other !== undefined) {
    const isShown = connection.get(IS_SHOWN, { id, other: other.id }) !== undefined;
    const holder = isShown ? ` by session ${other.id}` : "";
    throw sessionError("title-taken", `Title '${title}' is already in use${holder}`, {
      hint: isShown ? "Choose another title, or rename that session first." : "Choose another title.",
    });
  }
  return connection.run(SET, { id, title }).changes > 0;
}

export function nextTitleInLineage(connection: Connection, base: string): string {
  let title = base;
  // A very long base is cut to make room for the number and can then meet a title of the shorter line.
  for (;;) {
    const stem = baseOfTitle(title);
    const taken = connection.all<{ title: string }>(OF_LINE, { ...lineOf(stem), ...EVERYBODY });
    const next = nextTitle(
      title,
      taken.map((row) => row.title),
    );
    if (connection.get(HOLDER, { title: next, id: "" }) === undefined) return next;
    title = next;
  }
}

/** The newest of the numbered ones goes before the one without a number. */
function sessionOfTitle(connection: Connection, title: string, scope?: Scope): string | null {
  const line = connection.all<{ id: string; title: string }>(OF_LINE, {
    ...lineOf(title),
    ...visibleTo(scope),
  });
  const numbered = line.find((row) => row.title !== title && numberOfTitle(title, row.title) !== null);
  return (numbered ?? line.find((row) => row.title === title))?.id ?? null;
}

function lineOf(base: string) {
  return { base, numbered: `${base.replace(/[\\%_]/g, "\\$&")} #%` };
}

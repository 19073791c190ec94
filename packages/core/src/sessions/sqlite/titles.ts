// Titles in the database: unique, and numbered along a lineage.
import { codePointLength, pyStrip } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import type { Scope } from "../identity.ts";
import { userOfSession } from "../identity.ts";
import type { SessionRow } from "../rows.ts";
import { foldTerm } from "../search/words.ts";
import type { SessionRecords } from "../store.ts";
import { baseOfTitle, MAX_TITLE_CHARS, nextTitle, numberOfTitle, sanitizeTitle } from "../titles.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, type Visible, visibleTo } from "./context.ts";
import { byFile, featuresOf } from "./features.ts";
import { isVisible, userPlatform } from "./lineage-sql.ts";
import { findSession } from "./sessions.ts";

const HOLDER = "SELECT id FROM sessions WHERE title = :title AND id <> :id";
/** Titles are unique in the whole file. Whose the other session is, is for its own user to know, and for a session without one. */
const IS_SHOWN = `
  SELECT 1 FROM sessions s JOIN sessions other ON other.id = :other
  WHERE s.id = :id AND (s.user_id IS NULL
    OR (other.user_id = s.user_id AND ${userPlatform("other")} = ${userPlatform("s")}))
`;
const SET = byFile((file) => {
  const source = file.sessions.has("title_source") ? ", title_source = :source" : "";
  return `UPDATE sessions SET title = :title ${source} WHERE id = :id`;
});
/** A title of a person's, or one whose source is unknown, is not replaced by one that a model made. */
const MAY_REPLACE = `
  SELECT 1 FROM sessions WHERE id = :id AND (title IS NULL OR title_source IN ('derived', 'llm'))
`;
const ONLY = `SELECT id, title FROM sessions s WHERE title = :title AND ${isVisible("s")}`;
/** Numbered forms are matched in any (ASCII) case: a number too high does no harm, one that is taken does. */
const OF_LINE = `
  SELECT id, title FROM sessions s WHERE (title = :base OR title LIKE :numbered ESCAPE '\\')
    AND ${isVisible("s")} ORDER BY started_at DESC, id DESC
`;
/** Titles that may be the same once both are folded: SQLite itself folds ASCII only. */
const FOLDABLE = `
  SELECT id, title FROM sessions s
  WHERE (title = :base COLLATE NOCASE OR title LIKE :numbered ESCAPE '\\' OR title GLOB '*[^ -~]*')
    AND ${isVisible("s")} ORDER BY started_at DESC, id DESC
`;

export type TitleOperations = Pick<
  SessionRecords,
  "setSessionTitle" | "getSessionTitle" | "getNextTitleInLineage" | "resolveSessionByTitle"
>;

export function titleOperations({ connection }: StoreContext): TitleOperations {
  return {
    async setSessionTitle(id, title, { source = "user" } = {}) {
      const clean = sanitizeTitle(title);
      return connection.write(() => {
        const hasSources = featuresOf(connection).sessions.has("title_source");
        if (source === "llm" && hasSources && connection.get(MAY_REPLACE, { id }) === undefined) return false;
        return writeTitle(connection, id, clean, source);
      });
    },
    getSessionTitle: (id, scope) => connection.read(() => findSession(connection, id, scope)?.title ?? null),
    getNextTitleInLineage: (base, scope) =>
      connection.read(() => freeTitleOfLine(connection, base, visibleTo(scope))),
    resolveSessionByTitle: (title, options = {}) =>
      connection.read(
        () =>
          sessionOfTitle(connection, title, options) ??
          (options.ignoreCase === true ? sessionOfFoldedTitle(connection, title, options) : null),
      ),
  };
}

/** Inside a transaction. False for an unknown session. */
export function writeTitle(
  connection: Connection,
  id: string,
  title: string | null,
  source: string | null,
): boolean {
  const other = title === null ? undefined : connection.get<{ id: string }>(HOLDER, { title, id });
  if (other !== undefined) {
    const isShown = connection.get(IS_SHOWN, { id, other: other.id }) !== undefined;
    const holder = isShown ? ` by session ${other.id}` : "";
    throw sessionError("title-taken", `Title '${title}' is already in use${holder}`, {
      hint: isShown ? "Choose another title, or rename that session first." : "Choose another title.",
    });
  }
  const by: Readonly<Record<string, string | null>> = featuresOf(connection).sessions.has("title_source")
    ? { source: title === null ? null : source }
    : {};
  return connection.run(SET(connection), { id, title, ...by }).changes > 0;
}

/** For a session of the same owner as `of`. */
export function nextTitleInLineage(
  connection: Connection,
  base: string,
  of?: Pick<SessionRow, "user_id" | "source" | "model_config">,
): string {
  const user = of === undefined ? undefined : userOfSession(of);
  // As the row has it: other programs may have written ids that no caller may pass.
  return freeTitleOfLine(connection, base, { user: user?.userId ?? null, platform: user?.platform ?? null });
}

/** Numbered after the titles that may be seen; one that another user has is passed over. */
function freeTitleOfLine(connection: Connection, base: string, visible: Visible): string {
  let title = base;
  // A very long base is cut to make room for the number and can then meet a title of the shorter line.
  const passedOver: string[] = [];
  for (;;) {
    const stem = baseOfTitle(title);
    const seen = connection.all<{ title: string }>(OF_LINE, { ...lineOf(stem), ...visible });
    const next = nextTitle(title, [...seen.map((row) => row.title), ...passedOver]);
    if (connection.get(HOLDER, { title: next, id: "" }) === undefined) return next;
    if (visible.user !== null) passedOver.push(next);
    title = next;
  }
}

type Titled = { readonly id: string; readonly title: string };

function sessionOfTitle(connection: Connection, title: string, scope: Scope): string | null {
  // LIKE refuses long patterns, and no title is that long.
  if (codePointLength(title) > MAX_TITLE_CHARS)
    return connection.get<Titled>(ONLY, { title, ...visibleTo(scope) })?.id ?? null;
  return newestOf(title, connection.all<Titled>(OF_LINE, { ...lineOf(title), ...visibleTo(scope) }));
}

function sessionOfFoldedTitle(connection: Connection, title: string, scope: Scope): string | null {
  const wanted = foldTerm(pyStrip(title));
  if (wanted === "" || codePointLength(title) > MAX_TITLE_CHARS) return null;
  const found = connection.all<Titled>(FOLDABLE, { ...lineOf(wanted), ...visibleTo(scope) });
  return newestOf(
    wanted,
    found.map((row) => ({ id: row.id, title: foldTerm(row.title) })),
  );
}

/** The newest of the numbered ones goes before the one without a number. */
function newestOf(title: string, line: readonly Titled[]): string | null {
  const numbered = line.find((row) => row.title !== title && numberOfTitle(title, row.title) !== null);
  return (numbered ?? line.find((row) => row.title === title))?.id ?? null;
}

function lineOf(base: string) {
  return { base, numbered: `${base.replace(/[\\%_]/g, "\\$&")} #%` };
}

// Titles: unique among the sessions of one person, and numbered along a lineage. The column `title` belongs to all programs that
// share the file and is unique over all sessions, so two users could not have the same title there. The title of a session with a
// user is therefore in a table of ours. The column gets it too if it is free there, so that other programs show it; otherwise it is
// NULL. The table also says what was left in the column: if that has changed, another program has renamed the session since, and the
// column counts. A session without a user has its title in the column alone, unless a session of another person holds it there.
import { codePointLength, pyStrip } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import { foldTerm } from "../search/words.ts";
import type { SessionRecords } from "../store.ts";
import { baseOfTitle, MAX_TITLE_CHARS, nextTitle, numberOfTitle, sanitizeTitle } from "../titles.ts";
import {
  byFile,
  type Connection,
  featuresOf,
  isVisible,
  OWN_TITLES,
  OWNER_OF_HOME,
  titleOf,
  type Visible,
} from "./connection.ts";
import { ownerOf, type StoreContext } from "./context.ts";
import { findSession, IS_THERE_FOR } from "./sessions.ts";

/** SQL: `id` and `title` of the sessions whose title meets the condition. */
function titled(meets: (title: string) => string): string {
  // Only the index of titles is walked; the rows, which hold long prompts, are read of those that are found.
  const found = `SELECT c.title FROM sessions c WHERE c.title IS NOT NULL AND ${meets("c.title")}`;
  const shared = `SELECT f.id, f.title FROM sessions f WHERE f.title IN (${found})`;
  return `${shared} AND NOT EXISTS (SELECT 1 FROM ${OWN_TITLES} t WHERE t.session_id = f.id AND t.shared IS f.title)
    UNION ALL
    SELECT f.id, t.title FROM ${OWN_TITLES} t JOIN sessions f ON f.id = t.session_id AND t.shared IS f.title
    WHERE ${meets("t.title")}`;
}

/** SQL: those of them that the person may see, the newest first. */
function visibleTitled(meets: (title: string) => string): string {
  return `SELECT s.id, x.title, s.user_id IS NULL AS isOwners FROM (${titled(meets)}) x CROSS JOIN sessions s ON s.id = x.id
    WHERE ${isVisible("s")} ORDER BY s.started_at DESC, s.id DESC`;
}

const BY_TITLE = visibleTitled((title) => `${title} = :title`);
/**
 * Numbered forms match in any (ASCII) case: a number that is too high does no harm, a taken one does. SQLite prepares a statement again
 * for each other pattern of a LIKE, unless it is an expression.
 */
const TITLES_OF_LINE = visibleTitled(
  (title) => `(${title} = :base OR ${title} LIKE (:numbered || '') ESCAPE '\\')`,
);
/** Titles that may be equal after folding; SQLite itself folds only ASCII. */
const FOLDABLE_TITLES = visibleTitled(
  (title) =>
    `(${title} = :base COLLATE NOCASE OR ${title} LIKE (:numbered || '') ESCAPE '\\' OR octet_length(${title}) <> length(${title}))`,
);
/** A title set by a user, or with an unknown source, is not replaced by one that a model made. */
const MAY_REPLACE_TITLE = `SELECT 1 FROM sessions s WHERE id = :id AND (${titleOf("s")} IS NULL OR title_source IN ('derived', 'llm'))`;
const IN_COLUMN = "SELECT 1 FROM sessions WHERE title = :title AND id <> :id";
const SET_COLUMN = byFile((file) => {
  const source = file.sessions.has("title_source") ? ", title_source = :source" : "";
  return `UPDATE sessions SET title = :title ${source} WHERE id = :id`;
});
/** The session whose title this program has put into the column. */
const OWN_IN_COLUMN = `SELECT f.id FROM sessions f JOIN ${OWN_TITLES} t ON t.session_id = f.id AND t.shared = f.title
  WHERE f.title = :title AND t.title = :title`;
const LEAVE_COLUMN = "UPDATE sessions SET title = NULL WHERE id = :id";
const LEFT_COLUMN = `UPDATE ${OWN_TITLES} SET shared = NULL WHERE session_id = :id`;
const CLEAR_OWN = `DELETE FROM ${OWN_TITLES} WHERE session_id = :id`;
const PUT_OWN = `INSERT INTO ${OWN_TITLES} (session_id, title, shared) VALUES (:id, :title, :shared)`;

export function titleOperations({ connection, person }: StoreContext) {
  const { visible } = person;
  return {
    async setSessionTitle(id, title, { source = "user" } = {}) {
      const clean = sanitizeTitle(title);
      return connection.write(() => {
        if (connection.get(IS_THERE_FOR, { id, ...visible }) === undefined) {
          // A session that is created later: in the store of the whole home it will have no user.
          const future = visible.user === null ? OWNER_OF_HOME : visible;
          if (clean !== null) refuseHeld(connection, clean, future, id);
          return false;
        }
        const hasSources = featuresOf(connection).sessions.has("title_source");
        const isKept = source === "llm" && hasSources;
        if (isKept && connection.get(MAY_REPLACE_TITLE, { id }) === undefined) return false;
        return writeTitle(connection, id, clean, source);
      });
    },
    getSessionTitle: (id) => connection.read(() => findSession(connection, id, visible)?.title ?? null),
    getNextTitleInLineage: (base) => connection.read(() => freeTitleOfLine(connection, base, visible)),
    resolveSessionByTitle: (title, options = {}) =>
      connection.read(
        () =>
          sessionOfTitle(connection, title, visible) ??
          (options.ignoreCase === true ? sessionOfFoldedTitle(connection, title, visible) : null),
      ),
  } satisfies Partial<SessionRecords>;
}

/** Inside a transaction. False for an unknown session. */
export function writeTitle(
  connection: Connection,
  id: string,
  title: string | null,
  source: string | null,
): boolean {
  const owner = personOf(connection, id);
  if (owner === undefined) return false;
  const file = featuresOf(connection);
  const put = (shared: string | null) =>
    connection.run(SET_COLUMN(connection), {
      id,
      title: shared,
      ...(file.sessions.has("title_source") ? { source: title === null ? null : source } : {}),
    });
  connection.run(CLEAR_OWN, { id });
  if (title === null) return put(null).changes > 0;
  refuseHeld(connection, title, owner, id);
  // Other programs read the column only, and the home's owner uses them: a user's title gives way there and stays in our table.
  const user = owner === OWNER_OF_HOME ? connection.get<{ id: string }>(OWN_IN_COLUMN, { title }) : undefined;
  if (user !== undefined)
    for (const step of [LEAVE_COLUMN, LEFT_COLUMN]) connection.run(step, { id: user.id });
  const isFree = connection.get(IN_COLUMN, { title, id }) === undefined;
  const shared = isFree ? title : null;
  if (owner !== OWNER_OF_HOME || !isFree) connection.run(PUT_OWN, { id, title, shared });
  return put(shared).changes > 0;
}

function refuseHeld(connection: Connection, title: string, owner: Visible, id: string): void {
  const holder = holderOf(connection, title, owner, id);
  if (holder === undefined) return;
  throw sessionError("title-taken", `Title '${title}' is already in use by session ${holder}`, {
    hint: "Choose another title, or rename that session first.",
  });
}

/** As values of `isVisible`. */
function personOf(connection: Connection, id: string): Visible | undefined {
  const owner = ownerOf(connection, id);
  return owner?.user === null ? OWNER_OF_HOME : owner;
}

/** Another session of the same person that has the title. */
function holderOf(connection: Connection, title: string, owner: Visible, id: string): string | undefined {
  const found = connection.all<Titled>(BY_TITLE, { title, ...owner });
  return found.find((row) => row.id !== id)?.id;
}

/** Whether no other session of the same person has the title. */
export function isTitleFree(connection: Connection, id: string, title: string): boolean {
  return holderOf(connection, title, personOf(connection, id) ?? OWNER_OF_HOME, id) === undefined;
}

/** A title for this session: the given one, or the next of its line if another session of the same person has it. */
export function freeTitleFor(connection: Connection, id: string, title: string): string {
  const owner = personOf(connection, id) ?? OWNER_OF_HOME;
  return holderOf(connection, title, owner, id) === undefined
    ? title
    : freeTitleOfLine(connection, title, owner);
}

/** For a session of the same person as this one. */
export function nextTitleInLineage(connection: Connection, base: string, id: string): string {
  return freeTitleOfLine(connection, base, personOf(connection, id) ?? OWNER_OF_HOME);
}

/** Numbered after the titles the person may see. */
function freeTitleOfLine(connection: Connection, base: string, visible: Visible): string {
  let title = base;
  for (;;) {
    const line = { ...lineOf(baseOfTitle(title)), ...visible };
    const seen = connection.all<Titled>(TITLES_OF_LINE, line);
    const next = nextTitle(
      title,
      seen.map((row) => row.title),
    );
    if (connection.get(BY_TITLE, { title: next, ...visible }) === undefined) return next;
    title = next; // a very long base is cut to make room for the number and may then equal a title of the shorter base
  }
}

type Titled = { readonly id: string; readonly title: string; readonly isOwners: number };

function sessionOfTitle(connection: Connection, title: string, visible: Visible): string | null {
  // LIKE refuses long patterns, and no title is that long.
  if (codePointLength(title) > MAX_TITLE_CHARS)
    return connection.get<Titled>(BY_TITLE, { title, ...visible })?.id ?? null;
  const line = { ...lineOf(title), ...visible };
  return ownersFirst(title, connection.all<Titled>(TITLES_OF_LINE, line));
}

function sessionOfFoldedTitle(connection: Connection, title: string, visible: Visible): string | null {
  const wanted = foldTerm(pyStrip(title));
  if (wanted === "" || codePointLength(title) > MAX_TITLE_CHARS) return null;
  const found = connection.all<Titled>(FOLDABLE_TITLES, {
    ...lineOf(wanted),
    ...visible,
  });
  return ownersFirst(
    wanted,
    found.map((row) => ({ ...row, title: foldTerm(row.title) })),
  );
}

/** Administration sees equal titles of several persons: those of the home's owner come first. */
function ownersFirst(title: string, line: readonly Titled[]): string | null {
  const own = line.filter(({ isOwners }) => isOwners === 1);
  return newestOf(title, own) ?? newestOf(title, line);
}

/** The newest numbered title wins over the one without a number. */
function newestOf(title: string, line: readonly Titled[]): string | null {
  const numbered = line.find((row) => row.title !== title && numberOfTitle(title, row.title) !== null);
  return (numbered ?? line.find((row) => row.title === title))?.id ?? null;
}

function lineOf(base: string) {
  return { base, numbered: `${base.replace(/[\\%_]/g, "\\$&")} #%` };
}

// Sessions as objects that can leave one database and enter another.
import { describeCause } from "../../lib/index.ts";
import { toMessageColumns } from "../new-message.ts";
import type { ExportedSession, SessionRow } from "../rows.ts";
import { checkSessionId } from "../session-id.ts";
import type { ImportOutcome, LongWork, Scope, SessionStore } from "../store.ts";
import { sanitizeTitle } from "../titles.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, seconds } from "./context.ts";
import { lastActive, listIds } from "./listing.ts";
import { decodeRows, insertMessage, readMessages } from "./messages.ts";
import { SESSION_COLUMNS } from "./schema.ts";
import { findSession } from "./sessions.ts";
import { nextTitleInLineage } from "./titles.ts";

const MAX_EXPORTED = 100_000;

const INSERT_SESSION = insertInto("sessions", SESSION_COLUMNS);
const TITLE_TAKEN = "SELECT 1 FROM sessions WHERE title = :title";
const MESSAGE_EXISTS = "SELECT 1 FROM messages WHERE id = :id";
const SET_ORIGIN = "UPDATE hermes_memory_origin SET origin_id = :origin WHERE message_id = :id";
const LINK_PARENT = `
  UPDATE sessions SET parent_session_id = :parent
  WHERE id = :id AND parent_session_id IS NULL AND EXISTS (SELECT 1 FROM sessions WHERE id = :parent)
`;

export type ExportOperations = Pick<
  SessionStore,
  "exportSession" | "exportEach" | "exportAll" | "importSessions"
>;
type ActiveExport = ExportedSession & { readonly last_active: number };
type ExportOptions = Scope & { readonly includeInactive?: boolean };

export function exportOperations({ connection, clock, warn }: StoreContext): ExportOperations {
  const exported = (row: SessionRow, options: ExportOptions): ExportedSession => ({
    ...row,
    messages: decodeRows(readMessages(connection, row.id, options), warn),
  });
  async function* exportEach(options: ExportOptions & { readonly source?: string } = {}) {
    // Ids first: a session that becomes active meanwhile is not met twice, and one that goes is left out.
    for (const id of await connection.read(() => listIds(connection, { ...options, limit: MAX_EXPORTED }))) {
      const found = await connection.read((): ActiveExport | null => {
        const session = findSession(connection, id, options);
        return session && { ...exported(session, options), last_active: lastActive(connection, session) };
      });
      if (found !== null) yield found;
    }
  }
  return {
    exportSession: (id, options = {}) =>
      connection.read(() => {
        const session = findSession(connection, id, options);
        return session === null ? null : exported(session, options);
      }),
    exportEach,
    async exportAll(options = {}) {
      const all: ActiveExport[] = [];
      for await (const session of exportEach(options)) all.push(session);
      return all;
    },
    async importSessions(sessions, work = {}) {
      return importAll(connection, sessions, work, seconds(clock));
    },
  };
}

async function importAll(
  connection: Connection,
  sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
  { onProgress, signal }: LongWork,
  now: number,
): Promise<ImportOutcome> {
  const skipped: { id: string; reason: string }[] = [];
  const renamed: { id: string; title: string | null }[] = [];
  const parents = new Map<string, string>();
  const newIds = new Map<number, number>(); // of messages whose id was taken here
  const origins = new Map<number, number>(); // of copies, as the file has them
  let imported = 0;
  let messages = 0;
  for await (const session of sessions) {
    if (signal?.aborted) break;
    const problem = whatIsWrongWith(session);
    if (problem !== undefined) {
      skipped.push({ id: nameOf(session), reason: problem });
      continue;
    }
    const { id } = session;
    const done = await connection.write(() => importOne(connection, session, now));
    if (done === "exists") {
      skipped.push({ id, reason: "a session with this id exists" });
      continue;
    }
    for (const [from, to] of done.newIds) newIds.set(from, to);
    for (const [copy, origin] of done.origins) origins.set(copy, origin);
    if (done.title !== (session.title ?? null)) renamed.push({ id, title: done.title });
    if (session.parent_session_id) parents.set(id, session.parent_session_id);
    imported += 1;
    messages += session.messages.length;
    onProgress?.({ step: "importing", done: imported, total: 0 });
  }
  // Parents and originals may stand behind what names them, so that is put right when everything is there.
  await connection.write(() => {
    for (const [id, parent] of parents) connection.run(LINK_PARENT, { id, parent });
    for (const [id, origin] of origins) {
      const moved = newIds.get(origin);
      if (moved !== undefined) connection.run(SET_ORIGIN, { id, origin: moved });
    }
  });
  return { imported, messages, skipped, renamed };
}

type Imported = {
  readonly title: string | null;
  readonly newIds: ReadonlyMap<number, number>;
  readonly origins: ReadonlyMap<number, number>;
};

function importOne(connection: Connection, session: ExportedSession, now: number): Imported | "exists" {
  const { id } = session;
  if (findSession(connection, id) !== null) return "exists";
  const title = freeTitle(connection, session.title);
  connection.run(INSERT_SESSION, { ...sessionValues(session, now), id, title, parent_session_id: null });
  const keepIds = canKeepIds(connection, session.messages);
  const newIds = new Map<number, number>();
  const origins = new Map<number, number>();
  for (const message of session.messages) {
    const columns = toMessageColumns(message, { now, mode: "append" });
    const kept = { active: message.active === 0 ? 0 : 1, ...(keepIds ? { id: message.id } : {}) } as const;
    const stored = insertMessage(connection, id, columns, kept);
    if (Number.isSafeInteger(message.id) && message.id !== stored) newIds.set(message.id, stored);
    if (columns.originId !== null) origins.set(stored, columns.originId);
  }
  return { title, newIds, origins };
}

/** One odd object in a file of many must not stop the others. */
function whatIsWrongWith(session: ExportedSession): string | undefined {
  if (typeof session !== "object" || session === null || Array.isArray(session)) return "it is no object";
  const { id, messages } = session;
  if (!Array.isArray(messages)) return "it has no list of messages";
  if (messages.some((message) => typeof message !== "object" || message === null))
    return "one of its messages is no object";
  try {
    checkSessionId(id);
    sanitizeTitle(typeof session.title === "string" ? session.title : null);
    return undefined;
  } catch (cause) {
    return describeCause(cause);
  }
}

function nameOf(session: unknown): string {
  const hasId = typeof session === "object" && session !== null && "id" in session;
  return hasId && typeof session.id === "string" ? session.id : "(without id)";
}

/** Ids order a session, so either all of its messages keep theirs or none does. */
function canKeepIds(connection: Connection, messages: readonly { readonly id: number }[]): boolean {
  let last = 0;
  for (const { id } of messages) {
    if (!Number.isSafeInteger(id) || id <= last || connection.get(MESSAGE_EXISTS, { id }) !== undefined)
      return false;
    last = id;
  }
  return true;
}

function freeTitle(connection: Connection, title: unknown): string | null {
  const clean = sanitizeTitle(typeof title === "string" ? title : null);
  if (clean === null || connection.get(TITLE_TAKEN, { title: clean }) === undefined) return clean;
  return nextTitleInLineage(connection, clean);
}

/** Values of other kinds than their column's become the column's default. */
function sessionValues(session: ExportedSession, now: number): Record<string, string | number | null> {
  const given: Record<string, unknown> = { ...session };
  const values: Record<string, string | number | null> = {};
  for (const { name, declaration } of SESSION_COLUMNS) {
    const value = given[name];
    const isNumber = /^(INTEGER|REAL)/.test(declaration);
    if (isNumber) values[name] = typeof value === "number" && Number.isFinite(value) ? value : null;
    else values[name] = typeof value === "string" ? value : null;
    if (values[name] === null && declaration.includes("DEFAULT 0")) values[name] = 0;
  }
  values.source ??= "unknown";
  values.started_at ??= now;
  return values;
}

function insertInto(table: string, columns: readonly { readonly name: string }[]): string {
  const names = columns.map(({ name }) => name);
  return `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map((name) => `:${name}`).join(", ")})`;
}

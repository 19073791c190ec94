// Sessions that come from another database, each in one transaction.
import { describeCause, isRecord } from "../../lib/index.ts";
import { type MessageColumns, type MessageRow, toMessageColumns } from "../../message/index.ts";
import { checkSessionId, normalMarks } from "../identity.ts";
import type { ExportedSession } from "../rows.ts";
import type { ImportOutcome, LongWork } from "../store.ts";
import { fittingTitle } from "../titles.ts";
import type { Connection } from "./connection.ts";
import { finite } from "./context.ts";
import { byFile, featuresOf, hasPromptTable } from "./features.ts";
import { ImportLinks, type Pairing, pairWithStored } from "./import-links.ts";
import { insertMessage } from "./messages.ts";
import { type Column, columnList, SESSION_COLUMNS } from "./schema.ts";
import { findSession, safeInteger, sessionColumns, storePrompt } from "./sessions.ts";
import { nextTitleInLineage } from "./titles.ts";

/** The next message gets a higher id than all before, so one out of reach would put every later one there. */
const LARGEST_KEPT_ID = 2 ** 48;

const INSERT_SESSION = byFile((file) => {
  const columns = sessionColumns(file);
  return `INSERT INTO sessions (${columnList(columns)}) VALUES (${columnList(columns, ":")})`;
});
const TITLE_TAKEN = "SELECT 1 FROM sessions WHERE title = :title";
const MESSAGE_EXISTS = "SELECT 1 FROM messages WHERE id = :id";

export async function importAll(
  connection: Connection,
  sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
  { onProgress, signal }: LongWork,
  now: number,
): Promise<ImportOutcome> {
  const skipped: { id: string; reason: string }[] = [];
  const renamed: { id: string; title: string | null }[] = [];
  const links = new ImportLinks(connection);
  await connection.write(() => {}); // a store that takes no writes says so before anything is read
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
    const done = await connection.write(() => importOne(connection, session, now, links));
    links.remember(session, done);
    if (done.kind === "exists") {
      skipped.push({ id, reason: "a session with this id exists" });
      continue;
    }
    if (done.title !== (session.title ?? null)) renamed.push({ id, title: done.title });
    imported += 1;
    messages += session.messages.length;
    onProgress?.({ step: "importing", done: imported, total: 0 });
  }
  return { imported, messages, skipped, renamed };
}

type Imported = Pairing &
  ({ readonly kind: "exists" } | { readonly kind: "imported"; readonly title: string | null });

function importOne(
  connection: Connection,
  session: ExportedSession,
  now: number,
  links: ImportLinks,
): Imported {
  const { id } = session;
  if (findSession(connection, id) !== null) {
    const pairing = pairWithStored(connection, session);
    links.link(session, pairing);
    return { kind: "exists", ...pairing };
  }
  const columns = session.messages.map((message) => toMessageColumns(message, { now, mode: "import" }));
  const title = freeTitle(connection, session.title);
  const file = featuresOf(connection);
  const values = sessionValues(session, columns, now, sessionColumns(file));
  const prompt = hasPromptTable(file) ? keptPrompt(connection, values.system_prompt) : {};
  connection.run(INSERT_SESSION(connection), { ...values, ...prompt, id, title, parent_session_id: null });
  const pairing = insertMessages(connection, session, columns, links);
  links.link(session, pairing);
  return { kind: "imported", title, ...pairing };
}

function insertMessages(
  connection: Connection,
  { id, messages }: ExportedSession,
  columns: readonly MessageColumns[],
  links: ImportLinks,
): Pairing {
  const keepsIds = canKeepIds(connection, messages);
  const moved = new Map<number, number>();
  const origins = new Map<number, number>();
  for (const [at, column] of columns.entries()) {
    const { id: given, ...flags } = messages[at] ?? {};
    const originId = column.originId === null ? null : links.placeOf(column.originId);
    const stored = insertMessage(
      connection,
      id,
      { ...column, originId },
      { ...flags, ...(keepsIds && given !== undefined ? { id: given } : {}) },
    );
    if (given !== undefined && Number.isSafeInteger(given) && given !== stored) moved.set(given, stored);
    if (column.originId !== null) origins.set(stored, column.originId);
  }
  return { moved, origins };
}

/** One odd object in a file of many must not stop the others. */
function whatIsWrongWith(session: ExportedSession): string | undefined {
  if (!isRecord(session)) return "it is no object";
  if (!Array.isArray(session.messages)) return "it has no list of messages";
  if (!session.messages.every(isRecord)) return "one of its messages is no object";
  try {
    checkSessionId(session.id);
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
function canKeepIds(connection: Connection, messages: readonly Pick<MessageRow, "id">[]): boolean {
  let last = 0;
  for (const { id } of messages) {
    if (!Number.isSafeInteger(id) || id <= last || id >= LARGEST_KEPT_ID) return false;
    if (connection.get(MESSAGE_EXISTS, { id }) !== undefined) return false;
    last = id;
  }
  return true;
}

function freeTitle(connection: Connection, title: unknown): string | null {
  const clean = typeof title === "string" ? fittingTitle(title) : null;
  if (clean === null || connection.get(TITLE_TAKEN, { title: clean }) === undefined) return clean;
  return nextTitleInLineage(connection, clean);
}

/** Values of other kinds than their column's become the column's default; counters that are missing are counted. */
function sessionValues(
  session: ExportedSession,
  messages: readonly MessageColumns[],
  now: number,
  known: readonly Column[],
): Record<string, string | number | null> {
  const given: Record<string, unknown> = { ...session };
  const values: Record<string, string | number | null> = {};
  for (const { name, declaration } of known)
    values[name] = columnValue(given[name], declaration.split(" ")[0] ?? "");
  values.source ??= "unknown";
  values.model_config = normalMarks(typeof given.model_config === "string" ? given.model_config : null);
  values.started_at ??= now;
  values.message_count ??= messages.length;
  values.tool_call_count ??= messages.reduce((sum, { toolCallCount }) => sum + toolCallCount, 0);
  for (const { name, declaration } of known)
    if (declaration.includes("DEFAULT 0") || (declaration === "INTEGER" && !isOfJune.has(name)))
      values[name] ??= 0;
  return values;
}

/** Columns of later versions that hold whole numbers all default to 0. */
const isOfJune: ReadonlySet<string> = new Set(SESSION_COLUMNS.map(({ name }) => name));

/** A hash from another file says nothing here unless its prompt comes along. */
function keptPrompt(connection: Connection, prompt: string | number | null | undefined) {
  const hash = typeof prompt === "string" ? storePrompt(connection, prompt) : null;
  return { system_prompt: null, system_prompt_hash: hash };
}

function columnValue(value: unknown, type: string): string | number | null {
  if (type === "TEXT") return typeof value === "string" ? value : null;
  if (typeof value !== "number") return null;
  return type === "INTEGER" ? safeInteger(value) : finite(value);
}

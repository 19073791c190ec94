// Exports sessions as objects, and imports such objects into another database.
import { describeCause, isRecord, withoutUndefined } from "../../lib/index.ts";
import { type MessageColumns, type MessageRow, toMessageColumns } from "../../message/index.ts";
import {
  checkSessionId,
  hasMarks,
  MARK_KEYS,
  mentionsMarks,
  modelConfigText,
  normalMarks,
  ORPHANED,
  parseConfig,
} from "../identity.ts";
import type { ExportedSession, SessionRow } from "../rows.ts";
import type { ImportOutcome, LongWork, SessionCopies } from "../store.ts";
import { fittingTitle } from "../titles.ts";
import type { TranscriptPlace } from "../transcript-records.ts";
import {
  ALL_USERS,
  byFile,
  type Connection,
  featuresOf,
  finite,
  hasPromptTable,
  isVisible,
  mark,
  seconds,
  userPlatform,
} from "./connection.ts";
import { isEverybody, isOthers, type StoreContext } from "./context.ts";
import { lastActive, listIds } from "./listing.ts";
import { decodeRows, insertMessage, readMessages } from "./messages.ts";
import { type Column, columnList, PROVENANCE, readableField, SESSION_COLUMNS } from "./schema.ts";
import { findSession, ownConfig, safeInteger, sessionColumns, storePrompt, TAKEN } from "./sessions.ts";
import { freeTitleFor, writeTitle } from "./titles.ts";

type ActiveExport = ExportedSession & { readonly last_active: number };

export function exportOperations(context: StoreContext) {
  const { connection, clock, warn, person } = context;
  const { visible } = person;
  const exported = (row: SessionRow, includeInactive: boolean | undefined): ExportedSession => ({
    ...row,
    messages: decodeRows(readMessages(connection, row.id, { visible, includeInactive }), warn),
  });
  return {
    exportSession: (id, options = {}) =>
      connection.read(() => {
        const session = findSession(connection, id, visible);
        return session === null ? null : exported(session, options.includeInactive);
      }),
    async *exportEach({ includeInactive, source } = {}) {
      // Ids first: a session that becomes active meanwhile is not exported twice, and a deleted one is skipped.
      const ids = await connection.read(() =>
        listIds(connection, { ...withoutUndefined({ source }), ...person.scope }),
      );
      for (const id of ids) {
        const found = await connection.read((): ActiveExport | null => {
          const row = findSession(connection, id, visible);
          return row && { ...exported(row, includeInactive), last_active: lastActive(connection, row) };
        });
        if (found !== null) yield found;
      }
    },
    async importSessions(sessions, work = {}) {
      return importAll(context, sessions, work, seconds(clock));
    },
  } satisfies Partial<SessionCopies>;
}

// ---- Import ----
// Each session in one transaction.

/** New messages get a higher id than all others, so one huge imported id would push all later ids out of range. */
const LARGEST_KEPT_ID = 2 ** 31;

const INSERT_SESSION = byFile((file) => {
  const columns = sessionColumns(file);
  return `INSERT INTO sessions (${columnList(columns)}) VALUES (${columnList(columns, ":")})`;
});
const ADOPT_RUN = `
  UPDATE sessions AS s SET model_config = json_set(s.model_config, '$.${MARK_KEYS.delegateFrom}', :sender)
  WHERE s.id = :id AND ${isVisible("s")} AND ${mark("s", MARK_KEYS.delegateFrom)} = '${ORPHANED}'
`;
const MESSAGE_EXISTS = "SELECT 1 FROM messages WHERE id = :id";
const PUT_PLACE = `INSERT INTO ${PROVENANCE.name} (message_id, line, path, branch) VALUES (:id, :line, :path, 0)`;

type PlaceOf = (messageId: number) => TranscriptPlace | undefined;

async function importAll(
  context: StoreContext,
  sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
  {
    onProgress,
    signal,
    extend = false,
    placeOf,
  }: LongWork & { readonly extend?: boolean; readonly placeOf?: PlaceOf },
  now: number,
): Promise<ImportOutcome> {
  const { connection } = context;
  const skipped: { id: string; reason: string }[] = [];
  const renamed: { id: string; title: string | null }[] = [];
  const links = new ImportLinks(connection, placeOf);
  await connection.write(() => {}); // a read-only store refuses before any input is read
  let imported = 0;
  let messages = 0;
  const extended = { sessions: 0, messages: 0, unchanged: 0 };
  for await (const session of sessions) {
    if (signal?.aborted) break;
    const problem = whatIsWrongWith(session);
    if (problem !== undefined) {
      skipped.push({ id: nameOf(session), reason: problem });
      continue;
    }
    const { id } = session;
    const done = await connection.write(() => importOne(context, session, { now, links, extend }));
    if (done.kind === "others") {
      skipped.push({ id, reason: TAKEN });
      continue;
    }
    links.remember(session, done);
    if (done.kind === "exists") {
      if (done.reason !== undefined) skipped.push({ id, reason: done.reason });
      else if (done.added === undefined) extended.unchanged += 1;
      else {
        extended.sessions += 1;
        extended.messages += done.added;
        onProgress?.({ step: "importing", done: imported + extended.sessions, total: 0 });
      }
      continue;
    }
    if (done.title !== (session.title ?? null)) renamed.push({ id, title: done.title });
    imported += 1;
    messages += session.messages.length;
    onProgress?.({ step: "importing", done: imported, total: 0 });
  }
  return { imported, messages, skipped, renamed, ...(extend ? { extended } : {}) };
}

/** The session this one is a run of. */
function senderOf({ model_config }: ExportedSession): string | undefined {
  const sender = parseConfig(typeof model_config === "string" ? model_config : null)?.[
    MARK_KEYS.delegateFrom
  ];
  return typeof sender === "string" ? sender : undefined;
}

/** Inside a transaction: the session as one of the person whose store this is. */
function theirRow(context: StoreContext, session: ExportedSession): ExportedSession {
  const { platform, userId = null } = context.person.user ?? {};
  const text = typeof session.model_config === "string" ? session.model_config : null;
  const config = parseConfig(text);
  const isFromThere = platform === undefined || platform === session.source;
  const isPlain = isFromThere && !(config === null ? mentionsMarks(text) : hasMarks(config));
  const own = ownConfig(context, config ?? {}, isFromThere ? undefined : platform);
  return {
    ...session,
    user_id: userId,
    model_config: isPlain ? text : modelConfigText(own),
    parent_session_id: isOthers(context, session.parent_session_id) ? null : session.parent_session_id,
  };
}

/** For an existing session: `reason` if it is left alone; else `added` messages, undefined if there was nothing new. */
type Existing = { readonly kind: "exists"; readonly reason?: string; readonly added?: number };
type Imported = Pairing & (Existing | { readonly kind: "imported"; readonly title: string | null });
/** Another person has a session with this id. */
type Others = { readonly kind: "others" };
type Importing = { readonly now: number; readonly links: ImportLinks; readonly extend: boolean };

function importOne(context: StoreContext, given: ExportedSession, importing: Importing): Imported | Others {
  const { connection, person } = context;
  const { id } = given;
  const { now, links, extend } = importing;
  if (isOthers(context, id)) return { kind: "others" };
  const session = isEverybody(person) ? given : theirRow(context, given);
  const present = findSession(connection, id);
  if (present !== null) {
    if (extend) return extendStored(connection, session, present, importing);
    const pairing = pairWithStored(connection, session);
    links.link(session, pairing);
    return { kind: "exists", reason: TAKEN, ...pairing };
  }
  const columns = session.messages.map((message) => toMessageColumns(message, { now, mode: "import" }));
  const file = featuresOf(connection);
  const values = sessionValues(session, columns, now, sessionColumns(file));
  const prompt = hasPromptTable(file) ? keptPrompt(connection, values.system_prompt) : {};
  const row = { ...values, ...prompt, id, title: null, parent_session_id: null };
  connection.run(INSERT_SESSION(connection), row);
  const wanted = typeof session.title === "string" ? fittingTitle(session.title) : null;
  const title = wanted && freeTitleFor(connection, id, wanted);
  if (title !== null)
    writeTitle(connection, id, title, typeof values.title_source === "string" ? values.title_source : null);
  const pairing = insertMessages(connection, session, columns, links);
  links.link(session, pairing);
  // Runs that came before their session were stored as ones without it.
  if (!isEverybody(person))
    for (const run of links.runsOf(id)) connection.run(ADOPT_RUN, { id: run, sender: id, ...person.visible });
  return { kind: "imported", title, ...pairing };
}

function insertMessages(
  connection: Connection,
  { id, messages }: ExportedSession,
  columns: readonly MessageColumns[],
  links: ImportLinks,
  after = 0,
): Pairing {
  const keepsIds = canKeepIds(connection, messages, after);
  const stored = new Map<number, number>();
  const origins = new Map<number, number>();
  for (const [at, column] of columns.entries()) {
    const { id: given, ...flags } = messages[at] ?? {};
    const originId = column.originId === null ? null : links.placeOf(column.originId);
    const place = insertMessage(
      connection,
      id,
      { ...column, originId },
      { ...flags, id: keepsIds ? given : undefined },
    );
    if (given !== undefined && Number.isSafeInteger(given)) stored.set(given, place);
    const came = given === undefined ? undefined : links.transcriptPlaceOf(given);
    if (came !== undefined) connection.run(PUT_PLACE, { id: place, line: came.line, path: came.path });
    if (column.originId !== null) origins.set(place, column.originId);
  }
  return { stored, origins };
}

/** One malformed object must not stop the import of the others. */
function whatIsWrongWith(session: ExportedSession): string | undefined {
  if (!isRecord(session)) return "it is not an object";
  if (!Array.isArray(session.messages)) return "it has no list of messages";
  if (!session.messages.every(isRecord)) return "one of its messages is not an object";
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

/** Ids order the messages of a session, so either all messages keep their ids or none does. `after`: the last id that it has. */
function canKeepIds(
  connection: Connection,
  messages: readonly Pick<MessageRow, "id">[],
  after: number,
): boolean {
  let last = after;
  for (const { id } of messages) {
    if (!Number.isSafeInteger(id) || id <= last || id >= LARGEST_KEPT_ID) return false;
    if (connection.get(MESSAGE_EXISTS, { id }) !== undefined) return false;
    last = id;
  }
  return true;
}

/** Values of the wrong type become the column's default; missing counters are counted. */
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
    if (declaration.includes("DEFAULT 0") || (declaration === "INTEGER" && !SCHEMA_16_NAMES.has(name)))
      values[name] ??= 0;
  return values;
}

/** All integer columns of later versions default to 0. */
const SCHEMA_16_NAMES: ReadonlySet<string> = new Set(SESSION_COLUMNS.map(({ name }) => name));

/** A prompt hash from another file is useless without its prompt. */
function keptPrompt(connection: Connection, prompt: string | number | null | undefined) {
  const hash = typeof prompt === "string" ? storePrompt(connection, prompt) : null;
  return { system_prompt: null, system_prompt_hash: hash };
}

function columnValue(value: unknown, type: string): string | number | null {
  if (type === "TEXT") return typeof value === "string" ? value : null;
  if (typeof value !== "number") return null;
  return type === "INTEGER" ? safeInteger(value) : finite(value);
}

// ---- A session that is stored already ----
// The other copy may have grown since: by messages at its end, by turns that were taken back, by its end or its title. Only additions
// are taken over, and only if this copy was not changed in its own way.

/** Columns that follow the other copy; the rest describe where the session came from, or were chosen by the user of this copy. */
const FOLLOWING: readonly string[] = [
  "ended_at end_reason model cwd git_branch last_activity_at message_count tool_call_count input_tokens output_tokens",
  "cache_read_tokens cache_write_tokens reasoning_tokens api_call_count rewind_count estimated_cost_usd actual_cost_usd cost_status cost_source",
].flatMap((line) => line.split(" "));
const FOLLOW = byFile((file) => {
  const names = sessionColumns(file).filter(({ name }) => FOLLOWING.includes(name));
  return `UPDATE sessions SET ${names.map(({ name }) => `${name} = :${name}`).join(", ")} WHERE id = :id`;
});
const TAKE_BACK = byFile((file) => {
  const compacted = file.isSchema17 ? ", compacted = :compacted" : "";
  return `UPDATE messages SET active = 0${compacted} WHERE id = :id`;
});

function extendStored(
  connection: Connection,
  session: ExportedSession,
  present: SessionRow,
  { now, links }: Importing,
): Imported {
  const { id, messages } = session;
  // Decoded, because two programs write the same JSON in different ways. A damaged text was reported when the export read it.
  const rows = decodeRows(
    readMessages(connection, id, { visible: ALL_USERS, includeInactive: true }),
    () => {},
  );
  const columns = messages.map((message) => toMessageColumns(message, { now, mode: "import" }));
  const pairing = pairs(rows, messages);
  const leave = (reason?: string): Imported => {
    links.link(session, pairing);
    return { kind: "exists", ...(reason === undefined ? {} : { reason }), ...pairing };
  };
  const shared = rows.slice(0, columns.length);
  const fresh = columns.slice(rows.length);
  const isSame = shared.every((row, at) => isSameMessage(row, messages[at]));
  const isActiveThere = (at: number): boolean => messages[at]?.active !== 0;
  const takenBack = shared.filter((row, at) => row.active === 1 && !isActiveThere(at));
  const hasEnded = present.ended_at === null && typeof session.ended_at === "number";
  const title = present.title === null && typeof session.title === "string" ? session.title : null;
  if (isSame && fresh.length + takenBack.length === 0 && !hasEnded && title === null) return leave();
  if (!isSame) return leave("its messages differ from those of the session with this id here");
  const isChangedHere =
    rows.length > columns.length ||
    shared.some((row, at) => row.active !== 1 && isActiveThere(at)) ||
    (present.end_reason === "compression" && session.end_reason !== "compression");
  if (isChangedHere)
    return fresh.length + takenBack.length === 0
      ? leave()
      : leave(`it was continued here, and there as well (${fresh.length} new messages)`);
  const file = featuresOf(connection);
  const compacted = new Map(shared.map((row, at) => [row.id, messages[at]?.compacted === 1 ? 1 : 0]));
  for (const { id: message } of takenBack)
    connection.run(TAKE_BACK(connection), {
      id: message,
      ...(file.isSchema17 ? { compacted: compacted.get(message) ?? 0 } : {}),
    });
  const values = sessionValues(session, columns, now, sessionColumns(file));
  const following = Object.entries(values).filter(([name]) => FOLLOWING.includes(name));
  connection.run(FOLLOW(connection), { ...Object.fromEntries(following), id });
  const free = title === null ? null : fittingTitle(title);
  if (free !== null) {
    const source = typeof values.title_source === "string" ? values.title_source : null;
    writeTitle(connection, id, freeTitleFor(connection, id, free), source);
  }
  const rest = { ...session, messages: messages.slice(rows.length) };
  const added = insertMessages(connection, rest, fresh, links, rows.at(-1)?.id ?? 0);
  const all = {
    stored: new Map([...pairing.stored, ...added.stored]),
    origins: new Map([...pairing.origins, ...added.origins]),
  };
  links.link(session, all);
  return { kind: "exists", added: fresh.length, ...all };
}

function isSameMessage(row: MessageRow, other: MessageRow | undefined): boolean {
  return (
    row.role === other?.role &&
    row.timestamp === other.timestamp &&
    row.tool_call_id === (other.tool_call_id ?? null) &&
    JSON.stringify(row.content) === JSON.stringify(other.content ?? null)
  );
}

// ---- Links between imported sessions ----
// A file may name parents and originals before or after they appear, so each link is stored as soon as both ends exist. An
// interrupted import leaves no link to be added later.

const LINK_PARENT = `
  UPDATE sessions SET parent_session_id = :parent
  WHERE id = :id AND parent_session_id IS NULL AND EXISTS (SELECT 1 FROM sessions WHERE id = :parent)
`;
/** Like every original, it must belong to the same person as the copy. */
const SET_ORIGIN = `
  INSERT INTO hermes_memory_origin (message_id, origin_id)
  SELECT :id, :origin FROM messages c JOIN sessions s ON s.id = c.session_id, messages m JOIN sessions o ON o.id = m.session_id
  WHERE c.id = :id AND m.id = :origin
    AND o.user_id IS s.user_id AND (s.user_id IS NULL OR ${userPlatform("o")} IS ${userPlatform("s")})
  ON CONFLICT (message_id) DO UPDATE SET origin_id = :origin
`;
const MESSAGES_OF = `
  SELECT ${readableField("m.id", "id")}, timestamp FROM messages m WHERE session_id = :id ORDER BY m.id
`;

/** How the messages of a session in the file correspond to stored ones. */
type Pairing = {
  /** File id to stored id. */
  readonly stored: ReadonlyMap<number, number>;
  /** Stored id of a copy to its original's id in the file. */
  readonly origins: ReadonlyMap<number, number>;
};

class ImportLinks {
  readonly #connection: Connection;
  readonly #children = new Map<string, Set<string>>(); // by a parent that may still come
  readonly #runs = new Map<string, Set<string>>(); // by a session that may still come
  readonly #copies = new Map<number, number[]>(); // by an original that may still come
  readonly #moved = new Map<number, number>();
  readonly #places: PlaceOf | undefined;

  constructor(connection: Connection, places: PlaceOf | undefined) {
    this.#connection = connection;
    this.#places = places;
  }

  /** Where a message of the file stands in the transcript that it was imported from. */
  transcriptPlaceOf(given: number): TranscriptPlace | undefined {
    return this.#places?.(given);
  }

  /** The stored id of an original from the file, as far as known. */
  placeOf(origin: number): number {
    return this.#moved.get(origin) ?? origin;
  }

  /** Inside the transaction that stored or found the session. Changes only the database. */
  link(session: ExportedSession, { stored, origins }: Pairing): void {
    const { id, parent_session_id: parent } = session;
    const connection = this.#connection;
    if (typeof parent === "string") connection.run(LINK_PARENT, { id, parent });
    for (const child of this.#children.get(id) ?? []) connection.run(LINK_PARENT, { id: child, parent: id });
    for (const [copy, origin] of origins) {
      const place = stored.get(origin) ?? this.#moved.get(origin);
      if (place !== undefined) connection.run(SET_ORIGIN, { id: copy, origin: place });
    }
    for (const [original, place] of stored)
      for (const copy of this.#copies.get(original) ?? [])
        connection.run(SET_ORIGIN, { id: copy, origin: place });
  }

  /** Runs of the session that came before it. */
  runsOf(id: string): readonly string[] {
    return [...(this.#runs.get(id) ?? [])];
  }

  /** After that transaction. */
  remember(session: ExportedSession, { stored, origins }: Pairing): void {
    const { id, parent_session_id: parent } = session;
    const sender = senderOf(session);
    if (sender !== undefined) this.#runs.set(sender, childrenWith(this.#runs.get(sender), id));
    this.#children.delete(id);
    if (typeof parent === "string") this.#children.set(parent, childrenWith(this.#children.get(parent), id));
    for (const [original, place] of stored) if (original !== place) this.#moved.set(original, place);
    for (const [copy, origin] of origins)
      this.#copies.set(origin, [...(this.#copies.get(origin) ?? []), copy]);
  }
}

/**
 * Pairs the messages of a session that an earlier, interrupted import stored, so that later sessions can link to them. Nothing is
 * paired when the two lists differ.
 */
function pairWithStored(connection: Connection, { id, messages }: ExportedSession): Pairing {
  const rows =
    messages.length === 0 ? [] : connection.all<{ id: number; timestamp: number }>(MESSAGES_OF, { id });
  const isSame =
    rows.length === messages.length && rows.every((row, at) => row.timestamp === messages[at]?.timestamp);
  return pairs(isSame ? rows : [], messages);
}

/** By their place in the list, as far as both have messages. */
function pairs(rows: readonly { readonly id: number }[], messages: readonly Partial<MessageRow>[]): Pairing {
  const stored = new Map<number, number>();
  const origins = new Map<number, number>();
  for (const [at, row] of rows.slice(0, messages.length).entries()) {
    const { id: given, origin_id: origin } = messages[at] ?? {};
    if (Number.isSafeInteger(given) && given !== undefined) stored.set(given, row.id);
    if (Number.isSafeInteger(origin) && origin !== undefined) origins.set(row.id, origin);
  }
  return { stored, origins };
}

function childrenWith(known: Set<string> | undefined, id: string): Set<string> {
  return known === undefined ? new Set([id]) : known.add(id);
}

// Writes messages, and reads the messages of a session or a conversation.
import {
  decodeContent,
  type MessageColumns,
  type MessageInput,
  type MessageRow,
  type OpenAiMessage,
  type StoredMessageRow,
  toConversationRow,
  toMessageColumns,
  toMessageRow,
} from "../../message/index.ts";
import { joinLineage } from "../conversation.ts";
import { sessionError } from "../errors.ts";
import type { Ask } from "../gateway-records.ts";
import { readMarks } from "../identity.ts";
import type { MessageKey } from "../rows.ts";
import type { MessageRecords, SessionMark } from "../store.ts";
import { userMessagePreview } from "../titles.ts";
import { editSession, giveBackLease, refuseIfBusy, requireLease } from "./claims.ts";
import {
  byFile,
  type Connection,
  count,
  type FileFeatures,
  featuresOf,
  isChangeable,
  isShown,
  isVisible,
  mark,
  seconds,
  userPlatform,
  type Visible,
} from "./connection.ts";
import { type StoreContext, writeTo } from "./context.ts";
import { isForeignKeyFailure } from "./failures.ts";
import { ancestorsOf, tipOf } from "./lineage-sql.ts";
import { forgetRewound, takeBack } from "./rewind.ts";
import {
  ASKS,
  clampInteger,
  LATER_MESSAGE_COLUMNS,
  MESSAGE_SOURCE,
  messageColumns,
  messageFields,
  readableField,
} from "./schema.ts";
import { findSession } from "./sessions.ts";

const OF_VISIBLE_SESSION = `EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND ${isVisible("s")})`;
const SELECT = (file: FileFeatures) =>
  `SELECT ${messageFields(file)} FROM ${MESSAGE_SOURCE} WHERE m.session_id = :session AND ${OF_VISIBLE_SESSION}`;

const BY_ID = byFile((file) => `${SELECT(file)} AND (:all OR m.active = 1) ORDER BY m.id`);
const SHOWN_BY_ID = byFile((file) => `${SELECT(file)} AND ${isShown("m", file)} ORDER BY m.id`);
/**
 * Schema 16 replays a conversation by time. Schema 17 replays by id, because a compaction stores the messages it keeps after its
 * summary.
 */
const AS_REPLAYED = byFile(
  (file) =>
    `${SELECT(file)} AND (:all OR m.active = 1) ORDER BY ${file.isSchema17 ? "m.id" : "m.timestamp, m.id"}`,
);
const RECENT_FROM_USER = byFile(
  (file) => `${SELECT(file)} AND m.role = 'user' AND (:all OR m.active = 1) ORDER BY m.id DESC LIMIT :limit`,
);
const COUNT = `
  SELECT COUNT(*) AS number FROM messages m WHERE (:session IS NULL OR m.session_id = :session)
    AND (:user IS NULL OR ${OF_VISIBLE_SESSION})
`;
const COUNT_OF_SESSION = `
  SELECT COUNT(*) AS number FROM messages m WHERE m.session_id = :session AND (:user IS NULL OR ${OF_VISIBLE_SESSION})
`;

/** A copy inherits these columns from its original unless they are given. */
const LIKE_ORIGINAL: readonly string[] = ["effect_disposition", "display_kind", "display_metadata"];
const INSERT = byFile((file) => {
  const columns = messageColumns(file).map(({ name }) => name);
  const values = columns.map((name) =>
    LIKE_ORIGINAL.includes(name)
      ? `COALESCE(:${name}, (SELECT ${name} FROM messages WHERE id = :origin))`
      : `:${name}`,
  );
  return `INSERT INTO messages (${columns.join(", ")}) VALUES (${values.join(", ")})`;
});

const OF_SESSIONS = `FROM json_each(:sessions) j JOIN sessions s ON s.id = j.value
  JOIN messages m ON m.session_id = s.id LEFT JOIN hermes_memory_origin o ON o.message_id = m.id`;
/** As one JSON text: a row for each of a thousand keys would cost three times as much. */
const KEYS = `
  SELECT json_group_array(json_object('id', id, 'session_id', session_id, 'origin_id', origin_id)) AS keys FROM (
    SELECT ${readableField("m.id", "id")}, s.id AS session_id, ${readableField("o.origin_id", "origin_id")}
    ${OF_SESSIONS} WHERE m.active = 1 AND ${isVisible("s")} ORDER BY j.key, m.id)
`;
const ALL_KEYS = byFile(
  (file) => `
  SELECT ${readableField("m.id", "id")}, m.session_id, ${readableField("o.origin_id", "origin_id")}, m.active,
    ${file.messages.has("compacted") ? "m.compacted" : "0"} AS compacted
  ${OF_SESSIONS} WHERE ${isVisible("s")} ORDER BY j.key, m.id
`,
);
const BY_IDS = byFile(
  (file) => `
  SELECT ${messageFields(file)} FROM json_each(:ids) j CROSS JOIN ${MESSAGE_SOURCE}
  WHERE m.id = j.value AND ${isShown("m", file)}
    AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND ${isVisible("s")})
  ORDER BY j.key
`,
);
const END_OF = "SELECT ended_at, end_reason FROM sessions WHERE id = :id";
const OWN_CONTINUATION = `
  SELECT 1 FROM sessions c WHERE c.parent_session_id = :id AND ${mark("c", "_compressed_from")} = :id
`;
const REMOVE_ASK = `DELETE FROM ${ASKS.name} WHERE session_id = :session`;
const PUT_ASK = `
  INSERT INTO ${ASKS.name} (session_id, token, request, row_id, delivered) VALUES (:session, :token, :request, :row_id, 0)
`;
const LAST_ACTIVE = "SELECT MAX(id) AS last FROM messages WHERE session_id = :session AND active = 1";
const LATEST_TIME = "SELECT MAX(timestamp) AS latest FROM messages WHERE session_id = :session";
export const INSERT_ORIGIN = `
  INSERT INTO hermes_memory_origin (message_id, origin_id)
  SELECT :id, COALESCE((SELECT origin_id FROM hermes_memory_origin WHERE message_id = :origin), :origin)
`;
/** A row of another person does not count as the original: its columns and id must not reach the person of the copy. */
const ORIGINAL = `
  SELECT o.user_id IS s.user_id AND (s.user_id IS NULL OR ${userPlatform("o")} IS ${userPlatform("s")}) AS isOwn
  FROM sessions s, messages m JOIN sessions o ON o.id = m.session_id WHERE s.id = :session AND m.id = :origin
`;
const ADD_TO_COUNTERS = byFile((file) => {
  // Hermes Agent uses this column to show recent sessions, so we set it too. It never goes back.
  const activity = file.sessions.has("last_activity_at")
    ? ", last_activity_at = COALESCE(MAX(COALESCE(last_activity_at, :latest), :latest), last_activity_at)"
    : "";
  return `
    UPDATE sessions SET message_count = ${clampInteger("COALESCE(message_count, 0) + :messages")},
      tool_call_count = ${clampInteger("COALESCE(tool_call_count, 0) + :calls")} ${activity} WHERE id = :session
  `;
});
const SET_COUNTERS =
  "UPDATE sessions SET message_count = :messages, tool_call_count = :calls WHERE id = :session";
const SET_FINISH_REASON =
  "UPDATE messages SET finish_reason = :reason WHERE id = :id AND session_id = :session";
/** When a transcript is replaced, schema 17 keeps rewound and superseded rows; schema 16 deletes them. */
const DELETE_REPLACED = byFile(
  (file) =>
    `DELETE FROM messages AS m WHERE m.session_id = :session AND ${isChangeable("m", file)} ${file.isSchema17 ? "AND m.active = 1" : ""}`,
);
const DELETE_CLEARED = byFile(
  (file) => `DELETE FROM messages AS m WHERE m.session_id = :session AND ${isChangeable("m", file)}`,
);

// getSessionMark: rewound rows do not count as the last message, so that restoring them changes the mark.
const GET_MARK = `
  SELECT ${readableField("s.message_count", "message_count")}, ${readableField("s.rewind_count", "rewind_count")},
    s.ended_at, s.end_reason, ${readableField("m.last", "last_message_id")}
  FROM sessions s LEFT JOIN (SELECT MAX(id) AS last FROM messages WHERE session_id = :id AND active = 1) m
  WHERE s.id = :id AND ${isVisible("s")}
`;

/** Added between messages that have no timestamp. */
const MICROSECOND = 1e-6;

export function messageOperations(context: StoreContext) {
  const { connection, clock, warn } = context;
  const { visible } = context.person;
  const appendAll = (
    sessionId: string,
    messages: readonly MessageInput[],
    options: Parameters<MessageRecords["appendMany"]>[2] = {},
  ) => {
    const { leaseHolder, endsLease, takeBackFrom, isShown = true, ifLast, ask } = options;
    const now = seconds(clock);
    const columns = messages.map((message) => toAppend(message, sessionId, now));
    return writeTo(context, sessionId, (session) => {
      if (leaseHolder !== undefined) requireLease(connection, session, leaseHolder, now);
      refuseIfClosed(connection, session);
      if (ifLast !== undefined) refuseIfChanged(connection, session, ifLast);
      if (takeBackFrom !== undefined) {
        refuseIfBusy(connection, session, { leaseHolder }, now);
        takeBack(connection, session, takeBackFrom);
      }
      const ids = appendColumns(connection, session, columns, { active: isShown ? 1 : 0 });
      if (ask !== undefined) {
        const { token, request, rowId = ids.at(-1) ?? null } = ask;
        putAsk(connection, session, { token, request, row_id: rowId });
      }
      if (endsLease && leaseHolder !== undefined) giveBackLease(connection, session, leaseHolder);
      return ids;
    });
  };
  return {
    async appendMessage(sessionId, message) {
      const [id] = await appendAll(sessionId, [message]);
      return id as number;
    },
    async appendMany(sessionId, messages, options = {}) {
      const isNothing = messages.length === 0 && options.takeBackFrom === undefined;
      if (isNothing && options.ask === undefined) return [];
      return appendAll(sessionId, messages, options);
    },
    async setFinishReason(sessionId, messageIds, finishReason, options = {}) {
      const reason = toMessageColumns({ finishReason }, { now: 0, mode: "append" }).finish_reason;
      const { leaseHolder } = options;
      await writeTo(context, sessionId, (session) => {
        if (leaseHolder !== undefined) requireLease(connection, session, leaseHolder, seconds(clock));
        for (const id of messageIds) connection.run(SET_FINISH_REASON, { session, id, reason });
      });
    },
    async replaceMessages(sessionId, messages, options = {}) {
      const columns = inSequence(messages, seconds(clock));
      await editSession(context, sessionId, options, (session) => {
        connection.run(DELETE_REPLACED(connection), { session });
        forgetRewound(connection, session);
        for (const column of withOriginals(connection, session, columns))
          insertMessage(connection, session, column);
        const calls = columns.reduce((sum, { toolCallCount }) => sum + toolCallCount, 0);
        connection.run(SET_COUNTERS, { session, messages: columns.length, calls });
      });
    },
    async clearMessages(sessionId, options = {}) {
      await editSession(context, sessionId, options, (session) => {
        connection.run(DELETE_CLEARED(connection), { session });
        forgetRewound(connection, session);
        connection.run(SET_COUNTERS, { session, messages: 0, calls: 0 });
      });
    },
    listMessageKeys: (sessionIds, options = {}) =>
      connection.read(() => {
        const values = { sessions: JSON.stringify(sessionIds), ...visible };
        if (options.includeInactive)
          return connection.all<MessageKey>(ALL_KEYS(connection), values).map((row) => ({ ...row }));
        return JSON.parse(connection.get<{ keys: string }>(KEYS, values)?.keys ?? "[]") as MessageKey[];
      }),
    getMessagesById: (ids) =>
      connection.read(() => {
        const values = { ids: JSON.stringify(ids.filter(Number.isSafeInteger)), ...visible };
        return decodeRows(connection.all(BY_IDS(connection), values), warn);
      }),
    getDisplayHistory: (sessionId) =>
      connection.read(() => {
        const values = { session: sessionId, ...visible };
        const rows = connection.all<StoredMessageRow>(SHOWN_BY_ID(connection), values);
        return decodeRows(featuresOf(connection).isSchema17 ? withoutRepeats(rows) : rows, warn);
      }),
    getMessages: (sessionId, options = {}) =>
      connection.read(() => decodeRows(readMessages(connection, sessionId, { ...options, visible }), warn)),
    getMessagesAsConversation: (sessionId, options = {}) =>
      connection.read(() =>
        options.includeAncestors
          ? readAncestry(connection, sessionId, { ...options, visible }, warn)
          : readAsReplayed(connection, sessionId, { ...options, visible }).map((row) =>
              toConversationRow(row, warn),
            ),
      ),
    listRecentUserMessages: (sessionId, options = {}) =>
      connection.read(() =>
        connection
          .all<StoredMessageRow>(RECENT_FROM_USER(connection), {
            session: sessionId,
            ...visible,
            all: options.includeInactive ? 1 : 0,
            limit: count(options.limit, 20),
          })
          .map(({ id, timestamp, content }) => ({
            id,
            timestamp,
            preview: userMessagePreview(decodeContent(content, warn)),
          })),
      ),
    getSessionMark: (id) =>
      connection.read(() => {
        const row = connection.get<SessionMark>(GET_MARK, { id, ...visible });
        return row === undefined ? null : { ...row };
      }),
    messageCount: (sessionId) =>
      connection.read(() => {
        const values = { session: sessionId ?? null, ...visible };
        const sql = sessionId === undefined ? COUNT : COUNT_OF_SESSION;
        return connection.get<{ number: number }>(sql, values)?.number ?? 0;
      }),
  } satisfies Partial<MessageRecords>;
}

export type ReadOptions = { readonly visible: Visible; readonly includeInactive?: boolean };

/** In stored order. */
export function readMessages(
  connection: Connection,
  session: string,
  { visible, includeInactive }: ReadOptions,
): StoredMessageRow[] {
  return connection.all(BY_ID(connection), { session, ...visible, all: includeInactive ? 1 : 0 });
}

/** In the order in which a model gets them. */
function readAsReplayed(
  connection: Connection,
  session: string,
  { visible, includeInactive }: ReadOptions,
): StoredMessageRow[] {
  return connection.all(AS_REPLAYED(connection), { session, ...visible, all: includeInactive ? 1 : 0 });
}

function readAncestry(
  connection: Connection,
  id: string,
  options: ReadOptions,
  warn: (message: string) => void,
): OpenAiMessage[] {
  const segments = ancestorsOf(connection, id, options.visible).map((session) => ({
    isBranch:
      readMarks(findSession(connection, session, options.visible)?.model_config ?? null).branchedFrom !==
      undefined,
    rows: readAsReplayed(connection, session, options),
  }));
  const shown = segments.map(({ rows }, at) => {
    const child = segments[at + 1];
    return child?.isBranch ? upToFork(rows, child.rows) : rows;
  });
  return joinLineage(shown, warn);
}

/** Messages of the parent after the fork are not part of the branch. */
function upToFork(
  rows: readonly StoredMessageRow[],
  branch: readonly StoredMessageRow[],
): readonly StoredMessageRow[] {
  const own = new Map(rows.map((row) => [row.origin_id ?? row.id, row.id]));
  const copied = branch.flatMap((row) => own.get(row.origin_id ?? -1) ?? []);
  const fork = Math.max(...copied);
  return copied.length === 0 ? rows : rows.filter((row) => row.id <= fork);
}

export function decodeRows(rows: readonly StoredMessageRow[], warn: (message: string) => void): MessageRow[] {
  return rows.map((row) => toMessageRow(row, warn));
}

/** Inside a transaction: stores rows, counters and origins. Returns the ids in order. */
export function appendColumns(
  connection: Connection,
  session: string,
  messages: readonly MessageColumns[],
  flags: { readonly active?: 0 | 1 } = {},
): number[] {
  if (messages.length === 0) return [];
  const found = connection.get<{ latest: unknown }>(LATEST_TIME, { session })?.latest;
  const times = timesOf(messages, typeof found === "number" ? found : 0); // other programs may have stored text
  const ids = withOriginals(connection, session, messages).map((message, at) =>
    insertMessage(connection, session, { ...message, timestamp: times[at] ?? message.timestamp }, flags),
  );
  const calls = messages.reduce((sum, { toolCallCount }) => sum + toolCallCount, 0);
  const latest = times.reduce((later, time) => Math.max(later, time));
  addToCounters(connection, session, { messages: messages.length, calls }, latest);
  return ids;
}

/** `latest`: time of the newest message; null for copies, which are not activity. */
export function addToCounters(
  connection: Connection,
  session: string,
  added: { readonly messages: number; readonly calls: number },
  latest: number | null,
): void {
  const activity: Readonly<Record<string, number | null>> = featuresOf(connection).sessions.has(
    "last_activity_at",
  )
    ? { latest }
    : {};
  connection.run(ADD_TO_COUNTERS(connection), { session, ...added, ...activity });
}

/**
 * Inside a write transaction. Messages appended to a session that was continued elsewhere would be in no conversation. With
 * schema 17 this is always refused; with schema 16, where Hermes Agent appends, only for sessions that we continued.
 */
function refuseIfClosed(connection: Connection, id: string): void {
  const row = connection.get<{ end_reason: string | null; ended_at: number | null }>(END_OF, { id });
  if (row === undefined || row.ended_at === null || row.end_reason !== "compression") return;
  if (!featuresOf(connection).isSchema17 && connection.get(OWN_CONTINUATION, { id }) === undefined) return;
  const tip = tipOf(connection, id);
  const [where, hint] =
    tip === id
      ? ["has no continuation", "Reopen it with reopenSession, then append again."]
      : [`continues as '${tip}'`, "Read that session and append to it; getCompressionTip names it."];
  throw sessionError(
    "session-closed",
    `Session '${id}' was closed by a compaction and ${where}. Nothing was stored.`,
    { hint },
  );
}

/** Inside a write transaction. */
export function putAsk(
  connection: Connection,
  session: string,
  ask: Pick<Ask, "token" | "request" | "row_id">,
): void {
  connection.run(REMOVE_ASK, { session });
  connection.run(PUT_ASK, { session, ...ask });
}

/** Inside a write transaction: what was decided on the rows before must still hold. */
function refuseIfChanged(connection: Connection, session: string, last: number | null): void {
  const now = connection.get<{ last: number | null }>(LAST_ACTIVE, { session })?.last ?? null;
  if (now === last) return;
  throw sessionError(
    "session-changed",
    `Another program wrote to session '${session}' meanwhile. Nothing was stored.`,
    { hint: "Read the session again, and decide anew." },
  );
}

/** A stored row of another session becomes a copy of it. */
export function toAppend(message: MessageInput, session: string, now: number): MessageColumns {
  const columns = toMessageColumns(message, { now, mode: "append" });
  if (columns.originId !== null || !("id" in message) || !("session_id" in message)) return columns;
  const isCopy = Number.isSafeInteger(message.id) && message.session_id !== session;
  return isCopy ? { ...columns, originId: message.id as number } : columns;
}

/** How far a clock may have been set back. A stored time further in the future was set on purpose. */
const CLOCK_STEP_SECONDS = 30 * 86_400;

/**
 * Conversations are replayed in order of time. So a message without a timestamp must not be earlier than the stored ones (the
 * clock may have been set back), and not later than the next message of its list that has a timestamp (a summary placed before
 * messages that stay).
 */
function timesOf(messages: readonly MessageColumns[], stored: number): number[] {
  const following: number[] = [];
  let next = Number.POSITIVE_INFINITY;
  for (const { hasOwnTimestamp, timestamp } of messages.toReversed()) {
    following.unshift(next);
    if (hasOwnTimestamp) next = Math.min(next, timestamp);
  }
  let latest = stored;
  return messages.map(({ hasOwnTimestamp, timestamp }, at) => {
    const isStep = latest > timestamp && latest - timestamp <= CLOCK_STEP_SECONDS;
    const time = hasOwnTimestamp
      ? timestamp
      : Math.min(isStep ? latest : timestamp, following[at] ?? Number.POSITIVE_INFINITY);
    latest = Math.max(latest, time);
    return time;
  });
}

/**
 * Removes ids of originals that do not exist. Done before any of the messages is stored, because a new row might get such an id.
 */
function withOriginals(
  connection: Connection,
  session: string,
  messages: readonly MessageColumns[],
): readonly MessageColumns[] {
  return messages.map((message) => {
    const origin = message.originId;
    if (origin === null || connection.get(ORIGINAL, { session, origin }) !== undefined) return message;
    return { ...message, originId: null };
  });
}

/** `kept`: id and flags of a row from another database. */
export function insertMessage(
  connection: Connection,
  session: string,
  message: MessageColumns,
  kept: Partial<Pick<MessageRow, "id" | "active" | "compacted" | "display_kind">> = {},
): number {
  const { hasOwnTimestamp: _own, toolCallCount: _calls, originId: origin, ...columns } = message;
  const original =
    origin === null ? undefined : connection.get<{ isOwn: number }>(ORIGINAL, { session, origin });
  const originId = original?.isOwn === 1 ? origin : null;
  const active = kept.active === 0 ? 0 : 1;
  const file = featuresOf(connection);
  const isLike = LIKE_ORIGINAL.some((name) => file.messages.has(name));
  try {
    const id = kept.id ?? null;
    const { lastId } = connection.run(INSERT(connection), {
      ...columns,
      ...laterValues(file, active === 1 ? { ...kept, compacted: 0 } : kept),
      ...(isLike ? { origin: originId } : {}),
      session_id: session,
      id,
      active,
    });
    if (originId !== null) connection.run(INSERT_ORIGIN, { id: lastId, origin: originId });
    return lastId;
  } catch (cause) {
    if (!isForeignKeyFailure(cause)) throw cause;
    throw sessionError("unknown-session", `There is no session '${session}' to store a message in.`, {
      hint: "Create it first with createSession.",
      cause,
    });
  }
}

/** Flags and texts; values of another type are ignored. */
function laterValues(
  file: FileFeatures,
  given: Partial<Record<string, unknown>>,
): Record<string, string | number | null> {
  const values: Record<string, string | number | null> = {};
  for (const { name, declaration } of LATER_MESSAGE_COLUMNS) {
    if (!file.messages.has(name)) continue;
    const value = given[name];
    if (declaration.startsWith("INTEGER")) values[name] = value === 1 || value === true ? 1 : 0;
    else values[name] = typeof value === "string" ? value : null;
  }
  return values;
}

/** A message that compactions copied is stored several times: shows the active row, otherwise the newest. Ordered by first id. */
function withoutRepeats(rows: readonly StoredMessageRow[]): StoredMessageRow[] {
  const shown = new Map<string, StoredMessageRow>();
  for (const row of rows) {
    const { role, content, timestamp, tool_call_id, tool_calls, tool_name } = row;
    const key = JSON.stringify([role, String(content), timestamp, tool_call_id, tool_calls, tool_name]);
    const known = shown.get(key);
    if (known === undefined || row.active >= known.active) shown.set(key, row);
  }
  return [...shown.values()];
}

/** For a replaced transcript: a message without a timestamp follows the one before. */
function inSequence(messages: readonly MessageInput[], start: number): MessageColumns[] {
  let next = start;
  return messages.map((message) => {
    const columns = toMessageColumns(message, { now: next, mode: "replace" });
    next = columns.timestamp + MICROSECOND;
    return columns;
  });
}

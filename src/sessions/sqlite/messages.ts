// Messages: writing them, and reading a session or a window of it.

import { decodeContent } from "../content.ts";
import { toConversation, toMessageRow } from "../conversation.ts";
import { sessionError } from "../errors.ts";
import { type MessageColumns, toMessageColumns } from "../new-message.ts";
import { userMessagePreview } from "../previews.ts";
import type { MessageRow, StoredMessageRow } from "../rows.ts";
import type { MessageInput, Scope, SessionStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import { count, type StoreContext, seconds, visibleTo } from "./context.ts";
import { isForeignKeyFailure } from "./failures.ts";
import { requireLease } from "./leases.ts";
import { readAncestry } from "./lineage.ts";
import { isVisible } from "./lineage-sql.ts";
import { readable, readableFields, withinReach } from "./readable-fields.ts";
import { MESSAGE_COLUMNS } from "./schema.ts";

export const MESSAGE_FIELDS = `${readableFields(MESSAGE_COLUMNS, "m.")}, ${readable("o.origin_id", "origin_id")}`;
export const MESSAGE_SOURCE = "messages m LEFT JOIN hermes_memory_origin o ON o.message_id = m.id";

const OF_VISIBLE_SESSION = `EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND ${isVisible("s")})`;
const SELECT = `SELECT ${MESSAGE_FIELDS} FROM ${MESSAGE_SOURCE} WHERE m.session_id = :session AND ${OF_VISIBLE_SESSION}`;

const BY_ID = `${SELECT} AND (:all OR m.active = 1) ORDER BY m.id`;
const BY_TIME = `${SELECT} AND (:all OR m.active = 1) ORDER BY m.timestamp, m.id`;
const RECENT_FROM_USER = `
  ${SELECT} AND m.role = 'user' AND (:all OR m.active = 1) ORDER BY m.id DESC LIMIT :limit
`;
const COUNT = `
  SELECT COUNT(*) AS number FROM messages m WHERE (:session IS NULL OR m.session_id = :session)
    AND (:user IS NULL OR ${OF_VISIBLE_SESSION})
`;
const COUNT_OF_SESSION = `
  SELECT COUNT(*) AS number FROM messages m WHERE m.session_id = :session AND (:user IS NULL OR ${OF_VISIBLE_SESSION})
`;

const WRITTEN = MESSAGE_COLUMNS.map(({ name }) => name);
const INSERT = `
  INSERT INTO messages (${WRITTEN.join(", ")}) VALUES (${WRITTEN.map((name) => `:${name}`).join(", ")})
`;
const LATEST_TIME = "SELECT MAX(timestamp) AS latest FROM messages WHERE session_id = :session";
export const INSERT_ORIGIN = `
  INSERT INTO hermes_memory_origin (message_id, origin_id)
  SELECT :id, COALESCE((SELECT origin_id FROM hermes_memory_origin WHERE message_id = :origin), :origin)
`;
export const ADD_TO_COUNTERS = `
  UPDATE sessions SET message_count = ${withinReach("COALESCE(message_count, 0) + :messages")},
    tool_call_count = ${withinReach("COALESCE(tool_call_count, 0) + :calls")} WHERE id = :session
`;
const SET_COUNTERS =
  "UPDATE sessions SET message_count = :messages, tool_call_count = :calls WHERE id = :session";
const SET_FINISH_REASON =
  "UPDATE messages SET finish_reason = :reason WHERE id = :id AND session_id = :session";
const DELETE_ALL = "DELETE FROM messages WHERE session_id = :session";

/** The step between messages that come without a time of their own. */
const MICROSECOND = 1e-6;

export type MessageOperations = Pick<
  SessionStore,
  | "appendMessage"
  | "appendMany"
  | "setFinishReason"
  | "replaceMessages"
  | "clearMessages"
  | "getMessages"
  | "getMessagesAsConversation"
  | "listRecentUserMessages"
  | "messageCount"
>;

export function messageOperations({ connection, clock, warn }: StoreContext): MessageOperations {
  const appendAll = (sessionId: string, messages: readonly MessageInput[], leaseHolder?: string) => {
    const now = seconds(clock);
    const columns = messages.map((message) => toAppend(message, sessionId, now));
    return connection.write(() => {
      if (leaseHolder !== undefined) requireLease(connection, sessionId, leaseHolder, now);
      return appendColumns(connection, sessionId, columns);
    });
  };
  return {
    async appendMessage(sessionId, message) {
      const [id] = await appendAll(sessionId, [message]);
      return id as number;
    },
    async appendMany(sessionId, messages, options = {}) {
      return messages.length === 0 ? [] : appendAll(sessionId, messages, options.leaseHolder);
    },
    async setFinishReason(sessionId, messageIds, finishReason, options = {}) {
      const reason = toMessageColumns({ finishReason }, { now: 0, mode: "append" }).finish_reason;
      const { leaseHolder } = options;
      await connection.write(() => {
        if (leaseHolder !== undefined) requireLease(connection, sessionId, leaseHolder, seconds(clock));
        for (const id of messageIds) connection.run(SET_FINISH_REASON, { session: sessionId, id, reason });
      });
    },
    async replaceMessages(sessionId, messages) {
      const columns = inSequence(messages, seconds(clock));
      await connection.write(() => {
        connection.run(DELETE_ALL, { session: sessionId });
        for (const column of columns) insertMessage(connection, sessionId, column);
        const calls = columns.reduce((sum, { toolCallCount }) => sum + toolCallCount, 0);
        connection.run(SET_COUNTERS, { session: sessionId, messages: columns.length, calls });
      });
    },
    async clearMessages(sessionId) {
      await connection.write(() => {
        connection.run(DELETE_ALL, { session: sessionId });
        connection.run(SET_COUNTERS, { session: sessionId, messages: 0, calls: 0 });
      });
    },
    getMessages: (sessionId, options = {}) =>
      connection.read(() => decodeRows(readMessages(connection, sessionId, options), warn)),
    getMessagesAsConversation: (sessionId, options = {}) =>
      connection.read(() =>
        options.includeAncestors
          ? readAncestry(connection, sessionId, options, warn)
          : toConversation(readInTimeOrder(connection, sessionId, options), warn),
      ),
    listRecentUserMessages: (sessionId, options = {}) =>
      connection.read(() =>
        connection
          .all<StoredMessageRow>(RECENT_FROM_USER, {
            session: sessionId,
            ...visibleTo(options),
            all: options.includeInactive ? 1 : 0,
            limit: count(options.limit, 20),
          })
          .map(({ id, timestamp, content }) => ({
            id,
            timestamp,
            preview: userMessagePreview(decodeContent(content, warn)),
          })),
      ),
    messageCount: (sessionId, scope) =>
      connection.read(() => {
        const values = { session: sessionId ?? null, ...visibleTo(scope) };
        const sql = sessionId === undefined ? COUNT : COUNT_OF_SESSION;
        return connection.get<{ number: number }>(sql, values)?.number ?? 0;
      }),
  };
}

export type ReadOptions = Scope & { readonly includeInactive?: boolean };

/** In the order they were stored. */
export function readMessages(
  connection: Connection,
  session: string,
  options: ReadOptions = {},
): StoredMessageRow[] {
  return connection.all(BY_ID, { session, ...visibleTo(options), all: options.includeInactive ? 1 : 0 });
}

/** In the order they happened, as conversations are replayed. */
export function readInTimeOrder(
  connection: Connection,
  session: string,
  options: ReadOptions,
): StoredMessageRow[] {
  return connection.all(BY_TIME, { session, ...visibleTo(options), all: options.includeInactive ? 1 : 0 });
}

export function decodeRows(rows: readonly StoredMessageRow[], warn: (message: string) => void): MessageRow[] {
  return rows.map((row) => toMessageRow(row, warn));
}

/** Inside a transaction: rows, counters, origins. The ids in order. */
export function appendColumns(
  connection: Connection,
  session: string,
  messages: readonly MessageColumns[],
): number[] {
  if (messages.length === 0) return [];
  const found = connection.get<{ latest: unknown }>(LATEST_TIME, { session })?.latest;
  const times = timesOf(messages, typeof found === "number" ? found : 0); // other programs may have stored text
  const ids = messages.map((message, at) =>
    insertMessage(connection, session, { ...message, timestamp: times[at] ?? message.timestamp }),
  );
  const calls = messages.reduce((sum, { toolCallCount }) => sum + toolCallCount, 0);
  connection.run(ADD_TO_COUNTERS, { session, messages: messages.length, calls });
  return ids;
}

/** A stored row of another session that is handed in as it is becomes a copy of it. */
export function toAppend(message: MessageInput, session: string, now: number): MessageColumns {
  const columns = toMessageColumns(message, { now, mode: "append" });
  if (columns.originId !== null || !("id" in message) || !("session_id" in message)) return columns;
  const isCopy = Number.isSafeInteger(message.id) && message.session_id !== session;
  return isCopy ? { ...columns, originId: message.id as number } : columns;
}

/** How far a clock may have been set back. What is stored for a time beyond that was put there on purpose. */
const CLOCK_STEP_SECONDS = 30 * 86_400;

/**
 * Conversations are replayed in order of time. A message without a time of its own must therefore not be earlier than
 * what is stored (a clock may have been set back), and not later than the next one of its list that has one (a summary
 * that stands before the messages it leaves in place).
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

/** `kept` is for rows that come with an id or a flag from another database. */
export function insertMessage(
  connection: Connection,
  session: string,
  message: MessageColumns,
  kept: { readonly id?: number; readonly active?: 0 | 1 } = {},
): number {
  const { hasOwnTimestamp: _own, toolCallCount: _calls, originId, ...columns } = message;
  const { active = 1 } = kept;
  try {
    const id = kept.id ?? null;
    const { lastId } = connection.run(INSERT, { ...columns, session_id: session, id, active });
    if (originId !== null) connection.run(INSERT_ORIGIN, { id: lastId, origin: originId });
    return lastId;
  } catch (cause) {
    if (!isForeignKeyFailure(cause)) throw cause;
    throw sessionError("unknown-session", `There is no session '${session}' to store a message in.`, {
      hint: "Create it first with createSession or ensureSession.",
      cause,
    });
  }
}

/** Messages of a rewritten session: those without a time follow the one before. */
function inSequence(messages: readonly MessageInput[], start: number): MessageColumns[] {
  let next = start;
  return messages.map((message) => {
    const columns = toMessageColumns(message, { now: next, mode: "replace" });
    next = columns.timestamp + MICROSECOND;
    return columns;
  });
}

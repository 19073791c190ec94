// Sessions imported from the transcripts of other programs: created, compared, extended and linked.
import { isRecord, outsideJsonOr } from "../../lib/index.ts";
import { toMessageColumns } from "../../message/index.ts";
import { MARK_KEYS, modelConfigText } from "../identity.ts";
import { fittingTitle } from "../titles.ts";
import { transcriptMark } from "../transcript-id.ts";
import type {
  StoredTranscript,
  TranscriptFinish,
  TranscriptInput,
  TranscriptLink,
  TranscriptMerge,
  TranscriptOrigin,
  TranscriptRecords,
  TranscriptRow,
  TranscriptState,
  TranscriptWrite,
  UnclaimedChat,
} from "../transcript-records.ts";
import { workOn } from "./claims.ts";
import { byFile, type Connection, featuresOf, isChangeable, mark, seconds } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { insertMessage } from "./messages.ts";
import {
  copiedColumns,
  EXTRACTED,
  MARKS,
  PROVENANCE,
  RECALLS,
  REWOUND,
  ROUNDS,
  readableField,
} from "./schema.ts";
import { findSession } from "./sessions.ts";
import { isTitleFree, writeTitle } from "./titles.ts";

/** Written with the session row: indexes of Hermes Agent depend on the marks a row is inserted with. */
const IMPORT = "_import";
const IS_IMPORTED = (session: string) =>
  `(CASE WHEN json_valid(${session}.model_config) THEN json_type(${session}.model_config, '$.${IMPORT}') = 'object' END IS 1)`;

/** SQL: whether a session was imported from a transcript. */
export function isTranscript(session: string): string {
  // Most sessions have no such text, and looking for it is cheaper than parsing.
  return `(COALESCE(instr(${session}.model_config, '"${IMPORT}"'), 0) > 0 AND ${IS_IMPORTED(session)})`;
}

const STATE = `
  SELECT CASE WHEN ${isTranscript("s")} THEN json_extract(s.model_config, '$.${IMPORT}') END AS origin,
    (SELECT MAX(m.id) FROM messages m WHERE m.session_id = s.id) IN (SELECT message_id FROM ${PROVENANCE.name}) AS isLastImported
  FROM sessions s WHERE s.id = :id
`;
/** A gateway that stores the conversation of another program marks its session so. It belongs to the owner of the home. */
const FOLLOWED = `
  SELECT s.id, CASE WHEN ${isTranscript("s")} THEN json_extract(s.model_config, '$.${IMPORT}') END AS origin
  FROM ${MARKS.name} k JOIN sessions s ON s.id = k.session_id
  WHERE k.mark = :mark AND s.user_id IS NULL ORDER BY k.call DESC LIMIT 1
`;
/** Sessions that are made for chats have such ids. */
const UNCLAIMED = `
  FROM sessions s WHERE s.id >= 'chat.' AND s.id < 'chat/' AND s.user_id IS NULL AND s.parent_session_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM ${MARKS.name} k WHERE k.session_id = s.id AND k.mark GLOB '${transcriptMark("*")}')
    AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id AND c.source = s.source)
`;
const LIST_UNCLAIMED = `
  SELECT s.id, s.started_at AS startedAt,
    COALESCE((SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = s.id), s.started_at) AS endedAt
  ${UNCLAIMED} ORDER BY s.started_at, s.id
`;
/** Call 0: the mark is no reply, and the newest reply of the chat stays its newest mark. */
const CLAIM = `
  INSERT INTO ${MARKS.name} (session_id, mark, call) SELECT s.id, :mark, 0 ${UNCLAIMED} AND s.id = :id
`;
/** What else is known of an imported session goes to the one that takes its place. */
const GIVE_CHILDREN = "UPDATE sessions SET parent_session_id = :to WHERE parent_session_id = :id";
/** By which later requests find the session, and what was added to them. */
const GIVEN = [MARKS, RECALLS, ROUNDS];
const IS_UNCLAIMED = `SELECT 1 ${UNCLAIMED} AND s.id = :id`;
const DROP_SESSION = ["DELETE FROM messages WHERE session_id = :id", "DELETE FROM sessions WHERE id = :id"];
const TAKE_ORIGIN = `
  UPDATE sessions SET model_config = json_set(CASE WHEN json_valid(model_config) AND json_type(model_config) = 'object'
    THEN model_config ELSE '{}' END, '$.${IMPORT}', json(:origin)) WHERE id = :id
`;
const COUNT = "SELECT COUNT(*) AS number FROM messages WHERE session_id = :id";
const LIST = `
  SELECT s.id, s.source, json_extract(s.model_config, '$.${IMPORT}') AS origin FROM sessions s WHERE ${isTranscript("s")} ORDER BY s.id
`;
const ROWS = `
  SELECT ${readableField("m.id", "id")}, m.role, m.content, m.tool_calls, m.tool_call_id, m.tool_name, m.timestamp, m.finish_reason,
    m.reasoning, m.platform_message_id, p.line, p.path
  FROM messages m JOIN ${PROVENANCE.name} p ON p.message_id = m.id
  WHERE m.session_id = :id AND m.id > :after ORDER BY m.id LIMIT :limit
`;
const INSERT_SESSION = byFile((file) => {
  const later = ["last_activity_at"].filter((name) => file.sessions.has(name));
  const columns = ["id", "source", "model_config", "started_at", "ended_at", "end_reason", ...later];
  const values = [
    ":id",
    ":source",
    ":config",
    ":started",
    ":started",
    "'imported'",
    ...later.map(() => ":started"),
  ];
  return `INSERT INTO sessions (${columns.join(", ")}) VALUES (${values.join(", ")})`;
});
const REMOVE_AFTER = byFile(
  (file) => `
  DELETE FROM messages AS m WHERE m.session_id = :id AND m.id > :after AND ${isChangeable("m", file)}
    AND m.id IN (SELECT message_id FROM ${PROVENANCE.name})
`,
);
const UPDATE_MESSAGE = byFile(
  (file) => `
  UPDATE messages AS m SET role = :role, content = :content, tool_calls = :tool_calls, tool_call_id = :tool_call_id,
    tool_name = :tool_name, timestamp = :timestamp, finish_reason = :finish_reason, reasoning = :reasoning
  WHERE m.id = :id AND m.session_id = :session AND ${isChangeable("m", file)}
`,
);
const PUT_PLACE = `INSERT INTO ${PROVENANCE.name} (message_id, line, path, branch) VALUES (:id, :line, :path, 0)`;
const MOVE_PLACE = `UPDATE ${PROVENANCE.name} SET line = :line, path = :path WHERE message_id = :id`;
/** Only rows whose place in the transcript's tree changed: a row that was taken back here stays so. */
const SET_BRANCHES = byFile(
  (file) => `
  UPDATE messages AS m SET active = 0 WHERE m.session_id = :id AND m.active = 1 AND ${isChangeable("m", file)}
    AND m.platform_message_id IN (SELECT value FROM json_each(:branches))
    AND m.id IN (SELECT message_id FROM ${PROVENANCE.name} WHERE branch = 0)
`,
);
const UNSET_BRANCHES = byFile(
  (file) => `
  UPDATE messages AS m SET active = 1 WHERE m.session_id = :id AND m.active = 0 AND ${isChangeable("m", file)}
    AND m.platform_message_id NOT IN (SELECT value FROM json_each(:branches))
    AND m.id IN (SELECT message_id FROM ${PROVENANCE.name} WHERE branch = 1)
    AND m.id NOT IN (SELECT message_id FROM ${REWOUND.name})
`,
);
const NOTE_BRANCHES = `
  UPDATE ${PROVENANCE.name} SET branch = NOT branch WHERE message_id IN (
    SELECT m.id FROM messages m JOIN ${PROVENANCE.name} p ON p.message_id = m.id WHERE m.session_id = :id
      AND p.branch <> (m.platform_message_id IN (SELECT value FROM json_each(:branches))))
`;
const COUNTED = `message_count = (SELECT COUNT(*) FROM messages m WHERE m.session_id = :id AND m.active = 1),
  tool_call_count = (SELECT COALESCE(SUM(json_array_length(m.tool_calls)), 0) FROM messages m
    WHERE m.session_id = :id AND m.active = 1 AND json_valid(m.tool_calls))`;
const FINISH = byFile((file) => {
  const later = [
    ...(file.sessions.has("last_activity_at") ? ["last_activity_at = :ended"] : []),
    ...(file.sessions.has("git_branch") ? ["git_branch = COALESCE(:branch, git_branch)"] : []),
  ];
  return `
    UPDATE sessions SET model = COALESCE(:model, model), cwd = COALESCE(:cwd, cwd), started_at = :started, ended_at = :ended,
      end_reason = CASE WHEN end_reason = 'compression' THEN end_reason ELSE 'imported' END,
      model_config = json_set(model_config, '$.${IMPORT}', json(:origin)),
      ${COUNTED},
      input_tokens = :input, output_tokens = :output, cache_read_tokens = :cacheRead, cache_write_tokens = :cacheWrite,
      reasoning_tokens = :reasoning ${later.map((set) => `, ${set}`).join("")}
    WHERE id = :id
  `;
});
/** The session goes on in the gateway: it is not ended, and nothing that is known about it becomes less. */
const FINISH_FOLLOWED = byFile((file) => {
  const later = file.sessions.has("git_branch") ? ", git_branch = COALESCE(:branch, git_branch)" : "";
  const more = (column: string, value: string) => `${column} = MAX(COALESCE(${column}, 0), ${value})`;
  return `
    UPDATE sessions SET model = COALESCE(:model, model), cwd = COALESCE(:cwd, cwd), started_at = MIN(started_at, :started),
      source = CASE WHEN source = 'api' THEN :source ELSE source END,
      model_config = json_insert(
        json_set(CASE WHEN json_valid(model_config) AND json_type(model_config) = 'object' THEN model_config ELSE '{}' END,
          '$.${IMPORT}', json(:origin)),
        '$.' || CASE WHEN :sender IS NULL THEN '${IMPORT}' ELSE '${MARK_KEYS.delegateFrom}' END, :sender),
      ${COUNTED},
      ${more("input_tokens", ":input")}, ${more("output_tokens", ":output")}, ${more("cache_read_tokens", ":cacheRead")},
      ${more("cache_write_tokens", ":cacheWrite")}, ${more("reasoning_tokens", ":reasoning")} ${later}
    WHERE id = :id
  `;
});
const ROW_IDS = `SELECT ${readableField("m.id", "id")} FROM messages m WHERE m.session_id = :id ORDER BY m.id`;
const SET_FACTS = `
  UPDATE messages SET timestamp = :timestamp, platform_message_id = COALESCE(platform_message_id, :native)
  WHERE id = :id AND session_id = :session
`;
const DROP_PLACE = `DELETE FROM ${PROVENANCE.name} WHERE message_id = :id`;
const COPY_ROW = byFile((file) => {
  const columns = ["session_id", ...copiedColumns(file)].join(", ");
  return `INSERT INTO messages (${columns}) SELECT ${columns} FROM messages WHERE id = :id`;
});
/** What else knows a row by its id. The triggers of the search index see a new row and a deleted one. */
const MOVE_NOTES = [
  "INSERT INTO hermes_memory_origin (message_id, origin_id) SELECT :to, origin_id FROM hermes_memory_origin WHERE message_id = :from",
  "UPDATE hermes_memory_origin SET origin_id = :to WHERE origin_id = :from",
  `INSERT INTO ${PROVENANCE.name} (message_id, line, path, branch) SELECT :to, line, path, branch FROM ${PROVENANCE.name} WHERE message_id = :from`,
  `INSERT INTO ${REWOUND.name} (message_id, session_id) SELECT :to, session_id FROM ${REWOUND.name} WHERE message_id = :from`,
  `UPDATE ${EXTRACTED.name} SET message_id = :to WHERE message_id = :from`,
];
const DELETE_ROW = "DELETE FROM messages WHERE id = :id";
const SENDER = mark("s", MARK_KEYS.delegateFrom);
const FOLLOWED_SENDER = `COALESCE((SELECT k.session_id FROM ${MARKS.name} k WHERE k.mark = '${transcriptMark("")}' || ${SENDER}), ${SENDER})`;
const LINK_DELEGATES = `
  UPDATE sessions AS s SET parent_session_id = ${FOLLOWED_SENDER}
  WHERE s.parent_session_id IS NULL AND ${isTranscript("s")} AND ${FOLLOWED_SENDER} <> s.id AND ${FOLLOWED_SENDER} IN (SELECT id FROM sessions)
`;
/** A parent that ended after the child began was not closed by the compaction. */
const LINK_CONTINUATION = `
  UPDATE sessions AS s SET parent_session_id = :parent
  WHERE s.id = :id AND s.parent_session_id IS NULL AND ${isTranscript("s")} AND EXISTS (
    SELECT 1 FROM sessions p WHERE p.id = :parent AND ${isTranscript("p")} AND p.ended_at <= s.started_at
      AND (p.end_reason IN ('imported', 'compression')))
  AND :id NOT IN (
    WITH RECURSIVE up(id) AS (SELECT :parent UNION SELECT a.parent_session_id FROM sessions a JOIN up ON a.id = up.id
      WHERE a.parent_session_id IS NOT NULL)
    SELECT id FROM up)
`;
const CLOSE_PARENT =
  "UPDATE sessions SET end_reason = 'compression' WHERE id = :parent AND end_reason = 'imported'";
const OWNER_OF_MESSAGE = `
  SELECT m.session_id AS id FROM json_each(:ids) j JOIN messages m ON m.session_id = j.value
  WHERE m.platform_message_id = :message ORDER BY j.key LIMIT 1
`;
const NOTED = `
  SELECT DISTINCT j.value AS id FROM state_meta n
    JOIN json_each(CASE WHEN json_valid(n.value) THEN n.value ELSE '{}' END, '$.sessions') j
  WHERE substr(n.key, 1, length(:prefix)) = :prefix AND j.type = 'text'
`;
const PLACES = `
  SELECT ${readableField("p.message_id", "messageId")}, p.line,
    COALESCE(p.path, json_extract(s.model_config, '$.${IMPORT}.path')) AS path
  FROM json_each(:ids) j JOIN ${PROVENANCE.name} p ON p.message_id = j.value JOIN messages m ON m.id = p.message_id
    JOIN sessions s ON s.id = m.session_id
  WHERE ${isTranscript("s")} ORDER BY j.key
`;

export function transcriptOperations({ connection, clock }: StoreContext) {
  return {
    getTranscriptState: (id) => connection.read(() => stateOf(connection, id)),
    listTranscripts: () =>
      connection.read(() =>
        connection
          .all<{ id: string; source: string; origin: string }>(LIST)
          .flatMap((row): StoredTranscript[] => {
            const origin = originIn(row.origin);
            return origin === undefined ? [] : [{ id: row.id, source: row.source, origin }];
          }),
      ),
    listUnclaimedChats: () =>
      connection.read(() => connection.all<UnclaimedChat>(LIST_UNCLAIMED).map((row) => ({ ...row }))),
    listTranscriptRows: (id, page) =>
      connection.read(() => {
        const session = followedAs(connection, id)?.id ?? id;
        return connection.all<TranscriptRow>(ROWS, { id: session, ...page }).map((row) => ({ ...row }));
      }),
    writeTranscript: (write) => connection.write(() => writeOne(connection, write, seconds(clock))),
    linkTranscripts: (continuations) =>
      connection.write(() => {
        const delegates = connection.run(LINK_DELEGATES).changes;
        return continuations.reduce((sum, link) => sum + linkContinuation(connection, link), delegates);
      }),
    findTranscriptMessage: (ids, platformMessageId) =>
      connection.read(
        () =>
          connection.get<{ id: string }>(OWNER_OF_MESSAGE, {
            ids: JSON.stringify(ids),
            message: platformMessageId,
          })?.id,
      ),
    listNotedTranscripts: (prefix) =>
      connection.read(() => connection.all<{ id: string }>(NOTED, { prefix }).map(({ id }) => id)),
    listProvenance: (messageIds) =>
      connection.read(() =>
        connection
          .all<{ messageId: number; path: string | null; line: number | null }>(PLACES, {
            ids: JSON.stringify(messageIds.filter(Number.isSafeInteger)),
          })
          .flatMap(({ messageId, path, line }) => (path === null ? [] : [{ messageId, path, line }])),
      ),
  } satisfies TranscriptRecords;
}

function stateOf(connection: Connection, id: string): TranscriptState {
  const found = foundFor(connection, id);
  if (found.kind !== "imported") return found;
  return { ...found, messages: connection.get<{ number: number }>(COUNT, { id })?.number ?? 0 };
}

type Found =
  | Exclude<TranscriptState, { kind: "imported" }>
  | { readonly kind: "imported"; readonly origin: TranscriptOrigin };

/** Without the count of messages: a long session is written in many steps, and each would count all before it. */
function foundFor(connection: Connection, id: string): Found {
  const followed = followedAs(connection, id);
  if (followed !== undefined) {
    const origin = originIn(followed.origin);
    return { kind: "followed", session: followed.id, ...(origin === undefined ? {} : { origin }) };
  }
  const row = connection.get<{ origin: string | null; isLastImported: number | null }>(STATE, { id });
  if (row === undefined) return { kind: "none" };
  const origin = originIn(row.origin);
  if (origin === undefined) return { kind: "own" };
  if (row.isLastImported === 0) return { kind: "continued" };
  return { kind: "imported", origin };
}

function followedAs(
  connection: Connection,
  id: string,
): { readonly id: string; readonly origin: string | null } | undefined {
  return connection.get<{ id: string; origin: string | null }>(FOLLOWED, { mark: transcriptMark(id) });
}

function originIn(text: string | null): TranscriptOrigin | undefined {
  const value = text === null ? null : outsideJsonOr(text, null);
  if (!isRecord(value) || typeof value.source !== "string" || typeof value.native_id !== "string")
    return undefined;
  const { path, ...origin } = value;
  return {
    ...origin,
    source: value.source,
    native_id: value.native_id,
    ...(typeof path === "string" ? { path } : {}),
  };
}

function writeOne(
  connection: Connection,
  write: TranscriptWrite,
  now: number,
): TranscriptState["kind"] | "busy" {
  const { session, removeAfter, update = [], moved = [], append = [], merge, claim = [], finish } = write;
  const { id } = session;
  const before = foundFor(connection, id);
  const isBusy = (one: string): boolean => workOn(connection, one, now) !== undefined;
  const hasGrown = (chat: { readonly id: string; readonly rows: number }): boolean =>
    connection.get<{ number: number }>(COUNT, { id: chat.id })?.number !== chat.rows;
  if (claim.length > 0 && (isBusy(id) || claim.some((chat) => isBusy(chat.id) || hasGrown(chat))))
    return "busy";
  const state = claim.reduce((found, chat) => claimed(connection, id, chat.id, found), before);
  const found = state.kind;
  if (found === "own" || found === "continued") return found;
  if (state.kind === "followed") {
    const { session: into } = state;
    if (merge === undefined) return state.kind;
    if (workOn(connection, into, now) !== undefined) return "busy"; // its rows would change their ids in the middle of a turn
    mergeOne(connection, into, merge, now);
    if (finish !== undefined) finishOne(connection, { ...session, id: into }, finish, FINISH_FOLLOWED);
    return state.kind;
  }
  if (found === "none")
    connection.run(INSERT_SESSION(connection), {
      id,
      source: session.source,
      started: session.startedAt,
      config: modelConfigText({
        [IMPORT]: session.origin,
        ...(session.delegateFrom === undefined ? {} : { [MARK_KEYS.delegateFrom]: session.delegateFrom }),
      }),
    });
  if (removeAfter !== undefined) connection.run(REMOVE_AFTER(connection), { id, after: removeAfter });
  for (const message of update) {
    updateOne(connection, id, message.id, message, now);
    connection.run(MOVE_PLACE, { id: message.id, line: message.line ?? null, path: message.path ?? null });
  }
  for (const { id: message, line, path } of moved) connection.run(MOVE_PLACE, { id: message, line, path });
  for (const message of append) appendOne(connection, id, message, now);
  if (finish !== undefined) finishOne(connection, session, finish, FINISH);
  return found;
}

/** The chat holds the conversation from now on, or goes if another one does. What was imported before is in the transcript as well. */
function claimed(connection: Connection, id: string, chat: string, before: Found): Found {
  if (before.kind === "followed") {
    if (connection.get(IS_UNCLAIMED, { id: chat }) !== undefined) replaceBy(connection, chat, before.session);
    return before;
  }
  const isFree = before.kind === "none" || before.kind === "imported";
  if (!isFree || connection.run(CLAIM, { mark: transcriptMark(id), id: chat }).changes === 0) return before;
  if (before.kind === "imported") {
    const title = findSession(connection, id)?.title;
    replaceBy(connection, id, chat);
    connection.run(TAKE_ORIGIN, { id: chat, origin: JSON.stringify(before.origin) });
    if (title && !findSession(connection, chat)?.title) writeTitle(connection, chat, title, "derived");
  }
  return foundFor(connection, id);
}

function replaceBy(connection: Connection, id: string, to: string): void {
  connection.run(GIVE_CHILDREN, { id, to });
  for (const table of GIVEN)
    connection.run(`UPDATE ${table.name} SET session_id = :to WHERE session_id = :id`, { id, to });
  for (const sql of DROP_SESSION) connection.run(sql, { id });
}

function updateOne(
  connection: Connection,
  session: string,
  id: number,
  message: TranscriptInput,
  now: number,
): void {
  const { role, content, tool_calls, tool_call_id, tool_name, timestamp, finish_reason, reasoning } =
    columnsOf(message, now);
  connection.run(UPDATE_MESSAGE(connection), {
    ...{ role, content, tool_calls, tool_call_id, tool_name, timestamp, finish_reason, reasoning },
    ...{ id, session },
  });
}

function appendOne(connection: Connection, session: string, message: TranscriptInput, now: number): void {
  const id = insertMessage(connection, session, columnsOf(message, now));
  putPlace(connection, id, message);
}

function putPlace(connection: Connection, id: number, { line, path }: TranscriptInput): void {
  connection.run(PUT_PLACE, { id, line: line ?? null, path: path ?? null });
}

/** Rows are read in the order of their ids: from the first new message on, those behind it are stored again. */
function mergeOne(
  connection: Connection,
  session: string,
  { order, known }: TranscriptMerge,
  now: number,
): void {
  const rows = connection.all<{ id: number }>(ROW_IDS, { id: session }).map(({ id }) => id);
  const there = new Set(rows);
  for (const { id, message, isLonger } of known) {
    if (!there.has(id)) continue; // deleted since it was read
    if (isLonger) updateOne(connection, session, id, message, now);
    const { timestamp, platformMessageId: native } = message;
    connection.run(SET_FACTS, { id, session, timestamp, native });
    connection.run(DROP_PLACE, { id });
    putPlace(connection, id, message);
  }
  const named = new Set(order.filter((item) => typeof item === "number"));
  const wanted = [
    ...order.filter((item) => typeof item !== "number" || there.has(item)),
    ...rows.filter((id) => !named.has(id)),
  ];
  let last = 0;
  let isMoving = false;
  for (const item of wanted) {
    if (typeof item === "number" && !isMoving && item > last) {
      last = item;
      continue;
    }
    isMoving = true;
    if (typeof item === "number") moveOne(connection, item);
    else appendOne(connection, session, item, now);
  }
}

function moveOne(connection: Connection, id: number): void {
  const { lastId: to } = connection.run(COPY_ROW(connection), { id });
  for (const sql of MOVE_NOTES) connection.run(sql, { from: id, to });
  connection.run(DELETE_ROW, { id });
}

function columnsOf(message: TranscriptInput, now: number) {
  return toMessageColumns(
    {
      role: message.role,
      content: message.content,
      timestamp: message.timestamp,
      platform_message_id: message.platformMessageId,
      tool_calls: message.toolCalls ?? null,
      tool_call_id: message.toolCallId ?? null,
      tool_name: message.toolName ?? null,
      finish_reason: message.finishReason ?? null,
      reasoning: message.reasoning ?? null,
    },
    { now, mode: "import" },
  );
}

function finishOne(
  connection: Connection,
  { id, source, origin, delegateFrom }: TranscriptWrite["session"],
  finish: TranscriptFinish,
  statement: (connection: Connection) => string,
): void {
  const branches = { id, branches: JSON.stringify(finish.branches) };
  connection.run(SET_BRANCHES(connection), branches);
  connection.run(UNSET_BRANCHES(connection), branches);
  connection.run(NOTE_BRANCHES, branches);
  const title = importedTitle(connection, id, finish);
  const { usage } = finish;
  connection.run(statement(connection), {
    id,
    model: finish.model,
    cwd: finish.cwd,
    started: finish.startedAt,
    ...(statement === FINISH ? { ended: finish.endedAt } : { source, sender: delegateFrom ?? null }),
    origin: JSON.stringify({ ...origin, ...title }),
    input: usage.inputTokens ?? 0,
    output: usage.outputTokens ?? 0,
    cacheRead: usage.cacheReadTokens ?? 0,
    cacheWrite: usage.cacheWriteTokens ?? 0,
    reasoning: usage.reasoningTokens ?? 0,
    ...(featuresOf(connection).sessions.has("git_branch") ? { branch: finish.gitBranch } : {}),
  });
}

/** Sets the title unless someone has renamed the session here. Returns the title that the import has set, for the next time. */
function importedTitle(connection: Connection, id: string, finish: TranscriptFinish): { title?: string } {
  const current = findSession(connection, id)?.title ?? null;
  const before = originIn(connection.get<{ origin: string | null }>(STATE, { id })?.origin ?? null)?.title;
  const kept = typeof before === "string" ? { title: before } : {};
  if (current !== null && current !== before) return kept;
  const wanted = [finish.title, finish.otherTitle]
    .map((title) => title && fittingTitle(title))
    .find((title) => title && isTitleFree(connection, id, title));
  if (!wanted) return kept;
  if (wanted !== current) writeTitle(connection, id, wanted, "derived");
  return { title: wanted };
}

function linkContinuation(connection: Connection, link: TranscriptLink): number {
  const stored = (id: string): string => followedAs(connection, id)?.id ?? id;
  const [id, parent] = [stored(link.id), stored(link.parent)];
  const { changes } = connection.run(LINK_CONTINUATION, { id, parent });
  if (changes > 0) connection.run(CLOSE_PARENT, { parent });
  return changes;
}

// Which session goes on where: tips, roots, resuming, continuing after compaction, branching.
import { joinLineage } from "../conversation.ts";
import { sessionError } from "../errors.ts";
import { MARK_KEYS, readMarks, withoutMarks } from "../lineage-marks.ts";
import type { ConversationMessage, SessionRow, StoredMessageRow } from "../rows.ts";
import { checkSessionId, newSessionId } from "../session-id.ts";
import type { BranchOptions, ContinueOptions, NewLineageSession, Scope, SessionStore } from "../store.ts";
import { sanitizeTitle } from "../titles.ts";
import type { Connection } from "./connection.ts";
import { isPossibleId, type StoreContext, seconds, visibleTo } from "./context.ts";
import { isContinuation, isVisible } from "./lineage-sql.ts";
import { lockHolder } from "./locks.ts";
import {
  ADD_TO_COUNTERS,
  appendColumns,
  INSERT_ORIGIN,
  type ReadOptions,
  readInTimeOrder,
  toAppend,
} from "./messages.ts";
import { readOwnPrompt, writeOwnPrompt } from "./own-prompts.ts";
import { columnList, MESSAGE_COLUMNS } from "./schema.ts";
import { findSession, insertSession } from "./sessions.ts";
import { nextTitleInLineage, writeTitle } from "./titles.ts";

/** Of continuations. The original stops at 100, where a small window takes a long conversation in a few days; the rest would be out of reach. */
export const MAX_CHAIN = 5_000;
const MAX_RESUME_STEPS = 32;

// Walks carry the path they came, so that a cycle of parents ends them.
const UNSEEN = (walk: string, id: string) => `instr(${walk}.path, char(10) || ${id} || char(10)) = 0`;
const GROW = (walk: string, id: string) => `${walk}.path || ${id} || char(10)`;

const TIP = `
  WITH RECURSIVE chain(id, depth, path) AS (
    SELECT id, 0, char(10) || id || char(10) FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION ALL
    SELECT c.id, chain.depth + 1, ${GROW("chain", "c.id")}
    FROM chain JOIN sessions p ON p.id = chain.id JOIN sessions c ON c.id = (
      SELECT k.id FROM sessions k WHERE k.parent_session_id = p.id AND ${isContinuation("k", "p")} AND ${isVisible("k")}
      ORDER BY k.started_at DESC, k.id DESC LIMIT 1)
    WHERE chain.depth < ${MAX_CHAIN} AND ${UNSEEN("chain", "c.id")}
  )
  SELECT id FROM chain ORDER BY depth DESC LIMIT 1
`;

const ANCESTORS = `
  WITH RECURSIVE up(id, depth, path) AS (
    SELECT id, 0, char(10) || id || char(10) FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION ALL
    SELECT p.id, up.depth + 1, ${GROW("up", "p.id")}
    FROM up JOIN sessions c ON c.id = up.id JOIN sessions p ON p.id = c.parent_session_id
    WHERE up.depth < ${MAX_CHAIN} AND ${isVisible("p")} AND ${UNSEEN("up", "p.id")}
  )
  SELECT id FROM up ORDER BY depth DESC
`;

const DESCENDANTS = `
  WITH RECURSIVE down(id) AS (
    SELECT id FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION
    SELECT c.id FROM down JOIN sessions c ON c.parent_session_id = down.id WHERE ${isVisible("c")}
  )
  SELECT id FROM down
`;

const NEXT_TO_RESUME = `
  SELECT id, EXISTS (SELECT 1 FROM messages WHERE session_id = s.id) AS has_messages FROM sessions s
  WHERE parent_session_id = :id AND ${isVisible("s")} ORDER BY started_at DESC, id DESC LIMIT 1
`;
const HAS_MESSAGES = "SELECT 1 FROM messages WHERE session_id = :id LIMIT 1";
const EXACT = `SELECT id FROM sessions s WHERE id = :text AND ${isVisible("s")}`;
const BY_PREFIX = `
  SELECT id FROM sessions s WHERE id >= :text AND id < :text || char(0x10ffff) AND ${isVisible("s")} LIMIT 2
`;
const END_COMPRESSED = "UPDATE sessions SET ended_at = :now, end_reason = 'compression' WHERE id = :id";
const END = "UPDATE sessions SET ended_at = :now, end_reason = :reason WHERE id = :id AND ended_at IS NULL";

const ROWS_TO_COPY = `
  SELECT id, CASE WHEN tool_calls IS NULL THEN 0
    WHEN json_valid(tool_calls) AND json_type(tool_calls) = 'array' THEN json_array_length(tool_calls) ELSE 1 END AS calls
  FROM messages WHERE session_id = :from AND active = 1 AND id <= :until ORDER BY id
`;
const COPIED = columnList(MESSAGE_COLUMNS.filter(({ name }) => name !== "id" && name !== "session_id"));
const COPY_ROW = `
  INSERT INTO messages (session_id, ${COPIED}) SELECT :to, ${COPIED} FROM messages WHERE id = :id
`;

export type LineageOperations = Pick<
  SessionStore,
  | "getCompressionTip"
  | "getLineageRoot"
  | "listLineage"
  | "resolveResumeSessionId"
  | "resolveSessionId"
  | "continueSession"
  | "branchSession"
>;

export function lineageOperations({ connection, clock }: StoreContext): LineageOperations {
  return {
    getCompressionTip: (id, scope) => connection.read(() => tipOf(connection, id, scope)),
    getLineageRoot: (id, scope) => connection.read(() => ancestorsOf(connection, id, scope)[0] ?? id),
    listLineage: (id, scope) =>
      connection.read(() => {
        const root = ancestorsOf(connection, id, scope)[0] ?? id;
        const rows = connection.all<{ id: string }>(DESCENDANTS, { id: root, ...visibleTo(scope) });
        return rows.length === 0 ? [id] : rows.map((row) => row.id);
      }),
    async resolveResumeSessionId(id, scope) {
      visibleTo(scope); // refuses a lost user also where nothing is to be read
      return isPossibleId(id) ? connection.read(() => resumable(connection, id, scope)) : id;
    },
    async resolveSessionId(text, scope) {
      const visible = visibleTo(scope);
      if (!isPossibleId(text)) return null;
      return connection.read(() => {
        const values = { text, ...visible };
        if (connection.get(EXACT, values) !== undefined) return text;
        const found = connection.all<{ id: string }>(BY_PREFIX, values);
        return found.length === 1 && found[0] !== undefined ? found[0].id : null;
      });
    },
    async continueSession(parentId, options = {}) {
      const now = clock.now();
      const id = checkSessionId(options.id ?? newSessionId(now));
      const columns = (options.messages ?? []).map((message) => toAppend(message, id, now.getTime() / 1000));
      return connection.write((): NewLineageSession => {
        const at = seconds(clock);
        const parent = requireSession(connection, parentId);
        if (options.lockHolder !== undefined) requireLock(connection, parentId, options.lockHolder, at);
        refuseSecondContinuation(connection, parent);
        connection.run(END_COMPRESSED, { id: parentId, now: at });
        insertChild(connection, id, parent, options, { [MARK_KEYS.compressedFrom]: parentId }, at);
        const title = parent.title === null ? null : nextTitleInLineage(connection, parent.title);
        if (title !== null) writeTitle(connection, id, title);
        return { id, title, messageIds: appendColumns(connection, id, columns) };
      });
    },
    async branchSession(parentId, options = {}) {
      const id = checkSessionId(options.id ?? newSessionId(clock.now()));
      const wanted = sanitizeTitle(options.title);
      return connection.write((): NewLineageSession => {
        const at = seconds(clock);
        const parent = requireSession(connection, parentId);
        if (options.endParent !== undefined)
          connection.run(END, { id: parentId, now: at, reason: options.endParent });
        const ownPrompt = options.ownPrompt ?? readOwnPrompt(connection, parentId) ?? undefined;
        insertChild(connection, id, parent, { ownPrompt }, { [MARK_KEYS.branchedFrom]: parentId }, at);
        const title = wanted ?? nextTitleInLineage(connection, parent.title ?? "branch");
        writeTitle(connection, id, title);
        return { id, title, messageIds: copyMessages(connection, parentId, id, options) };
      });
    },
  };
}

export function tipOf(connection: Connection, id: string, scope?: Scope): string {
  return connection.get<{ id: string }>(TIP, { id, ...visibleTo(scope) })?.id ?? id;
}

/** Root first, the session itself last; empty for an unknown one. */
export function ancestorsOf(connection: Connection, id: string, scope?: Scope): string[] {
  return connection.all<{ id: string }>(ANCESTORS, { id, ...visibleTo(scope) }).map((row) => row.id);
}

export function readAncestry(
  connection: Connection,
  id: string,
  options: ReadOptions,
  warn: (message: string) => void,
): ConversationMessage[] {
  const segments = ancestorsOf(connection, id, options).map((session) => ({
    isBranch:
      readMarks(findSession(connection, session, options)?.model_config ?? null).branchedFrom !== undefined,
    rows: readInTimeOrder(connection, session, options),
  }));
  const shown = segments.map(({ rows }, at) => {
    const child = segments[at + 1];
    return child?.isBranch ? upToFork(rows, child.rows) : rows;
  });
  return joinLineage(shown, warn);
}

/** What was said in the parent after a branch left it is not part of the branch. */
function upToFork(
  rows: readonly StoredMessageRow[],
  branch: readonly StoredMessageRow[],
): readonly StoredMessageRow[] {
  const own = new Map(rows.map((row) => [row.origin_id ?? row.id, row.id]));
  const copied = branch.flatMap((row) => own.get(row.origin_id ?? -1) ?? []);
  const fork = Math.max(...copied);
  return copied.length === 0 ? rows : rows.filter((row) => row.id <= fork);
}

/** Compaction can leave an empty session whose child holds the messages; a person resuming it means the child. */
function resumable(connection: Connection, id: string, scope?: Scope): string {
  if (connection.get(EXACT, { text: id, ...visibleTo(scope) }) === undefined) return id;
  if (connection.get(HAS_MESSAGES, { id }) !== undefined) return id;
  let current = id;
  for (let step = 0; step < MAX_RESUME_STEPS; step += 1) {
    const values = { id: current, ...visibleTo(scope) };
    const next = connection.get<{ id: string; has_messages: number }>(NEXT_TO_RESUME, values);
    if (next === undefined) return id;
    if (next.has_messages === 1) return next.id;
    current = next.id;
  }
  return id;
}

function insertChild(
  connection: Connection,
  id: string,
  parent: SessionRow,
  options: Pick<ContinueOptions, "model" | "systemPrompt" | "ownPrompt">,
  marks: Record<string, string>,
  at: number,
): void {
  if (findSession(connection, id) !== null) {
    throw sessionError(
      "bad-session-id",
      `The session '${id}' exists already, so it cannot be started anew.`,
      {
        hint: "Leave the id out to get a new one.",
      },
    );
  }
  const { source, model, model_config, id: parentSessionId } = parent;
  const modelConfig = { ...withoutMarks(model_config), ...marks };
  const { ownPrompt } = options;
  const systemPrompt = ownPrompt?.text ?? options.systemPrompt ?? null;
  const row = { source, model: options.model ?? model, modelConfig, systemPrompt, parentSessionId };
  insertSession(connection, id, row, at);
  if (ownPrompt !== undefined) writeOwnPrompt(connection, id, ownPrompt, at);
}

/** Copies say which row they are of, so that a reader of both sessions is shown each message once. */
function copyMessages(
  connection: Connection,
  from: string,
  to: string,
  { untilMessageId }: BranchOptions,
): number[] {
  const until = untilMessageId ?? Number.MAX_SAFE_INTEGER;
  if (!Number.isSafeInteger(until)) {
    throw sessionError("unknown-message", `There is no message ${until} to branch at.`, {
      hint: "Leave untilMessageId out to copy everything.",
    });
  }
  const rows = connection.all<{ id: number; calls: number }>(ROWS_TO_COPY, { from, until });
  const ids = rows.map(({ id }) => {
    const { lastId } = connection.run(COPY_ROW, { id, to });
    connection.run(INSERT_ORIGIN, { id: lastId, origin: id });
    return lastId;
  });
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  connection.run(ADD_TO_COUNTERS, { session: to, messages: ids.length, calls });
  return ids;
}

function requireSession(connection: Connection, id: string): SessionRow {
  const session = findSession(connection, id);
  if (session !== null) return session;
  throw sessionError("unknown-session", `There is no session '${id}' to go on from.`, {
    hint: "List the ids with 'hermes sessions list'.",
  });
}

function requireLock(connection: Connection, id: string, holder: string, now: number): void {
  const current = lockHolder(connection, id, now);
  if (current === holder) return;
  const whose = current === null ? "has expired" : `is held by ${current}`;
  throw sessionError("lock-lost", `The compression lock of session '${id}' ${whose}.`, {
    hint: "Nothing was changed. Another process may be compressing it; read the session again before going on.",
  });
}

function refuseSecondContinuation(connection: Connection, parent: SessionRow): void {
  const tip = tipOf(connection, parent.id);
  if (tip === parent.id) return;
  throw sessionError("already-continued", `Session '${parent.id}' already goes on as '${tip}'.`, {
    hint: "Continue that one instead.",
  });
}

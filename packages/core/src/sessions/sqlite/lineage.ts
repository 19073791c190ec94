// Finds and creates related sessions: tips, roots, resuming, continuing after compaction, branching.
import { sessionError } from "../errors.ts";
import { checkSessionId, MARK_KEYS, newSessionId, withoutMarks } from "../identity.ts";
import type { SessionRow } from "../rows.ts";
import type { BranchOptions, ContinueOptions, Lineage, NewLineageSession } from "../store.ts";
import { sanitizeTitle } from "../titles.ts";
import { transcriptMark } from "../transcript-id.ts";
import { lockHolder, refuseDuringTurn, refuseIfBusy, requireLease } from "./claims.ts";
import type { Connection } from "./connection.ts";
import { byFile, featuresOf, isPossibleId, isVisible, mark, seconds, type Visible } from "./connection.ts";
import { type StoreContext, writeTo } from "./context.ts";
import { ancestorsOf, continuedBy, isReset, tipOf } from "./lineage-sql.ts";
import { addToCounters, appendColumns, INSERT_ORIGIN, toAppend } from "./messages.ts";
import { copiedColumns, MARKS } from "./schema.ts";
import { endSession, findSession, insertSession, readOwnPrompt, writeOwnPrompt } from "./sessions.ts";
import { nextTitleInLineage, writeTitle } from "./titles.ts";

const MAX_RESUME_STEPS = 32;

const DESCENDANTS = `
  WITH RECURSIVE down(id) AS (
    SELECT id FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION
    SELECT c.id FROM down JOIN sessions c ON c.parent_session_id = down.id WHERE ${isVisible("c")}
  )
  SELECT id FROM down
`;

const NEXT_TO_RESUME = byFile((file) => {
  const isOther = [
    ...(["_branched_from", "_delegate_from"] as const).map((key) => `${mark("s", key)} IS p.id`),
    isReset("s", "p", file),
    "s.source = 'tool'",
  ].join(" OR ");
  return `
    SELECT s.id, EXISTS (SELECT 1 FROM messages WHERE session_id = s.id) AS has_messages
    FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
    WHERE p.id = :id AND ${isVisible("s")} ${file.isSchema17 ? `AND NOT (${isOther})` : ""}
    ORDER BY s.started_at DESC, s.id DESC LIMIT 1
  `;
});
const HAS_MESSAGES = "SELECT 1 FROM messages WHERE session_id = :id LIMIT 1";
const EXACT = `SELECT id FROM sessions s WHERE id = :text AND ${isVisible("s")}`;
/** The id of a transcript that is merged with a gateway's chat. */
const BY_MARK = `SELECT s.id FROM ${MARKS.name} k JOIN sessions s ON s.id = k.session_id WHERE k.mark = :mark AND ${isVisible("s")} LIMIT 1`;
const BY_PREFIX = `
  SELECT id FROM sessions s WHERE id >= :text AND id < :text || char(0x10ffff) AND ${isVisible("s")} LIMIT 2
`;
const END_COMPRESSED = "UPDATE sessions SET ended_at = :now, end_reason = 'compression' WHERE id = :id";
const ROWS_TO_COPY = `
  SELECT id, CASE WHEN tool_calls IS NULL THEN 0
    WHEN json_valid(tool_calls) AND json_type(tool_calls) = 'array' THEN json_array_length(tool_calls) ELSE 1 END AS calls
  FROM messages WHERE session_id = :from AND active = 1 AND id <= :until ORDER BY id
`;
const COPY_ROW = byFile((file) => {
  const copied = copiedColumns(file).join(", ");
  return `INSERT INTO messages (session_id, ${copied}) SELECT :to, ${copied} FROM messages WHERE id = :id`;
});

export function lineageOperations(context: StoreContext): Lineage {
  const { connection, clock } = context;
  const { visible } = context.person;
  return {
    getCompressionTip: (id) => connection.read(() => tipOf(connection, id, visible)),
    getNewestSession: (id) =>
      connection.read(() => findSession(connection, tipOf(connection, id, visible), visible)),
    listLineage: (id) =>
      connection.read(() => {
        const root = ancestorsOf(connection, id, visible)[0] ?? id;
        const rows = connection.all<{ id: string }>(DESCENDANTS, { id: root, ...visible });
        return rows.length === 0 ? [id] : rows.map((row) => row.id);
      }),
    listContinued: (id) => connection.read(() => continuedBy(connection, id, visible)),
    async resolveResumeSessionId(id) {
      return isPossibleId(id) ? connection.read(() => resumable(connection, id, visible)) : id;
    },
    async resolveSessionId(text) {
      if (!isPossibleId(text)) return null;
      return connection.read(() => {
        const values = { text, ...visible };
        if (connection.get(EXACT, values) !== undefined) return text;
        const found = connection.all<{ id: string }>(BY_PREFIX, values);
        if (found.length > 0) return found.length === 1 ? (found[0]?.id ?? null) : null;
        return (
          connection.get<{ id: string }>(BY_MARK, { mark: transcriptMark(text), ...visible })?.id ?? null
        );
      });
    },
    async continueSession(parentSession, options = {}) {
      const now = clock.now();
      const id = checkSessionId(options.id ?? newSessionId(now));
      const columns = (options.messages ?? []).map((message) => toAppend(message, id, now.getTime() / 1000));
      return writeTo(context, parentSession, (parentId): NewLineageSession => {
        const at = seconds(clock);
        const parent = requireSession(connection, parentId);
        if (options.lockHolder === undefined) refuseIfBusy(connection, parentId, options, at);
        else {
          const { leaseHolder, lockHolder } = options;
          refuseDuringTurn(connection, parentId, leaseHolder ?? lockHolder, at);
          requireLock(connection, parentId, lockHolder, at);
          if (leaseHolder !== undefined) requireLease(connection, parentId, leaseHolder, at);
        }
        refuseSecondContinuation(connection, parent);
        connection.run(END_COMPRESSED, { id: parentId, now: at });
        insertChild(context, id, parent, options, { [MARK_KEYS.compressedFrom]: parentId }, at);
        const title = parent.title === null ? null : nextTitleInLineage(connection, parent.title, parentId);
        if (title !== null) writeTitle(connection, id, title, parent.title_source ?? null);
        return { id, title, messageIds: appendColumns(connection, id, columns) };
      });
    },
    async branchSession(parentSession, options = {}) {
      const id = checkSessionId(options.id ?? newSessionId(clock.now()));
      const wanted = sanitizeTitle(options.title);
      return writeTo(context, parentSession, (parentId): NewLineageSession => {
        const at = seconds(clock);
        const parent = requireSession(connection, parentId);
        if (options.endParent !== undefined) endSession(connection, parentId, options.endParent, at);
        const ownPrompt = options.ownPrompt ?? readOwnPrompt(connection, parentId) ?? undefined;
        insertChild(context, id, parent, { ownPrompt }, { [MARK_KEYS.branchedFrom]: parentId }, at);
        const next = wanted ?? nextTitleInLineage(connection, parent.title ?? "branch", parentId);
        const title = options.title === null ? null : next;
        const ofParent = parent.title === null ? "branch_fallback" : "branch";
        writeTitle(connection, id, title, wanted === null ? ofParent : "user");
        return { id, title, messageIds: copyMessages(connection, parentId, id, options) };
      });
    },
  };
}

/**
 * Schema 16: a compaction can leave an empty session whose child has the messages; resuming it means the child. Schema 17: the
 * tip of the conversation, and from there the last of its children that has messages.
 */
function resumable(connection: Connection, id: string, visible: Visible): string {
  const isSchema17 = featuresOf(connection).isSchema17;
  if (connection.get(EXACT, { text: id, ...visible }) === undefined) return id;
  if (!isSchema17 && connection.get(HAS_MESSAGES, { id }) !== undefined) return id;
  let current = isSchema17 ? tipOf(connection, id, visible) : id;
  let found = isSchema17 ? current : id;
  const seen = new Set([current]);
  for (let step = 0; step < MAX_RESUME_STEPS; step += 1) {
    const values = { id: current, ...visible };
    const next = connection.get<{ id: string; has_messages: number }>(NEXT_TO_RESUME(connection), values);
    if (next === undefined || seen.has(next.id)) break;
    if (next.has_messages === 1) {
      found = next.id;
      if (!isSchema17) break;
    }
    current = next.id;
    seen.add(current);
  }
  return found;
}

function insertChild(
  context: StoreContext,
  id: string,
  parent: SessionRow,
  options: Pick<ContinueOptions, "model" | "systemPrompt" | "ownPrompt">,
  marks: Record<string, string>,
  at: number,
): void {
  const { connection } = context;
  if (findSession(connection, id) !== null) {
    throw sessionError("bad-session-id", `The session '${id}' exists already, so it cannot be created.`, {
      hint: "Leave the id out to get a new one.",
    });
  }
  const { source, model, model_config, id: parentSessionId } = parent;
  const modelConfig = { ...withoutMarks(model_config), ...marks };
  const { ownPrompt } = options;
  const systemPrompt = ownPrompt?.text ?? options.systemPrompt ?? null;
  const row = { source, model: options.model ?? model, modelConfig, systemPrompt, parentSessionId };
  insertSession(context, id, row, at);
  if (ownPrompt !== undefined) writeOwnPrompt(connection, id, ownPrompt, at);
}

/** Copies store the id of their original, so that a reader of both sessions sees each message once. */
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
    const { lastId } = connection.run(COPY_ROW(connection), { id, to });
    connection.run(INSERT_ORIGIN, { id: lastId, origin: id });
    return lastId;
  });
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  addToCounters(connection, to, { messages: ids.length, calls }, null);
  return ids;
}

function requireSession(connection: Connection, id: string): SessionRow {
  const session = findSession(connection, id);
  if (session !== null) return session;
  throw sessionError("unknown-session", `There is no session '${id}' to continue or branch.`, {
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
  throw sessionError("already-continued", `Session '${parent.id}' already continues as '${tip}'.`, {
    hint: "Continue that one instead.",
  });
}

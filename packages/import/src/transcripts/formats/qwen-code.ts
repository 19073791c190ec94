// Sessions of Qwen Code: a tree of records with the content of Gemini's API, appended to one file per session and per subagent.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Draft, format, isKept, type Said } from "../declare.ts";
import { partsOf } from "../kit/gemini-parts.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { pathTo } from "../kit/message-tree.ts";
import { usageOf } from "../kit/parts.ts";
import { type Json, listOf, names, recordOf, textOf, timeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit } from "../reader.ts";

/** One session of the file: its own tree, and which rows came from which record. */
class Branching {
  readonly parents = new Map<string, string | undefined>();
  readonly rows = new Map<string, string[]>();
  /** The record that made a call, by the id of the call. */
  readonly callers = new Map<string, string>();
  /** The call that a record answers. */
  readonly answers = new Map<string, string>();
  roots = 0;
  last: string | undefined;
  gitBranch: string | undefined;
  readonly titles: { manual?: string; auto?: string } = {};
  readonly nativeId: string;

  constructor(nativeId: string) {
    this.nativeId = nativeId;
  }
}

/** Subtypes of `user` records that hold text a person typed, or the task of a subagent. */
const TYPED: ReadonlySet<string> = new Set(["", "mid_turn_user_message", "agent_launch_prompt"]);
const NOT_TYPED = names("notification cron goal_runtime background_task_completed");
const TYPES: ReadonlySet<string> = new Set(["user", "assistant", "tool_result", "system"]);

export const qwenCode = format({
  source: "qwen-code",
  title: "Qwen Code",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [
    join(textOf(env.QWEN_RUNTIME_DIR) ?? textOf(env.QWEN_HOME) ?? join(home, ".qwen"), "projects"),
  ],
  units: unitsOf(
    (path) =>
      path.endsWith(".jsonl") && (basename(dirname(path)) === "chats" || basename(path).startsWith("agent-")),
  ),
  recognises: ({ first: { uuid, sessionId, systemPayload, message } }) =>
    textOf(uuid) !== undefined &&
    textOf(sessionId) !== undefined &&
    (recordOf(systemPayload) !== undefined || Array.isArray(recordOf(message)?.parts)),
  read,
});

async function* read(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  const subagent = /^agent-(.+)\.jsonl$/.exec(basename(unit.path))?.[1];
  const sessions = new Map<string, Branching>();
  const hasOriginal = originals(dirname(unit.path), reading);
  let current: Branching | undefined;
  for await (const { line, value } of jsonLines(unit.path, reading)) {
    const uuid = textOf(value.uuid);
    const sessionId = textOf(value.sessionId);
    if (uuid === undefined || sessionId === undefined || !TYPES.has(textOf(value.type) ?? "")) {
      if (uuid !== undefined && sessionId !== undefined)
        reading.unknown(`record ${textOf(value.type) ?? "without type"}`);
      else reading.malformed(line, "a record without uuid or sessionId");
      continue;
    }
    const agent =
      subagent ?? (value.isSidechain === true ? (textOf(value.agentId) ?? "sidechain") : undefined);
    const nativeId = agent === undefined ? sessionId : `${sessionId}-agent-${agent}`;
    let session = sessions.get(nativeId);
    if (session !== current || session === undefined) {
      const isNew = session === undefined;
      session ??= new Branching(nativeId);
      sessions.set(nativeId, session);
      current = session;
      yield { nativeId, ...(isNew ? firstFacts(value, agent) : {}) };
    }
    if (session.parents.has(uuid)) continue; // a repeated record: the first one counts
    follow(session, uuid, value);
    session.gitBranch ??= textOf(value.gitBranch);
    const fork = recordOf(value.forkedFrom);
    const from = textOf(fork?.sessionId);
    if (from !== undefined) {
      yield { nativeId, continues: { how: "fork", session: from } };
      if (await hasOriginal(from)) continue;
    }
    if (value.type === "system") yield* systemEvents(session, value);
    else
      for (const message of messagesOf(session, uuid, value, reading)) {
        if (!isKept(message, reading)) continue;
        session.rows.set(uuid, [...(session.rows.get(uuid) ?? []), message.id ?? ""]);
        yield { ...message, line };
      }
    // A rewind at the end leaves what comes after its parent, even if nothing was typed since.
    if (value.type !== "system" || value.subtype === "rewind") session.last = uuid;
  }
  for (const session of sessions.values()) {
    const { nativeId, titles, gitBranch } = session;
    yield { nativeId, title: titles.manual ?? titles.auto, gitBranch };
    const ids = inactiveRows(session);
    if (ids.length > 0) yield { kind: "inactive", ids };
  }
}

/** Whether the session that a copied record came from is there, as a file beside this one or imported before. */
function originals(folder: string, reading: Reading): (sessionId: string) => Promise<boolean> {
  const known = new Map<string, boolean>();
  return async (id) => {
    const found =
      known.get(id) ??
      ((await reading.messageIdsOf(id)).size > 0 || existsSync(join(folder, `${basename(id)}.jsonl`)));
    known.set(id, found);
    return found;
  };
}

function firstFacts(value: Json, agent: string | undefined): Omit<SessionFacts, "nativeId"> {
  return {
    cwd: textOf(value.cwd),
    cliVersion: textOf(value.version),
    parent: agent === undefined ? undefined : textOf(value.sessionId),
  };
}

function follow(session: Branching, uuid: string, value: Json): void {
  const parent = textOf(value.parentUuid);
  const isRoot = parent === undefined || parent === uuid || !session.parents.has(parent);
  // After `/rewind` to the first prompt the conversation begins anew without a parent.
  if (isRoot && value.subtype !== "rewind") session.roots += 1;
  session.parents.set(uuid, parent === uuid ? undefined : parent);
}

function* systemEvents(session: Branching, value: Json): Generator<Said> {
  const payload = recordOf(value.systemPayload);
  const title = textOf(payload?.customTitle);
  if (value.subtype === "custom_title" && title !== undefined)
    session.titles[payload?.titleSource === "auto" ? "auto" : "manual"] = title;
  const parent = textOf(payload?.parentSessionId);
  if (value.subtype === "parent_session" && parent !== undefined)
    yield { nativeId: session.nativeId, parent };
}

function* messagesOf(session: Branching, uuid: string, value: Json, reading: Reading): Generator<Draft> {
  const at = timeOf(value.timestamp);
  const content = listOf(recordOf(value.message)?.parts);
  if (value.type === "user") {
    const subtype = textOf(value.subtype) ?? "";
    if (!TYPED.has(subtype)) {
      if (!NOT_TYPED.has(subtype)) reading.unknown(`user ${subtype}`);
      return;
    }
    const text = textOf(recordOf(value.systemPayload)?.displayText) ?? partsOf(content, reading.unknown).text;
    if (text.trim() !== "") yield { id: uuid, role: "user", text, at };
    return;
  }
  const parts = partsOf(content, reading.unknown);
  if (value.type === "assistant") {
    for (const call of parts.toolCalls) session.callers.set(call.id, uuid);
    const { text, reasoning, toolCalls } = parts;
    const usage = usageOf(value.usageMetadata, [
      "promptTokenCount",
      "candidatesTokenCount",
      "cachedContentTokenCount",
      "",
      "thoughtsTokenCount",
    ]);
    yield { id: uuid, role: "assistant", text, at, toolCalls, reasoning, model: textOf(value.model), usage };
    return;
  }
  for (const { callId, name, text } of parts.toolResults) {
    session.answers.set(uuid, callId);
    yield { id: `${uuid}:${callId}`, role: "tool", text, at, toolCallId: callId, toolName: name };
  }
}

/**
 * Rows that do not lead to the last message. The result of an active call is active, because the results of parallel calls look like
 * branches. With two beginnings nothing can be said, so everything stays active.
 */
function inactiveRows({ parents, rows, callers, answers, roots, last }: Branching): string[] {
  if (last === undefined || roots > 1) return [];
  const active = pathTo(last, parents);
  const isActive = (uuid: string): boolean =>
    active.has(uuid) || active.has(callers.get(answers.get(uuid) ?? "") ?? "");
  return [...rows].flatMap(([uuid, ids]) => (isActive(uuid) ? [] : ids));
}

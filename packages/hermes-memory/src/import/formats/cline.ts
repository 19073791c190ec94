// Cline: session folders of its newer versions (`<id>.json`, `<id>.messages.json`) and the task folders of the VS Code extension.
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { attachment, blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { type Json, listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  SessionFacts,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
  Walking,
} from "../reader.ts";
import { CLINE, isTaskFile, readTask, taskUnits } from "./cline-task.ts";

const MESSAGES = ".messages.json";
/** Sessions before tasks: a task that was moved has the same id in both places and message ids only in the session. */
const SESSIONS_FIRST = 0;
const TASKS_SECOND = 1;

export const cline: TranscriptReader = {
  source: "cline",
  title: "Cline",
  evidence: "S",
  version: 2,
  roots,
  units,
  recognises: (sample) =>
    isTaskFile(sample, CLINE) ||
    (sample.path.endsWith(MESSAGES) && Array.isArray(recordOf(sample.first)?.messages)),
  async *read(unit, reading) {
    const files = (await readdir(unit.path)).filter((name) => name.endsWith(MESSAGES)).sort();
    yield* files.length === 0 ? readTask(unit, reading) : readSession(unit, files, reading);
  },
};

function roots(place: Place): string[] {
  const data = textOf(place.env.CLINE_DATA_DIR) ?? join(place.home, ".cline", "data");
  return [
    textOf(place.env.CLINE_SESSION_DATA_DIR) ?? join(data, "sessions"),
    join(data, "tasks"),
    ...vscodeUserFolders(place).map((user) => join(user, "globalStorage", CLINE, "tasks")),
  ];
}

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const wanted = {
    file: (path: string) => path.endsWith(MESSAGES),
    folder: (path: string) => basename(path) !== "checkpoints",
    maxDepth: 4,
  };
  const folders = new Map<string, string[]>();
  for await (const file of filesBelow(root, wanted, walking)) {
    const found = folders.get(dirname(file));
    if (found === undefined) folders.set(dirname(file), [file]);
    else found.push(file);
  }
  for (const [path, files] of folders)
    yield { path, stamps: [join(path, `${basename(path)}.json`), ...files], order: SESSIONS_FIRST };
  yield* taskUnits(root, walking, TASKS_SECOND);
}

async function* readSession(
  unit: Unit,
  names: readonly string[],
  reading: Reading,
): AsyncGenerator<TranscriptEvent> {
  const root = basename(unit.path);
  const own = `${root}${MESSAGES}`;
  const rootManifest = await manifestAt(join(unit.path, `${root}.json`), reading);
  // The session itself before its subagents.
  for (const name of [...names.filter((one) => one === own), ...names.filter((one) => one !== own)]) {
    const path = join(unit.path, name);
    let document: Json;
    try {
      document = recordOf(await wholeJson(path, reading)) ?? {};
    } catch (cause) {
      if (names.length === 1) throw cause;
      reading.unreadable(path, cause instanceof Error ? cause.message : String(cause));
      continue;
    }
    const facts =
      name === own ? rootFacts(root, rootManifest) : childFacts(root, name, document, rootManifest);
    yield { kind: "session", facts };
    yield* messagesOf(document, path, facts, reading);
    yield { kind: "end" };
  }
}

async function manifestAt(path: string, reading: Reading): Promise<Json | undefined> {
  try {
    return recordOf(await wholeJson(path, reading));
  } catch {
    return undefined; // a session without one still has its messages
  }
}

function rootFacts(id: string, manifest: Json | undefined): SessionFacts {
  const metadata = recordOf(manifest?.metadata);
  const forkedFrom = textOf(recordOf(metadata?.fork)?.forkedFromSessionId);
  const parent = textOf(manifest?.parent_session_id) ?? parentInId(id);
  return {
    nativeId: textOf(manifest?.session_id) ?? id,
    title: textOf(metadata?.title),
    ...described(manifest),
    ...(forkedFrom === undefined ? {} : { continues: { how: "fork" as const, session: forkedFrom } }),
    ...(parent === undefined ? {} : { parent, visibility: "subagent" as const }),
  };
}

/** `<agentId>.messages.json` or `<agentId>__<taskId>.messages.json` beside the messages of the session that started the agent. */
function childFacts(root: string, name: string, document: Json, manifest: Json | undefined): SessionFacts {
  const named = textOf(document.sessionId);
  return {
    nativeId: named !== undefined && named !== root ? named : `${root}__${name.slice(0, -MESSAGES.length)}`,
    cwd: textOf(manifest?.cwd),
    parent: textOf(manifest?.session_id) ?? root,
    visibility: "subagent",
  };
}

function described(manifest: Json | undefined): Omit<SessionFacts, "nativeId"> {
  return {
    cwd: textOf(manifest?.cwd) ?? textOf(manifest?.workspace_root),
    model: textOf(manifest?.model),
    provider: textOf(manifest?.provider),
    startedAt: timeOf(manifest?.started_at),
    endedAt: timeOf(manifest?.ended_at),
  };
}

/** Ids of subagents that have a folder of their own: `<root>__<agent>` and `<root>__teamtask__<agent>__<n>`. */
function parentInId(id: string): string | undefined {
  const at = id.indexOf("__");
  return at > 0 ? id.slice(0, at) : undefined;
}

function* messagesOf(
  document: Json,
  path: string,
  facts: SessionFacts,
  reading: Reading,
): Generator<TranscriptEvent> {
  // A fork begins with copies of the messages of the session that it came from, under the same ids.
  const origin = facts.continues?.session;
  const copied = origin === undefined ? new Set<string>() : reading.messageIdsOf(origin);
  const toolNames = new Map<string, string>();
  for (const [index, value] of listOf(document.messages).entries()) {
    const message = recordOf(value);
    if (message === undefined) {
      reading.malformed(index + 1, "not a JSON object");
      continue;
    }
    for (const one of converted(message, toolNames, reading))
      if (one.id === undefined || !copied.has(one.id))
        yield { kind: "message", message: { ...one, path, line: index + 1, at: timeOf(message.ts) } };
  }
}

function* converted(
  message: Json,
  toolNames: Map<string, string>,
  reading: Reading,
): Generator<TranscriptMessage> {
  const id = textOf(message.id);
  const content = Array.isArray(message.content) ? message.content.map(withoutFileText) : message.content;
  const { text, reasoning, toolCalls, toolResults } = blocksOf(content, reading.unknown);
  for (const { callId, text: result } of toolResults)
    yield {
      id: id === undefined ? undefined : `${id}:${callId}`,
      role: "tool",
      text: result,
      toolCallId: callId,
      toolName: toolNames.get(callId),
    };
  if (message.role === "assistant") {
    for (const call of toolCalls) toolNames.set(call.id, call.name);
    const metrics = recordOf(message.metrics);
    yield {
      id,
      role: "assistant",
      text,
      toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
      reasoning: reading.options.includeReasoning ? reasoning : undefined,
      model: textOf(recordOf(message.modelInfo)?.id),
      usage: metrics && {
        inputTokens: numberOf(metrics.inputTokens),
        outputTokens: numberOf(metrics.outputTokens),
        cacheReadTokens: numberOf(metrics.cacheReadTokens),
        cacheWriteTokens: numberOf(metrics.cacheWriteTokens),
      },
    };
  } else if (message.role === "user") {
    if (text !== "" || toolResults.length === 0) yield { id, role: "user", text };
  } else reading.unknown(`role ${String(message.role)}`);
}

/** A `file` block holds a whole file that was attached. Its name is enough. */
function withoutFileText(value: unknown): unknown {
  const block = recordOf(value);
  if (block?.type !== "file") return value;
  const name = basename(textOf(block.path) ?? "");
  return { type: "text", text: attachment("file", { name }) };
}

// Kiro CLI: three engines with three stores. The first has a database; the others write JSON lines below ~/.kiro/sessions.
import { basename, dirname, join } from "node:path";
import { isDatabaseWith } from "../kit/database-sessions.ts";
import { wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { databaseStamps, openSource } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  ToolCall,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
} from "../reader.ts";

const DATABASE = "data.sqlite3";
const CONVERSATIONS =
  "SELECT key, conversation_id, created_at, updated_at FROM conversations_v2 ORDER BY created_at, key, conversation_id";
const VALUE = "SELECT value FROM conversations_v2 WHERE key = :key AND conversation_id = :id";

export const kiro: TranscriptReader = {
  source: "kiro",
  title: "Kiro CLI",
  evidence: "P",
  isExperimental: true,
  version: 1,
  roots: (place) => [join(dataFolder(place), "kiro-cli", DATABASE), join(place.home, ".kiro", "sessions")],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path === root || basename(path) === DATABASE || isLog(path);
    for await (const path of filesBelow(root, { file, maxDepth: 3 }, walking))
      yield { path, stamps: path.endsWith(".jsonl") ? [path, metaPath(path)] : databaseStamps(path) };
  },
  recognises: ({ path, head, first }) => {
    if (isDatabaseWith(head, /\bconversations_v2\b/)) return true;
    const record = recordOf(first);
    if (record?.kind === "Prompt" || record?.kind === "AssistantMessage") return true;
    return isLog(path) && textOf(recordOf(record?.payload)?.type) !== undefined;
  },
  read: ({ path }, reading) => {
    if (!path.endsWith(".jsonl")) return conversations(path, reading);
    return log(path, reading, basename(path) === "messages.jsonl" ? recordOfThird : recordOfSecond);
  },
};

function dataFolder({ home, env, platform }: Place): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return textOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share");
}

/** `cli/<id>.jsonl` of the second engine, `<workspace>/sess_<id>/messages.jsonl` of the third. */
function isLog(path: string): boolean {
  const parent = basename(dirname(path));
  if (basename(path) === "messages.jsonl") return parent.startsWith("sess_");
  return path.endsWith(".jsonl") && (parent === "cli" || parent === "sessions");
}

function metaPath(path: string): string {
  if (basename(path) === "messages.jsonl") return join(dirname(path), "session.json");
  return path.replace(/\.jsonl$/, ".json");
}

async function* conversations(path: string, reading: Reading): AsyncGenerator<TranscriptEvent> {
  using db = await openSource(path, reading);
  if (!db.hasTable("conversations_v2")) return;
  for (const { key, conversation_id: id, created_at: created, updated_at: updated } of db.all(
    CONVERSATIONS,
  )) {
    reading.signal.throwIfAborted();
    const nativeId = textOf(id);
    if (nativeId === undefined || reading.isUnchanged(nativeId, `${updated}`)) continue;
    const value = recordOf(jsonOf(textOf(db.get(VALUE, { key: `${key}`, id: nativeId })?.value)));
    if (value === undefined) {
      reading.malformed(0, `conversation ${nativeId} is no JSON object`);
      continue;
    }
    const model = textOf(recordOf(value.model_info)?.model_id);
    const facts = { nativeId, cwd: textOf(key), model, startedAt: timeOf(created), mark: `${updated}` };
    yield { kind: "session", facts };
    const names = new Map<string, string>();
    for (const turn of listOf(value.history))
      for (const message of turnOf(recordOf(turn) ?? {}, names)) yield { kind: "message", message };
    yield { kind: "end" };
  }
  if (db.changedMeanwhile()) throw new Error("the database changed while it was read");
}

/** A turn has what the user sent (a prompt or results of tools) and what the model answered. */
function* turnOf(turn: Json, names: Map<string, string>): Generator<TranscriptMessage> {
  const user = recordOf(turn.user);
  const sent = recordOf(user?.content) ?? {};
  const assistant = recordOf(turn.assistant) ?? {};
  const answer = recordOf(assistant.ToolUse) ?? recordOf(assistant.Response);
  const id = textOf(answer?.message_id);
  const at = timeOf(user?.timestamp);
  const cancelled = recordOf(sent.CancelledToolUses);
  for (const item of listOf((recordOf(sent.ToolUseResults) ?? cancelled)?.tool_use_results)) {
    const result = recordOf(item);
    const call = textOf(result?.tool_use_id);
    const toolName = call === undefined ? undefined : names.get(call);
    yield { id: call, role: "tool", text: textOfParts(result?.content), at, toolCallId: call, toolName };
  }
  const text = textOf((recordOf(sent.Prompt) ?? cancelled)?.prompt);
  if (text !== undefined) yield { id: id === undefined ? undefined : `${id}-prompt`, role: "user", text, at };
  if (answer === undefined) return;
  const toolCalls = listOf(answer.tool_uses).flatMap((use) => callOf(recordOf(use), ["id", "args"], names));
  const meta = recordOf(turn.request_metadata);
  yield {
    id,
    role: "assistant",
    text: textOf(answer.content) ?? "",
    at: timeOf(meta?.stream_end_timestamp_ms) ?? timeOf(meta?.request_start_timestamp_ms),
    model: textOf(meta?.model_id),
    toolCalls: toolCalls.length > 0 ? toolCalls : undefined,
  };
}

type RecordReader = (
  value: Json,
  names: Map<string, string>,
  reading: Reading,
) => Iterable<TranscriptMessage>;

async function* log(
  path: string,
  reading: Reading,
  messagesOf: RecordReader,
): AsyncGenerator<TranscriptEvent> {
  const meta = recordOf(await wholeJson(metaPath(path), reading).catch(() => undefined));
  const fallback = basename(path) === "messages.jsonl" ? basename(dirname(path)) : basename(path, ".jsonl");
  yield {
    kind: "session",
    facts: {
      nativeId: textOf(meta?.session_id) ?? textOf(meta?.id) ?? fallback,
      title: textOf(meta?.title),
      cwd: textOf(meta?.cwd) ?? textOf(listOf(meta?.workspacePaths)[0]),
      model: textOf(meta?.modelId),
      startedAt: timeOf(meta?.created_at) ?? timeOf(meta?.createdAt),
    },
  };
  const names = new Map<string, string>();
  for await (const { line, value } of jsonLines(path, reading))
    for (const message of messagesOf(value, names, reading))
      yield { kind: "message", message: { ...message, line } };
}

function* recordOfSecond(
  value: Json,
  names: Map<string, string>,
  reading: Reading,
): Generator<TranscriptMessage> {
  const data = recordOf(value.data) ?? {};
  const parts = listOf(data.content).flatMap((part) => [recordOf(part) ?? {}]);
  const id = textOf(data.message_id);
  const at = timeOf(recordOf(data.meta)?.timestamp);
  const text = textOfParts(parts.filter(({ kind }) => kind === "text" || kind === "image"));
  if (value.kind === "Prompt") yield { id, role: "user", text, at };
  else if (value.kind === "AssistantMessage") {
    const uses = parts.filter(({ kind }) => kind === "toolUse").map((part) => recordOf(part.data));
    const toolCalls = uses.flatMap((use) => callOf(use, ["toolUseId", "input"], names));
    if (text !== "" || toolCalls.length > 0)
      yield { id, role: "assistant", text, at, toolCalls: toolCalls.length > 0 ? toolCalls : undefined };
  } else if (value.kind === "ToolResults")
    for (const part of parts) {
      const result = recordOf(part.data);
      const call = textOf(result?.toolUseId);
      if (part.kind !== "toolResult" || call === undefined) continue;
      const toolName = names.get(call);
      yield {
        id: `${call}-result`,
        role: "tool",
        text: textOfParts(result?.content),
        at,
        toolCallId: call,
        toolName,
      };
    }
  else reading.unknown(`record ${textOf(value.kind) ?? "without kind"}`);
}

function* recordOfThird(
  value: Json,
  names: Map<string, string>,
  reading: Reading,
): Generator<TranscriptMessage> {
  const payload = recordOf(value.payload) ?? {};
  const id = textOf(value.id);
  const at = timeOf(value.timestamp);
  const type = textOf(payload.type);
  const text = textOf(payload.content) ?? textOfParts(payload.content);
  const call = textOf(payload.toolCallId);
  if (type === "user") yield { id, role: "user", text, at };
  else if (type === "assistant") {
    // Other operations are notes of the engine to itself.
    const isSaid = payload.operationType === undefined || payload.operationType === "Say";
    if (isSaid && text !== "")
      yield { id, role: "assistant", text, at, model: textOf(payload.reasoningModelId) };
  } else if (type === "tool_call") {
    const use = { ...payload, name: payload.toolName };
    yield { id, role: "assistant", text: "", at, toolCalls: callOf(use, ["toolCallId", "args"], names) };
  } else if (type === "tool_result")
    yield { id, role: "tool", text, at, toolCallId: call, toolName: names.get(call ?? "") };
  else if (type !== "usage_summary") reading.unknown(`record ${type ?? "without type"}`);
}

function callOf(
  use: Json | undefined,
  [idField, inputField]: readonly [string, string],
  names: Map<string, string>,
): readonly ToolCall[] {
  const id = textOf(use?.[idField]);
  if (use === undefined || id === undefined) return [];
  const name = textOf(use.name) ?? "unknown";
  names.set(id, name);
  return [{ id, name, arguments: jsonText(use[inputField]) }];
}

/** Parts are text, `{kind, data}`, or `{Text}` and `{Json}`. */
function textOfParts(content: unknown): string {
  const parts = typeof content === "string" ? [content] : listOf(content);
  return parts
    .map((part) => {
      const record = recordOf(part);
      if (record === undefined) return textOf(part) ?? "";
      if (record.kind === "image") return "[image]";
      const value = record.Text ?? record.data ?? record.text ?? record.Json;
      return textOf(value) ?? (value === undefined ? "" : jsonText(value));
    })
    .join("\n");
}

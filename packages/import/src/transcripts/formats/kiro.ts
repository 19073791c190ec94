// Kiro CLI: three engines with three stores. The first has a database; the others write JSON lines below ~/.kiro/sessions.
import { basename, dirname, join } from "node:path";
import { type Draft, format, type Said } from "../declare.ts";
import { changedSessions, isDatabaseWith } from "../kit/database-sessions.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { jsonText, toolCall } from "../kit/parts.ts";
import { configFolder, dataFolder } from "../kit/places.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, listOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Place, Reading } from "../reader.ts";

const DATABASE = "data.sqlite3";
const LOG = "messages.jsonl";
const CONVERSATIONS =
  "SELECT key, conversation_id, created_at, updated_at FROM conversations_v2 ORDER BY created_at, key, conversation_id";
const VALUE = "SELECT value FROM conversations_v2 WHERE key = :key AND conversation_id = :id";

export const kiro = format({
  source: "kiro",
  title: "Kiro CLI",
  evidence: "P",
  isExperimental: true,
  roots: (place) => [join(storeFolder(place), "kiro-cli", DATABASE), join(place.home, ".kiro", "sessions")],
  units: unitsOf((path) => basename(path) === DATABASE || isLog(path), {
    maxDepth: 3,
    stamps: (path) => (path.endsWith(".jsonl") ? [path, metaPath(path)] : databaseStamps(path)),
  }),
  recognises: ({ path, head, first }) =>
    isDatabaseWith(head, /\bconversations_v2\b/) ||
    first.kind === "Prompt" ||
    first.kind === "AssistantMessage" ||
    (isLog(path) && textOf(recordOf(first.payload)?.type) !== undefined),
  read: ({ path }, reading) =>
    path.endsWith(".jsonl")
      ? readLog(path, reading)
      : changedSessions(path, reading, conversationsIn, (db, { id, key, createdAt }) => {
          const value = recordOf(jsonOf(textOf(db.get(VALUE, { key: `${key}`, id })?.value)));
          if (value === undefined) {
            reading.malformed(0, `conversation ${id} is no JSON object`);
            return undefined;
          }
          const model = textOf(recordOf(value.model_info)?.model_id);
          const messages = recordsOf(value.history).flatMap((turn) => [...turnOf(turn)]);
          return { facts: { cwd: textOf(key), model, startedAt: timeOf(createdAt) }, messages };
        }),
});

function storeFolder(place: Place): string {
  return place.platform === "darwin" ? configFolder(place) : dataFolder(place);
}

/** `cli/<id>.jsonl` of the second engine, `<workspace>/sess_<id>/messages.jsonl` of the third. */
function isLog(path: string): boolean {
  const parent = basename(dirname(path));
  if (basename(path) === LOG) return parent.startsWith("sess_");
  return path.endsWith(".jsonl") && (parent === "cli" || parent === "sessions");
}

function metaPath(path: string): string {
  if (basename(path) === LOG) return join(dirname(path), "session.json");
  return path.replace(/\.jsonl$/, ".json");
}

function conversationsIn(db: SourceDatabase) {
  const rows = db.hasTable("conversations_v2") ? db.all(CONVERSATIONS) : [];
  return rows.map(({ key, conversation_id: id, created_at: createdAt, updated_at: updatedAt }) => ({
    ...{ id: textOf(id), key, createdAt, mark: `${updatedAt}` },
  }));
}

/** A turn has what the user sent (a prompt or results of tools) and what the model answered. */
function* turnOf(turn: Json): Generator<Draft> {
  const user = recordOf(turn.user);
  const sent = recordOf(user?.content) ?? {};
  const assistant = recordOf(turn.assistant) ?? {};
  const answer = recordOf(assistant.ToolUse) ?? recordOf(assistant.Response);
  const id = textOf(answer?.message_id);
  const at = timeOf(user?.timestamp);
  const cancelled = recordOf(sent.CancelledToolUses);
  for (const item of listOf((recordOf(sent.ToolUseResults) ?? cancelled)?.tool_use_results)) {
    const result = recordOf(item);
    const toolCallId = textOf(result?.tool_use_id);
    yield { id: toolCallId, role: "tool", text: textOfParts(result?.content), at, toolCallId };
  }
  const text = textOf((recordOf(sent.Prompt) ?? cancelled)?.prompt);
  if (text !== undefined) yield { id: id === undefined ? undefined : `${id}-prompt`, role: "user", text, at };
  if (answer === undefined) return;
  const meta = recordOf(turn.request_metadata);
  yield {
    id,
    role: "assistant",
    text: textOf(answer.content) ?? "",
    at: timeOf(meta?.stream_end_timestamp_ms) ?? timeOf(meta?.request_start_timestamp_ms),
    model: textOf(meta?.model_id),
    toolCalls: recordsOf(answer.tool_uses)
      .map((use) => toolCall(use.id, use.name, use.args))
      .filter(isNamed),
  };
}

function isNamed({ id }: { readonly id: string }): boolean {
  return id !== "";
}

async function* readLog(path: string, reading: Reading): AsyncGenerator<Said> {
  const meta = await recordAt(metaPath(path));
  const isThird = basename(path) === LOG;
  yield {
    nativeId:
      textOf(meta?.session_id) ??
      textOf(meta?.id) ??
      (isThird ? basename(dirname(path)) : basename(path, ".jsonl")),
    title: textOf(meta?.title),
    cwd: textOf(meta?.cwd) ?? textOf(listOf(meta?.workspacePaths)[0]),
    model: textOf(meta?.modelId),
    startedAt: timeOf(meta?.created_at) ?? timeOf(meta?.createdAt),
  };
  const messagesOf = isThird ? recordOfThird : recordOfSecond;
  for await (const { line, value } of jsonLines(path, reading))
    for (const message of messagesOf(value, reading)) yield { ...message, line };
}

function recordOfSecond(value: Json, reading: Reading): Draft[] {
  const data = recordOf(value.data) ?? {};
  const parts = recordsOf(data.content);
  const id = textOf(data.message_id);
  const at = timeOf(recordOf(data.meta)?.timestamp);
  const text = textOfParts(parts.filter(({ kind }) => kind === "text" || kind === "image"));
  const dataOf = (wanted: string): Json[] =>
    recordsOf(parts.filter(({ kind }) => kind === wanted).map((part) => part.data));
  if (value.kind === "Prompt") return [{ id, role: "user", text, at }];
  if (value.kind === "AssistantMessage") {
    const toolCalls = dataOf("toolUse").map((use) => toolCall(use.toolUseId, use.name, use.input));
    return [{ id, role: "assistant", text, at, toolCalls: toolCalls.filter(isNamed) }];
  }
  if (value.kind === "ToolResults")
    return dataOf("toolResult").flatMap((result) => {
      const toolCallId = textOf(result.toolUseId);
      const found = textOfParts(result.content);
      return toolCallId === undefined
        ? []
        : [{ id: `${toolCallId}-result`, role: "tool", text: found, at, toolCallId }];
    });
  reading.unknown(`record ${textOf(value.kind) ?? "without kind"}`);
  return [];
}

function recordOfThird(value: Json, reading: Reading): Draft[] {
  const payload = recordOf(value.payload) ?? {};
  const type = textOf(payload.type);
  const text = textOf(payload.content) ?? textOfParts(payload.content);
  const toolCallId = textOf(payload.toolCallId);
  const shared = { id: textOf(value.id), at: timeOf(value.timestamp) };
  if (type === "user") return [{ ...shared, role: "user", text }];
  if (type === "assistant") {
    // Other operations are notes of the engine to itself.
    const isSaid = payload.operationType === undefined || payload.operationType === "Say";
    return isSaid ? [{ ...shared, role: "assistant", text, model: textOf(payload.reasoningModelId) }] : [];
  }
  if (type === "tool_call") {
    const toolCalls = [toolCall(toolCallId, payload.toolName, payload.args)].filter(isNamed);
    return [{ ...shared, role: "assistant", text: "", toolCalls }];
  }
  if (type === "tool_result") return [{ ...shared, role: "tool", text, toolCallId }];
  if (type !== "usage_summary") reading.unknown(`record ${type ?? "without type"}`);
  return [];
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

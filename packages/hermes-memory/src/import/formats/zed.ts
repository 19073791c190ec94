// Zed: threads of its own agent, each one row of a database with compressed JSON in one of two shapes.
import { basename, join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { databaseSessions, isDatabaseWith } from "../kit/database-sessions.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import {
  type Json,
  joined,
  jsonText,
  listOf,
  numberOf,
  parsedJson,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  SessionFacts,
  ToolCall,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
} from "../reader.ts";

const MAX_THREAD_BYTES = 256 * 1024 ** 2;

export const zed: TranscriptReader = {
  source: "zed",
  title: "Zed",
  evidence: "S",
  version: 1,
  roots,
  async *units(root, walking) {
    const wanted = { file: (path: string) => path === root || basename(path) === "threads.db", maxDepth: 3 };
    for await (const path of filesBelow(root, wanted, walking)) yield { path, stamps: databaseStamps(path) };
  },
  recognises: ({ path, head }) =>
    isDatabaseWith(head, /\bthreads\b[^;]{0,400}\bdata_type\b/) ||
    (basename(path) === "threads.db" && isDatabaseWith(head, /^/)),
  read,
};

function roots({ home, env, platform }: Place): string[] {
  if (platform === "darwin") return [join(home, "Library", "Application Support", "Zed", "threads")];
  if (platform === "win32")
    return [join(textOf(env.LOCALAPPDATA) ?? join(home, "AppData", "Local"), "Zed", "threads")];
  const data = [env.XDG_DATA_HOME, env.FLATPAK_XDG_DATA_HOME].flatMap((folder) => textOf(folder) ?? []);
  const usual = [join(home, ".local", "share"), join(home, ".var", "app", "dev.zed.Zed", "data")];
  return [...new Set([...data, ...usual])].map((folder) => join(folder, "zed", "threads"));
}

async function* read(unit: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const threads = databaseSessions(unit.path, reading, {
    list: (db) => (db.hasTable("threads") ? threadRows(db).filter(isWanted) : []),
    read: (db, row) => ({ row, document: documentOf(db, String(row.id), reading) }),
    name: (row) => String(row.id),
  });
  for await (const { row, document } of threads) {
    if (document === undefined) continue;
    yield { kind: "session", facts: factsOf(String(row.id), row, document) };
    for (const message of messagesOf(document, reading)) yield { kind: "message", message };
    yield { kind: "end" };
  }

  function isWanted(row: Json): boolean {
    const nativeId = textOf(row.id);
    const mark = textOf(row.updated_at);
    return nativeId !== undefined && (mark === undefined || !reading.isUnchanged(nativeId, mark));
  }
}

/** The rows without their data, which is read one at a time. Older databases lack some of the columns. */
function threadRows(db: SourceDatabase): Json[] {
  const present = db.columnsOf("threads");
  const columns = [
    "id",
    "summary",
    "updated_at",
    "parent_id",
    "folder_paths",
    "folder_paths_order",
    "created_at",
  ];
  const wanted = columns.filter((column) => present.has(column));
  return db.all(`SELECT ${wanted.join(", ")} FROM threads ORDER BY updated_at, id`);
}

function documentOf(db: SourceDatabase, id: string, reading: Reading): Json | undefined {
  const row = db.get("SELECT data_type, data FROM threads WHERE id = :id", { id });
  try {
    const data = row?.data;
    const bytes = data instanceof Uint8Array ? data : Buffer.from(textOf(data) ?? "");
    const json =
      row?.data_type === "zstd" ? zstdDecompressSync(bytes, { maxOutputLength: MAX_THREAD_BYTES }) : bytes;
    const document = recordOf(parsedJson(Buffer.from(json).toString("utf8")));
    if (document === undefined) reading.malformed(0, `thread ${id}: not a JSON object`);
    return document;
  } catch (cause) {
    reading.malformed(0, `thread ${id}: ${describeCause(cause)}`);
    return undefined;
  }
}

function factsOf(nativeId: string, row: Json, document: Json): SessionFacts {
  const model = recordOf(document.model);
  const usage = recordOf(document.cumulative_token_usage);
  const parent = textOf(row.parent_id) ?? textOf(recordOf(document.subagent_context)?.parent_thread_id);
  const updatedAt = timeOf(row.updated_at) ?? timeOf(document.updated_at);
  return {
    nativeId,
    title: textOf(document.title) ?? textOf(document.summary) ?? textOf(row.summary),
    cwd: firstFolder(row),
    model: textOf(model?.model),
    provider: textOf(model?.provider),
    startedAt: timeOf(row.created_at) ?? updatedAt,
    endedAt: updatedAt,
    hasSyntheticTimes: true,
    mark: textOf(row.updated_at),
    usage: usage && {
      inputTokens: numberOf(usage.input_tokens),
      outputTokens: numberOf(usage.output_tokens),
      cacheReadTokens: numberOf(usage.cache_read_input_tokens),
      cacheWriteTokens: numberOf(usage.cache_creation_input_tokens),
    },
    ...(parent === undefined ? {} : { parent, visibility: "subagent" as const }),
  };
}

/** `folder_paths` is sorted; `folder_paths_order` has, for each of them, its place in the project, such as `1,0`. */
function firstFolder(row: Json): string | undefined {
  const paths = (textOf(row.folder_paths) ?? "").split("\n");
  const places = (textOf(row.folder_paths_order) ?? "").split(",").map((place) => place.trim());
  return textOf(paths[Math.max(places.indexOf("0"), 0)]);
}

function* messagesOf(document: Json, reading: Reading): Generator<TranscriptMessage> {
  const toolNames = new Map<string, string>();
  for (const [index, value] of listOf(document.messages).entries()) {
    const message = recordOf(value);
    const user = recordOf(message?.User);
    const agent = recordOf(message?.Agent);
    if (user !== undefined) {
      const { text } = contentOf(user.content, reading);
      yield { id: textOf(user.id), role: "user", text, line: index + 1 };
    } else if (agent !== undefined) yield* agentMessages(agent, index + 1, reading);
    else if (message?.role !== undefined) yield* olderMessages(message, toolNames, index + 1, reading);
    else if (value !== "Resume" && message?.Compaction === undefined)
      reading.unknown(`message ${Object.keys(message ?? {})[0] ?? String(value)}`);
  }
}

function* agentMessages(agent: Json, line: number, reading: Reading): Generator<TranscriptMessage> {
  const { text, reasoning, toolCalls } = contentOf(agent.content, reading);
  yield {
    role: "assistant",
    text,
    line,
    toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
    reasoning: reading.options.includeReasoning ? reasoning : undefined,
  };
  const names = new Map(toolCalls.map(({ id, name }) => [id, name]));
  for (const [toolCallId, value] of Object.entries(recordOf(agent.tool_results) ?? {})) {
    const result = recordOf(value);
    const toolName = textOf(result?.tool_name) ?? names.get(toolCallId);
    yield { role: "tool", text: resultText(result?.content), line, toolCallId, toolName };
  }
}

type Content = {
  readonly text: string;
  readonly reasoning: string | undefined;
  readonly toolCalls: readonly ToolCall[];
};

/** Each item is an object with one field, whose name is the kind. */
function contentOf(content: unknown, reading: Reading): Content {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const toolCalls: ToolCall[] = [];
  for (const item of recordsOf(content)) {
    const [kind = "", value] = Object.entries(item)[0] ?? [];
    const fields = recordOf(value) ?? {};
    if (kind === "Text") texts.push(textOf(value) ?? "");
    else if (kind === "Image") texts.push("[image]");
    else if (kind === "Mention") {
      texts.push(`[file: ${mentioned(fields.uri)}]`);
      if (reading.options.tools === "full") texts.push(textOf(fields.content) ?? "");
    } else if (kind === "Thinking") thoughts.push(textOf(fields.text) ?? "");
    else if (kind === "ToolUse")
      toolCalls.push({
        id: textOf(fields.id) ?? "",
        name: textOf(fields.name) ?? "unknown",
        arguments: jsonText(fields.input ?? fields.raw_input),
      });
    else if (kind !== "RedactedThinking") reading.unknown(`content ${kind}`);
  }
  return { text: joined(texts), reasoning: textOf(joined(thoughts)), toolCalls };
}

/** The name of what was mentioned: `{"File": {"abs_path": …}}`, `{"Thread": {"name": …}}`, `{"Fetch": {"url": …}}`, or a URI. */
function mentioned(uri: unknown): string {
  const [kind = "mention", value] = Object.entries(recordOf(uri) ?? {})[0] ?? [];
  const fields = recordOf(value);
  const path = textOf(fields?.abs_path) ?? textOf(fields?.path) ?? textOf(uri);
  const name = path?.split(/[\\/]/).findLast((part) => part !== "");
  return textOf(fields?.name) ?? name ?? textOf(fields?.url) ?? kind.toLowerCase();
}

/** Text, `{"Text": …}`, an image, or a list of these. */
function resultText(content: unknown): string {
  if (Array.isArray(content)) return joined(content.map(resultText));
  if (typeof content === "string") return content;
  const fields = recordOf(content);
  if (fields === undefined) return "";
  return textOf(fields.Text) ?? textOf(fields.text) ?? "[image]";
}

/** Versions before 0.3.0: a role, typed segments, and the calls and results of tools beside them. */
function* olderMessages(
  message: Json,
  toolNames: Map<string, string>,
  line: number,
  reading: Reading,
): Generator<TranscriptMessage> {
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "system") {
    reading.unknown(`role ${String(role)}`);
    return;
  }
  const number = numberOf(message.id);
  const id = number === undefined ? undefined : `m${number}`;
  const segments = recordsOf(message.segments);
  const ofType = (wanted: string): string =>
    joined(segments.filter(({ type }) => type === wanted).map(({ text }) => textOf(text)));
  for (const { type } of segments)
    if (!SEGMENTS.has(String(type))) reading.unknown(`segment ${String(type)}`);
  const toolCalls = recordsOf(message.tool_uses).map((use) => ({
    id: textOf(use.id) ?? "",
    name: textOf(use.name) ?? "unknown",
    arguments: jsonText(use.input),
  }));
  // Results may stand in the message after that of their calls.
  for (const call of toolCalls) toolNames.set(call.id, call.name);
  const results = recordsOf(message.tool_results);
  const text = ofType("text");
  if (role !== "system" || reading.options.includeSystem)
    if (text !== "" || toolCalls.length > 0 || results.length === 0)
      yield {
        id,
        role,
        text,
        line,
        toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
        reasoning: reading.options.includeReasoning ? textOf(ofType("thinking")) : undefined,
      };
  for (const result of results) {
    const toolCallId = textOf(result.tool_use_id) ?? "";
    yield {
      id: id && `${id}:${toolCallId}`,
      role: "tool",
      text: resultText(result.content),
      line,
      toolCallId,
      toolName: toolNames.get(toolCallId),
    };
  }
}
const SEGMENTS: ReadonlySet<string> = new Set(["text", "thinking", "redacted_thinking"]);

// Zed: threads of its own agent, each one row of a database with compressed JSON in one of two shapes.
import { basename, join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Draft, format } from "../declare.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { changedSessions, columnsIn, isDatabaseWith } from "../kit/database-sessions.ts";
import { ANTHROPIC_COUNTS, joined, toolCall, usageOf } from "../kit/parts.ts";
import { configFolder, localFolder } from "../kit/places.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import {
  type Json,
  listOf,
  numberOf,
  parsedJson,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Place, Reading, SessionFacts } from "../reader.ts";

const MAX_THREAD_BYTES = 256 * 1024 ** 2;
const DATABASE = "threads.db";
/** Without the data, which is read one at a time. Older databases lack some of the columns. */
const COLUMNS = [
  "id",
  "summary",
  "updated_at",
  "parent_id",
  "folder_paths",
  "folder_paths_order",
  "created_at",
];

export const zed = format({
  source: "zed",
  title: "Zed",
  evidence: "S",
  keepsEmpty: true,
  roots,
  units: unitsOf((path) => basename(path) === DATABASE, { maxDepth: 3, stamps: databaseStamps }),
  recognises: ({ path, head }) =>
    isDatabaseWith(head, basename(path) === DATABASE ? /^/ : /\bthreads\b[^;]{0,400}\bdata_type\b/),
  read: ({ path }, reading) =>
    changedSessions(
      path,
      reading,
      (db) => {
        const columns = columnsIn(db, "threads", COLUMNS);
        const rows = columns === "" ? [] : db.all(`SELECT ${columns} FROM threads ORDER BY updated_at, id`);
        return rows.map((row) => ({ row, id: textOf(row.id), mark: textOf(row.updated_at) }));
      },
      (db, { id, row }) => {
        const document = documentOf(db, id, reading);
        return document && { facts: factsOf(row, document), messages: [...messagesOf(document, reading)] };
      },
    ),
});

function roots(place: Place): string[] {
  const { home, env, platform } = place;
  if (platform === "darwin") return [join(configFolder(place), "Zed", "threads")];
  if (platform === "win32") return [join(localFolder(place), "Zed", "threads")];
  const data = [env.XDG_DATA_HOME, env.FLATPAK_XDG_DATA_HOME].flatMap((folder) => textOf(folder) ?? []);
  const usual = [join(home, ".local", "share"), join(home, ".var", "app", "dev.zed.Zed", "data")];
  return [...new Set([...data, ...usual])].map((folder) => join(folder, "zed", "threads"));
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

function factsOf(row: Json, document: Json): Omit<SessionFacts, "nativeId"> {
  const model = recordOf(document.model);
  const updatedAt = timeOf(row.updated_at) ?? timeOf(document.updated_at);
  return {
    title: textOf(document.title) ?? textOf(document.summary) ?? textOf(row.summary),
    cwd: firstFolder(row),
    model: textOf(model?.model),
    provider: textOf(model?.provider),
    startedAt: timeOf(row.created_at) ?? updatedAt,
    endedAt: updatedAt,
    hasSyntheticTimes: true,
    usage: usageOf(document.cumulative_token_usage, ANTHROPIC_COUNTS),
    parent: textOf(row.parent_id) ?? textOf(recordOf(document.subagent_context)?.parent_thread_id),
  };
}

/** `folder_paths` is sorted; `folder_paths_order` has, for each of them, its place in the project, such as `1,0`. */
function firstFolder(row: Json): string | undefined {
  const paths = (textOf(row.folder_paths) ?? "").split("\n");
  const places = (textOf(row.folder_paths_order) ?? "").split(",").map((place) => place.trim());
  return textOf(paths[Math.max(places.indexOf("0"), 0)]);
}

function* messagesOf(document: Json, reading: Reading): Generator<Draft> {
  for (const [index, value] of listOf(document.messages).entries()) {
    const message = recordOf(value);
    const user = recordOf(message?.User);
    const agent = recordOf(message?.Agent);
    const line = index + 1;
    if (user !== undefined) yield { id: textOf(user.id), role: "user", line, ...contentOf(user, reading) };
    else if (agent !== undefined) {
      yield { role: "assistant", line, ...contentOf(agent, reading) };
      for (const [toolCallId, found] of Object.entries(recordOf(agent.tool_results) ?? {})) {
        const result = recordOf(found);
        const text = resultText(result?.content);
        yield { role: "tool", text, line, toolCallId, toolName: textOf(result?.tool_name) };
      }
    } else if (message?.role !== undefined) yield olderMessage(message, line, reading);
    else if (value !== "Resume" && message?.Compaction === undefined)
      reading.unknown(`message ${Object.keys(message ?? {})[0] ?? String(value)}`);
  }
}

/** Each item is an object with one field, whose name is the kind. */
function contentOf({ content }: Json, reading: Reading): Blocks {
  const unknown = (type: string): void => reading.unknown(type.replace("block", "content"));
  return blocksOf(recordsOf(content), unknown, (item) => {
    const [kind = "", value] = Object.entries(item)[0] ?? [];
    const fields = recordOf(value) ?? {};
    if (kind === "Text") return { type: "text", text: value };
    if (kind === "Image") return { type: "image" };
    if (kind === "Thinking") return { type: "thinking", thinking: fields.text };
    if (kind === "ToolUse") return { ...fields, type: "tool_use", input: fields.input ?? fields.raw_input };
    if (kind === "RedactedThinking") return undefined;
    if (kind !== "Mention") return { type: kind };
    const whole = reading.options.tools === "full" ? textOf(fields.content) : undefined;
    return { type: "text", text: joined([`[file: ${mentioned(fields.uri)}]`, whole]) };
  });
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
  return fields === undefined ? "" : (textOf(fields.Text) ?? textOf(fields.text) ?? "[image]");
}

/** Versions before 0.3.0: a role, typed segments, and the calls and results of tools beside them. */
function olderMessage(message: Json, line: number, reading: Reading): Draft {
  const number = numberOf(message.id);
  const unknown = (type: string): void => reading.unknown(type.replace("block", "segment"));
  const segments = recordsOf(message.segments).map((segment) => ({ ...segment, thinking: segment.text }));
  const { text, reasoning } = blocksOf(segments, unknown);
  return {
    id: number === undefined ? undefined : `m${number}`,
    role: message.role,
    text,
    reasoning,
    line,
    toolCalls: recordsOf(message.tool_uses).map((use) => toolCall(use.id, use.name, use.input)),
    toolResults: recordsOf(message.tool_results).map((result) => ({
      callId: textOf(result.tool_use_id) ?? "",
      text: resultText(result.content),
    })),
  };
}

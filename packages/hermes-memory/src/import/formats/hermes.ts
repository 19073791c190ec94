// Hermes' own files: gateway transcripts (`<id>.jsonl`), snapshots of the CLI (`session_<id>.json`), exports (a session per line).
import { basename, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { type Json, jsonOf, jsonText, listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  Sample,
  SessionFacts,
  ToolCall,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
  Walking,
} from "../reader.ts";

export const hermes: TranscriptReader = {
  source: "hermes",
  title: "Hermes",
  evidence: "S",
  version: 1,
  roots: ({ home, env }: Place) => [join(textOf(env.HERMES_HOME) ?? join(home, ".hermes"), "sessions")],
  units,
  recognises,
  async *read(unit, reading) {
    if (unit.path.endsWith(".json")) yield* snapshot(unit.path, reading);
    else yield* lines(unit.path, reading);
  },
};

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const wanted = {
    file: (path: string) => path === root || isSessionFile(basename(path)),
    folder: (path: string) => basename(path) !== "saved", // copies that the user made by hand
  };
  for await (const path of filesBelow(root, wanted, walking)) yield { path };
}

function isSessionFile(name: string): boolean {
  if (name.startsWith("request_dump_")) return false;
  return name.endsWith(".jsonl") || /^session_.+\.json$/.test(name);
}

function recognises({ first }: Sample): boolean {
  const record = recordOf(first);
  if (record === undefined) return false;
  if (record.role === "session_meta") return true;
  if (!Array.isArray(record.messages)) return false;
  const isSnapshot = textOf(record.session_id) !== undefined && record.session_start !== undefined;
  return isSnapshot || isExported(record);
}

/** A line of `hermes sessions export` has the columns of the database. */
function isExported(record: Json): boolean {
  return (
    textOf(record.id) !== undefined &&
    record.started_at !== undefined &&
    record.source !== undefined &&
    Array.isArray(record.messages)
  );
}

async function* snapshot(path: string, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const file = recordOf(await wholeJson(path, reading));
  if (file === undefined || !Array.isArray(file.messages))
    throw new Error("not a snapshot of a Hermes session");
  const id = textOf(file.session_id) ?? basename(path, ".json").replace(/^session_/, "");
  yield {
    kind: "session",
    facts: {
      nativeId: id,
      id,
      source: textOf(file.platform) ?? "cli",
      model: textOf(file.model),
      startedAt: timeOf(file.session_start),
      endedAt: timeOf(file.last_updated),
      ...(hasTimes(file.messages) ? {} : { hasSyntheticTimes: true }),
    },
  };
  yield* messagesOf(file.messages, { reading, line: undefined, startedAt: timeOf(file.session_start) });
}

/** A gateway transcript has a message per line, an export a whole session. */
async function* lines(path: string, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const id = basename(path, ".jsonl");
  const names = new Map<string, string>();
  let isBegun = false;
  for await (const { line, value } of jsonLines(path, reading)) {
    if (isExported(value)) {
      yield* exported(value, line, reading);
      continue;
    }
    const isHead = value.role === "session_meta";
    if (!isBegun || isHead)
      yield {
        kind: "session",
        facts: {
          nativeId: id,
          id,
          source: (isHead ? textOf(value.platform) : undefined) ?? (isBegun ? undefined : "cli"),
          ...(isHead ? { model: textOf(value.model), startedAt: timeOf(value.timestamp) } : {}),
        },
      };
    isBegun = true;
    const message = isHead ? undefined : messageOf(value, { reading, line, names });
    if (message !== undefined) yield { kind: "message", message };
  }
}

function* exported(row: Json, line: number, reading: Reading): Generator<TranscriptEvent> {
  const id = textOf(row.id) ?? "";
  yield {
    kind: "session",
    facts: {
      nativeId: id,
      id,
      source: textOf(row.source),
      title: textOf(row.title),
      cwd: textOf(row.cwd),
      model: textOf(row.model),
      startedAt: timeOf(row.started_at),
      endedAt: timeOf(row.ended_at),
      gitBranch: textOf(row.git_branch),
      ...lineage(row),
      usage: {
        inputTokens: numberOf(row.input_tokens),
        outputTokens: numberOf(row.output_tokens),
        cacheReadTokens: numberOf(row.cache_read_tokens),
        cacheWriteTokens: numberOf(row.cache_write_tokens),
        reasoningTokens: numberOf(row.reasoning_tokens),
      },
    },
  };
  yield* messagesOf(listOf(row.messages), { reading, line, startedAt: timeOf(row.started_at) });
  yield { kind: "end" };
}

/** Subagents name their parent in `model_config`; of the others with a parent, `/branch` leaves a mark and compression does not. */
function lineage(row: Json): Pick<SessionFacts, "parent" | "visibility" | "continues"> {
  const config =
    typeof row.model_config === "string" ? recordOf(jsonOf(row.model_config)) : recordOf(row.model_config);
  const before = textOf(row.parent_session_id);
  const delegate = textOf(config?._delegate_from);
  if (row.source === "subagent" || delegate !== undefined)
    return { visibility: "subagent", parent: delegate ?? before };
  const visibility = row.source === "tool" ? "hidden" : undefined;
  if (before === undefined) return { visibility };
  const how = config?._branched_from === undefined ? "compaction" : "fork";
  return { visibility, continues: { how, session: before } };
}

type MessageContext = {
  readonly reading: Reading;
  readonly line: number | undefined;
  /** Names of the tools, by the ids of their calls. */
  readonly names: Map<string, string>;
};

function* messagesOf(
  messages: readonly unknown[],
  { reading, line, startedAt }: { reading: Reading; line: number | undefined; startedAt: number | undefined },
): Generator<TranscriptEvent> {
  const names = new Map<string, string>();
  let isFirst = true;
  for (const item of messages) {
    const record = recordOf(item);
    if (record === undefined) reading.malformed(line ?? 0, "a message that is not a JSON object");
    const message = record === undefined ? undefined : messageOf(record, { reading, line, names });
    if (message === undefined) continue;
    yield { kind: "message", message: isFirst ? { ...message, at: message.at ?? startedAt } : message };
    isFirst = false;
  }
}

function messageOf(record: Json, { reading, line, names }: MessageContext): TranscriptMessage | undefined {
  const role = record.mirror === true ? "assistant" : textOf(record.role);
  if (role === "system" && !reading.options.includeSystem) return undefined;
  if (role !== "user" && role !== "assistant" && role !== "tool" && role !== "system") {
    if (role !== "session_meta") reading.unknown(`role ${role ?? "missing"}`);
    return undefined;
  }
  const { text } = blocksOf(contentOf(record.content), reading.unknown);
  const toolCalls = role === "assistant" ? callsOf(record.tool_calls) : [];
  for (const { id, name } of toolCalls) names.set(id, name);
  const toolCallId = textOf(record.tool_call_id);
  const reasoning = reading.options.includeReasoning
    ? (textOf(record.reasoning) ?? textOf(record.reasoning_content))
    : undefined;
  if (text === "" && toolCalls.length === 0 && role !== "tool" && reasoning === undefined) return undefined;
  return {
    id: textOf(record.platform_message_id),
    role,
    text,
    at: timeOf(record.timestamp),
    line,
    toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
    toolCallId,
    toolName: textOf(record.tool_name) ?? textOf(record.name) ?? names.get(toolCallId ?? ""),
    reasoning,
    finishReason: textOf(record.finish_reason),
    isActive: record.active === 0 || record.active === false ? false : undefined,
  };
}

/** Exports have content with images as the column holds it: JSON behind a prefix. */
function contentOf(content: unknown): unknown {
  if (typeof content !== "string" || !content.startsWith(STRUCTURED_PREFIX)) return content;
  return jsonOf(content.slice(STRUCTURED_PREFIX.length)) ?? content;
}
const STRUCTURED_PREFIX = "\u0000json:";

/** Calls in the shape of OpenAI's API; in exports the column is JSON text. */
function callsOf(value: unknown): ToolCall[] {
  const calls: ToolCall[] = [];
  for (const item of listOf(typeof value === "string" ? jsonOf(value) : value)) {
    const call = recordOf(item);
    const made = recordOf(call?.function) ?? call;
    if (call === undefined || made === undefined) continue;
    calls.push({
      id: textOf(call.id) ?? "",
      name: textOf(made.name) ?? "unknown",
      arguments: jsonText(made.arguments),
    });
  }
  return calls;
}

function hasTimes(messages: readonly unknown[]): boolean {
  return messages.some((message) => timeOf(recordOf(message)?.timestamp) !== undefined);
}

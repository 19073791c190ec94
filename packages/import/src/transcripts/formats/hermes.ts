// Hermes' own files: gateway transcripts (`<id>.jsonl`), snapshots of the CLI (`session_<id>.json`), exports (a session per line).
import { basename, join } from "node:path";
import { type Draft, format, isKept, type Said } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { functionCall, usageOf } from "../kit/parts.ts";
import { type Json, jsonOf, listOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading, SessionFacts, ToolCall } from "../reader.ts";

export const hermes = format({
  source: "hermes",
  title: "Hermes",
  evidence: "S",
  roots: ({ home, env }) => [join(textOf(env.HERMES_HOME) ?? join(home, ".hermes"), "sessions")],
  units: unitsOf((path) => isSessionFile(basename(path)), {
    folder: (path) => basename(path) !== "saved", // copies that the user made by hand
  }),
  recognises: ({ first }) => {
    const isSnapshot = textOf(first.session_id) !== undefined && first.session_start !== undefined;
    const isTranscript = first.role === "session_meta";
    return isTranscript || (isSnapshot && Array.isArray(first.messages)) || isExported(first);
  },
  read: ({ path }, reading) => (path.endsWith(".json") ? snapshot(path, reading) : lines(path, reading)),
});

function isSessionFile(name: string): boolean {
  if (name.startsWith("request_dump_")) return false;
  return name.endsWith(".jsonl") || /^session_.+\.json$/.test(name);
}

/** A line of `hermes sessions export` has the columns of the database. */
function isExported({ id, started_at, source, messages }: Json): boolean {
  return (
    textOf(id) !== undefined && started_at !== undefined && source !== undefined && Array.isArray(messages)
  );
}

async function* snapshot(path: string, reading: Reading): AsyncGenerator<Said> {
  const file = recordOf(await wholeJson(path, reading));
  if (!Array.isArray(file?.messages)) throw new Error("not a snapshot of a Hermes session");
  const id = textOf(file.session_id) ?? basename(path, ".json").replace(/^session_/, "");
  const startedAt = timeOf(file.session_start);
  const hasTimes = file.messages.some((message) => timeOf(recordOf(message)?.timestamp) !== undefined);
  yield {
    nativeId: id,
    id,
    source: textOf(file.platform) ?? "cli",
    model: textOf(file.model),
    startedAt,
    endedAt: timeOf(file.last_updated),
    hasSyntheticTimes: hasTimes ? undefined : true,
  };
  yield* messagesOf(file.messages, startedAt, undefined, reading);
}

/** A gateway transcript has a message per line, an export a whole session. */
async function* lines(path: string, reading: Reading): AsyncGenerator<Said> {
  const id = basename(path, ".jsonl");
  let isBegun = false;
  for await (const { line, value } of jsonLines(path, reading)) {
    if (isExported(value)) {
      yield* exported(value, line, reading);
      continue;
    }
    const isHead = value.role === "session_meta";
    if (!isBegun || isHead)
      yield {
        nativeId: id,
        id,
        source: (isHead ? textOf(value.platform) : undefined) ?? (isBegun ? undefined : "cli"),
        ...(isHead ? { model: textOf(value.model), startedAt: timeOf(value.timestamp) } : {}),
      };
    isBegun = true;
    if (!isHead) yield messageOf(value, line, reading);
  }
}

function* exported(row: Json, line: number, reading: Reading): Generator<Said> {
  const id = textOf(row.id) ?? "";
  const startedAt = timeOf(row.started_at);
  yield {
    nativeId: id,
    id,
    source: textOf(row.source),
    title: textOf(row.title),
    cwd: textOf(row.cwd),
    model: textOf(row.model),
    startedAt,
    endedAt: timeOf(row.ended_at),
    gitBranch: textOf(row.git_branch),
    ...lineage(row),
    usage: usageOf(row, [
      "input_tokens",
      "output_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
      "reasoning_tokens",
    ]),
  };
  yield* messagesOf(listOf(row.messages), startedAt, line, reading);
  yield { kind: "end" };
}

/** Subagents name their parent in `model_config`; of the others with a parent, `/branch` leaves a mark and compression does not. */
function lineage(row: Json): Pick<SessionFacts, "parent" | "visibility" | "continues"> {
  const config = recordOf(typeof row.model_config === "string" ? jsonOf(row.model_config) : row.model_config);
  const before = textOf(row.parent_session_id);
  const delegate = textOf(config?._delegate_from);
  if (row.source === "subagent" || delegate !== undefined)
    return { visibility: "subagent", parent: delegate ?? before };
  const visibility = row.source === "tool" ? "hidden" : undefined;
  if (before === undefined) return { visibility };
  const how = config?._branched_from === undefined ? "compaction" : "fork";
  return { visibility, continues: { how, session: before } };
}

/** The first message that is kept has the time of the session where it has none itself. */
function* messagesOf(
  messages: readonly unknown[],
  startedAt: number | undefined,
  line: number | undefined,
  reading: Reading,
): Generator<Draft> {
  let isFirst = true;
  for (const item of messages) {
    const record = recordOf(item);
    if (record === undefined) reading.malformed(line ?? 0, "a message that is not a JSON object");
    if (record === undefined || record.role === "session_meta") continue;
    const message = messageOf(record, line, reading);
    yield isFirst ? { ...message, at: message.at ?? startedAt } : message;
    isFirst &&= !isKept(message, reading);
  }
}

function messageOf(record: Json, line: number | undefined, reading: Reading): Draft {
  const role = record.mirror === true ? "assistant" : record.role;
  return {
    id: textOf(record.platform_message_id),
    role,
    text: blocksOf(contentOf(record.content), reading.unknown).text,
    at: timeOf(record.timestamp),
    line,
    toolCalls: role === "assistant" ? callsOf(record.tool_calls) : [],
    toolCallId: textOf(record.tool_call_id),
    toolName: textOf(record.tool_name) ?? textOf(record.name),
    reasoning: textOf(record.reasoning) ?? textOf(record.reasoning_content),
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

/** In exports the column is JSON text. */
function callsOf(value: unknown): ToolCall[] {
  return recordsOf(typeof value === "string" ? jsonOf(value) : value).map(functionCall);
}

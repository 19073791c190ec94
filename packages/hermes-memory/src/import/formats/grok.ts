// Grok Build: `sessions/<encoded cwd>/<id>/` with chat_history.jsonl, summary.json and, for the times, updates.jsonl.
import { readFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { type Json, joined, jsonOf, jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
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

const HISTORY = "chat_history.jsonl";
/** Enough of a text to find it again in the other file. */
const KEY_CHARS = 80;
/** Context that the product puts into user messages. */
const CONTEXT_TAGS = ["user_info", "git_status", "system-reminder", "agent_skills", "mcp_servers"];

export const grok: TranscriptReader = {
  source: "grok",
  title: "Grok Build",
  evidence: "P",
  version: 1,
  roots: ({ home, env }: Place) => [join(textOf(env.GROK_HOME) ?? join(home, ".grok"), "sessions")],
  units,
  recognises,
  read,
};

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const isHistory = (path: string): boolean => path === root || basename(path) === HISTORY;
  for await (const path of filesBelow(root, { file: isHistory }, walking))
    yield { path, stamps: [path, beside(path, "summary.json"), beside(path, "updates.jsonl")] };
}

function recognises({ path, first }: Sample): boolean {
  const record = recordOf(first);
  return basename(path) === HISTORY && record !== undefined && kindOf(record) !== "";
}

function beside(path: string, name: string): string {
  return join(dirname(path), name);
}

async function* read(unit: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const facts = await factsOf(unit.path);
  const times = await Times.of(beside(unit.path, "updates.jsonl"), reading);
  yield { kind: "session", facts: times.isEmpty ? { ...facts, hasSyntheticTimes: true } : facts };
  const names = new Map<string, string>();
  let thoughts: (string | undefined)[] = [];
  let isFirst = true;
  for await (const { line, value } of jsonLines(unit.path, reading)) {
    const kind = kindOf(value);
    if (kind === "") reading.unknown(textOf(value.type) ?? "record without type");
    if (kind === "reasoning") {
      thoughts.push(thoughtsOf(value));
      continue;
    }
    const message = messageOf(value, { reading, thoughts });
    if (kind !== "") thoughts = [];
    if (message === undefined) continue;
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name);
    const at = times.take(message) ?? (isFirst ? facts.startedAt : undefined);
    isFirst = false;
    yield {
      kind: "message",
      message: { ...message, at, line, toolName: names.get(message.toolCallId ?? "") },
    };
  }
}

async function factsOf(path: string): Promise<SessionFacts> {
  // Missing or half-written notes cost only the title and the place.
  const summary =
    recordOf(jsonOf(await readFile(beside(path, "summary.json"), "utf8").catch(() => undefined))) ?? {};
  const before = textOf(summary.parent_session_id);
  return {
    nativeId: basename(dirname(path)),
    title: textOf(summary.generated_title) ?? textOf(summary.session_summary) ?? textOf(summary.summary),
    cwd: textOf(recordOf(summary.info)?.cwd) ?? textOf(summary.cwd) ?? decodedFolder(path),
    model: textOf(summary.current_model_id) ?? textOf(summary.model_id),
    gitBranch: textOf(summary.head_branch),
    startedAt: timeOf(summary.created_at),
    endedAt: timeOf(summary.last_active_at) ?? timeOf(summary.updated_at),
    continues: before === undefined ? undefined : { how: "fork", session: before },
  };
}

/** The folder above the session is the working directory in percent encoding. */
function decodedFolder(path: string): string | undefined {
  try {
    const cwd = decodeURIComponent(basename(dirname(dirname(path))));
    return isAbsolute(cwd) ? cwd : undefined;
  } catch {
    return undefined; // not an encoded path
  }
}

type Kind = "system" | "user" | "assistant" | "reasoning" | "tool_result" | "backend_tool_call" | "";
const KINDS: Readonly<Record<string, Kind>> = {
  system: "system",
  user: "user",
  assistant: "assistant",
  reasoning: "reasoning",
  tool_result: "tool_result",
  tool: "tool_result",
  backend_tool_call: "backend_tool_call",
};

function kindOf(record: Json): Kind {
  return KINDS[textOf(record.type) ?? textOf(record.role) ?? ""] ?? "";
}

function messageOf(
  record: Json,
  { reading, thoughts }: { reading: Reading; thoughts: readonly (string | undefined)[] },
): TranscriptMessage | undefined {
  const kind = kindOf(record);
  if (kind === "" || kind === "reasoning" || (kind === "system" && !reading.options.includeSystem))
    return undefined;
  if (kind === "backend_tool_call") return { role: "assistant", text: "", toolCalls: backendCalls(record) };
  const { text } = blocksOf(record.content, reading.unknown);
  if (kind === "tool_result") return { role: "tool", text, toolCallId: textOf(record.tool_call_id) };
  if (kind === "system") return { role: "system", text };
  if (kind === "user") {
    const reason = textOf(record.synthetic_reason);
    const words = reason === undefined || reason === "interjection" ? withoutContext(text) : "";
    return words === "" ? undefined : { role: "user", text: words };
  }
  const toolCalls = listOf(record.tool_calls).flatMap(callOf);
  const inline = textOf(recordOf(record.reasoning)?.text) ?? textOf(record.reasoning_content);
  const reasoning = reading.options.includeReasoning ? textOf(inline ?? joined(thoughts)) : undefined;
  if (text === "" && toolCalls.length === 0 && reasoning === undefined) return undefined;
  return {
    role: "assistant",
    text,
    toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
    reasoning,
    model: textOf(record.model_id),
  };
}

function callOf(item: unknown): ToolCall[] {
  const call = recordOf(item);
  const made = recordOf(call?.function) ?? call;
  if (call === undefined || made === undefined) return [];
  const id = textOf(call.id) ?? textOf(call.tool_call_id) ?? "";
  return [{ id, name: textOf(made.name) ?? "unknown", arguments: jsonText(made.arguments ?? made.input) }];
}

/** Tools that ran on the side of the model, such as a web search. */
function backendCalls(record: Json): ToolCall[] {
  const call = recordOf(record.kind) ?? record;
  const name = textOf(call.tool_type) ?? "unknown";
  return [{ id: textOf(call.id) ?? "", name, arguments: jsonText(call.action ?? call.input) }];
}

function thoughtsOf(record: Json): string | undefined {
  const parts = [...listOf(record.summary), ...listOf(record.content)].map((part) =>
    textOf(recordOf(part)?.text),
  );
  return textOf(joined(parts)) ?? textOf(record.content);
}

function withoutContext(recorded: string): string {
  const query = /<user_query>([\s\S]*?)<\/user_query>/.exec(recorded)?.[1];
  if (query !== undefined) return query.trim();
  let text = recorded;
  for (const tag of CONTEXT_TAGS) text = withoutTag(text, tag);
  return text.trim();
}

/** An unclosed tag is left, as the user may have typed it. */
function withoutTag(text: string, tag: string): string {
  let rest = text;
  let kept = "";
  for (let start = rest.indexOf(`<${tag}>`); start >= 0; start = rest.indexOf(`<${tag}>`)) {
    const end = rest.indexOf(`</${tag}>`, start);
    if (end < 0) break;
    kept += rest.slice(0, start);
    rest = rest.slice(end + tag.length + 3);
  }
  return kept + rest;
}

/** When each message was written, from the notifications that the product recorded. They come in order and have no ids of messages. */
class Times {
  readonly #times = new Map<string, number[]>();
  /** The message whose chunks are being read. */
  #chunks: { kind: "user" | "assistant"; start: string; at: number } | undefined;

  static async of(path: string, reading: Reading): Promise<Times> {
    const times = new Times();
    try {
      // Broken notifications are no lost messages.
      for await (const { value } of jsonLines(path, { ...reading, malformed: () => {} })) times.#note(value);
    } catch (cause) {
      if (reading.signal.aborted) throw cause;
      // The file is missing or unreadable: the session keeps the time of its start.
    }
    times.#endChunks();
    return times;
  }

  get isEmpty(): boolean {
    return this.#times.size === 0;
  }

  /** Every time is given once, so that equal texts get theirs in order. */
  take(message: TranscriptMessage): number | undefined {
    const call = message.toolCalls?.[0]?.id;
    const keys = [
      message.role === "tool" ? `result ${message.toolCallId}` : undefined,
      call === undefined ? undefined : `call ${call}`,
      message.role === "user" || message.role === "assistant"
        ? textKey(message.role, message.text)
        : undefined,
    ];
    for (const key of keys) {
      const at = key === undefined ? undefined : this.#times.get(key)?.shift();
      if (at !== undefined) return at;
    }
    return undefined;
  }

  #note(record: Json): void {
    const update = recordOf(recordOf(record.params)?.update) ?? recordOf(record.update);
    const at = timeOf(record.timestamp);
    if (update === undefined || at === undefined) return;
    const type = update.sessionUpdate;
    if (type === "user_message_chunk") this.#addChunk("user", update, at);
    else if (type === "agent_message_chunk") this.#addChunk("assistant", update, at);
    else if (type === "tool_call") this.#keep(`call ${textOf(update.toolCallId)}`, at);
    else if (type === "tool_call_update" && (update.status === "completed" || update.status === "failed"))
      this.#keep(`result ${textOf(update.toolCallId)}`, at);
    else if (type === "compaction_checkpoint") {
      // The history starts anew behind it.
      this.#times.clear();
      this.#chunks = undefined;
    } else this.#endChunks();
  }

  #addChunk(kind: "user" | "assistant", update: Json, at: number): void {
    const text = textOf(recordOf(update.content)?.text) ?? "";
    if (this.#chunks?.kind !== kind) {
      this.#endChunks();
      this.#chunks = { kind, start: "", at };
    }
    if (this.#chunks.start.length < 4 * KEY_CHARS) this.#chunks.start += text.slice(0, 4 * KEY_CHARS);
  }

  #endChunks(): void {
    const chunks = this.#chunks;
    this.#chunks = undefined;
    if (chunks !== undefined) this.#keep(textKey(chunks.kind, chunks.start), chunks.at);
  }

  #keep(key: string, at: number): void {
    this.#endChunks();
    const known = this.#times.get(key);
    if (known === undefined) this.#times.set(key, [at]);
    else known.push(at);
  }
}

/** The first line only: attachments follow the text in one file and are missing in the other. */
function textKey(role: string, text: string): string {
  const [line = ""] = withoutContext(text).split("\n", 1);
  return `${role} ${line.slice(0, KEY_CHARS).trim()}`;
}

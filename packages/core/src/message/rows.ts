// A message in the database: the shapes its row is read and written in, and the converters. Pure. A message that was stored and read
// again gives the agent's models the same request as before. Fields of the vendor bag that have no column are not stored: of a message
// all but reasoning, of parts and tool calls none, because those are stored as JSON (ai-sdk.ts says what that means for the AI SDK).
import { outsideJsonOr, pyStrip, withoutUndefined } from "../lib/index.ts";
import { sanitizeContext } from "../security/index.ts";
import type { Message, ToolCall, Vendor } from "./message.ts";
import { type OpenAiMessage, readRow, renderContent, renderToolCalls } from "./openai.ts";
import { isRefused, REFUSED_BY_POLICY } from "./refused.ts";
import { decodeContent, parseJsonColumn, type Warn } from "./stored-content.ts";

export type MessageRow = {
  readonly id: number;
  readonly session_id: string;
  readonly role: string;
  /** A string, null, or the value of structured content. */
  readonly content: unknown;
  readonly tool_call_id: string | null;
  /** Parsed; `[]` when the stored text is no JSON. */
  readonly tool_calls: unknown;
  readonly tool_name: string | null;
  readonly timestamp: number;
  readonly token_count: number | null;
  readonly finish_reason: string | null;
  readonly reasoning: string | null;
  readonly reasoning_content: string | null;
  /** JSON text as stored, like the next two. */
  readonly reasoning_details: string | null;
  readonly codex_reasoning_items: string | null;
  readonly codex_message_items: string | null;
  readonly platform_message_id: string | null;
  readonly observed: number;
  readonly active: number;
  /** In files of today's Hermes, like the next two: 1 = put away by a compaction within the session. It is still found and shown. */
  readonly compacted?: number;
  /** Only on the summary of such a compaction. */
  readonly _compressed_summary?: true;
  /** `hidden` = for models only. */
  readonly display_kind?: string | null;
  /** Only on a row that was copied from another one (branching, compaction): the id of the first original. */
  readonly origin_id?: number;
};

/** The same row before content and tool calls are decoded. */
export type StoredMessageRow = Omit<
  MessageRow,
  "content" | "tool_calls" | "origin_id" | "_compressed_summary"
> & {
  readonly _compressed_summary?: number;
  readonly content: string | Uint8Array | null;
  readonly tool_calls: string | null;
  readonly origin_id: number | null;
};

/** A message to store. The keys of stored rows and of chat rows (`tool_calls`, ...) work as well. */
export type NewMessage = {
  readonly role?: string;
  readonly content?: unknown;
  readonly toolName?: string | null;
  readonly toolCalls?: unknown;
  readonly toolCallId?: string | null;
  readonly tokenCount?: number | null;
  readonly finishReason?: string | null;
  readonly reasoning?: string | null;
  readonly reasoningContent?: string | null;
  readonly reasoningDetails?: unknown;
  readonly codexReasoningItems?: unknown;
  readonly codexMessageItems?: unknown;
  readonly platformMessageId?: string | null;
  readonly observed?: boolean;
  /** Seconds, numeric text or a Date. Default: now. */
  readonly timestamp?: number | string | Date | null;
  /**
   * The row this one is a copy of; left out when there is no such row, or it is another user's. A stored row of another session that
   * is handed in counts as a copy by itself.
   */
  readonly originId?: number | null;
};

/** Without `providerOptions`, which every message of the AI SDK has a field for: those go through `fromAiSdk`. */
export type MessageInput = Message | ((NewMessage | Partial<MessageRow> | OpenAiMessage) & NotOfAiSdk);

type NotOfAiSdk = { readonly providerOptions?: undefined };

/** Undefined for a row that describes its session and is no message. */
export function fromRow(row: MessageRow): Message | undefined {
  if (row.role === "session_meta") return undefined;
  const texts = Object.fromEntries(
    ROW_TEXTS.flatMap((column) => (row[column] === null ? [] : [[column, row[column]]])),
  );
  const isReply = row.role === "assistant";
  const thoughts = isReply ? thoughtsOf(row) : { values: {}, written: new Map<string, string>() };
  const message = readRow(
    {
      role: row.role,
      content: row.content,
      ...texts,
      tool_calls: row.tool_calls ?? undefined,
      observed: row.observed ? true : undefined,
      ...thoughts.values,
      finish_reason: isReply || isRefused(row) ? row.finish_reason : undefined,
    },
    withoutUndefined({
      atSeconds: row.timestamp,
      rowId: row.id,
      platformMessageId: row.platform_message_id ?? undefined,
      originId: row.origin_id,
    }),
  );
  if (message.role === "assistant") storedCalls.set(message.toolCalls, row.tool_calls);
  if (message.vendor !== undefined) storedJson.set(message.vendor, thoughts.written);
  return message;
}

/** `storedContent` goes before `content`. A message that has a row already is a copy of it, in the continuation of its session. */
export function toNewMessage(message: Message): NewMessage & Partial<Record<ThoughtColumn, string>> {
  const { content, meta, vendor = {} } = message;
  const role = meta.writtenRole ?? message.role;
  const own = withoutUndefined<NewMessage>({
    role,
    content: renderContent(meta.storedContent === undefined ? content : meta.storedContent),
    timestamp: meta.atSeconds === 0 && meta.rowId === undefined ? undefined : meta.atSeconds,
    originId: meta.rowId,
    observed: meta.observed,
    platformMessageId: meta.platformMessageId,
    ...callFields(message),
  });
  return {
    ...own,
    ...(role === "assistant" ? thoughtFields(vendor, meta.finishReason) : {}),
    ...(isRefused(message) ? { finishReason: REFUSED_BY_POLICY } : {}),
  };
}

/** A row as readers of a session get it: content and tool calls decoded, everything else as stored. */
export function toMessageRow(stored: StoredMessageRow, warn?: Warn): MessageRow {
  const { origin_id, _compressed_summary: isSummary, ...columns } = stored;
  const report = warnAbout(stored, warn);
  return withoutUndefined({
    ...columns,
    content: decodeContent(stored.content, report),
    tool_calls: parseJsonColumn(stored.tool_calls, [], report),
    _compressed_summary: isSummary === 1 ? true : undefined,
    origin_id: origin_id ?? undefined,
  });
}

/** A row as it goes back into a model's context. Absent keys are absent values. */
export function toConversationRow(row: StoredMessageRow, warn?: Warn): OpenAiMessage {
  const report = warnAbout(row, warn);
  const isReply = row.role === "assistant";
  const calls = row.tool_calls ? parseJsonColumn(row.tool_calls, [], report) : undefined;
  return withoutUndefined({
    role: row.role,
    content: visibleContent(row, report) as NonNullable<OpenAiMessage["content"]> | null,
    timestamp: row.timestamp === 0 ? undefined : row.timestamp,
    tool_call_id: row.tool_call_id || undefined,
    tool_name: row.tool_name || undefined,
    tool_calls: calls as NonNullable<OpenAiMessage["tool_calls"]> | undefined,
    message_id: row.platform_message_id || undefined,
    observed: row.observed ? true : undefined,
    finish_reason: isReply || isRefused(row) ? row.finish_reason || undefined : undefined,
    ...(isReply ? visibleThoughts(row, report) : {}),
  });
}

/** Columns whose value a message has as text. */
const ROW_TEXTS = ["tool_call_id", "tool_name"] as const;
const THOUGHT_TEXTS = { reasoning: "reasoning", reasoning_content: "reasoningContent" } as const;
const THOUGHT_VALUES = {
  reasoning_details: "reasoningDetails",
  codex_reasoning_items: "codexReasoningItems",
  codex_message_items: "codexMessageItems",
} as const;
const THOUGHT_COLUMNS = Object.keys(THOUGHT_VALUES) as readonly ThoughtColumn[];
type ThoughtColumn = keyof typeof THOUGHT_VALUES;

/** `tool_calls` of the row that these were read from: entries that are no calls are kept in a copy. */
const storedCalls = new WeakMap<readonly ToolCall[], unknown>();
/** Texts of JSON columns, by the bag that their values are in: printed again, `1.0` and a key that occurs twice would be lost. */
const storedJson = new WeakMap<Vendor, ReadonlyMap<string, string>>();
/** The same by value, for bags that were made anew. */
const storedText = new WeakMap<object, string>();

function thoughtsOf(row: MessageRow): {
  readonly values: Record<string, unknown>;
  readonly written: Map<string, string>;
} {
  const values: Record<string, unknown> = {};
  const written = new Map<string, string>();
  // An empty one is kept: some servers demand the field back.
  for (const column of Object.keys(THOUGHT_TEXTS) as (keyof typeof THOUGHT_TEXTS)[])
    if (row[column] !== null) values[column] = row[column];
  for (const column of THOUGHT_COLUMNS) {
    const stored = row[column];
    // Another program's, and broken or too deep: a model would refuse it anyway.
    const value = stored === null || stored === "" ? undefined : outsideJsonOr(stored, undefined);
    if (value === undefined || value === null || stored === null) continue;
    values[column] = value;
    if (typeof value === "object") storedText.set(value, stored);
    else written.set(column, stored);
  }
  return { values, written };
}

function thoughtFields(vendor: Vendor, finishReason: string | undefined): Record<string, unknown> {
  const fields: Record<string, unknown> = finishReason === undefined ? {} : { finishReason };
  for (const [column, name] of Object.entries(THOUGHT_TEXTS))
    if (typeof vendor[column] === "string") fields[name] = vendor[column];
  for (const column of THOUGHT_COLUMNS) {
    const value = vendor[column];
    if (value === undefined || value === null) continue;
    const text = typeof value === "object" ? storedText.get(value) : storedJson.get(vendor)?.get(column);
    // Under the column's name a text is stored as it is.
    if (text === undefined) fields[THOUGHT_VALUES[column]] = value;
    else fields[column] = text;
  }
  return fields;
}

/** Also those that a row of another role has, which only another program can have written. */
function callFields(message: Message): NewMessage {
  const { vendor = {} } = message;
  const calls = message.role === "assistant" ? keptCalls(message.toolCalls) : vendor.tool_calls;
  const callId = message.role === "tool" ? message.toolCallId : vendor.tool_call_id;
  const toolName = message.role === "tool" ? message.toolName : vendor.tool_name;
  return {
    toolCalls: calls ?? undefined,
    toolCallId: typeof callId === "string" && callId !== "" ? callId : undefined,
    toolName: typeof toolName === "string" ? toolName : undefined,
  };
}

function keptCalls(calls: readonly ToolCall[]): unknown {
  return storedCalls.get(calls) ?? (calls.length === 0 ? undefined : renderToolCalls(calls));
}

function visibleThoughts(row: StoredMessageRow, report: Warn | undefined): Record<string, unknown> {
  return {
    reasoning: row.reasoning || undefined,
    // Some models require the field even when it was empty.
    reasoning_content: row.reasoning_content ?? undefined,
    ...Object.fromEntries(
      THOUGHT_COLUMNS.flatMap((column) =>
        row[column] ? [[column, parseJsonColumn(row[column], null, report)]] : [],
      ),
    ),
  };
}

/** Text of users and models comes back without the memory that was recalled into it at the time. */
function visibleContent(row: StoredMessageRow, report: Warn | undefined): unknown {
  const content = decodeContent(row.content, report);
  const isDialogue = row.role === "user" || row.role === "assistant";
  return isDialogue && typeof content === "string" ? pyStrip(sanitizeContext(content)) : content;
}

function warnAbout(row: StoredMessageRow, warn: Warn | undefined): Warn | undefined {
  return warn && ((message) => warn(`Message ${row.id} of session ${row.session_id}: ${message}.`));
}

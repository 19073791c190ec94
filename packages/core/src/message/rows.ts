// The database row of a message, and its conversion from and to a message. Pure. A message that was stored and read again produces the
// same model request. A tool message has its output kind in `finish_reason`, if that is neither text nor parts. `vendor` of a message has columns for reasoning only, its other fields are not stored; parts and tool calls are
// stored as JSON, with their `vendor` (ai-sdk.ts lists the consequences for the AI SDK).
import { inspect } from "node:util";
import { outsideJsonOr, parseOutsideJson, pyStrip, withoutUndefined } from "../lib/index.ts";
import { sanitizeContext } from "../security/index.ts";
import {
  isNotedKind,
  isRefused,
  type Message,
  type PartKind,
  REFUSED_BY_POLICY,
  type ToolCall,
  textOf,
  type Vendor,
} from "./message.ts";
import {
  type OpenAiMessage,
  parseContent,
  readRow,
  renderContent,
  renderToolCalls,
  takePartOrder,
  withPartOrder,
} from "./openai.ts";

/** A message as the database stores it, JSON columns parsed. */
export type MessageRow = {
  readonly id: number;
  readonly session_id: string;
  readonly role: string;
  /** A string, null, or the decoded structured content. */
  readonly content: unknown;
  readonly tool_call_id: string | null;
  /** Parsed; `[]` if the stored text is not JSON. */
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
  /** This and the next two exist in files of today's Hermes. 1: replaced by a compaction within the session; still found and shown. */
  readonly compacted?: number;
  /** Set on the summary of such a compaction. */
  readonly _compressed_summary?: true;
  /** `hidden`: for models only. */
  readonly display_kind?: string | null;
  /** Set on a copied row (branch, compaction): the id of the first original. */
  readonly origin_id?: number;
};

/** The row before content and tool calls are decoded. */
export type StoredMessageRow = Omit<
  MessageRow,
  "content" | "tool_calls" | "origin_id" | "_compressed_summary"
> & {
  readonly _compressed_summary?: number;
  readonly content: string | Uint8Array | null;
  readonly tool_calls: string | null;
  readonly origin_id: number | null;
};

/** A message to store. The keys of stored rows and of chat rows (`tool_calls`, ...) are accepted as well. */
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
   * The row that this one is a copy of; ignored if there is no such row or it belongs to another user. A stored row of another
   * session is stored as a copy without this field.
   */
  readonly originId?: number | null;
};

/** Excludes messages of the AI SDK, which have `providerOptions`: convert them with `fromAiSdk`. */
export type MessageInput = Message | ((NewMessage | Partial<MessageRow> | OpenAiMessage) & NotOfAiSdk);

type NotOfAiSdk = { readonly providerOptions?: undefined };

/** Undefined for a `session_meta` row, which describes its session and is not a message. */
export function fromRow(row: MessageRow): Message | undefined {
  if (row.role === "session_meta") return undefined;
  const isReply = row.role === "assistant";
  const thoughts = isReply ? thoughtsOf(row) : undefined;
  const isEnding = isReply || isRefused(row) || (row.role === "tool" && isNotedKind(row.finish_reason));
  const message = readRow(
    {
      role: row.role,
      content: row.content,
      tool_call_id: row.tool_call_id ?? undefined,
      tool_name: row.tool_name ?? undefined,
      tool_calls: row.tool_calls ?? undefined,
      observed: row.observed ? true : undefined,
      ...thoughts?.values,
      finish_reason: isEnding ? row.finish_reason : undefined,
    },
    withoutUndefined({
      atSeconds: row.timestamp,
      rowId: row.id,
      platformMessageId: row.platform_message_id ?? undefined,
      originId: row.origin_id,
    }),
  );
  if (message.role === "assistant") storedCalls.set(message.toolCalls, row.tool_calls);
  if (message.vendor !== undefined && thoughts !== undefined)
    storedJson.set(message.vendor, thoughts.written);
  return message;
}

export function fromRows(rows: readonly MessageRow[]): readonly Message[] {
  return rows.flatMap((row) => fromRow(row) ?? []);
}

/** `storedContent` wins over `content`. A message that already has a row is stored as a copy of it, in the continuation of its session. */
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
  const thoughts = role === "assistant" ? thoughtFields(vendor, meta.finishReason) : {};
  return {
    ...own,
    ...(role === "assistant" && meta.partOrder !== undefined
      ? withOrder(own, thoughts, vendor, meta.partOrder)
      : thoughts),
    ...(message.role === "tool" && isNotedKind(meta.finishReason) ? { finishReason: meta.finishReason } : {}),
    ...(isRefused(message) ? { finishReason: REFUSED_BY_POLICY } : {}),
  };
}

function withOrder(
  { content, toolCalls }: NewMessage,
  thoughts: Record<string, unknown>,
  { reasoning_details }: Vendor,
  order: readonly PartKind[],
): Record<string, unknown> {
  const noted = withPartOrder({ content, tool_calls: toolCalls, reasoning_details }, order);
  const { reasoning_details: _, ...others } = thoughts;
  return {
    ...("reasoning_details" in noted ? { ...others, reasoningDetails: noted.reasoning_details } : thoughts),
    ...("content" in noted ? { content: noted.content } : {}),
    ...("tool_calls" in noted ? { toolCalls: noted.tool_calls } : {}),
  };
}

/** Decodes content and tool calls; the other columns are unchanged. */
export function toMessageRow(stored: StoredMessageRow, warn?: Warn): MessageRow {
  const { origin_id, _compressed_summary: isSummary } = stored;
  const report = warnAbout(stored, warn);
  // A loop: rest and spread take ten times as long, and long chats are read as a whole.
  const columns: Record<string, unknown> = {};
  for (const name in stored)
    if (name !== "origin_id" && name !== "_compressed_summary")
      columns[name] = stored[name as keyof StoredMessageRow];
  columns.content = decodeContent(stored.content, report);
  columns.tool_calls = parseJsonColumn(stored.tool_calls, [], report);
  const row = columns as { -readonly [K in keyof MessageRow]: MessageRow[K] };
  if (isSummary === 1) row._compressed_summary = true;
  if (origin_id !== null) row.origin_id = origin_id;
  return row;
}

/** The row as a chat row for a model's context, without keys for empty columns. */
export function toConversationRow(row: StoredMessageRow, warn?: Warn): OpenAiMessage {
  const report = warnAbout(row, warn);
  const isReply = row.role === "assistant";
  const calls = row.tool_calls ? parseJsonColumn(row.tool_calls, [], report) : undefined;
  const content = visibleContent(row, report);
  const thoughts = isReply ? visibleThoughts(row, report) : {};
  const { lists } = takePartOrder({ content, tool_calls: calls, ...thoughts });
  return withoutUndefined({
    role: row.role,
    content: content as NonNullable<OpenAiMessage["content"]> | null,
    timestamp: row.timestamp === 0 ? undefined : row.timestamp,
    tool_call_id: row.tool_call_id || undefined,
    tool_name: row.tool_name || undefined,
    tool_calls: calls as NonNullable<OpenAiMessage["tool_calls"]> | undefined,
    message_id: row.platform_message_id || undefined,
    observed: row.observed ? true : undefined,
    finish_reason: isReply || isRefused(row) ? row.finish_reason || undefined : undefined,
    ...thoughts,
    ...(lists as Partial<OpenAiMessage>),
  });
}

const THOUGHT_TEXTS = { reasoning: "reasoning", reasoning_content: "reasoningContent" } as const;
const THOUGHT_VALUES = {
  reasoning_details: "reasoningDetails",
  codex_reasoning_items: "codexReasoningItems",
  codex_message_items: "codexMessageItems",
} as const;
const THOUGHT_COLUMNS = Object.keys(THOUGHT_VALUES) as readonly ThoughtColumn[];
type ThoughtColumn = keyof typeof THOUGHT_VALUES;

/** The stored `tool_calls` that these calls were parsed from, so that a copy keeps entries that are not calls. */
const storedCalls = new WeakMap<readonly ToolCall[], unknown>();
/** The stored JSON text of columns, by `vendor` object: JSON.stringify would lose `1.0` and repeated keys. */
const storedJson = new WeakMap<Vendor, ReadonlyMap<string, string>>();
/** The same by value, for copied `vendor` objects. */
const storedText = new WeakMap<object, string>();

function thoughtsOf(row: MessageRow): {
  readonly values: Record<string, unknown>;
  readonly written: Map<string, string>;
} {
  const values: Record<string, unknown> = {};
  const written = new Map<string, string>();
  // An empty text is kept: some servers require the field.
  for (const column of Object.keys(THOUGHT_TEXTS) as (keyof typeof THOUGHT_TEXTS)[])
    if (row[column] !== null) values[column] = row[column];
  for (const column of THOUGHT_COLUMNS) {
    const stored = row[column];
    // Invalid or too deeply nested JSON of another program is left out: a model would refuse it.
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
    // Under the column's name a text is stored unchanged.
    if (text === undefined) fields[THOUGHT_VALUES[column]] = value;
    else fields[column] = text;
  }
  return fields;
}

/** Includes calls in rows of other roles, which only another program can have written. */
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

/** Removes recalled memory that was stored with texts of users and models. */
function visibleContent(row: StoredMessageRow, report: Warn | undefined): unknown {
  const content = decodeContent(row.content, report);
  const isDialogue = row.role === "user" || row.role === "assistant";
  return isDialogue && typeof content === "string" ? pyStrip(sanitizeContext(content)) : content;
}

function warnAbout(row: StoredMessageRow, warn: Warn | undefined): Warn | undefined {
  return warn && ((message) => warn(`Message ${row.id} of session ${row.session_id}: ${message}.`));
}

// The content column: plain text unchanged, structured content as JSON behind a prefix that no text begins with.

export type Warn = (message: string) => void;

export const STRUCTURED_PREFIX = "\u0000json:";

/** Images are stored inside their message, so only the depth is limited. */
const STORED = { maxChars: Number.POSITIVE_INFINITY };

/** Shown for content without text. */
const NO_TEXT = "[multimodal content]";

export function encodeContent(value: unknown): string | null {
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return encodeText(value);
    case "boolean":
      return value ? "1" : "0"; // what SQLite makes of the original's booleans
    case "object":
      if (value === null) return null;
      if (value instanceof Uint8Array) return encodeText(decodeUtf8(value));
      return encodeStructure(value);
    default:
      return encodeText(stringForm(value));
  }
}

export function decodeContent(stored: string | Uint8Array | null, warn?: Warn): unknown {
  if (stored === null) return null;
  const text = typeof stored === "string" ? stored : decodeUtf8(stored);
  if (!text.startsWith(STRUCTURED_PREFIX)) return text;
  const parsed = parseOutsideJson(text.slice(STRUCTURED_PREFIX.length), STORED);
  if (parsed.ok) return parsed.value;
  warn?.(
    parsed.error.kind === "no_json"
      ? "its structured content is no valid JSON and is given as the text it is"
      : `its structured content ${parsed.error.message} and is given as the text it is`,
  );
  return text;
}

/** The text of decoded content, parts joined by a space; null if it has none. */
export function plainText(value: unknown): string | null {
  if (typeof value === "string") return value;
  const content = parseContent(value);
  if (content === null || typeof content === "string") return content ?? "";
  return textOf(content, { separator: " " }) || null;
}

/** `plainText`, with a placeholder for content without text. */
export function contentText(value: unknown): string {
  return plainText(value) ?? NO_TEXT;
}

/**
 * The value of a JSON column: null for NULL and empty text, `fallback` for text that is not JSON. Text that is nested too deep is
 * returned unchanged, so that an export keeps it; readers do not mistake a text for calls or reasoning.
 */
export function parseJsonColumn(text: string | null, fallback: unknown, warn?: Warn): unknown {
  if (text === null || text === "") return null;
  const parsed = parseOutsideJson(text, STORED);
  if (parsed.ok) return parsed.value;
  if (parsed.error.kind === "no_json") {
    warn?.("a JSON column of it holds no valid JSON and is left out");
    return fallback;
  }
  warn?.(`a JSON column of it ${parsed.error.message} and is given as the text it is`);
  return text;
}

/** Never throws, unlike `String`. Objects that JSON.stringify cannot write are printed by `util.inspect`, so that their content is kept. */
export function stringForm(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return inspect(value, {
    depth: 20,
    maxArrayLength: null,
    maxStringLength: null,
    breakLength: Number.POSITIVE_INFINITY,
    customInspect: false, // it could throw
  });
}

/** Invalid UTF-8 becomes U+FFFD; a byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

// Other libraries cut text at U+0000, and lone surrogates have no UTF-8 form. JSON has escapes for both.
function encodeText(text: string): string {
  return text.includes("\u0000") || !text.isWellFormed() ? STRUCTURED_PREFIX + JSON.stringify(text) : text;
}

function encodeStructure(value: object): string {
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return STRUCTURED_PREFIX + json;
  } catch {
    // A cycle or a bigint: keep its text form.
  }
  return encodeText(stringForm(value));
}

// Turns a message from a caller into the column values of its row. Accepts a `Message`, and objects with the keys of `NewMessage`,
// of stored rows or of chat rows.
import { HermesError, isRecord, outsideJsonOr } from "../lib/index.ts";
import { checkMessage, looksLikeMessage, type Message } from "./message.ts";
import {
  decodeUtf8,
  encodeContent,
  type MessageInput,
  type StoredMessageRow,
  stringForm,
  toNewMessage,
} from "./rows.ts";

/** A row without the columns that the store fills in. */
export type MessageColumns = Omit<
  StoredMessageRow,
  | "id"
  | "session_id"
  | "content"
  | "observed"
  | "active"
  | "compacted"
  | "_compressed_summary"
  | "display_kind"
  | "origin_id"
> & {
  readonly content: string | null;
  readonly observed: 0 | 1;
  /** False when the message had no usable timestamp and `now` was taken. */
  readonly hasOwnTimestamp: boolean;
  readonly toolCallCount: number;
  readonly originId: number | null;
};

/**
 * `now` in seconds. `replace` keeps reasoning on assistant messages only, as the Python original does when it rewrites a session.
 * `import` stores rows of another database unchecked.
 */
export function toMessageColumns(
  input: MessageInput,
  options: { readonly now: number; readonly mode: "append" | "replace" | "import" },
): MessageColumns {
  const message = looksLikeMessage(input) ? soundMessage(input) : undefined;
  const given = keysOf(message === undefined ? input : toNewMessage(message));
  if (options.mode !== "import" && message === undefined && !("session_id" in input)) refuseAiSdk(given);
  const role = textColumn(given.role) ?? "unknown";
  const thinks = options.mode !== "replace" || role === "assistant";
  const toolCalls = jsonColumn(given.toolCalls ?? given.tool_calls);
  const timestamp = toSeconds(given.timestamp);
  return {
    role,
    content: encodeContent(given.content),
    tool_call_id: textColumn(given.toolCallId ?? given.tool_call_id),
    tool_calls: toolCalls.text,
    tool_name: textColumn(given.toolName ?? given.tool_name),
    timestamp: timestamp ?? options.now,
    token_count: toInteger(given.tokenCount ?? given.token_count),
    finish_reason: textColumn(given.finishReason ?? given.finish_reason),
    reasoning: thinks ? textColumn(given.reasoning) : null,
    reasoning_content: thinks ? textColumn(given.reasoningContent ?? given.reasoning_content) : null,
    reasoning_details: thinks ? jsonText(given.reasoningDetails, given.reasoning_details) : null,
    codex_reasoning_items: thinks ? jsonText(given.codexReasoningItems, given.codex_reasoning_items) : null,
    codex_message_items: thinks ? jsonText(given.codexMessageItems, given.codex_message_items) : null,
    platform_message_id: textColumn(given.platformMessageId ?? given.platform_message_id ?? given.message_id),
    observed: given.observed ? 1 : 0,
    hasOwnTimestamp: timestamp !== null,
    toolCallCount: toolCalls.count,
    originId: toInteger(given.originId ?? given.origin_id),
  };
}

type Given = Readonly<Record<string, unknown>>;

// JavaScript callers can pass anything, and messages often come from JSON.
function keysOf(input: unknown): Given {
  if (isRecord(input)) return input;
  const kind = input === null ? "null" : Array.isArray(input) ? "a list" : `a ${typeof input}`;
  throw new HermesError("bad-message", `A message to store has to be an object, but this one is ${kind}.`, {
    hint: "Pass { role, content }; several messages go to appendMany.",
  });
}

function soundMessage(value: unknown): Message {
  const checked = checkMessage(value);
  if (checked.ok) return checked.value;
  throw new HermesError("bad-message", `A message to store ${checked.error.message}.`, {
    hint: "Make messages with newMessage, parseMessage or fromAiSdk, or pass { role, content } without meta.",
  });
}

/** An AI SDK message holds its calls and results in the content, where readers of rows do not look: they would be lost. */
function refuseAiSdk({ role, content, toolCallId, tool_call_id }: Given): void {
  if (!Array.isArray(content) || (role !== "assistant" && role !== "tool")) return;
  if (role === "tool" && (toolCallId ?? tool_call_id ?? "") !== "") return;
  const type = role === "assistant" ? "tool-call" : "tool-result";
  if (!content.some((part) => isRecord(part) && part.type === type && "toolCallId" in part)) return;
  throw new HermesError("bad-message", `A message to store has '${type}' parts, as the AI SDK writes them.`, {
    hint: "Convert messages of the AI SDK first: appendMany(id, fromAiSdk(messages)).",
  });
}

/** Replaces U+0000 and lone surrogates by U+FFFD, because other programs index and compare these columns. */
function textColumn(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return toText(value).replaceAll("\u0000", "\ufffd").toWellFormed();
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return decodeUtf8(value);
  return typeof value === "object" ? jsonOf(value) : String(value);
}

const EMPTY_JSON: ReadonlySet<string> = new Set(["null", '""', "[]", "{}", "0", "false"]);

/** The text of a JSON column and its number of items. Empty values become NULL with 0 items. */
function jsonColumn(value: unknown): { readonly text: string | null; readonly count: number } {
  if (value === null || value === undefined) return { text: null, count: 0 };
  if (typeof value === "string") {
    const parsed = parseStructure(value);
    // Lone surrogates inside valid JSON: JSON.stringify turns them into escapes.
    if (parsed !== null)
      return { text: value.isWellFormed() ? value : JSON.stringify(parsed), count: countOf(parsed) };
  }
  const text = jsonOf(value);
  return EMPTY_JSON.has(text) ? { text: null, count: 0 } : { text, count: countOf(value) };
}

/** Stored rows carry these columns as JSON text, so valid JSON text under a row's key is stored unchanged. */
function jsonText(value: unknown, ofRow: unknown): string | null {
  if (value !== null && value !== undefined) return jsonColumn(value).text;
  const isStored = typeof ofRow === "string" && ofRow.isWellFormed() && parseJson(ofRow) !== undefined;
  return isStored ? ofRow : jsonColumn(ofRow).text;
}

function parseStructure(text: string): object | null {
  if (!/^\s*[[{]/.test(text)) return null;
  const parsed = parseJson(text);
  return typeof parsed === "object" ? parsed : null;
}

/** Undefined for text that is not JSON or is nested too deep to be read again: the caller stores it as a JSON string. */
function parseJson(text: string): unknown {
  return outsideJsonOr(text, undefined, { maxChars: Number.POSITIVE_INFINITY });
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1;
}

function jsonOf(value: unknown): string {
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return json;
  } catch {
    // A cycle or a bigint: store its text form.
  }
  return JSON.stringify(stringForm(value));
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function toSeconds(value: unknown): number | null {
  const seconds =
    value instanceof Date
      ? value.getTime() / 1000
      : typeof value === "string" && DECIMAL.test(value.trim())
        ? Number(value)
        : value;
  return typeof seconds === "number" && Number.isFinite(seconds) ? seconds : null;
}

function toInteger(value: unknown): number | null {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

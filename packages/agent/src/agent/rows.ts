// Messages on their way to the session store and back. Pure. What comes back gives the same request as what went in.

import type { ContextMessage } from "@hermes-memory/core/context";
import { isRecord, outsideJsonOr, parseOutsideJson } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
import { isRefused, type MessageRow, type NewMessage, REFUSED_BY_POLICY } from "@hermes-memory/core/sessions";
import { type AgentMessage, newMessage } from "./message.ts";

/** As it is stored. A message that has a row already is a copy of it, in the continuation of its session. */
export function toRow(message: ContextMessage): NewMessage {
  const { role, timestamp, _row_id: origin } = message;
  const content = "_stored_content" in message ? message._stored_content : message.content;
  return {
    role,
    content: content ?? null,
    ...(typeof timestamp === "number" ? { timestamp } : {}),
    ...(origin === undefined ? {} : { originId: origin }),
    ...(message.observed === true ? { observed: true } : {}),
    ...texts(message, TEXT_KEYS),
    ...(message.tool_calls === undefined ? {} : { toolCalls: message.tool_calls }),
    ...(role === "assistant" ? { ...texts(message, THOUGHT_TEXTS), ...values(message) } : {}),
    ...(isRefused(message) ? { finishReason: REFUSED_BY_POLICY } : {}),
  };
}

/** Undefined for rows that are no messages. */
export function fromRow(row: MessageRow): AgentMessage | undefined {
  if (row.role === "session_meta") return undefined;
  const message: ContextMessage = {
    role: row.role,
    content: row.content,
    _row_id: row.id,
    ...present({
      tool_calls: row.tool_calls ?? undefined,
      tool_call_id: row.tool_call_id ?? undefined,
      tool_name: row.tool_name ?? undefined,
      message_id: row.platform_message_id ?? undefined,
      observed: row.observed ? true : undefined,
    }),
    ...(row.role === "assistant" ? thoughts(row) : {}),
    ...(isRefused(row) ? { finish_reason: REFUSED_BY_POLICY } : {}),
  };
  return newMessage(message, row.timestamp);
}

/** The calls of a reply as they are kept: what a model wrote into arguments may hold keys it was given. */
export function withMaskedArguments(message: ContextMessage): ContextMessage {
  if (!Array.isArray(message.tool_calls)) return message;
  const masked = message.tool_calls.map((call: unknown) => {
    const called = isRecord(call) && isRecord(call.function) ? call.function : undefined;
    if (called === undefined || typeof called.arguments !== "string") return call;
    const text = maskedJson(called.arguments);
    return text === called.arguments
      ? call
      : { ...(call as object), function: { ...called, arguments: text } };
  });
  return { ...message, tool_calls: masked };
}

const TEXT_KEYS = {
  tool_call_id: "toolCallId",
  tool_name: "toolName",
  message_id: "platformMessageId",
} as const;

const THOUGHT_TEXTS = {
  finish_reason: "finishReason",
  reasoning: "reasoning",
  reasoning_content: "reasoningContent",
} as const;

const THOUGHT_VALUES = {
  reasoning_details: "reasoningDetails",
  codex_reasoning_items: "codexReasoningItems",
  codex_message_items: "codexMessageItems",
} as const;

function texts(message: ContextMessage, keys: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, name]) => {
      const value = message[key];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

function values(message: ContextMessage): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(THOUGHT_VALUES).flatMap(([key, name]) =>
      message[key] === undefined || message[key] === null ? [] : [[name, message[key]]],
    ),
  );
}

function thoughts(row: MessageRow): Record<string, unknown> {
  return present({
    finish_reason: row.finish_reason ?? undefined,
    reasoning: row.reasoning ?? undefined,
    // Kept when empty: some servers demand the field back.
    reasoning_content: row.reasoning_content ?? undefined,
    reasoning_details: parsed(row.reasoning_details),
    codex_reasoning_items: parsed(row.codex_reasoning_items),
    codex_message_items: parsed(row.codex_message_items),
  });
}

function parsed(text: string | null): unknown {
  if (text === null || text === "") return undefined;
  // Another program's, and broken or too deep: a model would refuse it anyway.
  return outsideJsonOr(text, undefined) ?? undefined;
}

/** Value by value: in the text of JSON a key that begins a line does not look like one, because of the `\n` before it. */
function maskedJson(text: string): string {
  const parsed = parseOutsideJson(text);
  if (parsed.ok) {
    const safe = JSON.stringify(masked(parsed.value));
    return safe === JSON.stringify(parsed.value) ? text : safe;
  }
  const plain = text.replace(/\\[nrt]/g, "\n");
  // Unreadable or too deep, so the call was refused; what it holds is not worth keeping a secret for.
  return redactSecrets(plain) === plain ? text : "{}";
}

/** Of a JSON value: texts with secrets in them, and texts whose name says that they are one. */
export function masked(value: unknown): unknown {
  if (typeof value === "string") return redactSecrets(value);
  if (Array.isArray(value)) return value.map(masked);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redactSecrets(key), maskedField(key, item)]),
  );
}

/** The name of a field can give its value away: `password`, `api_key`. */
function maskedField(key: string, value: unknown): unknown {
  if (typeof value !== "string") return masked(value);
  const plain = redactSecrets(value);
  if (plain !== value) return plain;
  const pair = JSON.stringify({ [key]: value });
  return redactSecrets(pair) === pair ? value : "***";
}

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

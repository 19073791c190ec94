// Replies and snapshots as they are kept: without the secrets that a model was given. Pure.
import { isRecord, parseOutsideJson } from "@hermes-memory/core/lib";
import type { AssistantMessage } from "@hermes-memory/core/message";
import { redactSecrets } from "@hermes-memory/core/security";

/** The calls of a reply as they are kept: what a model wrote into arguments may hold keys it was given. */
export function withMaskedArguments(message: AssistantMessage): AssistantMessage {
  const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: maskedJson(call.arguments) }));
  return { ...message, toolCalls };
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

// Requests as tests compare them: without cache markers, and a list with one text as the text itself. Both change between
// two requests although the conversation before them does not.
import type { WireMessage } from "./script.ts";

export type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Goes into `content` only: what a tool was called with is the model's own, whatever its keys are called. */
export function cleaned(message: unknown): WireMessage {
  const { cache_control: _, ...rest } = recordOf(message);
  if (!Array.isArray(rest.content)) return rest;
  const parts = rest.content.map((part) => (isRecord(part) ? cleaned(part) : part));
  const [only, ...more] = parts;
  return { ...rest, content: more.length === 0 && isPlainText(only) ? only.text : parts };
}

/** The text of a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => recordOf(part).text)
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** System messages in front, and what follows. */
export function withoutSystem(messages: readonly unknown[]): {
  readonly system: readonly unknown[];
  readonly rest: readonly unknown[];
} {
  const start = messages.findIndex(
    (message) => !["system", "developer"].includes(String(recordOf(message).role)),
  );
  const end = start < 0 ? messages.length : start;
  return { system: messages.slice(0, end), rest: messages.slice(end) };
}

const TEXT_TYPES: readonly unknown[] = ["text", "input_text", "output_text", undefined];

function isPlainText(part: unknown): part is { readonly text: string } {
  if (!isRecord(part) || typeof part.text !== "string" || !TEXT_TYPES.includes(part.type)) return false;
  return Object.keys(part).every((key) => key === "type" || key === "text");
}

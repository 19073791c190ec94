// Parts of a message, made from the values of another product: its text, its tool calls, its use of tokens.
import type { ToolCall, Usage } from "../reader.ts";
import { type Json, jsonOf, numberOf, recordOf, textOf } from "./values.ts";

/** JSON text of a value that may be JSON text already. */
export function jsonText(value: unknown): string {
  if (typeof value === "string")
    return value === "" ? "{}" : jsonOf(value) === undefined ? JSON.stringify(value) : value;
  return JSON.stringify(value ?? {}) ?? "{}";
}

/** Text blocks joined by a blank line; empty ones are left out. */
export function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part.trim() !== "").join("\n\n");
}

export function toolCall(id: unknown, name: unknown, given: unknown): ToolCall {
  return { id: textOf(id) ?? "", name: textOf(name) ?? "unknown", arguments: jsonText(given) };
}

/** A call in the shape of OpenAI's API. Some products leave out the object around its name and arguments. */
export function functionCall(call: Json): ToolCall {
  const made = recordOf(call.function) ?? call;
  return toolCall(call.id, made.name, made.arguments);
}

const COUNTS = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "reasoningTokens",
] as const;

/** The names in Anthropic's API. */
export const ANTHROPIC_COUNTS = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
];

/** Token counts of a record. `names`: its fields for them, in the order of `COUNTS`; empty for a count that it does not have. */
export function usageOf(value: unknown, names: readonly string[]): Usage | undefined {
  const counts = recordOf(value);
  return counts && Object.fromEntries(COUNTS.map((key, at) => [key, numberOf(counts[names[at] ?? ""])]));
}

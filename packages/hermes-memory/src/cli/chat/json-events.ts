// `--json`: one object per line, keys in snake case. The names of events stay as they are.
import type { AgentEvent, TurnResult } from "@hermes-memory/agent/agent";
import { safeAddress } from "@hermes-memory/agent/models";
import type { StartFacts } from "./lines.ts";

export type JsonEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** The first line: what is talked to, and in which session. */
export function sessionJson(facts: StartFacts, warnings: readonly string[]): JsonEvent {
  const { sessionId, model, window, caching, resumed } = facts;
  return {
    type: "session",
    session_id: sessionId,
    resumed: resumed !== undefined,
    title: resumed?.title ?? null,
    messages: resumed?.messages ?? 0,
    model: model.model,
    provider: model.provider,
    api_mode: model.apiMode,
    base_url: safeAddress(model.baseUrl),
    context_window: { tokens: window.tokens, source: window.source, is_provisional: window.isProvisional },
    caching,
    warnings,
  };
}

export function eventJson(event: AgentEvent): JsonEvent {
  if (event.type === "turn-end") return { type: event.type, result: resultJson(event.result) };
  if (event.type !== "usage") return { ...snakeKeys(event), type: event.type };
  return { ...snakeKeys(event), type: event.type, usage: snakeKeys(event.usage) };
}

/** Without the messages: with every turn they would all be told once more. Their number is. */
function resultJson({ messages, ...result }: TurnResult): Readonly<Record<string, unknown>> {
  return { ...result, message_count: messages.length };
}

/** On one line, and without the characters above ASCII that a terminal obeys; JSON itself only escapes those below. */
export function jsonLine(value: JsonEvent): string {
  const text = JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${text}\n`;
}

/** Of the first level only: what is further down is data, and its keys are not ours. */
function snakeKeys(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [snakeCase(key), item]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

// A message of the live list, as chat APIs have it. The list holds no system prompt of ours, but a caller may pass one.
// Keys that begin with an underscore are for this process: they are neither sent nor stored.

export type ContextMessage = {
  readonly role: string;
  /** Text, a list of parts, null, or absent. From outside, so anything at all. */
  readonly content?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
  /** The row of the session store that holds it. */
  readonly _row_id?: number;
  /** This message is, or begins with, the handoff of a compaction. */
  readonly _compressed_summary?: true;
  readonly [key: string]: unknown;
};

/** A tool call of an assistant message, as far as anybody can count on it. */
export type ToolCall = {
  /** `call_id` where the wire has one beside `id`. */
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
};

/** The same list without holes and entries that are no message at all; usually the list itself. */
export function usableMessages(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  for (let index = 0; index < messages.length; index += 1)
    if (!isRecord(messages[index])) return messages.filter((message) => isRecord(message));
  return messages;
}

/** The calls a message makes. Whatever has no id or name is left out. */
export function toolCallsOf(message: ContextMessage): readonly ToolCall[] {
  if (message.role !== "assistant" || !Array.isArray(message.tool_calls)) return [];
  return message.tool_calls.flatMap((call: unknown): ToolCall[] => {
    if (!isRecord(call)) return [];
    const id = textOf(call.call_id) ?? textOf(call.id);
    if (id === undefined) return [];
    const called = isRecord(call.function) ? call.function : call;
    const given = called.arguments;
    return [
      {
        id,
        name: textOf(called.name) ?? "unknown",
        arguments: typeof given === "string" ? given : json(given),
      },
    ];
  });
}

/** The call a tool result answers. */
export function answeredCall(message: ContextMessage): string | undefined {
  return message.role === "tool" ? textOf(message.tool_call_id) : undefined;
}

/** A copy without the keys that are for this process only. */
export function toWire(message: ContextMessage): ContextMessage {
  const entries = Object.entries(message).filter(([key]) => !key.startsWith("_"));
  return Object.fromEntries(entries) as ContextMessage;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of a field that should be a text. Nothing for an object that cannot be one, which JSON can hold: `{"toString": 1}`. */
export function shownText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

/** Nothing for what no JSON can hold, and no model can have written. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

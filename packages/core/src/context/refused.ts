// The list without what a model's provider refused to read. A request that holds it would be refused again, and so would a summary.
import { isRefused, REFUSED_NOTE } from "../sessions/index.ts";
import { type ContextMessage, isRecord, toolCallsOf } from "./message.ts";

/**
 * What models may be shown, valid whenever the list is: a refused message of the user or the assistant is gone. Of a tool call its
 * name stays, because it ran, and of its result a note. The same array when nothing was refused.
 */
export function withoutRefused<Message extends ContextMessage>(
  messages: readonly Message[],
): readonly Message[] {
  if (!messages.some(isRefused)) return messages;
  return messages.flatMap((message) => {
    if (!isRefused(message)) return [message];
    const { finish_reason: _mark, ...kept } = message;
    if (message.role === "tool") return [{ ...kept, content: REFUSED_NOTE } as unknown as Message];
    return toolCallsOf(message).length === 0 ? [] : [bareCalls(message) as Message];
  });
}

/** How many messages a list has that models are not shown. */
export function refusedCount(messages: readonly ContextMessage[]): number {
  return messages.filter(isRefused).length;
}

/** Neither words nor thoughts nor arguments: each of them may be what was refused. */
function bareCalls(message: ContextMessage): ContextMessage {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const own = Object.entries(message).filter(([key]) => key.startsWith("_") || key === "timestamp");
  return {
    role: message.role,
    content: "",
    ...Object.fromEntries(own),
    tool_calls: calls.map((call: unknown) =>
      isRecord(call) && isRecord(call.function)
        ? { ...call, function: { ...call.function, arguments: "{}" } }
        : call,
    ),
  };
}

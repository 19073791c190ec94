// The list without what a model's provider refused to read. A request that holds it would be refused again, and so would a summary.
import { type AssistantMessage, isRefused, type Message, REFUSED_NOTE, withMeta } from "../message/index.ts";

/**
 * What models may be shown, valid whenever the list is: a refused message of the user or the assistant is gone. Of a tool call its
 * name stays, because it ran, and of its result a note. The same array when nothing was refused.
 */
export function withoutRefused(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(isRefused)) return messages;
  return messages.flatMap((message): readonly Message[] => {
    if (!isRefused(message)) return [message];
    const open = withMeta(message, { finishReason: undefined });
    if (open.role === "tool") return [{ ...open, content: REFUSED_NOTE }];
    return open.role === "assistant" && open.toolCalls.length > 0 ? [bareCalls(open)] : [];
  });
}

/** How many messages a list has that models are not shown. */
export function refusedCount(messages: readonly Message[]): number {
  return messages.filter(isRefused).length;
}

/** Neither words nor thoughts nor arguments: each of them may be what was refused. */
function bareCalls({ role, toolCalls, meta }: AssistantMessage): Message {
  return { role, content: "", toolCalls: toolCalls.map((call) => ({ ...call, arguments: "{}" })), meta };
}

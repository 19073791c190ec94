// Every tool call is followed by its result, every result preceded by its call: model APIs refuse anything else.
import { answeredCall, type ContextMessage, toolCallsOf } from "../message.ts";

/** Stands for the result of a call that has none. It says nothing. */
export const STUB = "[Result from earlier conversation — see context summary above]";

/**
 * Results without a call go, calls without a result get a stub, results that stand elsewhere move behind their call, calls that cannot be
 * answered go.
 */
export function repairPairs(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  const groups = pair(messages);
  const repaired: ContextMessage[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") continue;
    repaired.push(withSoundCalls(message));
    const group = groups.get(index);
    if (group === undefined) continue;
    for (const id of group.open) repaired.push({ role: "tool", content: STUB, tool_call_id: id });
    repaired.push(...group.results);
  }
  const isSame =
    repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
  return isSame ? messages : repaired;
}

/** Without calls that no result could ever answer: entries without an id, and lists that are none. */
function withSoundCalls(message: ContextMessage): ContextMessage {
  if (message.role !== "assistant" || message.tool_calls === undefined || message.tool_calls === null)
    return message;
  const given: readonly unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const sound = given.filter((call) => toolCallsOf({ role: "assistant", tool_calls: [call] }).length > 0);
  if (sound.length > 0 && sound.length === given.length) return message;
  const { tool_calls: _, ...rest } = message;
  return sound.length > 0 ? { ...rest, tool_calls: sound } : { ...rest, content: message.content ?? "" };
}

/** Results that answer no call before them. */
export function orphanResults(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  const answering = new Set([...pair(messages).values()].flatMap(({ results }) => results));
  return messages.filter((message) => message.role === "tool" && !answering.has(message));
}

type Group = {
  /** Calls that no result answers, in order. */
  readonly open: string[];
  readonly results: ContextMessage[];
};

/** What belongs to each message that makes calls, by its index. */
function pair(messages: readonly ContextMessage[]): ReadonlyMap<number, Group> {
  const groups = new Map<number, Group>();
  // Some models use an id again: the nearest call before a result is the one it answers, so the newest is on top.
  const waiting = new Map<string, Group[]>();
  for (const [index, message] of messages.entries()) {
    const calls = toolCallsOf(message);
    if (calls.length > 0) {
      const group: Group = { open: calls.map(({ id }) => id), results: [] };
      groups.set(index, group);
      for (const { id } of calls) {
        const stack = waiting.get(id);
        if (stack) stack.push(group);
        else waiting.set(id, [group]);
      }
    }
    const id = answeredCall(message);
    const group = id === undefined ? undefined : waiting.get(id)?.pop();
    if (id === undefined || group === undefined) continue;
    group.open.splice(group.open.indexOf(id), 1);
    group.results.push(message);
  }
  return groups;
}

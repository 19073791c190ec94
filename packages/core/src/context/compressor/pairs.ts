// Every tool call is followed by its result, every result preceded by its call: model APIs refuse anything else.
import { isResult, type Message, newMessage, toolCallsOf } from "../../message/index.ts";

/** Stands for the result of a call that has none. It says nothing. */
export const STUB = "[Result from earlier conversation — see context summary above]";

/**
 * Results without a call go, calls without a result get a stub, results that stand elsewhere move behind their call.
 */
export function repairPairs(messages: readonly Message[]): readonly Message[] {
  const groups = pair(messages);
  const repaired: Message[] = [];
  for (const [index, message] of messages.entries()) {
    if (isResult(message)) continue;
    repaired.push(message);
    const group = groups.get(index);
    if (group === undefined) continue;
    for (const id of group.open) repaired.push(newMessage({ role: "tool", content: STUB, toolCallId: id }));
    repaired.push(...group.results);
  }
  const isSame =
    repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
  return isSame ? messages : repaired;
}

/** Results that answer no call before them. */
export function orphanResults(messages: readonly Message[]): readonly Message[] {
  const answering = new Set([...pair(messages).values()].flatMap(({ results }) => results));
  return messages.filter((message) => isResult(message) && !answering.has(message));
}

type Group = {
  /** Calls that no result answers, in order. */
  readonly open: string[];
  readonly results: Message[];
};

/** What belongs to each message that makes calls, by its index. */
function pair(messages: readonly Message[]): ReadonlyMap<number, Group> {
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
    const id = isResult(message) ? message.toolCallId : undefined;
    const group = id === undefined ? undefined : waiting.get(id)?.pop();
    if (id === undefined || group === undefined) continue;
    group.open.splice(group.open.indexOf(id), 1);
    group.results.push(message);
  }
  return groups;
}

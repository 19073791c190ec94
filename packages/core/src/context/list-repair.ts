import {
  type AssistantMessage,
  isRefused,
  isResult,
  type Message,
  newMessage,
  REFUSED_NOTE,
  toolCallsOf,
  withMeta,
} from "../message/index.ts";

// ----
// Every tool call is followed by its result, every result preceded by its call: model APIs refuse anything else.

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
    repaired.push(...group.results.map(({ named }) => named));
  }
  const isSame =
    repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
  return isSame ? messages : repaired;
}

/** Results that answer no call before them. */
export function orphanResults(messages: readonly Message[]): readonly Message[] {
  const answering = new Set(
    [...pair(messages).values()].flatMap(({ results }) => results.map(({ given }) => given)),
  );
  return messages.filter((message) => isResult(message) && !answering.has(message));
}

type Group = {
  /** Calls that no result answers, in order. */
  readonly open: string[];
  /** As it stands in the list, and naming the call by the call's own id: mostly the same. */
  readonly results: { readonly given: Message; readonly named: Message }[];
};

type Waiting = { readonly id: string; readonly group: Group };

/** What belongs to each message that makes calls, by its index. */
function pair(messages: readonly Message[]): ReadonlyMap<number, Group> {
  const groups = new Map<number, Group>();
  // Some models use an id again: the nearest call before a result is the one it answers, so the newest is last.
  const waiting = new Map<string, Waiting[]>();
  for (const [index, message] of messages.entries()) {
    const calls = toolCallsOf(message);
    if (calls.length > 0) {
      const group: Group = { open: calls.map(({ id }) => id), results: [] };
      groups.set(index, group);
      for (const { id } of calls) {
        const stack = waiting.get(callHalf(id));
        if (stack) stack.push({ id, group });
        else waiting.set(callHalf(id), [{ id, group }]);
      }
    }
    if (!isResult(message)) continue;
    const answered = takeCall(waiting.get(callHalf(message.toolCallId)) ?? [], message.toolCallId);
    if (answered === undefined) continue;
    const { id, group } = answered;
    group.open.splice(group.open.indexOf(id), 1);
    const named = id === message.toolCallId ? message : { ...message, toolCallId: id };
    group.results.push({ given: message, named });
  }
  return groups;
}

/** The newest call of this very id; else the newest whose `call_1|fc_1` the result shortens to `call_1`, or the other way round. */
function takeCall(calls: Waiting[], resultId: string): Waiting | undefined {
  const same = calls.findLastIndex(({ id }) => id === resultId);
  const half = callHalf(resultId);
  const at = same >= 0 ? same : calls.findLastIndex(({ id }) => (id === half) !== (resultId === half));
  return at < 0 ? undefined : calls.splice(at, 1)[0];
}

/** Of `call_1|fc_1`, as the Responses API has ids of a call and its item in one: `call_1`. */
function callHalf(id: string): string {
  return id.split("|")[0] ?? id;
}

// ----
// The list without what a model's provider refused to read. A request that holds it would be refused again, and so would a summary.

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
    return open.role === "assistant" && open.toolCalls.length > 0 ? [callNamesOnly(open)] : [];
  });
}

/** How many messages a list has that models are not shown. */
export function refusedCount(messages: readonly Message[]): number {
  return messages.filter(isRefused).length;
}

/** Neither words nor thoughts nor arguments: each of them may be what was refused. */
function callNamesOnly({ role, toolCalls, meta }: AssistantMessage): Message {
  return { role, content: "", toolCalls: toolCalls.map((call) => ({ ...call, arguments: "{}" })), meta };
}

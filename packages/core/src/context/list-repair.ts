// Makes a message list acceptable to model servers: every tool call has its result, and nothing is sent that a provider
// refused.
import {
  isRefused,
  isResult,
  type Message,
  newMessage,
  REFUSED_NOTE,
  toolCallsOf,
  withMeta,
} from "../message/index.ts";

// Tool calls and results. Model servers refuse a list in which a call has no result or a result no call.

/** Content of the result that is added for a call without one. */
export const STUB = "[Result from earlier conversation — see context summary above]";

/**
 * Removes results without a call, adds a stub for calls without a result, and moves results behind their call. Returns the input
 * array when nothing changes.
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
  /** Ids of calls that no result answers, in order. */
  readonly open: string[];
  /** `given` is the result in the list; `named` has the call's own id, which is nearly always the same. */
  readonly results: { readonly given: Message; readonly named: Message }[];
};

type Waiting = { readonly id: string; readonly group: Group };

/** Results and open calls of each message that makes calls, by the index of the message. */
function pair(messages: readonly Message[]): ReadonlyMap<number, Group> {
  const groups = new Map<number, Group>();
  // Some models reuse an id. A result answers the nearest call before it, so the newest call is last.
  const waiting = new Map<string, Waiting[]>();
  for (const [index, message] of messages.entries()) {
    // A call that the model's provider ran has its result in the reply itself.
    const calls = toolCallsOf(message).filter(({ vendor }) => vendor?.providerExecuted !== true);
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

/**
 * The newest call with exactly this id; otherwise the newest whose id `call_1|fc_1` the result shortens to `call_1`, or the
 * reverse.
 */
function takeCall(calls: Waiting[], resultId: string): Waiting | undefined {
  const same = calls.findLastIndex(({ id }) => id === resultId);
  const half = callHalf(resultId);
  const at = same >= 0 ? same : calls.findLastIndex(({ id }) => (id === half) !== (resultId === half));
  return at < 0 ? undefined : calls.splice(at, 1)[0];
}

/** The Responses API joins the ids of a call and its item: `call_1|fc_1`. Returns `call_1`. */
function callHalf(id: string): string {
  return id.split("|")[0] ?? id;
}

// Messages that a provider refused to read. A request that contains them would be refused again, and so would a request for
// their summary.

/**
 * Removes refused messages of user and assistant. A refused tool call keeps its name, because it ran, and its result becomes a
 * note. The list stays valid. Returns the input array when nothing was refused.
 */
export function withoutRefused(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(isRefused)) return messages;
  return messages.flatMap((message): readonly Message[] => {
    if (!isRefused(message)) return [message];
    const open = withMeta(message, { finishReason: undefined });
    if (open.role === "tool") return [{ ...open, content: REFUSED_NOTE }];
    if (open.role !== "assistant" || open.toolCalls.length === 0) return [];
    // Text, reasoning and arguments go: each of them may be what was refused.
    const toolCalls = open.toolCalls.map((call) => ({ ...call, arguments: "{}" }));
    return [{ role: open.role, content: "", toolCalls, meta: open.meta }];
  });
}

export function refusedCount(messages: readonly Message[]): number {
  return messages.filter(isRefused).length;
}

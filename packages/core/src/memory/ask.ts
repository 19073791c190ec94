// A request of a client and the reply to it: what each may change in the stored chat. Both are decided on the rows as they are while the
// chat's lease is held, and written in one transaction with it.
//
// A request changes what stands behind the list that the client shows, but not the reply to the message that it asks: that one stays
// until another reply is stored. A reply belongs to the message that it answers. It stands behind it, in place of an earlier reply if no
// newer request has asked since; if the chat went on, it is kept as not shown.
import { type Message, toolCallsOf } from "../message/index.ts";
import type { Ask } from "../sessions/index.ts";
import { inCallOrder } from "./align.ts";
import { asShown, isSpoken } from "./chat-messages.ts";
import type { HeldChat } from "./chat-session.ts";
import { readShown } from "./follow-shown.ts";
import { appending, type Change, findExchange, followingShown } from "./remember.ts";
import { halfOf, isSame } from "./same-message.ts";
import type { AskOptions } from "./user-memory.ts";

type AskChange = Change & {
  /** What is asked, if it is stored already. Undefined: it is the last one of `add`. */
  readonly rowId?: number | undefined;
};

/** `newest`: the newest request of the chat so far. */
export async function planAsk(
  chat: HeldChat,
  stored: readonly Message[],
  asGiven: readonly Message[],
  options: AskOptions,
  newest: Ask | null,
): Promise<AskChange> {
  const given = readShown(asGiven).messages;
  const { key, list, hiddenTools = [] } = options;
  const found = key === undefined ? undefined : await findExchange(chat.store, chat.row.id, stored, key);
  // A key names its request for good, wherever the chat went since.
  if (found !== undefined) return known(given, found[0]?.meta.rowId);
  const isWhole = list === "whole" || (list === "either" && hasHistory(given));
  const rules = { hiddenTools, keepsUnrelated: list === "either" };
  const followed = isWhole ? await followingShown(chat, stored, asGiven, rules) : undefined;
  if (followed !== undefined) {
    const { change, list: rows, end } = followed;
    if (change.add.length > 0) return change;
    const isAsked = askedIn(rows, hiddenTools);
    const next = rows.findIndex((message, at) => at >= end && isAsked(message));
    const takeBackFrom = change.takeBackFrom === undefined ? undefined : rows[next]?.meta.rowId;
    return { ...change, takeBackFrom, rowId: (rows[end - 1] ?? rows.findLast(isAsked))?.meta.rowId };
  }
  const spoken = inCallOrder(stored.filter(isSpoken));
  const isAsked = askedIn(spoken, hiddenTools);
  const from = repeatedAt(spoken, given, isAsked);
  const again = from < 0 ? undefined : spoken[from + given.length - 1];
  if (again !== undefined && isRepeated(spoken, from + given.length - 1, options, newest))
    return known(given, again.meta.rowId);
  const change = await appending(chat, stored, given, false, { isNew: true });
  return change.add.length > 0 ? change : { ...change, rowId: spoken.findLast(isAsked)?.meta.rowId };
}

/** The client shows more than what is new. */
function hasHistory(given: readonly Message[]): boolean {
  const asked = given.filter(({ role }) => role === "user");
  return asked.length > 1 || given.some(({ role }) => role === "assistant");
}

function known(given: readonly Message[], rowId: number | undefined): AskChange {
  return { known: given.length, takenBack: 0, add: [], isNew: false, isAppend: false, rowId };
}

/** Where the chat ends with these messages and replies to them; -1 if it ends with others. */
function repeatedAt(
  spoken: readonly Message[],
  given: readonly Message[],
  isAsked: (message: Message) => boolean,
): number {
  for (let from = spoken.length - given.length; from >= 0; from -= 1) {
    if (given.every((message, at) => isSame(spoken[from + at], message, asShown))) return from;
    const last = spoken[from + given.length - 1];
    if (last !== undefined && isAsked(last)) return -1;
  }
  return -1;
}

/** A person may say the same words again once they have read the reply to them. */
function isRepeated(
  spoken: readonly Message[],
  at: number,
  { isRetry = false, request }: AskOptions,
  newest: Ask | null,
): boolean {
  if (isRetry) return true;
  const asked = spoken[at];
  const isNewest = newest?.row_id === null ? newest.request === request : isRow(asked, newest?.row_id);
  if (newest !== null && isNewest) return !newest.delivered;
  const reply = spoken.slice(at + 1).at(-1);
  return reply === undefined || BROKEN_OFF.has(reply.meta.finishReason ?? "");
}

const BROKEN_OFF: ReadonlySet<string> = new Set(["interrupted", "error"]);

/** What a client says: messages of the user, and results of its own tools. Results of hidden tools belong to a reply. */
function askedIn(list: readonly Message[], hiddenTools: readonly string[]): (message: Message) => boolean {
  const calls = list.flatMap(toolCallsOf).filter(({ name }) => hiddenTools.includes(name));
  const hidden = new Set(calls.map(({ id }) => halfOf(id)));
  return (message) =>
    message.role === "user" || (message.role === "tool" && !hidden.has(halfOf(message.toolCallId)));
}

/** A compaction copies rows. */
function isRow(message: Message | undefined, id: number | null | undefined): boolean {
  return id != null && (message?.meta.rowId === id || message?.meta.originId === id);
}

type AnswerPlan = { readonly isShown: boolean; readonly takeBackFrom?: number };

/** `isNewest`: no request has asked since. */
export function planAnswer(
  stored: readonly Message[],
  reply: readonly Message[],
  asked: { readonly rowId: number; readonly isNewest: boolean; readonly hiddenTools: readonly string[] },
): AnswerPlan {
  const list = inCallOrder(stored);
  const at = list.findIndex((message) => isRow(message, asked.rowId));
  const behind = list.slice(at + 1);
  if (at >= 0 && behind.length === 0) return { isShown: true };
  const isAnswered = at >= 0 && !behind.some(askedIn(behind, asked.hiddenTools));
  const isWorse = isBroken(reply) && !isBroken(behind);
  if (!isAnswered || !asked.isNewest || isWorse) return { isShown: false };
  return { isShown: true, takeBackFrom: Math.min(...behind.flatMap(({ meta }) => meta.rowId ?? [])) };
}

function isBroken(reply: readonly Message[]): boolean {
  return BROKEN_OFF.has(reply.at(-1)?.meta.finishReason ?? "");
}

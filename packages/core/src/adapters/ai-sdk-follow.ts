// Lists that take something back: an answer is made again, a question was changed, a turn left out. Finds where such a list leaves the
// stored chat, and what of the chat a model gets in front of its last question. Pure.
import { estimateMessages, isHandoff, repairPairs } from "../context/index.ts";
import { type Message, partsOf, textOf, toolCallsOf } from "../message/index.ts";

/** Where the caller's list meets the chat, and that the chat has more. */
export type Place = {
  /** The messages of the chat in front of the list. */
  readonly before: readonly Message[];
  /** How many turns of the chat, at its end, the list replaces or no longer has. */
  readonly turns: number;
  /** The messages of the list that stand in their place, up to its last question. */
  readonly own: readonly Message[];
};

/**
 * Defined if the chat goes on where the caller's list has its last question. The whole chat decides: what a model gets of it begins
 * later, or with a summary. Results of tools are not compared, because the order of several differs between lists.
 */
export function placeOf(
  whole: readonly Message[],
  given: readonly Message[],
  follow: boolean | undefined,
): Place | undefined {
  const at = lastUser(given);
  const [list, chat] = [given.filter(isDialogue), whole.filter(isDialogue)];
  const asked = lastUser(list);
  const common = commonStart(list, chat);
  // Only `follow: true` says that a list with another beginning is no list of its own.
  const from = common >= asked || !follow ? 0 : partStart(list.slice(0, asked), chat);
  if (!follow && common < asked) return undefined;
  const same = from === 0 ? common : commonStart(list, chat.slice(from));
  const first = chat[from];
  if (first === undefined || from + same === chat.length) return undefined;
  // A turn that goes on differently is replaced as a whole.
  const start = Math.max(0, lastUser(list.slice(0, same + 1)));
  const turn = list[start];
  return {
    before: whole.slice(0, from === 0 ? 0 : whole.indexOf(first)),
    turns: turnsIn(chat.slice(from + start)),
    own: given.slice(turn === undefined ? at : given.indexOf(turn), at),
  };
}

/** Where the chat has all of the list, if not at its beginning: the newest place. 0: nowhere. */
function partStart(list: readonly Message[], chat: readonly Message[]): number {
  if (list.length === 0) return 0;
  for (let from = chat.length - list.length; from > 0; from -= 1)
    if (commonStart(list, chat.slice(from)) === list.length) return from;
  return 0;
}

/**
 * What a model gets of the chat in front of the question: the same as if the replaced turns had never been. `messages`: the stored chat
 * as a model gets it, `given`: the caller's list up to its last question.
 */
export function frontOf(
  messages: readonly Message[],
  { before, turns, own: replacing }: Place,
  given: readonly Message[],
  maxTokens: number,
): readonly Message[] {
  const starts = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  const cut = starts.at(-turns) ?? 0;
  const summary = messages.findLastIndex(isHandoff);
  // A summary also tells what came after the question; then the caller's own messages are the history.
  const isBehind = cut > summary;
  const kept = repairPairs(isBehind ? [...messages.slice(0, cut), ...replacing] : [...before, ...given]);
  const pinned = kept.slice(0, isBehind ? summary + 1 : 0);
  let from = kept.length;
  let room = maxTokens - estimateMessages(pinned);
  for (let start = from - 1; start >= pinned.length; start -= 1) {
    if (kept[start]?.role !== "user") continue;
    room -= estimateMessages(kept.slice(start, from));
    if (room < 0) break;
    from = start;
  }
  return [...pinned, ...kept.slice(from)];
}

/** Lists of the SDK may have empty messages; the chat has none. */
function isDialogue(message: Message): boolean {
  const { role, content } = message;
  if (role !== "user" && role !== "assistant") return false;
  const isSaid = partsOf(content).some((part) => part.type !== "text" || part.text.trim() !== "");
  return isSaid || toolCallsOf(message).length > 0;
}

function turnsIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === "user").length;
}

function commonStart(list: readonly Message[], chat: readonly Message[]): number {
  const differs = list.findIndex((message, index) => !isAlike(message, chat[index]));
  return differs < 0 ? list.length : differs;
}

export function isAlike(one: Message, other: Message | undefined): boolean {
  if (one.role !== other?.role) return false;
  const said = ({ content }: Message) => textOf(content).replace(/\s+/g, "");
  const calls = (message: Message) =>
    toolCallsOf(message)
      .map(({ id }) => id)
      .join(" ");
  return said(one) === said(other) && calls(one) === calls(other);
}

export function lastUser(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === "user");
}

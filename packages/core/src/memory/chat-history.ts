// The stored messages of a chat as a model gets them: without what is not for it, and the newest turns that fit. Pure.
import {
  estimateMessages,
  fitMessages,
  isHandoff,
  repairPairs,
  STUB,
  withoutHandoff,
  withoutRefused,
} from "../context/index.ts";
import type { Message } from "../message/index.ts";
import { injectRecall } from "../providers/index.ts";
import { inTurns } from "./align.ts";
import { isSpoken, withoutRecall } from "./chat-messages.ts";

/** Without refused texts, system rows, empty messages, and recall that was stored by mistake. A call without a result stays open. */
export function forModel(stored: readonly Message[]): readonly Message[] {
  return withoutStubs(repairPairs(withoutRefused(stored).flatMap((message) => cleaned(message) ?? [])));
}

const clean = new WeakMap<Message, Message | null>();

/** Null: nothing is said in it. Kept, because the messages of a long chat are the same with every turn. */
function cleaned(message: Message): Message | null {
  let said = clean.get(message);
  if (said === undefined) {
    said = withoutRecall(message);
    if (!isSpoken(said)) said = null;
    clean.set(message, said);
  }
  return said;
}

/** Messages that both sides of an alignment have. A stand-in for a missing result is only in lists made by `context`. */
export function isTold(message: Message): boolean {
  return isSpoken(message) && !(message.role === "tool" && message.content === STUB);
}

type FittedTurns = { readonly messages: readonly Message[]; readonly leftOut: number };

/** The newest turns that fit, whole, and the summary of a compaction. A newest turn that is too long alone loses the middle of its texts. */
export function fitTurns(
  messages: readonly Message[],
  maxTokens: number,
  summaryRow: number | undefined,
): FittedTurns {
  if (estimateMessages(messages) <= maxTokens) return { messages, leftOut: 0 };
  const turns = inTurns(messages);
  const isSummary = ({ meta }: Message): boolean => summaryRow !== undefined && meta.rowId === summaryRow;
  const summary = turns.findLastIndex((turn) => turn.some(isSummary));
  const pinned = turns[summary];
  const isPinned = pinned !== undefined && estimateMessages(pinned) <= maxTokens / 2;
  let room = isPinned ? maxTokens - estimateMessages(pinned) : maxTokens;
  const kept: (readonly Message[])[] = [];
  for (let at = turns.length - 1; at > (isPinned ? summary : -1); at -= 1) {
    const whole = turns[at] ?? [];
    const isNewest = at === turns.length - 1;
    const turn = isNewest && estimateMessages(whole) > room ? shortened(whole, room) : whole;
    const cost = estimateMessages(turn);
    if (cost > room) break;
    kept.unshift(turn);
    room -= cost;
  }
  const list = [...(isPinned ? pinned : []), ...kept.flat()];
  return { messages: list, leftOut: messages.length - list.length };
}

/** Without the note about rounds that left the turn: it looks like the summary of a compaction. `leftOut` counts them. */
function shortened(turn: readonly Message[], maxTokens: number): readonly Message[] {
  const where = () => "The whole text is stored.";
  const { messages } = fitMessages(turn, maxTokens, where, { isNewestCut: true });
  if (turn.some(isHandoff)) return withoutStubs(messages);
  return withoutStubs(messages.flatMap((message) => withoutHandoff(message) ?? []));
}

function withoutStubs(messages: readonly Message[]): readonly Message[] {
  return messages.filter(({ role, content }) => role !== "tool" || content !== STUB);
}

/** Recall belongs to the last message of the user. */
export function withRecall(messages: readonly Message[], recall: string): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const message = messages[at];
  if (recall === "" || message === undefined) return messages;
  return messages.with(at, { ...message, content: injectRecall(message.content, recall) });
}

// How many messages at both ends are left alone. Head and tail keep their number as long as the list then fits. A few
// huge messages can make that impossible: the tail gives way where the list would stay above the threshold, the head only
// where the conversation could not go on otherwise. What still stays is the newest user message.
import type { Message } from "../../message/index.ts";
import { headSize } from "./boundaries.ts";
import type { Budgets, CompressorSettings } from "./settings.ts";

export type Protection = Pick<CompressorSettings, "protectFirstN" | "protectLastN" | "contextLength"> & {
  /** Messages the tail has at least; absent: the usual few, whatever they cost. */
  readonly leastTail?: number;
  /** What the tail may cost, where that is less than its usual budget. */
  readonly mostTailTokens?: number;
  /** What the list may cost so that the request fits; absent: nobody has said. */
  readonly roomTokens?: number;
};

/** Something to summarise, and a tail. */
const LEAST_BEHIND_HEAD = 4;
const LEAST_BEHIND_HEAD_IN_NEED = 2;
/** The rest of the window is for the system prompt, the tools and the reply. */
const LARGEST_SHARE = 0.85;
/** Of the room there is, when everything has to give way. */
const TAIL_SHARE = 0.25;

export function isTooShort(messages: readonly Message[], protection: Protection): boolean {
  const behind = protection.leastTail === undefined ? LEAST_BEHIND_HEAD : LEAST_BEHIND_HEAD_IN_NEED;
  return messages.length <= headSize(messages, protection.protectFirstN) + behind;
}

/** `look` says what would come of a protection; the mildest one that is enough is taken, else the best there is. */
export function chooseProtection<T extends { readonly expectedTokens: number }>(
  usual: Protection,
  { thresholdTokens }: Pick<Budgets, "thresholdTokens">,
  look: (protection: Protection) => T,
): T {
  const most = Math.min(usual.contextLength * LARGEST_SHARE, usual.roomTokens ?? Number.POSITIVE_INFINITY);
  const first = look(usual);
  if (first.expectedTokens < Math.min(thresholdTokens, most)) return first;
  const shortTail = least(first, look({ ...usual, leastTail: 1 }));
  if (shortTail.expectedTokens < most) return shortTail;
  const inNeed = { ...usual, leastTail: 1, mostTailTokens: Math.trunc(most * TAIL_SHARE) };
  const lightTail = least(shortTail, look(inNeed));
  if (lightTail.expectedTokens < most) return lightTail;
  return least(lightTail, look({ ...inNeed, protectFirstN: 0 }));
}

/** The tail's budget under a protection. */
export function tailBudget<T extends Pick<Budgets, "tailTokens" | "softTailTokens">>(
  budgets: T,
  { mostTailTokens = Number.POSITIVE_INFINITY }: Protection,
): T {
  if (budgets.softTailTokens <= mostTailTokens) return budgets;
  const tailTokens = Math.min(budgets.tailTokens, mostTailTokens);
  return { ...budgets, tailTokens, softTailTokens: mostTailTokens };
}

function least<T extends { readonly expectedTokens: number }>(a: T, b: T): T {
  return b.expectedTokens < a.expectedTokens ? b : a;
}

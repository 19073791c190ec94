// How many messages at both ends are left alone. Head and tail keep their number as long as the list then fits. A few
// huge messages can make that impossible: the tail gives way where the list would stay above the threshold, the head only
// where the conversation could not go on otherwise. What still stays is the newest user message.
import type { ContextMessage } from "../message.ts";
import { headSize } from "./boundaries.ts";
import type { Budgets, CompressorSettings } from "./settings.ts";

export type Protection = Pick<CompressorSettings, "protectFirstN" | "protectLastN" | "contextLength"> & {
  /** Messages the tail has at least; absent: the usual few, whatever they cost. */
  readonly leastTail?: number;
};

/** Something to summarise, and a tail. */
const LEAST_BEHIND_HEAD = 4;
const LEAST_BEHIND_HEAD_IN_NEED = 2;
/** The rest of the window is for the system prompt, the tools and the reply. */
const LARGEST_SHARE = 0.85;

export function isTooShort(messages: readonly ContextMessage[], protection: Protection): boolean {
  const behind = protection.leastTail === undefined ? LEAST_BEHIND_HEAD : LEAST_BEHIND_HEAD_IN_NEED;
  return messages.length <= headSize(messages, protection.protectFirstN) + behind;
}

/** `look` says what would come of a protection; the mildest one that is enough is taken, else the best there is. */
export function chooseProtection<T extends { readonly expectedTokens: number }>(
  usual: Protection,
  { thresholdTokens }: Pick<Budgets, "thresholdTokens">,
  look: (protection: Protection) => T,
): T {
  const first = look(usual);
  if (first.expectedTokens < thresholdTokens) return first;
  const shortTail = least(first, look({ ...usual, leastTail: 1 }));
  if (shortTail.expectedTokens < usual.contextLength * LARGEST_SHARE) return shortTail;
  return least(shortTail, look({ ...usual, leastTail: 1, protectFirstN: 0 }));
}

function least<T extends { readonly expectedTokens: number }>(a: T, b: T): T {
  return b.expectedTokens < a.expectedTokens ? b : a;
}

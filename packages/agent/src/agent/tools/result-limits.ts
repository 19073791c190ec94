// How much of a window one tool result may take. Results that take more are kept in a file and read in parts.
import { estimateText } from "@hermes-memory/core/context";
import { codePointLength } from "@hermes-memory/core/lib";
import type { ResultLimits } from "@hermes-memory/core/sessions";

const PART_OF_WINDOW = 4;
/** All results of one reply together may take this many times what one may: half of the window. */
export const RESULTS_OF_A_BATCH = 2;

export function resultLimits(
  chars: number,
  window: { readonly tokens: number },
  tokenFactor: number,
): ResultLimits {
  return { chars, tokens: Math.floor(window.tokens / PART_OF_WINDOW), tokenFactor };
}

/** 1: the text is just as long as it may be. */
export function shareOf(text: string, { chars, tokens, tokenFactor }: ResultLimits): number {
  return Math.max(codePointLength(text) / chars, (estimateText(text) * tokenFactor) / tokens);
}

export function fits(text: string, limits: ResultLimits): boolean {
  return shareOf(text, limits) <= 1;
}

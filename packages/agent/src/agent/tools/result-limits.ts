// How much of a window one tool result may take. Results that take more are kept in a file and read in parts.
import { estimateText } from "@hermes-memory/core/context";
import { codePointLength, takeCodePoints } from "@hermes-memory/core/lib";

export type ResultLimits = {
  /** `agent.max_result_chars`. */
  readonly chars: number;
  /** A quarter of the window. */
  readonly tokens: number;
  /** How many tokens the model counts for one of the estimate; at least 1. */
  readonly tokenFactor: number;
};

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

/** The longest beginning, of at most `most` code points, of which `isShort` holds. */
export function longestStart(text: string, most: number, isShort: (start: string) => boolean): string {
  const whole = takeCodePoints(text, most);
  if (isShort(whole)) return whole;
  let [low, high] = [0, codePointLength(whole)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isShort(takeCodePoints(whole, middle))) low = middle;
    else high = middle;
  }
  return takeCodePoints(whole, low);
}

// Cuts a long window into pieces that a summary model can read one after the other.
import { estimateText, fitTokens } from "../tokens.ts";
import { cutMiddle, fairLimit } from "./shorten.ts";

export type Chunks = {
  /** Each is a run of turns, in order; together they are all of them. */
  readonly chunks: readonly (readonly string[])[];
  /** Turns that had to be cut so that the number of calls stays bounded. */
  readonly shortenedTurns: number;
};

/** More calls than this would keep the user waiting for many minutes. */
const MOST_CALLS = 16;
/** Blank line between two turns. */
const SEPARATOR_TOKENS = 1;

export function chunkTurns(turns: readonly string[], capacityTokens: number, mostCalls = MOST_CALLS): Chunks {
  const whole = pack(turns, capacityTokens);
  if (whole !== undefined && whole.length <= mostCalls) return { chunks: whole, shortenedTurns: 0 };
  // A piece ends where the next turn does not fit, so with turns of at most half a piece each is at least half full.
  const room = Math.floor((mostCalls * capacityTokens) / 2) - turns.length * (SEPARATOR_TOKENS + 1);
  const sizes = turns.map(estimateText);
  const half = Math.floor(capacityTokens / 2);
  const most = Math.max(1, Math.min(half, fairLimit(sizes, Math.max(0, room))));
  const shorter = turns.map((turn) => fitTokens(turn, most, cutMiddle));
  const shortenedTurns = sizes.filter((size) => size > most).length;
  return { chunks: pack(shorter, capacityTokens) ?? [shorter], shortenedTurns };
}

/** Undefined when a single turn is larger than a piece may be. */
function pack(turns: readonly string[], capacityTokens: number): string[][] | undefined {
  const chunks: string[][] = [];
  let room = 0;
  for (const turn of turns) {
    const cost = estimateText(turn) + SEPARATOR_TOKENS;
    if (cost > capacityTokens) return undefined;
    if (cost > room) {
      chunks.push([]);
      room = capacityTokens;
    }
    chunks.at(-1)?.push(turn);
    room -= cost;
  }
  return chunks;
}

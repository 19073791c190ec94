// Which messages of the list leave it: what protection.ts finds affordable, with an overview in their place. Nothing is
// lost by letting more of them go.

import type { Message } from "../../message/index.ts";
import { type Boundaries, findBoundaries } from "../compressor/boundaries.ts";
import { handoffText, withoutHandoff } from "../compressor/handoff.ts";
import { chooseProtection, isTooShort, type Protection, tailBudget } from "../compressor/protection.ts";
import type { Budgets } from "../compressor/settings.ts";
import { estimateMessage, estimateText, MESSAGE_OVERHEAD_TOKENS } from "../tokens.ts";

export type Window = {
  readonly isTooShort: boolean;
  readonly boundaries: Boundaries;
  /** Of the whole list, with an overview of the usual size. */
  readonly expectedTokens: number;
  readonly tokensBefore: number;
};

export type WindowSettings = Pick<
  Protection,
  "protectFirstN" | "protectLastN" | "contextLength" | "roomTokens"
>;

const EXPECTED_RATIO = 0.2;
const FRAME_TOKENS = estimateText(handoffText("")) + MESSAGE_OVERHEAD_TOKENS;

/** Undefined when the list is too short. */
export function chooseWindow(
  messages: readonly Message[],
  settings: WindowSettings,
  budgets: Budgets,
): Window | undefined {
  const costs = messages.map(estimateMessage);
  const window = chooseProtection(settings, budgets, (protection) =>
    windowWith(messages, costs, protection, tailBudget(budgets, protection)),
  );
  return window.isTooShort ? undefined : window;
}

/** Those that leave, without the one that is kept and without handoffs, which only make room for another. */
export function leavingMessages(
  messages: readonly Message[],
  { headEnd, tailStart, keptUser }: Boundaries,
): readonly Message[] {
  const window = messages.slice(headEnd, tailStart);
  return window.filter((message, at) => headEnd + at !== keptUser && withoutHandoff(message) !== undefined);
}

function windowWith(
  messages: readonly Message[],
  costs: readonly number[],
  settings: Protection,
  budgets: Budgets,
): Window {
  const tokensBefore = sum(costs);
  if (isTooShort(messages, settings)) {
    const boundaries = { headEnd: messages.length, tailStart: messages.length };
    return { isTooShort: true, boundaries, tokensBefore, expectedTokens: tokensBefore };
  }
  const boundaries = findBoundaries(messages, settings, budgets, costs);
  const { headEnd, tailStart, keptUser } = boundaries;
  const leaving = sum(costs.slice(headEnd, tailStart)) - (costs[keptUser ?? -1] ?? 0);
  if (leaving === 0) return { isTooShort: false, boundaries, tokensBefore, expectedTokens: tokensBefore };
  const overview = Math.min(Math.trunc(leaving * EXPECTED_RATIO), budgets.maxSummaryTokens) + FRAME_TOKENS;
  return { isTooShort: false, boundaries, tokensBefore, expectedTokens: tokensBefore - leaving + overview };
}

function sum(costs: readonly number[]): number {
  return costs.reduce((total, cost) => total + cost, 0);
}

// Which messages of the list leave it. Head and tail keep their number of messages as long as the list then fits; a few
// huge messages can make that impossible, and then the tail gives way, and the head last of all. Nothing is lost by it.
import { type Boundaries, findBoundaries, headSize } from "../compressor/boundaries.ts";
import { handoffText, withoutHandoff } from "../compressor/handoff.ts";
import type { Budgets } from "../compressor/settings.ts";
import type { ContextMessage } from "../message.ts";
import { estimateMessage, estimateText, MESSAGE_OVERHEAD_TOKENS } from "../tokens.ts";

export type Window = {
  readonly boundaries: Boundaries;
  /** Of the whole list, with an overview of the usual size. */
  readonly expectedTokens: number;
  readonly tokensBefore: number;
};

export type WindowSettings = {
  readonly protectFirstN: number;
  readonly protectLastN: number;
  readonly contextLength: number;
};

/** Something that leaves, and a tail. */
const LEAST_BEHIND_HEAD = 4;
const LEAST_BEHIND_HEAD_IN_NEED = 2;
const EXPECTED_RATIO = 0.2;
/** The rest of the window is for the system prompt, the tools and the reply. */
const LARGEST_SHARE = 0.85;
const FRAME_TOKENS = estimateText(handoffText("")) + MESSAGE_OVERHEAD_TOKENS;

/** Undefined when the list is too short. */
export function chooseWindow(
  messages: readonly ContextMessage[],
  settings: WindowSettings,
  budgets: Budgets,
): Window | undefined {
  const costs = messages.map(estimateMessage);
  const look = (protection: Protection) => windowWith(messages, costs, protection, budgets);
  const usual = look(settings);
  if (usual ? usual.expectedTokens < budgets.thresholdTokens : sum(costs) < budgets.thresholdTokens)
    return usual;
  const shortTail = look({ ...settings, leastTail: 1 });
  const isEnough = shortTail && shortTail.expectedTokens < settings.contextLength * LARGEST_SHARE;
  if (isEnough) return least(usual, shortTail);
  return least(least(usual, shortTail), look({ ...settings, leastTail: 1, protectFirstN: 0 }));
}

/** Those that leave, without the one that is kept and without handoffs, which only make room for another. */
export function leavingMessages(
  messages: readonly ContextMessage[],
  { headEnd, tailStart, keptUser }: Boundaries,
): readonly ContextMessage[] {
  const window = messages.slice(headEnd, tailStart);
  return window.filter((message, at) => headEnd + at !== keptUser && withoutHandoff(message) !== undefined);
}

type Protection = WindowSettings & { readonly leastTail?: number };

function windowWith(
  messages: readonly ContextMessage[],
  costs: readonly number[],
  settings: Protection,
  budgets: Budgets,
): Window | undefined {
  const behind = settings.leastTail === undefined ? LEAST_BEHIND_HEAD : LEAST_BEHIND_HEAD_IN_NEED;
  if (messages.length <= headSize(messages, settings.protectFirstN) + behind) return undefined;
  const boundaries = findBoundaries(messages, settings, budgets, costs);
  const { headEnd, tailStart, keptUser } = boundaries;
  const tokensBefore = sum(costs);
  const leaving = sum(costs.slice(headEnd, tailStart)) - (costs[keptUser ?? -1] ?? 0);
  if (leaving === 0) return { boundaries, tokensBefore, expectedTokens: tokensBefore };
  const overview = Math.min(Math.trunc(leaving * EXPECTED_RATIO), budgets.maxSummaryTokens) + FRAME_TOKENS;
  return { boundaries, tokensBefore, expectedTokens: tokensBefore - leaving + overview };
}

function least(a: Window | undefined, b: Window | undefined): Window | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.expectedTokens < a.expectedTokens ? b : a;
}

function sum(costs: readonly number[]): number {
  return costs.reduce((total, cost) => total + cost, 0);
}

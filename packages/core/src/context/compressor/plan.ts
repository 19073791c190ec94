// What a compaction of this list would do, decided before any model is asked.
import { type Message, roleOf } from "../../message/index.ts";
import { estimateMessage, estimateText, MESSAGE_OVERHEAD_TOKENS } from "../tokens.ts";
import { type Boundaries, findBoundaries, findHeadEnd, sumOf } from "./boundaries.ts";
import { COMPACTION_NOTE, handoffText } from "./handoff.ts";
import { chooseProtection, isTooShort, type Protection, tailBudget } from "./protection.ts";
import { type Pruned, pruneToolResults } from "./prune.ts";
import type { Budgets } from "./settings.ts";
import { type SummaryWindow, windowToSummarise } from "./window.ts";

export type Plan = {
  readonly isTooShort: boolean;
  readonly pruned: Pruned;
  readonly boundaries: Boundaries;
  readonly window: SummaryWindow;
  /** Of what the new handoff replaces, the old one included. */
  readonly windowTokens: number;
  readonly tokensBefore: number;
  /** After pruning, with a handoff that says nothing. */
  readonly tokensWithoutBody: number;
  /** After pruning, with a summary of the usual size where one is worth it. */
  readonly expectedTokens: number;
  /** Fewer messages or fewer tokens are to be expected from a summary. */
  readonly isWorthASummary: boolean;
  /** A message that would stay although it is larger than the whole window. */
  readonly tooLarge?: TooLarge;
};

export type TooLarge = { readonly role: string; readonly tokens: number };

const EXPECTED_RATIO = 0.2;
/** The headings alone take half of this. */
const LEAST_EXPECTED_TOKENS = 200;
/** Prefix, end marker, role, and the note in a system message. */
const HANDOFF_TOKENS =
  estimateText(handoffText("")) + estimateText(COMPACTION_NOTE) + MESSAGE_OVERHEAD_TOKENS;

/** Settings, budgets and the plan are in estimated tokens. */
export function planCompaction(messages: readonly Message[], settings: Protection, budgets: Budgets): Plan {
  return chooseProtection(settings, budgets, (protection) =>
    planWith(messages, protection, tailBudget(budgets, protection)),
  );
}

function planWith(messages: readonly Message[], settings: Protection, budgets: Budgets): Plan {
  const isShort = isTooShort(messages, settings);
  const headEnd = findHeadEnd(messages, settings.protectFirstN);
  const pruned = isShort
    ? { messages, results: 0, shortenedCalls: 0 }
    : pruneToolResults(messages, { ...budgets, ...settings, headEnd });
  // Every text is read once: on a long list that is most of the work.
  const costsBefore = messages.map(estimateMessage);
  const costs = pruned.messages.map((message, at) =>
    message === messages[at] ? (costsBefore[at] ?? 0) : estimateMessage(message),
  );
  const boundaries = isShort
    ? { headEnd, tailStart: headEnd }
    : findBoundaries(pruned.messages, settings, budgets, costs);
  const { tailStart, keptUser } = boundaries;
  const window = windowToSummarise(pruned.messages, boundaries);

  const windowTokens = sumOf(costs, boundaries.headEnd, tailStart);
  const keptTokens = keptUser === undefined ? 0 : (costs[keptUser] ?? 0);
  const usual = Math.min(Math.trunc(windowTokens * EXPECTED_RATIO), budgets.maxSummaryTokens);
  const summaryTokens = Math.max(LEAST_EXPECTED_TOKENS, usual);
  const prunedTokens = sumOf(costs);
  const tokensWithoutBody = prunedTokens - windowTokens + keptTokens + HANDOFF_TOKENS;
  const withSummary = tokensWithoutBody + summaryTokens;
  const removed = window.leaving - (keptUser === undefined ? 0 : 1);
  const isWorthASummary =
    tailStart > boundaries.headEnd && window.turns.length > 0 && (removed >= 2 || withSummary < prunedTokens);

  const isStaying = (at: number): boolean =>
    !isWorthASummary || at < boundaries.headEnd || at >= tailStart || at === keptUser;
  const largest = largestOf(pruned.messages, costs, isStaying);
  return {
    isTooShort: isShort,
    pruned,
    boundaries,
    window,
    windowTokens,
    tokensBefore: sumOf(costsBefore),
    tokensWithoutBody,
    expectedTokens: isWorthASummary ? withSummary : prunedTokens,
    isWorthASummary,
    ...(largest && settings.contextLength > 0 && largest.tokens > settings.contextLength
      ? { tooLarge: largest }
      : {}),
  };
}

function largestOf(
  messages: readonly Message[],
  costs: readonly number[],
  isStaying: (at: number) => boolean,
): TooLarge | undefined {
  let largest = -1;
  for (let at = 0; at < messages.length; at += 1)
    if (isStaying(at) && (costs[at] ?? 0) > (costs[largest] ?? -1)) largest = at;
  const message = messages[largest];
  return message && { role: roleOf(message), tokens: costs[largest] ?? 0 };
}

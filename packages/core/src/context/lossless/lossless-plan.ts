// Decides which messages a compaction of the lossless engine removes from the list, and which need a summary first. Pure.
import { isResult, type Message } from "../../message/index.ts";
import { assemble, type Boundaries, handoffText, isHandoff, withoutHandoff } from "../compressor/handoff.ts";
import {
  chooseProtection,
  findBoundaries,
  isTooShort,
  largestOf,
  type Protection,
  sumOf,
  type TooLarge,
  tailBudget,
} from "../compressor/plan.ts";
import type { UnchangedReason } from "../engine.ts";
import { STUB } from "../list-repair.ts";
import { estimateMessage, estimateText, MESSAGE_OVERHEAD_TOKENS } from "../tokens.ts";
import type { Budgets } from "../trigger.ts";
import type { Lineage } from "./lineage.ts";
import { isOverviewOf, isPureOverview } from "./overview.ts";

export type LosslessPlan =
  | {
      readonly kind: "compact";
      readonly boundaries: Boundaries;
      /** Keys of messages without a summary, oldest first. */
      readonly toCover: readonly number[];
      /** Messages that had to stay because they are not stored. */
      readonly unstored: number;
    }
  | { readonly kind: "unchanged"; readonly reason: UnchangedReason; readonly unstored: number };

export function planLossless(
  messages: readonly Message[],
  lineage: Lineage,
  settings: WindowSettings,
  budgets: Budgets,
): LosslessPlan {
  const window = chooseWindow(messages, settings, budgets);
  if (window === undefined) return unchanged("too_short");
  const { boundaries, unstored } = withinStored(messages, window.boundaries, lineage);
  const { headEnd, tailStart, keptUser } = boundaries;
  const leaving = messages.slice(headEnd, tailStart).filter((_, at) => headEnd + at !== keptUser);
  if (leaving.length === 0) return unchanged(unstored > 0 ? "not_stored" : "nothing_to_gain", unstored);
  const isKnown = (id: string): boolean => lineage.forest.nodes.has(id);
  // An overview alone would be removed only to be added again.
  if (leaving.every((message) => isPureOverview(message, isKnown))) return unchanged("nothing_to_gain");

  // The first message that stays may carry a handoff, which the new one replaces. A handoff about unknown parts (of another
  // engine or another branch) must be summarised first.
  const first = messages[tailStart];
  const isCarrier = first !== undefined && isHandoff(first) && !isOverviewOf(first, isKnown);
  if (isCarrier && !isStored(first, lineage)) return unchanged("not_stored", Math.max(1, unstored));
  const replaced = messages.slice(headEnd, isCarrier ? tailStart + 1 : tailStart);
  return {
    kind: "compact",
    boundaries,
    toCover: keysWithoutSummary(messages, replaced, boundaries, lineage),
    unstored,
  };
}

/** The largest message of the list, if it alone exceeds the window. */
export function tooLargeIn(messages: readonly Message[], contextLength: number): TooLarge | undefined {
  const largest = largestOf(messages, messages.map(estimateMessage));
  return largest && contextLength > 0 && largest.tokens > contextLength ? largest : undefined;
}

/** Is the text of the message in the database? */
function isStored(message: Message, lineage: Lineage): boolean {
  const { rowId } = message.meta;
  if (rowId !== undefined && lineage.keyOf(rowId) !== undefined) return true;
  if (isResult(message) && message.content === STUB) return true;
  // Made by this process, and only a list of stored parts.
  const isKnown = (id: string): boolean => lineage.forest.nodes.has(id);
  return message.meta.isHandoff === true && isPureOverview(message, isKnown);
}

/** A message that is not stored could not be read again, so the window ends before it, at the edge of its tool group. */
function withinStored(
  messages: readonly Message[],
  boundaries: Boundaries,
  lineage: Lineage,
): { readonly boundaries: Boundaries; readonly unstored: number } {
  const { headEnd, tailStart, keptUser } = boundaries;
  const missing = messages.flatMap((message, index) =>
    index >= headEnd && index < tailStart && !isStored(message, lineage) ? [index] : [],
  );
  const [first] = missing;
  if (first === undefined) return { boundaries, unstored: 0 };
  let end = first;
  while (end > headEnd && isResult(messages[end])) end -= 1;
  const narrowed = { headEnd, tailStart: end };
  return {
    boundaries: keptUser !== undefined && keptUser < end ? { ...narrowed, keptUser } : narrowed,
    unstored: missing.length,
  };
}

/**
 * Every message up to the newest of the list that will be neither in the list nor covered by a summary: those that leave now,
 * and those that left earlier without a summary (another engine, a crash, rows added by another process). Replaced messages that
 * stay as copies are included, because they leave later.
 */
function keysWithoutSummary(
  messages: readonly Message[],
  replaced: readonly Message[],
  boundaries: Boundaries,
  { keys, keyOf, positionOf, forest }: Lineage,
): readonly number[] {
  const keysIn = (list: readonly Message[]): readonly number[] =>
    list.flatMap(({ meta }) => (meta.rowId === undefined ? [] : (keyOf(meta.rowId) ?? [])));
  const newest = keysIn(messages).reduce((latest, key) => Math.max(latest, positionOf(key) ?? -1), -1);
  const staying = new Set(keysIn(assemble(messages, boundaries, "").messages));
  const leaving = new Set(keysIn(replaced));
  return keys
    .slice(0, newest + 1)
    .filter((key) => !forest.leafOf.has(key) && (leaving.has(key) || !staying.has(key)));
}

function unchanged(reason: UnchangedReason, unstored = 0): LosslessPlan {
  return { kind: "unchanged", reason, unstored };
}

// The window: which messages leave. As in the compressor's plan, with an overview in their place. More may leave, because every
// message can be read again.

type Window = {
  readonly isTooShort: boolean;
  readonly boundaries: Boundaries;
  /** Tokens of the whole list, with an overview of the usual size. */
  readonly expectedTokens: number;
  readonly tokensBefore: number;
};

type WindowSettings = Pick<Protection, "protectFirstN" | "protectLastN" | "contextLength" | "roomTokens">;

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

/** Messages that leave: without `keptUser`, and without handoffs, which the new handoff replaces. */
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
  const isShort = isTooShort(messages, settings);
  const boundaries = isShort
    ? { headEnd: messages.length, tailStart: messages.length }
    : findBoundaries(messages, settings, budgets, costs);
  const { headEnd, tailStart, keptUser } = boundaries;
  const tokensBefore = sumOf(costs);
  const leaving = sumOf(costs, headEnd, tailStart) - (costs[keptUser ?? -1] ?? 0);
  const body = Math.min(Math.trunc(leaving * EXPECTED_RATIO), budgets.maxSummaryTokens);
  const overview = leaving === 0 ? 0 : body + FRAME_TOKENS;
  return { isTooShort: isShort, boundaries, tokensBefore, expectedTokens: tokensBefore - leaving + overview };
}

// Plans a compaction of a list before any model is called: which messages stay, which are summarised, and
// whether that is worth it. Pure.
import { pyStrip } from "../../lib/index.ts";
import { isResult, type Message, roleOf, textOf, toolCallsOf } from "../../message/index.ts";
import type { Span } from "../engine.ts";
import { orphanResults } from "../list-repair.ts";
import { estimateMessage, estimateText, MESSAGE_OVERHEAD_TOKENS } from "../tokens.ts";
import type { Budgets, CompressorSettings } from "../trigger.ts";
import {
  type Boundaries,
  COMPACTION_NOTE,
  handoffBody,
  handoffText,
  isHandoff,
  isTaskList,
  withoutHandoff,
} from "./handoff.ts";
import { type Pruned, pruneToolResults } from "./prune.ts";

export type Plan = {
  readonly isTooShort: boolean;
  readonly pruned: Pruned;
  readonly boundaries: Boundaries;
  readonly window: SummaryWindow;
  /** Tokens of the messages that the new handoff replaces, an old handoff included. */
  readonly windowTokens: number;
  readonly tokensBefore: number;
  /** Tokens after pruning, with an empty handoff. */
  readonly tokensWithoutBody: number;
  /** Tokens after pruning, with a summary of the usual size if one is worth it. */
  readonly expectedTokens: number;
  /** A summary is expected to leave fewer messages or fewer tokens. */
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
  // Each text is measured once: on a long list that is most of the work.
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
    tooLarge:
      largest && settings.contextLength > 0 && largest.tokens > settings.contextLength ? largest : undefined,
  };
}

export function largestOf(
  messages: readonly Message[],
  costs: readonly number[],
  isCounted: (at: number) => boolean = () => true,
): TooLarge | undefined {
  let largest = -1;
  for (let at = 0; at < messages.length; at += 1)
    if (isCounted(at) && (costs[at] ?? 0) > (costs[largest] ?? -1)) largest = at;
  const message = messages[largest];
  return message && { role: roleOf(message), tokens: costs[largest] ?? 0 };
}

// How many messages at both ends are protected. Head and tail keep their usual size as long as the list fits afterwards. If a
// few huge messages make that impossible, the tail shrinks when the list would stay above the threshold, and the head only when
// the request would not fit otherwise. The newest user message always stays.

export type Protection = Pick<CompressorSettings, "protectFirstN" | "protectLastN" | "contextLength"> & {
  /** Least number of messages in the tail. Absent: the usual few, whatever they cost. */
  readonly leastTail?: number;
  /** Limit for the tail in tokens, if lower than its usual budget. */
  readonly mostTailTokens?: number;
  /** Limit for the list in tokens, so that the request fits. Absent: no limit is known. */
  readonly roomTokens?: number;
};

/** At least something to summarise, and a tail. */
const LEAST_BEHIND_HEAD = 4;
const LEAST_BEHIND_HEAD_IN_NEED = 2;
/** The rest of the window is for the system prompt, the tools and the reply. */
const LARGEST_SHARE = 0.85;
/** Share of the available room that the tail keeps in the last resort. */
const TAIL_SHARE = 0.25;

export function isTooShort(messages: readonly Message[], protection: Protection): boolean {
  const behind = protection.leastTail === undefined ? LEAST_BEHIND_HEAD : LEAST_BEHIND_HEAD_IN_NEED;
  return messages.length <= headSize(messages, protection.protectFirstN) + behind;
}

/**
 * `planFor` says what a protection leads to. Takes the mildest protection that is enough, otherwise the one with the fewest
 * tokens.
 */
export function chooseProtection<T extends { readonly expectedTokens: number }>(
  usual: Protection,
  { thresholdTokens }: Pick<Budgets, "thresholdTokens">,
  planFor: (protection: Protection) => T,
): T {
  const most = Math.min(usual.contextLength * LARGEST_SHARE, usual.roomTokens ?? Number.POSITIVE_INFINITY);
  const first = planFor(usual);
  if (first.expectedTokens < Math.min(thresholdTokens, most)) return first;
  const shortTail = cheaper(first, planFor({ ...usual, leastTail: 1 }));
  if (shortTail.expectedTokens < most) return shortTail;
  const inNeed = { ...usual, leastTail: 1, mostTailTokens: Math.trunc(most * TAIL_SHARE) };
  const lightTail = cheaper(shortTail, planFor(inNeed));
  if (lightTail.expectedTokens < most) return lightTail;
  return cheaper(lightTail, planFor({ ...inNeed, protectFirstN: 0 }));
}

export function tailBudget<T extends Pick<Budgets, "tailTokens" | "softTailTokens">>(
  budgets: T,
  { mostTailTokens = Number.POSITIVE_INFINITY }: Protection,
): T {
  if (budgets.softTailTokens <= mostTailTokens) return budgets;
  const tailTokens = Math.min(budgets.tailTokens, mostTailTokens);
  return { ...budgets, tailTokens, softTailTokens: mostTailTokens };
}

function cheaper<T extends { readonly expectedTokens: number }>(a: T, b: T): T {
  return b.expectedTokens < a.expectedTokens ? b : a;
}

// Boundaries: the head and a fresh tail stay, the messages between them are summarised. A tool call is never separated from its
// results, and the newest user message stays word for word.

const LEAST_TAIL = 3;
const MOST_TAIL_FLOOR = 8;
/** A window is worth a summary if it has two messages and this share of the list's tokens. */
const LEAST_WINDOW = 2;
const LEAST_SHARE = 0.1;

export function findBoundaries(
  messages: readonly Message[],
  settings: Pick<Protection, "protectFirstN" | "protectLastN" | "leastTail">,
  budgets: Pick<Budgets, "tailTokens" | "softTailTokens">,
  costs: readonly number[] = messages.map(estimateMessage),
): Boundaries {
  const headEnd = findHeadEnd(messages, settings.protectFirstN);
  const cut = freshTailStart(costs, headEnd, settings, budgets);
  const start = groupEdge(messages, cut, headEnd, settings.leastTail !== undefined);
  const user = lastIndex(messages, headEnd, isUsersOwn);
  // If only strays follow it, the user's own message is the tail.
  const fresh = skipStrays(messages, Math.max(headEnd, start)) ?? (user >= 0 ? messages.length : start);
  const mayStartAt = mayStartTailAt(costs, headEnd, budgets.softTailTokens);

  if (user >= 0 && user < fresh && !mayStartAt(user)) {
    // The turn is so long that a tail starting at the user's message would leave nothing to summarise.
    const isAlone = fresh - headEnd <= 1;
    return isAlone ? { headEnd, tailStart: headEnd } : { headEnd, tailStart: fresh, keptUser: user };
  }
  const anchored = user >= 0 ? Math.min(user, fresh) : fresh;
  const reply = alignBack(messages, lastReply(messages, headEnd));
  return { headEnd, tailStart: reply >= headEnd && reply < anchored && mayStartAt(reply) ? reply : anchored };
}

/** Behind a leading system message and the protected messages; never inside a tool group, never behind an old handoff. */
export function findHeadEnd(messages: readonly Message[], protectFirstN: number): number {
  let end = headSize(messages, protectFirstN);
  while (end < messages.length && isResult(messages[end])) end += 1;
  const handoff = messages.findIndex((message, index) => index < end && isHandoff(message));
  return Math.min(handoff < 0 ? end : handoff, messages.length);
}

function headSize(messages: readonly Message[], protectFirstN: number): number {
  return (messages[0] !== undefined && roleOf(messages[0]) === "system" ? 1 : 0) + protectFirstN;
}

/** How far back the tail reaches by its budget alone. */
function freshTailStart(
  costs: readonly number[],
  headEnd: number,
  { protectLastN, leastTail }: Pick<Protection, "protectLastN" | "leastTail">,
  { tailTokens, softTailTokens }: Pick<Budgets, "tailTokens" | "softTailTokens">,
): number {
  const count = costs.length;
  const room = Math.max(0, count - headEnd - 1);
  const floor = Math.max(LEAST_TAIL, Math.min(protectLastN, MOST_TAIL_FLOOR));
  const usual = room > 1 ? Math.min(floor, Math.max(LEAST_TAIL, room - 2), room) : 0;
  const least = Math.min(usual, leastTail ?? usual);

  const walk = (budget: number, includesLast: boolean): { cut: number; tokens: number } => {
    let tokens = 0;
    for (let index = count - 1; index >= headEnd; index -= 1) {
      const cost = costs[index] ?? 0;
      if (tokens + cost > budget && count - index >= least)
        return { cut: includesLast ? index : index + 1, tokens };
      tokens += cost;
    }
    return { cut: headEnd, tokens };
  };

  let { cut, tokens } = walk(softTailTokens, false);
  if (cut <= headEnd && tokens > 0 && tokens <= softTailTokens) ({ cut, tokens } = walk(tailTokens, true));
  cut = Math.min(cut, count - least);
  return cut <= headEnd ? Math.min(count, Math.max(count - least, headEnd + 1)) : cut;
}

/** May the tail start at this index? Only if it stays small enough and leaves something to summarise. */
function mayStartTailAt(
  costs: readonly number[],
  headEnd: number,
  softTailTokens: number,
): (index: number) => boolean {
  const count = costs.length;
  return (index) =>
    index - headEnd >= LEAST_WINDOW &&
    sumOf(costs, index, count) <= softTailTokens &&
    sumOf(costs, headEnd, index) >= LEAST_SHARE * sumOf(costs, 0, count);
}

/**
 * Where a tail that was cut at any index really starts. A complete tool group in front of the cut joins the tail, unless room is
 * short or nothing would be left to summarise. A group at the start of the window is summarised as a whole.
 */
function groupEdge(messages: readonly Message[], cut: number, headEnd: number, isInNeed: boolean): number {
  const aligned = alignBack(messages, cut);
  const isInside = isResult(messages[cut]);
  if (aligned > headEnd) return isInside || !isInNeed ? aligned : cut;
  if (!isInside) return cut;
  const behind = messages.findIndex((message, index) => index > cut && !isResult(message));
  return behind >= 0 && messages.length - behind >= LEAST_TAIL ? behind : aligned;
}

/** A tail that would start inside or right behind a tool group starts with the call instead. */
function alignBack(messages: readonly Message[], cut: number): number {
  let before = cut - 1;
  while (before >= 0 && isResult(messages[before])) before -= 1;
  const message = messages[before];
  return message && toolCallsOf(message).length > 0 ? before : cut;
}

/**
 * A tail does not start with a result whose call is elsewhere, an old handoff or an empty user message: these go into the
 * summary.
 */
function skipStrays(messages: readonly Message[], from: number): number | undefined {
  const start = messages.findIndex((message, index) => {
    if (index < from || isResult(message)) return false;
    return message.role === "user" ? isUsersOwn(message) : withoutHandoff(message) !== undefined;
  });
  return start < 0 ? undefined : start;
}

export function sumOf(costs: readonly number[], from = 0, to = costs.length): number {
  let total = 0;
  for (let index = Math.max(0, from); index < to; index += 1) total += costs[index] ?? 0;
  return total;
}

/**
 * False for an empty message and for messages written in the user's role: task lists, and handoffs without text of the user
 * behind them.
 */
export function isUsersOwn(message: Message): boolean {
  if (message.role !== "user" || isTaskList(message)) return false;
  const content = withoutHandoff(message)?.content;
  if (typeof content === "string") return pyStrip(content) !== "";
  return content !== null && content !== undefined && content.length > 0;
}

/** The newest assistant message with text, otherwise the newest assistant message. */
function lastReply(messages: readonly Message[], from: number): number {
  const isReply = ({ role }: Message): boolean => role === "assistant";
  const hasText = (message: Message): boolean =>
    pyStrip(textOf(withoutHandoff(message)?.content ?? null)) !== "";
  const visible = lastIndex(messages, from, (message) => isReply(message) && hasText(message));
  return visible >= 0 ? visible : lastIndex(messages, from, isReply);
}

function lastIndex(
  messages: readonly Message[],
  from: number,
  isWanted: (message: Message) => boolean,
): number {
  const index = messages.findLastIndex(isWanted);
  return index >= from ? index : -1;
}

// Input of the summary: the turns between head and tail, and the body of an earlier handoff.

type SummaryWindow = {
  /** Input indices that the new handoff replaces, an old handoff included. */
  readonly span: Span;
  /** Turns to read: an old handoff is left out, but text its author wrote behind it stays. */
  readonly turns: readonly Message[];
  /** Messages of the span that are more than an old handoff. */
  readonly leaving: number;
  /** Read from the list only, so it can never belong to another session. */
  readonly previousSummary?: string;
};

export function windowToSummarise(
  messages: readonly Message[],
  { headEnd, tailStart, keptUser }: Boundaries,
): SummaryWindow {
  const staying = messages.filter((_, index) => index < headEnd || index >= tailStart || index === keptUser);
  const orphans = orphanResults(staying); // no model accepts them, so they leave the list too
  const turns = [...orphans];
  const bodies: string[] = [];
  const readHandoff = (message: Message): void => {
    const body = handoffBody(message);
    if (body !== undefined) bodies.push(body);
  };
  for (const message of messages.slice(headEnd, tailStart)) {
    const own = withoutHandoff(message);
    if (own !== message) readHandoff(message);
    if (own !== undefined) turns.push(own);
  }
  // The first message of the tail may carry an old handoff in front of its own text; `assemble` removes it.
  for (const message of messages.slice(tailStart, tailStart + 1)) readHandoff(message);
  const window = { span: { from: headEnd, to: tailStart }, turns, leaving: turns.length - orphans.length };
  return bodies.length === 0 ? window : { ...window, previousSummary: bodies.join("\n\n") };
}

// What a compaction leaves alone: the head, and a fresh tail. What lies between is summarised. Tool calls and their
// results are never separated, and the newest user message always stays in the list word for word.
import { pyStrip } from "../../lib/index.ts";
import { isResult, type Message, roleOf, textOf, toolCallsOf } from "../../message/index.ts";
import { estimateMessage } from "../tokens.ts";
import { isHandoff, isTaskList, withoutHandoff } from "./handoff.ts";
import type { Budgets, CompressorSettings } from "./settings.ts";

export type Boundaries = {
  /** Messages before this index stay. */
  readonly headEnd: number;
  /** Messages from this index on stay. Equal to `headEnd` when there is nothing to summarise. */
  readonly tailStart: number;
  /** A user message between the two that is repeated word for word behind the summary. */
  readonly keptUser?: number;
};

const LEAST_TAIL = 3;
const MOST_TAIL_FLOOR = 8;
/** A window is worth a summary from two messages and this share of the list on. */
const LEAST_WINDOW = 2;
const LEAST_SHARE = 0.1;

type TailSettings = Pick<CompressorSettings, "protectLastN"> & {
  /** Messages the tail has at least; by default a few, whatever they cost. */
  readonly leastTail?: number;
};

export function findBoundaries(
  messages: readonly Message[],
  settings: TailSettings & Pick<CompressorSettings, "protectFirstN">,
  budgets: Pick<Budgets, "tailTokens" | "softTailTokens">,
  costs: readonly number[] = messages.map(estimateMessage),
): Boundaries {
  const headEnd = findHeadEnd(messages, settings.protectFirstN);
  const cut = freshTailStart(costs, headEnd, settings, budgets);
  const start = groupEdge(messages, cut, headEnd, settings.leastTail !== undefined);
  const user = lastIndex(messages, headEnd, isUsersOwn);
  // With nothing but strays behind it, the user's own message is the tail.
  const fresh = skipStrays(messages, Math.max(headEnd, start)) ?? (user >= 0 ? messages.length : start);
  const mayStartAt = anchorRule(costs, headEnd, budgets.softTailTokens);

  if (user >= 0 && user < fresh && !mayStartAt(user)) {
    // A turn so long that the anchor would take the window with it.
    const isAlone = fresh - headEnd <= 1;
    return isAlone ? { headEnd, tailStart: headEnd } : { headEnd, tailStart: fresh, keptUser: user };
  }
  const anchored = user >= 0 ? Math.min(user, fresh) : fresh;
  const reply = alignBack(messages, lastReply(messages, headEnd));
  return { headEnd, tailStart: reply >= headEnd && reply < anchored && mayStartAt(reply) ? reply : anchored };
}

/** Behind a leading system message and the protected ones, never inside a tool group, never including an old handoff. */
export function findHeadEnd(messages: readonly Message[], protectFirstN: number): number {
  let end = headSize(messages, protectFirstN);
  while (end < messages.length && isResult(messages[end])) end += 1;
  const handoff = messages.findIndex((message, index) => index < end && isHandoff(message));
  return Math.min(handoff < 0 ? end : handoff, messages.length);
}

export function headSize(messages: readonly Message[], protectFirstN: number): number {
  return (messages[0] !== undefined && roleOf(messages[0]) === "system" ? 1 : 0) + protectFirstN;
}

/** How far back the tail reaches by its budget alone. */
function freshTailStart(
  costs: readonly number[],
  headEnd: number,
  { protectLastN, leastTail }: TailSettings,
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

/** May the tail begin as early as this? Only if it stays small enough and leaves something to summarise. */
function anchorRule(
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
 * Where a tail that was cut anywhere begins. A finished group in front of it comes along, unless every message counts or nothing would
 * leave then; a group that begins with the window leaves whole.
 */
function groupEdge(messages: readonly Message[], cut: number, headEnd: number, isInNeed: boolean): number {
  const aligned = alignBack(messages, cut);
  const isInside = isResult(messages[cut]);
  if (aligned > headEnd) return isInside || !isInNeed ? aligned : cut;
  if (!isInside) return cut;
  const behind = messages.findIndex((message, index) => index > cut && !isResult(message));
  return behind >= 0 && messages.length - behind >= LEAST_TAIL ? behind : aligned;
}

/** A tail that would begin inside or right behind a tool group begins with the call instead. */
function alignBack(messages: readonly Message[], cut: number): number {
  let before = cut - 1;
  while (before >= 0 && isResult(messages[before])) before -= 1;
  const message = messages[before];
  return message && toolCallsOf(message).length > 0 ? before : cut;
}

/** A tail begins with no result whose call is elsewhere, no old handoff, no empty user message: they go into the summary. */
function skipStrays(messages: readonly Message[], from: number): number | undefined {
  const start = messages.findIndex((message, index) => {
    if (index < from || isResult(message)) return false;
    return message.role === "user" ? isUsersOwn(message) : withoutHandoff(message) !== undefined;
  });
  return start < 0 ? undefined : start;
}

/** Of the costs from one index up to another. */
export function sumOf(costs: readonly number[], from = 0, to = costs.length): number {
  let total = 0;
  for (let index = Math.max(0, from); index < to; index += 1) total += costs[index] ?? 0;
  return total;
}

/** Not an empty message and nothing written in the role of the user: a handoff (but what he wrote behind one counts), a task list. */
export function isUsersOwn(message: Message): boolean {
  if (message.role !== "user" || isTaskList(message)) return false;
  const content = withoutHandoff(message)?.content;
  if (typeof content === "string") return pyStrip(content) !== "";
  return content !== null && content !== undefined && content.length > 0;
}

/** The newest assistant message that says something, or else the newest at all. */
function lastReply(messages: readonly Message[], from: number): number {
  const isReply = ({ role }: Message): boolean => role === "assistant";
  const visible = lastIndex(messages, from, (message) => isReply(message) && hasText(message));
  return visible >= 0 ? visible : lastIndex(messages, from, isReply);
}

function hasText(message: Message): boolean {
  return pyStrip(textOf(withoutHandoff(message)?.content ?? null)) !== "";
}

function lastIndex(
  messages: readonly Message[],
  from: number,
  isWanted: (message: Message) => boolean,
): number {
  const index = messages.findLastIndex(isWanted);
  return index >= from ? index : -1;
}

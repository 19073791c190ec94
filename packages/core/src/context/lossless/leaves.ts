// Prepares stored messages for summaries: cuts them into leaves, each of which gets one summary, and turns them into text. A
// leaf ends between turns where possible, and between a call and its results only if these alone are too large.
import {
  isRefused,
  isResult,
  type Message,
  type MessageRow,
  REFUSED_NOTE,
  readRow,
  toolCallsOf,
} from "../../message/index.ts";
import { handoffBody, isHandoff, withoutHandoff } from "../compressor/handoff.ts";
import type { Redact } from "../engine.ts";
import { serialiseTurn } from "../summary/summarise.ts";
import { estimateMessage } from "../tokens.ts";
import { isOverviewOf, isPureOverview } from "./overview.ts";

type Covered = {
  readonly key: number;
  readonly message: Message;
  readonly tokens: number;
};

/** All items in order. A leaf is larger than `leafTokens` only when it is a single message. */
export function cutIntoLeaves(
  items: readonly Covered[],
  leafTokens: number,
): readonly (readonly Covered[])[] {
  const leaves: Covered[][] = [];
  let open: Unit[] = [];
  for (const unit of unitsOf(items, leafTokens)) {
    while (open.length > 0 && tokensOf(open) + unit.tokens > leafTokens) {
      const cut = unit.startsTurn ? open.length : lastGoodEdge(open, leafTokens);
      leaves.push(open.slice(0, cut).flatMap((each) => each.items));
      open = open.slice(cut);
    }
    open.push(unit);
  }
  if (open.length > 0) leaves.push(open.flatMap((each) => each.items));
  return leaves;
}

/** Messages that stay together. */
type Unit = { readonly items: readonly Covered[]; readonly tokens: number; readonly startsTurn: boolean };

function unitsOf(items: readonly Covered[], leafTokens: number): readonly Unit[] {
  const groups: Covered[][] = [];
  let takesResults = false;
  for (const item of items) {
    if (isResult(item.message) && takesResults) groups.at(-1)?.push(item);
    else {
      groups.push([item]);
      takesResults = toolCallsOf(item.message).length > 0;
    }
  }
  return groups.flatMap((group) => {
    const whole = toUnit(group);
    return whole.tokens > leafTokens ? group.map((item) => toUnit([item])) : [whole];
  });
}

function toUnit(items: readonly Covered[]): Unit {
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  return { items, tokens, startsTurn: items[0]?.message.role === "user" };
}

/** The last start of a turn that leaves the leaf at least half full; otherwise the end. */
function lastGoodEdge(units: readonly Unit[], leafTokens: number): number {
  let before = tokensOf(units);
  for (let at = units.length - 1; at > 0; at -= 1) {
    before -= units[at]?.tokens ?? 0;
    if (before < leafTokens / 2) break;
    if (units[at]?.startsTurn) return at;
  }
  return units.length;
}

function tokensOf(units: readonly Unit[]): number {
  return units.reduce((sum, unit) => sum + unit.tokens, 0);
}

// Rows as messages, and messages as text.

/** A message that a provider refused becomes a note: a request for its summary would be refused as well. */
export function toMessage(row: MessageRow): Message {
  const { id, role, content, tool_calls, tool_call_id, tool_name } = row;
  const said = isRefused(row) ? { content: REFUSED_NOTE } : { content, tool_calls };
  return readRow({ role, tool_call_id, tool_name, ...said }, { rowId: id });
}

/** An overview of known parts costs nothing, because it is not read for a summary. */
export function toCovered(row: MessageRow, isKnown: (nodeId: string) => boolean): Covered {
  const message = toMessage(row);
  const tokens = isPureOverview(message, isKnown) ? 0 : estimateMessage(message);
  return { key: row.origin_id ?? row.id, message, tokens };
}

/** One text per message. An overview of known parts adds nothing; a handoff of another engine is included whole. */
export function sourceTexts(
  messages: readonly Message[],
  isKnown: (nodeId: string) => boolean,
  redact: Redact,
): readonly string[] {
  return messages.flatMap((message) => {
    if (!isHandoff(message)) return [serialiseTurn(message, redact)];
    const own = withoutHandoff(message);
    const body = isOverviewOf(message, isKnown) ? undefined : handoffBody(message);
    return [
      ...(body === undefined ? [] : [`[EARLIER SUMMARY]: ${redact(body)}`]),
      ...(own === undefined ? [] : [serialiseTurn(own, redact)]),
    ];
  });
}

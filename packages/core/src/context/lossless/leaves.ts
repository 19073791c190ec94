// Cuts messages into the pieces that are summarised one by one: between turns where possible, never between a call and
// its results unless those alone are too much.
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
import { type Redact, serialiseTurn } from "../summary/request.ts";
import { estimateMessage } from "../tokens.ts";
import { isOverviewOf, isPureOverview } from "./overview.ts";

type Covered = {
  readonly key: number;
  readonly message: Message;
  readonly tokens: number;
};

/** All of the items in order. A piece is larger than `leafTokens` only when it is a single message. */
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

/** What stays together. */
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

/** The last beginning of a turn that leaves the piece at least half full; otherwise all of it is one piece. */
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

// ----
// Stored messages as a summary is made of them.

/** What a model's provider refused to read is a note here: a request for its summary would be refused as well. */
export function toMessage(row: MessageRow): Message {
  const { id, role, content, tool_calls, tool_call_id, tool_name } = row;
  const said = isRefused(row) ? { content: REFUSED_NOTE } : { content, tool_calls };
  return readRow({ role, tool_call_id, tool_name, ...said }, { rowId: id });
}

/** An overview of parts that are known takes no room: nobody reads it for a summary. */
export function toCovered(row: MessageRow, isKnown: (nodeId: string) => boolean): Covered {
  const message = toMessage(row);
  const tokens = isPureOverview(message, isKnown) ? 0 : estimateMessage(message);
  return { key: row.origin_id ?? row.id, message, tokens };
}

/** One text for each message. An overview of parts that are known adds nothing; another engine's handoff is read whole. */
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

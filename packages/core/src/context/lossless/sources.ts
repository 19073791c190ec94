// Stored messages as a summary is made of them.
import { isRefused, type MessageRow, REFUSED_NOTE } from "../../sessions/index.ts";
import { handoffBody, isHandoff, withoutHandoff } from "../compressor/handoff.ts";
import type { ContextMessage } from "../message.ts";
import { type Redact, serialiseTurn } from "../summary/serialise.ts";
import { estimateMessage } from "../tokens.ts";
import type { Covered } from "./leaves.ts";
import { isOverviewOf, isPureOverview } from "./overview.ts";

/** What a model's provider refused to read is a note here: a request for its summary would be refused as well. */
export function toMessage(row: MessageRow): ContextMessage {
  const calls = isRefused(row) ? null : row.tool_calls;
  return {
    role: row.role,
    content: isRefused(row) ? REFUSED_NOTE : row.content,
    ...(calls === null ? {} : { tool_calls: calls }),
    ...(row.tool_call_id === null ? {} : { tool_call_id: row.tool_call_id }),
    ...(row.tool_name === null ? {} : { tool_name: row.tool_name }),
    _row_id: row.id,
  };
}

/** An overview of parts that are known takes no room: nobody reads it for a summary. */
export function toCovered(row: MessageRow, isKnown: (nodeId: string) => boolean): Covered {
  const message = toMessage(row);
  const tokens = isPureOverview(message, isKnown) ? 0 : estimateMessage(message);
  return { key: row.origin_id ?? row.id, message, tokens };
}

/** One text for each message. An overview of parts that are known adds nothing; another engine's handoff is read whole. */
export function sourceTexts(
  messages: readonly ContextMessage[],
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

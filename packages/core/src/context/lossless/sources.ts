// Stored messages as a summary is made of them.

import { isRefused, type Message, type MessageRow, REFUSED_NOTE, readRow } from "../../message/index.ts";
import { handoffBody, isHandoff, withoutHandoff } from "../compressor/handoff.ts";
import { type Redact, serialiseTurn } from "../summary/serialise.ts";
import { estimateMessage } from "../tokens.ts";
import type { Covered } from "./leaves.ts";
import { isOverviewOf, isPureOverview } from "./overview.ts";

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

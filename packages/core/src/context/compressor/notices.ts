// The notices that a compaction shows to the user, the list of messages it left out, and the outcome when nothing was summarised.
import { groupThousands } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import type { CompressOutcome, LeftOut, Notice, StoredMessages, SummaryFailure } from "../engine.ts";
import { orphanResults, repairPairs } from "../list-repair.ts";
import { estimateMessages } from "../tokens.ts";
import type { TooLarge } from "./plan.ts";

/** How many messages are missing, and in which rows they are stored, where the rows are known. */
export function leftOut(turns: readonly Message[], reason: LeftOut["reason"]): LeftOut {
  const rows = turns.flatMap(({ meta }) => meta.rowId ?? []);
  return { count: turns.length, reason, firstRowId: rows[0], lastRowId: rows.at(-1) };
}

/** Nothing was summarised. `kept`: the list, perhaps pruned. No model accepts results without a call, so these leave it. */
export function withoutSummary(
  messages: readonly Message[],
  kept: readonly Message[],
  {
    isAborted = false,
    ...facts
  }: Pick<CompressOutcome, "reason" | "failure" | "notices"> & {
    readonly isAborted?: boolean;
    readonly prunedResults?: number;
  },
): CompressOutcome {
  const repaired = repairPairs(kept);
  const orphans = orphanResults(kept);
  return {
    kind: isAborted ? "aborted" : repaired === messages ? "unchanged" : "pruned",
    messages: repaired,
    leftOut: orphans.length === 0 ? [] : [leftOut(orphans, "no_call")],
    prunedResults: 0,
    tokensBefore: estimateMessages(messages),
    tokensAfter: estimateMessages(repaired),
    ...facts,
  };
}

/** Where messages that left the list can be read, as a sentence. */
export function whereStored(stored: StoredMessages | undefined): string {
  switch (stored) {
    case "searchable":
      return "They are still stored: look them up with session_search (scope lineage).";
    case "kept":
      return "They are still stored.";
    default:
      return "They are not kept.";
  }
}

export function localSummaryNotice(
  failure: SummaryFailure,
  { count }: LeftOut,
  stored: StoredMessages | undefined,
): Notice {
  return {
    cause: `summary_failed:${failure.kind}`,
    text: `No model could summarise ${messages(count)} (${failure.message}). A short account made without a model takes their place. ${whereStored(stored)}`,
  };
}

export function abortedNotice(failure: SummaryFailure): Notice {
  return {
    cause: `summary_aborted:${failure.kind}`,
    text: `Compaction stopped because there is no summary (${failure.message}). The conversation is unchanged. Try again with /compress, or set compression.abort_on_summary_failure to false.`,
  };
}

export function rescuedNotice(failure: SummaryFailure): Notice {
  return {
    cause: `summary_model_failed:${failure.kind}`,
    text: `The summary model did not answer as it should (${failure.message}), so the main model wrote the summary. Check auxiliary.compression in config.yaml.`,
  };
}

export function shortenedNotice({ count }: LeftOut, stored: StoredMessages | undefined): Notice {
  return {
    cause: "summary_shortened",
    text: `The summary of ${messages(count)} had to be shortened. ${whereStored(stored)}`,
  };
}

/** `window` as the server counts; `tokens` of the message are estimated. */
export function tooLargeNotice(
  { role, tokens }: TooLarge,
  window: { readonly tokens: number; readonly factor: number },
): Notice {
  const size = groupThousands(Math.round(tokens * window.factor));
  return {
    cause: "message_too_large",
    text: `One ${role} message has about ${size} tokens, more than the model's window of ${groupThousands(window.tokens)}. Nothing was removed. Split that message, or use a model with a larger window.`,
  };
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${groupThousands(count)} messages`;
}

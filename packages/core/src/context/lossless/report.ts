// Turns a compaction of the lossless engine into the outcome every engine returns, and into notices for the user.
import type { HermesError } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import { droppedOrphans, localSummaryNotice, rescuedNotice, tooLargeNotice } from "../compressor/notices.ts";
import type { CompressOutcome, LeftOut, Notice, StoredMessages, UnchangedReason } from "../engine.ts";
import { repairPairs } from "../list-repair.ts";
import type { ReadingWindow } from "../summary/summarise.ts";
import { estimateMessages } from "../tokens.ts";
import type { Compaction } from "./compact.ts";
import type { Part } from "./overview.ts";

/** The store cannot keep summaries. */
export type Refusal = { readonly kind: "refused"; readonly cause: "read_only" | HermesError };

export function toOutcome(
  messages: readonly Message[],
  compaction: Compaction | Refusal,
  notices: readonly Notice[],
): CompressOutcome {
  const tokensBefore = estimateMessages(messages);
  if (compaction.kind === "compacted") return compacted(compaction, tokensBefore, notices);
  // No model accepts results without a call. Their rows stay in the store.
  const repaired = repairPairs(messages);
  const declined = compaction.kind === "declined" ? compaction.failure : undefined;
  return {
    kind: outcomeKind(compaction, repaired !== messages),
    messages: repaired,
    reason: reasonOf(compaction),
    leftOut: droppedOrphans(messages),
    prunedResults: 0,
    tokensBefore,
    tokensAfter: repaired === messages ? tokensBefore : estimateMessages(repaired),
    failure: declined,
    notices,
  };
}

function reasonOf(compaction: Exclude<Compaction, { kind: "compacted" }> | Refusal): UnchangedReason {
  if (compaction.kind === "refused") return "not_stored";
  return compaction.kind === "declined" ? "summary_failed" : compaction.reason;
}

function compacted(
  { assembled, overview, span, excerpts, failure }: Extract<Compaction, { kind: "compacted" }>,
  tokensBefore: number,
  notices: readonly Notice[],
): CompressOutcome {
  return {
    kind: "compacted",
    messages: assembled.messages,
    summarised: span,
    summaryIndex: assembled.summaryIndex,
    summary: overview.text,
    method: failure === undefined ? "model" : "local",
    leftOut: [...missing(excerpts, "summary_failed"), ...missing(overview.shortened, "summary_shortened")],
    prunedResults: 0,
    tokensBefore,
    tokensAfter: estimateMessages(assembled.messages),
    failure,
    notices,
  };
}

function outcomeKind(
  compaction: Exclude<Compaction, { kind: "compacted" }> | Refusal,
  isRepaired: boolean,
): CompressOutcome["kind"] {
  if (compaction.kind === "declined") return "aborted";
  if (isRepaired) return "pruned";
  return compaction.kind === "refused" && compaction.cause !== "read_only" ? "aborted" : "unchanged";
}

function missing(parts: readonly Part[], reason: LeftOut["reason"]): readonly LeftOut[] {
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return [];
  return [
    {
      count: parts.reduce((sum, { messages }) => sum + messages, 0),
      reason,
      firstRowId: first.node.first_message_id,
      lastRowId: last.node.last_message_id,
    },
  ];
}

export function noticesOf(
  compaction: Compaction | Refusal,
  window: ReadingWindow,
  stored: StoredMessages,
): readonly (Notice | undefined)[] {
  switch (compaction.kind) {
    case "refused":
      return [compaction.cause === "read_only" ? READ_ONLY : storeFailed(compaction.cause)];
    case "declined":
      return [];
    case "unchanged":
      if (compaction.tooLarge) return [tooLargeNotice(compaction.tooLarge, window)];
      return compaction.reason === "not_stored" ? [notStored(compaction.unstored)] : [];
    case "compacted": {
      const { excerpts, failure, rescuedFrom, unstored, isAgreed } = compaction;
      const [summary] = missing(excerpts, "summary_failed");
      return [
        failure && summary && !isAgreed ? localSummaryNotice(failure, summary, stored) : undefined,
        rescuedFrom && rescuedNotice(rescuedFrom),
        unstored > 0 ? notStored(unstored) : undefined,
      ];
    }
    default:
      return compaction satisfies never;
  }
}

const READ_ONLY: Notice = {
  cause: "lcm_read_only",
  text: "The session database is open for reading only, so the lossless engine (lcm) cannot keep summaries and leaves the conversation as it is. Make the database writable, or set context.engine to compressor.",
};

function storeFailed(error: HermesError): Notice {
  const hint = error.hint === undefined ? "" : ` ${error.hint}`;
  return {
    cause: `lcm_store_failed:${error.code}`,
    text: `The conversation was not compacted, because its summaries could not be stored: ${error.message}${hint}`,
  };
}

function notStored(count: number): Notice {
  if (count === 0)
    return {
      cause: "lcm_conflict",
      text: "The conversation was not compacted: other processes kept compacting it at the same time. It is tried again later.",
    };
  const messages = count === 1 ? "1 message is" : `${count} messages are`;
  return {
    cause: "lcm_not_stored",
    text: `${messages} not in the session database yet and could not be read again once summarised, so they stay in the conversation.`,
  };
}

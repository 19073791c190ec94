// What a compaction did. A caller can always tell what was summarised, what was left out, and why.
import type { Message } from "../message/index.ts";

/** `M`: an engine that was given chat rows answers with chat rows. */
export type CompressOutcome<M = Message> = {
  readonly kind: "compacted" | "pruned" | "unchanged" | "aborted";
  /** Valid for the model in every case. The same array as the input when nothing changed. */
  readonly messages: readonly M[];
  /** Why nothing was summarised; always there unless the list was compacted. */
  readonly reason?: UnchangedReason;
  /** Input indices [from, to) that the handoff stands for; absent when there is none. */
  readonly summarised?: Span;
  /** Where the handoff stands in `messages`. */
  readonly summaryIndex?: number;
  /** The handoff's body, without prefix and end marker. */
  readonly summary?: string;
  /** How the summary came about. `local`: without a model, see `failure`. */
  readonly method?: "model" | "local";
  /** What is in neither list nor summary in full, and how to read it. */
  readonly leftOut: readonly LeftOut[];
  readonly prunedResults: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Why the model gave no summary, when it was asked or would have been. */
  readonly failure?: SummaryFailure;
  /** For the user, each cause once per session. */
  readonly notices: readonly Notice[];
};

export type Span = { readonly from: number; readonly to: number };

export type UnchangedReason =
  | "too_short"
  | "nothing_to_gain"
  | "summary_failed"
  /** One message alone is larger than the window. */
  | "message_too_large"
  /** Messages that would have to go are not in the session store, or it cannot keep summaries of them. */
  | "not_stored";

export type LeftOut = {
  readonly count: number;
  /** `no_call`: tool results that answer no call and that no summary could take in. */
  readonly reason: "summary_failed" | "summary_shortened" | "no_call";
  /** Rows of the session store, where the messages carry their ids. */
  readonly firstRowId?: number;
  readonly lastRowId?: number;
};

export type SummaryFailure = {
  readonly kind:
    | "no_model"
    | "timeout"
    | "connection"
    | "empty"
    | "refused"
    | "cooldown"
    | "too_long"
    | "failed";
  /** One line without secrets. */
  readonly message: string;
};

export type Notice = {
  /** The cause; a host may show each one once. */
  readonly cause: string;
  readonly text: string;
};

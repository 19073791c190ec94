// Whether a gateway compacts a stored conversation before the agent runs on it. A chat can grow past the window while no
// agent is there to notice.

import type { Message } from "../message/index.ts";
import { soundFactor } from "./compressor/settings.ts";
import { estimateMessages } from "./tokens.ts";

export type HygieneQuestion = {
  /** `compression.enabled`. */
  readonly enabled: boolean;
  /** The stored history, whole: tool results count and are summarised too. */
  readonly messages: readonly Message[];
  /** Prompt tokens of the last reply, where the session has them; 0 when it does not. */
  readonly lastPromptTokens: number;
  /** Of this chat's model. */
  readonly window: number;
  /** Tokens its server counts for each token we estimate. Absent: 1. */
  readonly tokenFactor?: number;
  /** `compression.hygiene_threshold`: a share of the window. */
  readonly threshold: number;
  /** `compression.hygiene_hard_message_limit`. */
  readonly messageLimit: number;
  /** Whether there is a model that could write the summary. */
  readonly hasModel: boolean;
};

export type HygieneDecision =
  | { readonly fire: false; readonly why: "disabled" | "too_few_messages" | "below_limits" | "no_model" }
  | {
      readonly fire: true;
      readonly why: "tokens" | "messages";
      readonly tokens: number;
      /** Whether a model has counted them. */
      readonly counted: "actual" | "estimated";
    };

const LEAST_MESSAGES = 4;
const STILL_FULL = 0.95;

export function hygieneDecision(question: HygieneQuestion): HygieneDecision {
  const { enabled, messages, lastPromptTokens, window, threshold, messageLimit, hasModel } = question;
  if (!enabled) return { fire: false, why: "disabled" };
  if (messages.length < LEAST_MESSAGES) return { fire: false, why: "too_few_messages" };
  const counted = lastPromptTokens > 0 ? "actual" : "estimated";
  const tokens =
    counted === "actual"
      ? lastPromptTokens
      : Math.ceil(estimateMessages(messages) * soundFactor(question.tokenFactor));
  const isFull = window > 0 && tokens >= Math.trunc(window * threshold);
  if (!isFull && messages.length < messageLimit) return { fire: false, why: "below_limits" };
  if (!hasModel) return { fire: false, why: "no_model" };
  return { fire: true, why: isFull ? "tokens" : "messages", tokens, counted };
}

/** After the compaction: worth a line in the log, because the next turn may fail all the same. */
export function isStillFull(tokens: number, window: number): boolean {
  return window > 0 && tokens >= window * STILL_FULL;
}

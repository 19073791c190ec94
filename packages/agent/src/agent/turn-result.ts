// The result of a turn. Every exit has all fields. In snake case, because gateways and other programs read it unchanged.
import type { Message } from "@hermes-memory/core/internal/message";
import type { ModelFailureKind } from "../models/index.ts";

/** How a turn ended. */
export type TurnExit =
  | "text_response"
  /** The model called tools of the client. `Agent.continueWith` goes on with their results. */
  | "client_tool_calls"
  | "partial_stream_recovery"
  | "fallback_prior_turn_content"
  | "max_iterations_reached"
  | "empty_response_exhausted"
  | "interrupted_by_user"
  | "invalid_tool_calls"
  | "truncated_response"
  | "model_error"
  | "context_overflow"
  | "compaction_disabled"
  | "session_busy"
  | "session_gone"
  /** `continueWith`: the session has no call that these results answer. */
  | "no_open_calls";

/** A call of one of the client's tools. `arguments`: JSON text as the model wrote it; the stored copy has secrets masked. */
export type ClientToolCall = { readonly id: string; readonly name: string; readonly arguments: string };

/** What a turn gave: the reply, the messages, how it ended, and what it used. */
export type TurnResult = {
  readonly final_response: string;
  /** The newest reasoning of this turn. */
  readonly last_reasoning: string | null;
  readonly messages: readonly Message[];
  /** The calls that the client runs, when `exit` is `client_tool_calls`. */
  readonly client_tool_calls: readonly ClientToolCall[];
  readonly api_calls: number;
  readonly completed: boolean;
  readonly turn_exit_reason: string;
  readonly exit: TurnExit;
  readonly failed: boolean;
  readonly partial: boolean;
  readonly interrupted: boolean;
  /** Why the turn failed, broke off or was not stored, for the user; null when none of this happened. */
  readonly error: string | null;
  /** Tells the user what to do about the error. */
  readonly hint: string | null;
  /** The kind of failure, where a call of the model was the reason. */
  readonly error_kind: ModelFailureKind | null;
  /** How long the model's server asked to wait. */
  readonly retry_after_seconds: number | null;
  /** A hook changed the text after it was stored. */
  readonly response_transformed: boolean;
  readonly model: string;
  readonly provider: string;
  readonly base_url: string;
  /** Totals of the session so far, as this agent counted them. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly reasoning_tokens: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly last_prompt_tokens: number;
  readonly estimated_cost_usd: number | null;
  readonly cost_status: "estimated" | "included" | "unknown";
  readonly cost_source: string;
  readonly session_id: string;
  readonly compression_exhausted: boolean;
  /** Text typed while the turn ran that came too late for it. */
  readonly pending_steer: string | null;
  /** The text given to `interrupt`. */
  readonly interrupt_message: string | null;
};

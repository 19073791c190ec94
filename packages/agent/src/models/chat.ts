// Talking to a language model, whoever serves it. Everything above this file knows these types and no vendor's.
import type { Result } from "@hermes-memory/core/lib";
import type { AssistantMessage, Message, OpenAiMessage } from "@hermes-memory/core/message";
import type { ToolDefinition } from "@hermes-memory/core/tools";
import type { Usage } from "./usage-and-cost.ts";

/** The protocols we speak. */
export type ApiMode = "anthropic_messages" | "chat_completions" | "responses" | "google";

export type ModelIdentity = {
  readonly model: string;
  /** `anthropic`, `openai`, `google`, `openrouter`, `ollama`, ..., or `custom` for an address of the user's own. */
  readonly provider: string;
  readonly apiMode: ApiMode;
  /** "" for the vendor's own address. */
  readonly baseUrl: string;
};

export type ModelDelta = { readonly kind: "text" | "reasoning"; readonly text: string };

export type ModelRequest = {
  /** The system message first, when there is one. `vendor.cache_control` of messages and parts goes to the Anthropic wire as it is. */
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** `none`: the tools are shown, because the history uses them, but may not be called. Default `auto`. */
  readonly toolChoice?: "auto" | "none" | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  /** Chat wires only: the messages of the finished body, changed right before it is sent. For cache markers. */
  readonly markBody?: ((messages: readonly OpenAiMessage[]) => readonly OpenAiMessage[]) | undefined;
  /** The stream counts as dead after this long without data. Absent: never. */
  readonly staleAfterMs?: number | undefined;
  /**
   * Characters (UTF-16 units) that the reply may have: text, reasoning and arguments of calls together. What is longer ends as a
   * failure of kind `reply_too_long`. Default 8,000,000.
   */
  readonly maxReplyChars?: number | undefined;
};

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error" | "other";

export type ModelReply = {
  /**
   * For the list. `content` is text, "" when there is none; `vendor` has `reasoning`, `reasoning_content`, `reasoning_details`,
   * `codex_reasoning_items` and `codex_message_items` where the model gave them. Sent back in a later request to the same wire, it
   * reproduces what the vendor needs, signatures included.
   */
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** Undefined when the server told nothing. */
  readonly usage: Usage | undefined;
  /** The model that answered, by its own name. */
  readonly model: string | undefined;
};

/** A reply as a model object gives it: its message may be a chat row. `callModel` makes a `ModelReply` of it. */
export type GivenReply = Omit<ModelReply, "message"> & { readonly message: AssistantMessage | OpenAiMessage };

export type ModelFailureKind =
  | "auth"
  | "billing"
  | "rate_limit"
  /** The request is larger than the window. */
  | "overflow"
  /** HTTP 413: the body is too large. */
  | "payload_too_large"
  | "content_policy"
  /** A reasoning block came back with a signature the vendor does not accept. */
  | "bad_signature"
  | "bad_request"
  | "not_found"
  | "server"
  | "connection"
  /** No data for `staleAfterMs`. */
  | "stalled"
  /** An answer that is none: no JSON, no choices, a stream cut off. */
  | "invalid_response"
  /** More than `maxReplyChars`: the stream was ended there. */
  | "reply_too_long";

export type ModelFailure = {
  readonly kind: ModelFailureKind;
  /** What happened, why, what to do; without secrets and without the request. */
  readonly message: string;
  readonly status?: number;
  readonly isRetryable: boolean;
  /** From the server. */
  readonly retryAfterMs?: number;
  /** Text that had arrived, and been told, before it failed; "" for none. */
  readonly partialText: string;
  /** Of kind `overflow`: the window as the server states it. */
  readonly limitTokens?: number;
  /** Of kind `overflow`: what the server counted for the request, and what that reserved for the reply. */
  readonly promptTokens?: number;
  readonly outputTokens?: number;
};

export interface ChatModel {
  readonly identity: ModelIdentity;
  /** One request, no retry. Rejects only with the signal's reason when it is aborted. */
  stream(request: ModelRequest): Promise<Result<GivenReply, ModelFailure>>;
}

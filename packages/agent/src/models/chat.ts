// The types for talking to a language model of any vendor. Code outside `models/access` knows these types and none of a vendor.
import type { Result } from "@hermes-memory/core/internal/lib";
import type { AssistantMessage, Message, OpenAiMessage } from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { Usage } from "./usage.ts";

/** The protocols that are supported. */
export type ApiMode = "anthropic_messages" | "chat_completions" | "responses" | "google";

/** Which model answers, and where. */
export type ModelIdentity = {
  readonly model: string;
  /** `anthropic`, `openai`, `google`, `openrouter`, `ollama`, ..., or `custom` for any other server. */
  readonly provider: string;
  readonly apiMode: ApiMode;
  /** "" for the vendor's default. */
  readonly baseUrl: string;
};

/** A piece of a streaming reply. */
export type ModelDelta = { readonly kind: "text" | "reasoning"; readonly text: string };

/** One request: messages, tools, limits, and where the stream goes. */
export type ModelRequest = {
  /** The system message first, if there is one. `vendor.cache_control` of messages and parts is passed to the Anthropic wire unchanged. */
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** `none`: the request lists the tools, because the history uses them, but the model may not call them. Default `auto`. */
  readonly toolChoice?: "auto" | "none" | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  /** Chat wires only: changes the messages of the finished body right before it is sent. For cache markers. */
  readonly markBody?: ((messages: readonly OpenAiMessage[]) => readonly OpenAiMessage[]) | undefined;
  /** Fail with kind `stalled` after this long without data. Absent: never. */
  readonly staleAfterMs?: number | undefined;
  /**
   * Most characters (UTF-16 units) of the reply: text, reasoning and arguments of calls together. A longer reply fails with kind
   * `reply_too_long`. Default 8,000,000.
   */
  readonly maxReplyChars?: number | undefined;
};

/** Why a model stopped. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error" | "other";

/** A finished reply. */
export type ModelReply = {
  /**
   * For the list of messages. `content` is text, "" when there is none; `vendor` has `reasoning`, `reasoning_content`,
   * `reasoning_details`, `codex_reasoning_items` and `codex_message_items` if the model sent them. In a later request to the same
   * wire they give the vendor what it needs, signatures included.
   */
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** Undefined when the server did not report it. */
  readonly usage: Usage | undefined;
  /** The name that the server gives for the model that answered. */
  readonly model: string | undefined;
};

/** A reply of a model object that a program passed in: its message may be a chat row. `callModel` turns it into a `ModelReply`. */
export type GivenReply = Omit<ModelReply, "message"> & { readonly message: AssistantMessage | OpenAiMessage };

/** The kinds of failure that an agent handles differently. */
export type ModelFailureKind =
  | "auth"
  | "billing"
  | "rate_limit"
  /** The request is larger than the window. */
  | "overflow"
  /** HTTP 413: the body is too large. */
  | "payload_too_large"
  | "content_policy"
  /** The vendor does not accept the signature of a reasoning block in the history. */
  | "bad_signature"
  | "bad_request"
  | "not_found"
  | "server"
  | "connection"
  /** No data for `staleAfterMs`. */
  | "stalled"
  /** An answer that cannot be used: no JSON, no choices, a stream that was cut off. */
  | "invalid_response"
  /** More than `maxReplyChars`: reading stopped there. */
  | "reply_too_long";

/** Why a request failed, and whether trying again can help. */
export type ModelFailure = {
  readonly kind: ModelFailureKind;
  /** Says what happened, why, and what to do; contains no secrets and no part of the request. */
  readonly message: string;
  readonly status?: number;
  readonly isRetryable: boolean;
  /** As the server asked. */
  readonly retryAfterMs?: number;
  /** Text that had arrived, and was passed to the listener, before the failure; "" for none. */
  readonly partialText: string;
  /** Kind `overflow` only: the window as the server states it. */
  readonly limitTokens?: number;
  /** Kind `overflow` only: what the server counted for the request, and what the request reserved for the reply. */
  readonly promptTokens?: number;
  readonly outputTokens?: number;
};

/** A model that an agent can talk to. `fromSdkModel` makes one of an AI SDK model; write your own to use another client. */
export interface ChatModel {
  readonly identity: ModelIdentity;
  /** One request, no retry. Rejects only with the signal's reason when it is aborted. */
  stream(request: ModelRequest): Promise<Result<GivenReply, ModelFailure>>;
}

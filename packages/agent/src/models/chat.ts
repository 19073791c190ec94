// Talking to a language model of any vendor: the types, which are all that code outside `models/access` knows; calling a model, again
// when that may help, unless a listener already has a part of the reply; and a model as a text model, for summaries and titles.
import { setTimeout as pause } from "node:timers/promises";
import { err, HermesError, ok, type Result, type TextModel } from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  isMessage,
  type Message,
  newMessage,
  type OpenAiMessage,
  parseMessage,
  textOf,
} from "@hermes-memory/core/internal/message";
import { scrubAnswer } from "@hermes-memory/core/internal/providers";
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

// Calling it.

export type Retry = {
  /** The number of the next attempt, and the most there may be. */
  readonly attempt: number;
  readonly of: number;
  readonly waitMs: number;
  /** Why the last attempt failed. */
  readonly failure: ModelFailure;
};

const pauseFor = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  pause(ms, undefined, { signal });

export type CallOptions = {
  /** The first one included: 1 means no retry. */
  readonly attempts: number;
  /** Gives 0 to 1. */
  readonly random?: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Called before each wait. */
  readonly onRetry?: (retry: Retry) => void;
};

/** The last attempt's outcome. Rejects only with the reason of the request's signal, also while it waits. */
export async function callModel(
  model: ChatModel,
  request: ModelRequest,
  options: CallOptions,
): Promise<Result<ModelReply, ModelFailure>> {
  const { attempts, random = Math.random, sleep = pauseFor, onRetry } = options;
  const { signal } = request;
  for (let attempt = 1; ; attempt += 1) {
    const given = await model.stream(request);
    const outcome = given.ok ? readReply(given.value) : given;
    if (outcome.ok || attempt >= attempts || !mayRetry(outcome.error)) return outcome;
    const waitMs = retryWaitMs(outcome.error, attempt, random());
    onRetry?.({ attempt: attempt + 1, of: attempts, waitMs, failure: outcome.error });
    await sleep(waitMs, signal).finally(() => signal?.throwIfAborted());
  }
}

/** A model object that a program passed in may answer with a chat row. */
function readReply(reply: GivenReply): Result<ModelReply, ModelFailure> {
  const given: unknown = reply.message;
  const parsed = isMessage(given) ? ok(given) : parseMessage(given);
  if (parsed.ok && parsed.value.role === "assistant") return ok({ ...reply, message: parsed.value });
  const why = parsed.ok ? `has the role '${parsed.value.role}'` : parsed.error.message;
  const message = `The model's message ${why}. It must be an assistant message.`;
  return err({ kind: "invalid_response", message, isRetryable: false, partialText: "" });
}

/** Not when a listener has got a part of the reply: it cannot be taken back. */
function mayRetry({ isRetryable, partialText }: ModelFailure): boolean {
  return isRetryable && partialText === "";
}

const ERRORS = { baseMs: 2_000, capMs: 60_000 };
/** Longer waits: a server that sends unusable answers is often still starting. */
const UNUSABLE_ANSWERS = { baseMs: 5_000, capMs: 120_000 };
const LONGEST_ASKED_MS = 120_000;

/** The wait after attempt number `attempt`, counted from 1. `random` adds up to a half, so that clients do not retry together. */
export function retryWaitMs(failure: ModelFailure, attempt: number, random: number): number {
  const { kind, retryAfterMs } = failure;
  if (kind === "rate_limit" && retryAfterMs !== undefined)
    return Math.max(0, Math.min(retryAfterMs, LONGEST_ASKED_MS));
  const { baseMs, capMs } = kind === "invalid_response" ? UNUSABLE_ANSWERS : ERRORS;
  const wait = Math.min(baseMs * 2 ** (attempt - 1), capMs);
  return Math.round(wait * (1 + random / 2));
}

// As a text model.

export type TextModelOptions = {
  /** For one call with all its attempts. */
  readonly timeoutMs?: number;
  /** Not sent to a model that rejects it. */
  readonly temperature?: number;
  /** Default 1. */
  readonly attempts?: number;
  /** Called with the outcome of a request before the caller gets it. */
  readonly onOutcome?: (messages: readonly Message[], outcome: Result<ModelReply, ModelFailure>) => void;
};

/** About 100,000 tokens: many times the longest summary, reasoning included. */
const REPLY_CHARS = 400_000;

/**
 * A `ChatModel` as a model that answers one prompt with text. The `ChatModel` comes from `openModel`, or from an AI SDK model with
 * `fromSdkModel`: `toTextModel(await fromSdkModel(openai("gpt-5")))`.
 *
 * `complete` resolves with the text of the reply, without reasoning. It rejects with the signal's reason when that is aborted, and
 * otherwise with a `HermesError` of code `model-failed` whose `cause` is the `ModelFailure`.
 */
export function toTextModel(model: ChatModel, options: TextModelOptions = {}): TextModel {
  const { timeoutMs, temperature, attempts = 1 } = options;
  return {
    async complete({ system, prompt, maxOutputTokens, signal }) {
      const messages = [
        ...(system === undefined || system === "" ? [] : [newMessage({ role: "system", content: system })]),
        newMessage({ role: "user", content: prompt }),
      ];
      const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
      const signals = [...(signal ? [signal] : []), ...deadline];
      const request = {
        messages,
        maxOutputTokens,
        maxReplyChars: REPLY_CHARS,
        signal: AbortSignal.any(signals),
      };
      const outcome = await callWithTemperature(model, request, { temperature, attempts }).catch(
        (cause: unknown) => {
          signal?.throwIfAborted();
          if (!deadline.some(({ aborted }) => aborted)) throw cause;
          throw failed(tooLate(model, timeoutMs ?? 0));
        },
      );
      options.onOutcome?.(messages, outcome);
      if (!outcome.ok) throw failed(outcome.error);
      return scrubAnswer(textOf(outcome.value.message.content));
    },
  };
}

/** Models that answered a temperature with HTTP 400. No temperature is sent to them for the rest of the process. */
const rejectsTemperature = new WeakSet<ChatModel>();

async function callWithTemperature(
  model: ChatModel,
  request: ModelRequest,
  { temperature, attempts }: { readonly temperature: number | undefined; readonly attempts: number },
): Promise<Result<ModelReply, ModelFailure>> {
  if (temperature === undefined || rejectsTemperature.has(model))
    return callModel(model, request, { attempts });
  const outcome = await callModel(model, { ...request, temperature }, { attempts });
  if (outcome.ok || outcome.error.kind !== "bad_request" || !/temperature/i.test(outcome.error.message))
    return outcome;
  rejectsTemperature.add(model);
  return callModel(model, request, { attempts });
}

function failed(failure: ModelFailure): HermesError {
  // Callers look for socket error codes, as other `TextModel`s have them.
  const code = { connection: "ECONNRESET", stalled: "ETIMEDOUT" }[String(failure.kind)];
  return new HermesError("model-failed", failure.message, {
    cause: code === undefined ? failure : { ...failure, code },
  });
}

function tooLate({ identity }: ChatModel, timeoutMs: number): ModelFailure {
  const message = `The model '${identity.model}' timed out: no answer within ${timeoutMs / 1000} s.`;
  return { kind: "stalled", message, isRetryable: true, partialText: "" };
}

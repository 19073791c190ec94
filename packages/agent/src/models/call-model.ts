// Calls a model: again when that may help, after growing waits, unless a listener already has a part of the reply; and as a text model,
// text in and text out, for small tasks such as summaries and titles.
import { setTimeout as pause } from "node:timers/promises";
import { err, HermesError, ok, type Result, type TextModel } from "@hermes-memory/core/internal/lib";
import {
  isMessage,
  type Message,
  newMessage,
  parseMessage,
  textOf,
} from "@hermes-memory/core/internal/message";
import { scrubAnswer } from "@hermes-memory/core/internal/providers";
import type { ChatModel, GivenReply, ModelFailure, ModelReply, ModelRequest } from "./chat.ts";

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

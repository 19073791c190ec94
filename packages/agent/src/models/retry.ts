// Calls a model, and calls it again when that may help: after growing waits, unless a listener already has a part of the reply.
import { setTimeout as pause } from "node:timers/promises";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { isMessage, parseMessage } from "@hermes-memory/core/internal/message";
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

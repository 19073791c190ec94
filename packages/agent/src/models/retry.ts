// Asks a model again when that may help: after a while that grows, unless somebody has already heard a part of the reply.
import { setTimeout as pause } from "node:timers/promises";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import { isMessage, parseMessage } from "@hermes-memory/core/message";
import type { ChatModel, GivenReply, ModelFailure, ModelReply, ModelRequest } from "./chat.ts";

export type Retry = {
  /** The attempt that comes next, and how many there may be. */
  readonly attempt: number;
  readonly of: number;
  readonly waitMs: number;
  /** Why the last one failed. */
  readonly failure: ModelFailure;
};

export type CallOptions = {
  /** All together; 1 means no second one. */
  readonly attempts: number;
  /** From 0 up to 1. */
  readonly random?: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Before each wait. */
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
    try {
      await sleep(waitMs, signal);
    } catch (cause) {
      signal?.throwIfAborted();
      throw cause;
    }
    signal?.throwIfAborted();
  }
}

/** A model object of somebody else's may answer with a chat row. */
function readReply(reply: GivenReply): Result<ModelReply, ModelFailure> {
  const given: unknown = reply.message;
  const parsed = isMessage(given) ? ok(given) : parseMessage(given);
  if (parsed.ok && parsed.value.role === "assistant") return ok({ ...reply, message: parsed.value });
  const why = parsed.ok ? `has the role '${parsed.value.role}'` : parsed.error.message;
  const message = `The model's message ${why}. It must be one of the assistant.`;
  return err({ kind: "invalid_response", message, isRetryable: false, partialText: "" });
}

/** What was told cannot be taken back by trying again. */
function mayRetry({ isRetryable, partialText }: ModelFailure): boolean {
  return isRetryable && partialText === "";
}

const ERRORS = { baseMs: 2_000, capMs: 60_000 };
/** A server that answers nonsense is often just starting. */
const NONSENSE = { baseMs: 5_000, capMs: 120_000 };
const LONGEST_ASKED_MS = 120_000;

/** After the `attempt`-th one, counted from 1. `random` spreads clients that failed together, by up to a half. */
export function retryWaitMs(failure: ModelFailure, attempt: number, random: number): number {
  const { kind, retryAfterMs } = failure;
  if (kind === "rate_limit" && retryAfterMs !== undefined)
    return Math.max(0, Math.min(retryAfterMs, LONGEST_ASKED_MS));
  const { baseMs, capMs } = kind === "invalid_response" ? NONSENSE : ERRORS;
  const wait = Math.min(baseMs * 2 ** (attempt - 1), capMs);
  return Math.round(wait * (1 + random / 2));
}

async function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(ms, undefined, signal === undefined ? {} : { signal });
}

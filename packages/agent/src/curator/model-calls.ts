// Questions to a model, with limits on their number and time. The reply must be JSON of the expected shape, or it is a failure.
import {
  describeCause,
  err,
  ok,
  outsideJsonOr,
  type Result,
  type TextModel,
} from "@hermes-memory/core/internal/lib";

export type AskFailure = {
  readonly kind: "used-up" | "too-late" | "failed" | "nonsense";
  readonly message: string;
};

export type Question<T> = {
  readonly system: string;
  readonly prompt: string;
  /** Undefined for an answer that cannot be used. Never throws. */
  readonly read: (value: unknown) => T | undefined;
};

/** Of one run. */
const MAX_CALLS = 60;
const TOTAL_MS = 15 * 60_000;
const LONGEST_REPLY = 200_000;
const MOST_OUTPUT_TOKENS = 8_000;
/** After this many failures in a row the model is not asked again in this run. */
const MOST_FAILURES = 3;

export class ModelCalls {
  readonly #model: TextModel;
  readonly #callTimeoutMs: number;
  readonly #signal: AbortSignal;
  readonly #startedAt = performance.now();
  #used = 0;
  #failures = 0;
  #inARow = 0;

  constructor(model: TextModel, callTimeoutMs: number, signal: AbortSignal) {
    this.#model = model;
    this.#callTimeoutMs = callTimeoutMs;
    this.#signal = signal;
  }

  get used(): number {
    return this.#used;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Asks a second time when the reply cannot be used. Rejects only when the run was aborted. */
  async ask<T>(question: Question<T>): Promise<Result<T, AskFailure>> {
    const first = await this.#once(question, question.prompt);
    if (first.ok || first.error.kind !== "nonsense") return first;
    return this.#once(
      question,
      `${question.prompt}\n\nYour last reply could not be used. Reply with the JSON object alone.`,
    );
  }

  async #once<T>(question: Question<T>, prompt: string): Promise<Result<T, AskFailure>> {
    this.#signal.throwIfAborted();
    if (this.#used >= MAX_CALLS || this.#inARow >= MOST_FAILURES)
      return err({ kind: "used-up", message: this.#usedUpMessage() });
    const leftMs = TOTAL_MS - (performance.now() - this.#startedAt);
    if (leftMs <= 0) return err({ kind: "too-late", message: "The time for this run is over." });
    this.#used += 1;
    const reply = await this.#complete(question.system, prompt, Math.min(leftMs, this.#callTimeoutMs));
    if (!reply.ok) return this.#failed(reply.error);
    const value = jsonIn(reply.value.slice(0, LONGEST_REPLY));
    const read = value === undefined ? undefined : question.read(value);
    const message = "The model's reply was not the JSON it was asked for.";
    if (read === undefined) return this.#failed({ kind: "nonsense", message });
    this.#inARow = 0;
    return ok(read);
  }

  /** Returns at the timeout even if the model ignores the signal. */
  async #complete(system: string, prompt: string, timeoutMs: number): Promise<Result<string, AskFailure>> {
    const timer = AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs)));
    const signal = AbortSignal.any([this.#signal, timer]);
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(signal.reason));
    try {
      const asked = this.#model.complete({ system, prompt, maxOutputTokens: MOST_OUTPUT_TOKENS, signal });
      return ok(await Promise.race([asked, stopped]));
    } catch (cause) {
      this.#signal.throwIfAborted();
      if (timer.aborted) return err({ kind: "too-late", message: "The model did not answer in time." });
      return err({ kind: "failed", message: describeCause(cause) });
    }
  }

  #failed(failure: AskFailure): Result<never, AskFailure> {
    this.#failures += 1;
    this.#inARow += 1;
    return err(failure);
  }

  #usedUpMessage(): string {
    return this.#inARow >= MOST_FAILURES
      ? `The model failed ${MOST_FAILURES} times in a row and is not asked again.`
      : `The ${MAX_CALLS} model calls of a run are used up.`;
  }
}

/** The JSON object in a reply: alone, in a fenced block, or with text around it. */
export function jsonIn(reply: string): unknown {
  const fenced = insideFence(reply);
  const braced = reply.slice(reply.indexOf("{"), reply.lastIndexOf("}") + 1);
  for (const text of [reply, fenced, braced]) {
    if (text === undefined || text.trim() === "") continue;
    const value = outsideJsonOr(text, undefined);
    if (typeof value === "object" && value !== null) return value;
  }
  return undefined;
}

/** The content of the first code block. */
function insideFence(reply: string): string | undefined {
  const open = reply.indexOf("```");
  const start = open < 0 ? -1 : reply.indexOf("\n", open);
  const end = start < 0 ? -1 : reply.indexOf("```", start);
  return end < 0 ? undefined : reply.slice(start, end);
}

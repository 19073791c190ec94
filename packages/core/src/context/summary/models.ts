// The models that may be asked for a summary: the configured one, then the main one. Each rests for a while after a
// failure, so that a dead model costs one wait and not one for every compaction.
import { err, ok, pyStrip, type Result, type TextModel } from "../../lib/index.ts";
import type { SummaryFailure } from "../outcome.ts";
import { COOLDOWN_MS, failureOf, isRefusal, summaryFailure } from "./failures.ts";
import type { Redact } from "./serialise.ts";

export type SummaryModelsOptions = {
  /** Undefined: none is configured. */
  readonly summarizer: TextModel | undefined;
  /** Asked when the first one fails; usually the main model. */
  readonly fallbackSummarizer?: TextModel | undefined;
  readonly timeoutMs: number;
  readonly redact: Redact;
  /** Never goes back, unlike the time of day. */
  readonly monotonicMs: () => number;
};

export type ModelRequest = {
  readonly prompt: string;
  readonly maxOutputTokens: number;
  readonly signal?: AbortSignal | undefined;
};

export type SummaryModel = {
  readonly rank: "first" | "second";
  readonly model: TextModel;
};

type Rest = { readonly until: number; readonly after: SummaryFailure };

export class SummaryModels {
  readonly #options: SummaryModelsOptions;
  readonly #resting = new Map<TextModel, Rest>();

  constructor(options: SummaryModelsOptions) {
    this.#options = options;
  }

  /** Those that may be asked now, in order; or why there is none. */
  available(): Result<readonly [SummaryModel, ...SummaryModel[]], SummaryFailure> {
    const all = this.#all();
    if (all.length === 0)
      return err(summaryFailure("no_model", "No model for summaries is configured.", this.#options.redact));
    const [first, ...others] = all.filter(({ model }) => this.#restOf(model) === undefined);
    if (first !== undefined) return ok([first, ...others]);
    const rests = all.flatMap(({ model }) => this.#restOf(model) ?? []);
    const soonest = Math.min(...rests.map(({ until }) => until));
    const seconds = Math.ceil((soonest - this.#options.monotonicMs()) / 1000);
    const message = `Not asked again for another ${seconds} s after: ${rests[0]?.after.message}`;
    return err(summaryFailure("cooldown", message, this.#options.redact));
  }

  /** The answer, trimmed and without secrets. Rejects only when the caller's signal is aborted. */
  async ask({ model }: SummaryModel, request: ModelRequest): Promise<Result<string, SummaryFailure>> {
    let answer = await this.#attempt(model, request);
    // A line that broke once is usually there again at once.
    if (!answer.ok && answer.error.kind === "connection") answer = await this.#attempt(model, request);
    if (answer.ok) this.#resting.delete(model);
    else {
      const until = this.#options.monotonicMs() + COOLDOWN_MS[answer.error.kind];
      this.#resting.set(model, { until, after: answer.error });
    }
    return answer;
  }

  /** Asks one after the other until one answers. */
  async askAny(request: ModelRequest): Promise<Result<string, SummaryFailure>> {
    const available = this.available();
    if (!available.ok) return available;
    const [first, ...others] = available.value;
    let answer = await this.ask(first, request);
    for (const model of others) {
      if (answer.ok) break;
      answer = await this.ask(model, request);
    }
    return answer;
  }

  /** The user wants it now, whatever happened before. */
  wake(): void {
    this.#resting.clear();
  }

  #all(): readonly SummaryModel[] {
    const { summarizer, fallbackSummarizer } = this.#options;
    const second = fallbackSummarizer === summarizer ? undefined : fallbackSummarizer;
    return [
      ...(summarizer ? [{ rank: "first" as const, model: summarizer }] : []),
      ...(second ? [{ rank: "second" as const, model: second }] : []),
    ];
  }

  #restOf(model: TextModel): Rest | undefined {
    const rest = this.#resting.get(model);
    return rest !== undefined && rest.until > this.#options.monotonicMs() ? rest : undefined;
  }

  async #attempt(model: TextModel, request: ModelRequest): Promise<Result<string, SummaryFailure>> {
    const { timeoutMs, redact } = this.#options;
    const { signal: outer, prompt, maxOutputTokens } = request;
    outer?.throwIfAborted();
    const own = new AbortController();
    const timer = setTimeout(() => own.abort(), timeoutMs);
    const signal = outer === undefined ? own.signal : AbortSignal.any([outer, own.signal]);
    const stopped = Promise.withResolvers<never>();
    // Settles in time whether or not the model minds the signal.
    const stop = (): void => stopped.reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const reply: unknown = await Promise.race([
        model.complete({ prompt, maxOutputTokens, signal }),
        stopped.promise,
      ]);
      return readAnswer(reply, redact);
    } catch (cause) {
      outer?.throwIfAborted();
      if (!own.signal.aborted) return err(failureOf(cause, redact));
      return err(summaryFailure("timeout", `No summary within ${timeoutMs / 1000} s.`, redact));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }
}

function readAnswer(reply: unknown, redact: Redact): Result<string, SummaryFailure> {
  const text = typeof reply === "string" ? reply : reply === null || reply === undefined ? "" : json(reply);
  const answer = pyStrip(redact(pyStrip(text)));
  if (answer === "") return err(summaryFailure("empty", "The model gave an empty answer.", redact));
  if (isRefusal(answer)) return err(summaryFailure("refused", `The model declined: ${answer}`, redact));
  return ok(answer);
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

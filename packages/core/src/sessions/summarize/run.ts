// Asks a model for several summaries at once, within one deadline. What is not ready by then is undefined; nothing throws.
import { pyStrip, type TextModel } from "../../lib/index.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./prompts.ts";

export type SummaryRun = {
  /** Undefined: no model is configured, and every summary is undefined at once. */
  readonly model: TextModel | undefined;
  readonly maxConcurrency: number;
  /** For one call of the model. */
  readonly modelTimeoutMs: number;
  /** For all of them together. */
  readonly totalTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Between two attempts. Rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
};

/** One summary per prompt, in the same order. */
export async function summarizeAll(
  prompts: readonly string[],
  run: SummaryRun,
): Promise<(string | undefined)[]> {
  const { model } = run;
  const summaries: (string | undefined)[] = prompts.map(() => undefined);
  if (model === undefined) return summaries;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), run.totalTimeoutMs);
  const signal = run.signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, run.signal]);
  const waiting = prompts.entries();
  const work = async () => {
    // Workers share the iterator, so each prompt is taken once.
    for (const [index, prompt] of waiting) {
      if (signal.aborted) return;
      summaries[index] = await attempt(model, prompt, run, signal);
    }
  };
  const workers = Math.min(Math.max(1, Math.trunc(run.maxConcurrency) || 1), MAX_CONCURRENCY, prompts.length);
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    clearTimeout(timer);
  }
  return summaries;
}

const MAX_CONCURRENCY = 5;
const MAX_OUTPUT_TOKENS = 10_000;
const PAUSES_MS = [0, 1000, 2000];

async function attempt(
  model: TextModel,
  prompt: string,
  run: SummaryRun,
  signal: AbortSignal,
): Promise<string | undefined> {
  const sleep = run.sleep ?? sleepUnlessStopped;
  for (const pauseMs of PAUSES_MS) {
    try {
      if (pauseMs > 0) await sleep(pauseMs, signal);
      const summary = pyStrip(await ask(model, prompt, run.modelTimeoutMs, signal));
      if (summary !== "") return summary;
    } catch {
      // Whatever the model's trouble is, the session is shown as a raw preview instead, which says so.
    }
    if (signal.aborted) return undefined;
  }
  return undefined;
}

/** Settles when the model does, at its own deadline or at the common one, whether or not the model minds the signal. */
async function ask(model: TextModel, prompt: string, timeoutMs: number, outer: AbortSignal): Promise<string> {
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(), timeoutMs);
  const signal = AbortSignal.any([outer, own.signal]);
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(new Error("the summary was not ready in time"));
  signal.addEventListener("abort", stop, { once: true });
  const request = { system: SUMMARY_SYSTEM_PROMPT, prompt, maxOutputTokens: MAX_OUTPUT_TOKENS, signal };
  try {
    signal.throwIfAborted(); // its event would not come any more
    return await Promise.race([model.complete(request), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

async function sleepUnlessStopped(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  signal.throwIfAborted();
}

// Asks models for a summary of any number of turns: in one call if they fit the model's window, otherwise chunk by chunk, where
// the summary so far is the previous summary of the next chunk.
import { err, ok, type Result } from "../../lib/index.ts";
import { withoutFrame } from "../compressor/handoff.ts";
import type { SummaryFailure } from "../engine.ts";
import { cutMiddle, estimateText, fairLimit, fitTokens, shortenSections } from "../tokens.ts";
import { type SummaryModel, type SummaryModels, summaryFailure } from "./summary-models.ts";
import { type Focus, promptOverhead, summaryPrompt } from "./summary-request.ts";

/** The window of one model. */
export type ReadingWindow = {
  /** As its server counts. */
  readonly tokens: number;
  /** Tokens its server counts for each token we estimate. */
  readonly factor: number;
};

type SummaryJob = {
  /** As text, oldest first, secrets removed. */
  readonly turns: readonly string[];
  readonly previousSummary?: string;
  /** Estimated tokens. */
  readonly budgetTokens: number;
  readonly today?: string;
  readonly focus?: Focus;
  readonly providerText?: string;
  readonly windowOf: (model: SummaryModel) => ReadingWindow;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: SummaryProgress) => void;
};

export type SummaryProgress = { readonly turnsDone: number; readonly turnsTotal: number };

type Summarised = {
  readonly body: string;
  /** How many turns were cut below the usual limits before a model saw them, plus earlier summaries that were cut. */
  readonly shortened: number;
  /** Why the first model did not write it. */
  readonly rescuedFrom?: SummaryFailure;
};

export type Unsummarised = {
  readonly failure: SummaryFailure;
  /** How many turns from the beginning `soFar` covers. */
  readonly turnsDone: number;
  readonly soFar?: string;
};

/** Rejects only when the signal is aborted. */
export async function summarise(
  job: SummaryJob,
  models: SummaryModels,
): Promise<Result<Summarised, Unsummarised>> {
  const available = models.available();
  if (!available.ok) return err(unsummarised(available.error, NOTHING_DONE));
  let state = NOTHING_DONE;
  let failure: SummaryFailure | undefined;
  for (const model of available.value) {
    let window = job.windowOf(model);
    let folded = await summariseWith(job, state, { model, window }, models);
    // The server counts more tokens than we estimate: use smaller chunks, starting at the refused one.
    for (let again = 0; folded.failure?.kind === "too_long" && again < MOST_SMALLER; again += 1) {
      window = { ...window, factor: window.factor * SMALLER };
      folded = await summariseWith(job, folded.state, { model, window }, models);
    }
    state = folded.state;
    if (folded.failure === undefined)
      return ok({
        body: state.soFar ?? "",
        shortened: state.shortened,
        rescuedFrom: failure,
      });
    failure = folded.failure;
  }
  return err(unsummarised(failure ?? NEVER_ASKED, state));
}

const MOST_SMALLER = 4;
const SMALLER = 1.6;

const NEVER_ASKED: SummaryFailure = { kind: "no_model", message: "No model for summaries is configured." };

type Progress = { readonly turnsDone: number; readonly soFar?: string; readonly shortened: number };

const NOTHING_DONE: Progress = { turnsDone: 0, shortened: 0 };

function unsummarised(failure: SummaryFailure, { turnsDone, soFar }: Progress): Unsummarised {
  return soFar === undefined ? { failure, turnsDone: 0 } : { failure, turnsDone, soFar };
}

/** Continues where another model stopped. */
async function summariseWith(
  job: SummaryJob,
  from: Progress,
  { model, window }: { readonly model: SummaryModel; readonly window: ReadingWindow },
  models: SummaryModels,
): Promise<{ state: Progress; failure?: SummaryFailure }> {
  const room = divideWindow(job, window.tokens / window.factor);
  if (room.turnTokens < LEAST_TURN_TOKENS) {
    const message = `Its window of ${window.tokens} tokens is too small for a summary of this conversation.`;
    return { state: from, failure: summaryFailure("failed", message, (text) => text) };
  }
  const { chunks, shortenedTurns } = chunkTurns(job.turns.slice(from.turnsDone), room.turnTokens);
  let state: Progress = { ...from, shortened: from.shortened + shortenedTurns };
  for (const [index, chunk] of chunks.entries()) {
    const previous = state.soFar ?? job.previousSummary;
    const carried =
      previous === undefined ? undefined : fitTokens(previous, room.previousTokens, shortenSections);
    const isLast = index === chunks.length - 1;
    const prompt = summaryPrompt({
      ...job,
      turns: chunk.join("\n\n"),
      previousSummary: carried,
      budgetTokens: Math.trunc(room.budgetTokens * window.factor),
      providerText: isLast ? room.providerText : undefined,
    });
    const maxOutputTokens = Math.trunc(room.budgetTokens * OUTPUT_FACTOR * window.factor);
    const answer = await models.ask(model, { prompt, maxOutputTokens, signal: job.signal });
    if (!answer.ok) return { state, failure: answer.error };
    state = {
      turnsDone: state.turnsDone + chunk.length,
      soFar: withoutFrame(answer.value), // some models write the handoff's prefix and end marker too
      shortened: state.shortened + (carried === previous ? 0 : 1),
    };
    report(job, state.turnsDone);
  }
  return { state };
}

/** Maximum output, as a multiple of the length asked for. */
const OUTPUT_FACTOR = 1.3;
const LEAST_TURN_TOKENS = 500;
/** The estimate is rough, and some texts have far more tokens than their length suggests. */
const USABLE_SHARE = 0.85;
const BUDGET_SHARE = 0.2;
const PREVIOUS_SHARE = 0.3;
const PROVIDER_SHARE = 0.1;
const PROVIDER_TOKENS = 4_000;

type CallBudget = {
  readonly budgetTokens: number;
  readonly turnTokens: number;
  readonly previousTokens: number;
  readonly providerText: string | undefined;
};

/**
 * Divides the window of one call, in estimated tokens, between the answer, the previous summary, the providers' notes and the
 * turns.
 */
function divideWindow(job: SummaryJob, window: number): CallBudget {
  const usable = Math.trunc(window * USABLE_SHARE);
  const budgetTokens = Math.max(1, Math.min(job.budgetTokens, Math.trunc(usable * BUDGET_SHARE)));
  const outputTokens = Math.trunc(budgetTokens * OUTPUT_FACTOR);
  const previousTokens = Math.min(
    Math.max(estimateText(job.previousSummary ?? ""), 2 * budgetTokens),
    Math.trunc(usable * PREVIOUS_SHARE),
  );
  const providerTokens = Math.min(PROVIDER_TOKENS, Math.trunc(usable * PROVIDER_SHARE));
  const providerText = job.providerText
    ? fitTokens(job.providerText, providerTokens, shortenSections)
    : undefined;
  const words = estimateText(promptOverhead()) + estimateText(job.focus?.topic ?? "");
  const turnTokens = usable - words - outputTokens - previousTokens - estimateText(providerText ?? "");
  return { budgetTokens, turnTokens, previousTokens, providerText };
}

function report({ onProgress, turns }: SummaryJob, turnsDone: number): void {
  try {
    onProgress?.({ turnsDone, turnsTotal: turns.length });
  } catch {
    // A failing progress display must not lose the summary.
  }
}

// Chunks: a long conversation is cut into pieces that a summary model reads one after the other.

type Chunks = {
  /** Runs of turns in order; together all of them. */
  readonly chunks: readonly (readonly string[])[];
  /** Turns that were cut so that the number of calls stays limited. */
  readonly shortenedTurns: number;
};

/** More calls would keep the user waiting for many minutes. */
const MOST_CALLS = 16;
/** Blank line between two turns. */
const SEPARATOR_TOKENS = 1;

export function chunkTurns(turns: readonly string[], capacityTokens: number, mostCalls = MOST_CALLS): Chunks {
  const whole = pack(turns, capacityTokens);
  if (whole !== undefined && whole.length <= mostCalls) return { chunks: whole, shortenedTurns: 0 };
  // A chunk ends where the next turn does not fit. With turns of at most half a chunk, every chunk is at least half full.
  const room = Math.floor((mostCalls * capacityTokens) / 2) - turns.length * (SEPARATOR_TOKENS + 1);
  const sizes = turns.map(estimateText);
  const half = Math.floor(capacityTokens / 2);
  const most = Math.max(1, Math.min(half, fairLimit(sizes, Math.max(0, room))));
  const shorter = turns.map((turn) => fitTokens(turn, most, cutMiddle));
  const shortenedTurns = sizes.filter((size) => size > most).length;
  return { chunks: pack(shorter, capacityTokens) ?? [shorter], shortenedTurns };
}

/** Undefined when a single turn is larger than a chunk. */
function pack(turns: readonly string[], capacityTokens: number): string[][] | undefined {
  const chunks: string[][] = [];
  let room = 0;
  for (const turn of turns) {
    const cost = estimateText(turn) + SEPARATOR_TOKENS;
    if (cost > capacityTokens) return undefined;
    if (cost > room) {
      chunks.push([]);
      room = capacityTokens;
    }
    chunks.at(-1)?.push(turn);
    room -= cost;
  }
  return chunks;
}

// The text of a handoff: a model's summary, or, where none can be had, what can be said without a model.
import { type Clock, codePointLength } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import type { CompressOptions } from "../engine.ts";
import type { LeftOut, SummaryFailure } from "../outcome.ts";
import { localHandoff } from "../summary/fallback.ts";
import { focusOf } from "../summary/focus.ts";
import type { SummaryModel, SummaryModels } from "../summary/models.ts";
import { type Redact, serialiseTurns } from "../summary/serialise.ts";
import { shortenSections } from "../summary/shorten.ts";
import {
  type ReadingWindow,
  type SummaryProgress,
  summarise,
  type Unsummarised,
} from "../summary/summarise.ts";
import { fitTokens } from "../tokens.ts";
import { HANDOFF_PREFIX } from "./handoff.ts";
import type { Plan } from "./plan.ts";
import { type Budgets, summaryBudget } from "./settings.ts";

export type SummaryBody =
  | {
      readonly method: "model";
      readonly text: string;
      readonly leftOut: readonly LeftOut[];
      /** The first model failed and the second one wrote it. */
      readonly rescuedFrom?: SummaryFailure;
    }
  | {
      readonly method: "local";
      readonly text: string;
      readonly leftOut: readonly LeftOut[];
      readonly failure: SummaryFailure;
    };

export type SummarySetting = {
  readonly models: SummaryModels;
  /** In estimated tokens. */
  readonly budgets: Budgets;
  /** The second one is usually the main model. */
  readonly windows: Readonly<Record<SummaryModel["rank"], ReadingWindow>>;
  readonly clock: Clock;
  readonly timeZone: string | undefined;
  readonly redact: Redact;
  readonly onProgress: ((progress: SummaryProgress) => void) | undefined;
};

/** A handoff made without a model, its prefix included. */
const LOCAL_CHARS = 8_000;
/** An answer may be so much longer than asked for before it is cut. */
const LONGEST_ANSWER = 2;
/** Less than this is no summary; a list with a very small window may grow by it. */
const LEAST_BODY_TOKENS = 500;
const LEAST_PREVIOUS_TOKENS = 1_000;

/** Rejects only when the signal is aborted. */
export async function summaryBody(
  messages: readonly Message[],
  plan: Plan,
  setting: SummarySetting,
  { focusTopic, providerText, signal }: CompressOptions,
): Promise<SummaryBody> {
  const { redact, budgets } = setting;
  const { turns } = plan.window;
  const previousSummary = redacted(plan.window.previousSummary, redact);
  const budgetTokens = summaryBudget(plan.windowTokens, budgets);
  const answer = await summarise(
    {
      turns: serialiseTurns(turns, redact),
      previousSummary,
      budgetTokens,
      today: today(setting.clock, setting.timeZone),
      focus: focusOf(messages, focusTopic, redact),
      providerText: redacted(providerText, redact),
      windowOf: ({ rank }) => setting.windows[rank],
      signal,
      onProgress: setting.onProgress,
    },
    setting.models,
  );
  // Never more than what it replaces, as far as that leaves room for a summary at all.
  const room = Math.max(LEAST_BODY_TOKENS, plan.tokensBefore - plan.tokensWithoutBody);
  if (!answer.ok) return localBody(answer.error, plan, setting, room);
  const limit = Math.min(LONGEST_ANSWER * budgetTokens, room);
  const text = fitTokens(answer.value.body, limit, shortenSections);
  const isShortened = text !== answer.value.body || answer.value.shortened > 0;
  const { rescuedFrom } = answer.value;
  return {
    method: "model",
    text,
    leftOut: isShortened ? [leftOut(turns, "summary_shortened")] : [],
    ...(rescuedFrom === undefined ? {} : { rescuedFrom }),
  };
}

/** Messages by count, and the rows that hold them where they are known. */
export function leftOut(turns: readonly Message[], reason: LeftOut["reason"]): LeftOut {
  const rows = turns.flatMap(({ meta }) => meta.rowId ?? []);
  const [firstRowId] = rows;
  const lastRowId = rows.at(-1);
  return {
    count: turns.length,
    reason,
    ...(firstRowId === undefined ? {} : { firstRowId }),
    ...(lastRowId === undefined ? {} : { lastRowId }),
  };
}

function localBody(
  { failure, soFar, turnsDone }: Unsummarised,
  { window }: Plan,
  { redact, budgets }: SummarySetting,
  roomTokens: number,
): SummaryBody {
  const turns = window.turns.slice(turnsDone);
  const missing = leftOut(turns, "summary_failed");
  const previousSummary = soFar ?? window.previousSummary;
  const text = localHandoff({
    turns,
    previousSummary,
    // It was in the list already, so all of it may stay; the limit only ends the growth of one failure after another.
    previousLimitTokens: Math.max(LEAST_PREVIOUS_TOKENS, LONGEST_ANSWER * budgets.maxSummaryTokens),
    limitChars: LOCAL_CHARS - codePointLength(HANDOFF_PREFIX) - 1,
    roomTokens,
    failure,
    leftOut: missing,
    redact,
  });
  return { method: "local", text, leftOut: [missing], failure };
}

function redacted(text: string | undefined, redact: Redact): string | undefined {
  return text ? redact(text) : undefined;
}

/** `YYYY-MM-DD`, or undefined when the clock or the zone cannot be read. */
function today(clock: Clock, timeZone: string | undefined): string | undefined {
  try {
    const date = clock.now();
    const format = new Intl.DateTimeFormat("en", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
    const parts = new Map(format.formatToParts(date).map(({ type, value }) => [type, value]));
    return `${parts.get("year")}-${parts.get("month")}-${parts.get("day")}`;
  } catch {
    return undefined;
  }
}

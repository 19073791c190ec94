// The built-in engine: prunes old tool results, summarises what lies between head and tail, and leaves a handoff there.
// What to do is decided in plan.ts and trigger.ts; here the models are asked and the state is kept.
import { type Clock, codePointLength, systemClock } from "../../lib/index.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { type InKind, readList } from "../chat-rows.ts";
import type {
  CompressOptions,
  CompressOutcome,
  ContextEngine,
  LeftOut,
  ModelWindow,
  Notice,
  SummaryFailure,
  UnchangedReason,
} from "../engine.ts";
import { orphanResults, repairPairs } from "../list-repair.ts";
import { localHandoff } from "../summary/local-summary.ts";
import {
  type SummaryModel,
  type SummaryModels,
  type SummaryOptions,
  summaryModels,
} from "../summary/models.ts";
import { focusOf, type Redact, serialiseTurns } from "../summary/request.ts";
import {
  type ReadingWindow,
  type SummaryProgress,
  summarise,
  type Unsummarised,
} from "../summary/summarise.ts";
import { estimateMessages, fitTokens, shortenSections } from "../tokens.ts";
import {
  type Budgets,
  type CompressorSettings,
  DEFAULT_SETTINGS,
  deriveBudgets,
  inEstimates,
  soundFactor,
  summaryBudget,
  WatchedEngine,
} from "../trigger.ts";
import { assemble, HANDOFF_PREFIX } from "./handoff.ts";
import {
  abortedNotice,
  localSummaryNotice,
  NoticeBoard,
  rescuedNotice,
  shortenedNotice,
  smallWindowNotice,
  tooLargeNotice,
} from "./notices.ts";
import { type Plan, planCompaction, type TooLarge } from "./plan.ts";

export type ContextCompressorOptions = { readonly contextLength: number } & {
  readonly [Key in Exclude<keyof CompressorSettings, "contextLength">]?: CompressorSettings[Key] | undefined;
} & SummaryOptions & {
    /** Of the date in a summary; the system's when absent. */
    readonly timeZone?: string;
    readonly onProgress?: (progress: SummaryProgress) => void;
  };

const LEAST_GAIN = 0.1;

export class ContextCompressor extends WatchedEngine implements ContextEngine {
  readonly name: string = "compressor";
  readonly #options: ContextCompressorOptions;
  readonly #models: SummaryModels;
  readonly #board = new NoticeBoard();
  #settings: CompressorSettings;
  #budgets: Budgets;

  constructor(options: ContextCompressorOptions) {
    super();
    this.#options = options;
    this.#settings = settingsFrom(options, options.contextLength);
    this.#budgets = deriveBudgets(this.#settings);
    this.#models = summaryModels(options);
  }

  override get thresholdTokens(): number {
    return this.#budgets.thresholdTokens;
  }
  override get contextLength(): number {
    return this.#settings.contextLength;
  }
  hasContentToCompress(given: readonly (Message | OpenAiMessage)[]): boolean {
    const { messages } = readList(given);
    const { isWorthASummary, pruned, tokensBefore, expectedTokens } = this.#plan(messages);
    const hasContent = isWorthASummary || pruned.messages !== messages;
    return hasContent && tokensBefore - expectedTokens >= LEAST_GAIN * tokensBefore;
  }

  /** Chat rows are answered with chat rows; those that stay are the same objects. */
  async compress<M extends Message | OpenAiMessage>(
    given: readonly M[],
    options: CompressOptions = {},
  ): Promise<CompressOutcome<InKind<M>>> {
    const { messages, inKind } = readList(given);
    return inKind(await this.#compress(messages, options));
  }

  async #compress(messages: readonly Message[], options: CompressOptions): Promise<CompressOutcome> {
    options.signal?.throwIfAborted();
    if (options.force) this.#models.wake();
    const plan = this.#plan(messages, options.roomTokens);
    const reason = reasonAgainst(plan);
    if (reason !== undefined) return this.#withoutSummary(messages, plan, reason);

    const body = await summaryBody(messages, plan, this.#setting(), options);
    options.signal?.throwIfAborted();
    if (body.method === "model") return this.#withSummary(plan, body, noticesOf(body));
    const { failure } = body;
    if (this.#settings.abortOnSummaryFailure)
      return this.#aborted(messages, plan, failure, abortedNotice(failure));
    if (options.confirmDigest === undefined) return this.#withSummary(plan, body, noticesOf(body));
    const count = body.leftOut.reduce((sum, missing) => sum + missing.count, 0);
    const isAgreed = await options.confirmDigest({ failure, messages: count });
    options.signal?.throwIfAborted();
    return isAgreed ? this.#withSummary(plan, body, []) : this.#aborted(messages, plan, failure);
  }

  override onSessionReset(): void {
    super.onSessionReset();
    this.#models.wake();
    this.#board.clear();
  }

  updateModel({ contextLength }: ModelWindow): void {
    this.#settings = settingsFrom(this.#options, contextLength);
    this.#budgets = deriveBudgets(this.#settings);
    this.noteModelSwitch();
  }

  #plan(messages: readonly Message[], roomTokens?: number): Plan {
    const factor = this.#factor;
    const settings = {
      ...this.#settings,
      contextLength: Math.trunc(this.contextLength / factor),
      roomTokens: roomTokens === undefined ? undefined : Math.trunc(roomTokens / factor),
    };
    return planCompaction(messages, settings, inEstimates(this.#budgets, factor));
  }

  get #factor(): number {
    return soundFactor(this.#options.tokenFactor?.());
  }

  /** What pruning and repair can do alone. The same array when that is nothing. */
  #withoutSummary(
    messages: readonly Message[],
    { pruned, tooLarge, tokensBefore }: Plan,
    reason: UnchangedReason,
  ): CompressOutcome {
    const before = tooLarge === undefined ? pruned.messages : messages;
    const repaired = repairPairs(before);
    const orphans = orphanResults(before);
    const tokensAfter = estimateMessages(repaired);
    if (reason === "nothing_to_gain") this.noteAttempt("nothing", tokensBefore, tokensAfter);
    return {
      kind: repaired === messages ? "unchanged" : "pruned",
      messages: repaired,
      reason,
      leftOut: orphans.length === 0 ? [] : [leftOut(orphans, "no_call")],
      prunedResults: tooLarge === undefined ? pruned.results : 0,
      tokensBefore,
      tokensAfter,
      notices: this.#tell(tooLarge ? this.#tooLarge(tooLarge) : undefined),
    };
  }

  #aborted(
    messages: readonly Message[],
    plan: Plan,
    failure: SummaryFailure,
    notice?: Notice,
  ): CompressOutcome {
    const repaired = repairPairs(messages);
    const orphans = orphanResults(messages);
    return {
      kind: "aborted",
      messages: repaired,
      reason: "summary_failed",
      leftOut: orphans.length === 0 ? [] : [leftOut(orphans, "no_call")],
      prunedResults: 0,
      tokensBefore: plan.tokensBefore,
      tokensAfter: estimateMessages(repaired),
      failure,
      notices: this.#tell(notice),
    };
  }

  #withSummary(
    { pruned, boundaries, window, tokensBefore }: Plan,
    body: SummaryBody,
    told: readonly (Notice | undefined)[],
  ): CompressOutcome {
    const assembled = assemble(pruned.messages, boundaries, body.text);
    const tokensAfter = estimateMessages(assembled.messages);
    this.noteAttempt("compacted", tokensBefore, tokensAfter);
    return {
      kind: "compacted",
      messages: assembled.messages,
      summarised: window.span,
      summaryIndex: assembled.summaryIndex,
      summary: body.text,
      method: body.method,
      leftOut: body.leftOut,
      prunedResults: pruned.results,
      tokensBefore,
      tokensAfter,
      failure: body.method === "local" ? body.failure : undefined,
      notices: this.#tell(...told),
    };
  }

  #tooLarge({ role, tokens }: TooLarge): Notice {
    return tooLargeNotice({ role, tokens: Math.round(tokens * this.#factor) }, this.contextLength);
  }

  #tell(...told: readonly (Notice | undefined)[]): readonly Notice[] {
    const all = [smallWindowNotice(this.contextLength), ...told];
    return this.#board.tell(all.filter((notice) => notice !== undefined));
  }

  #setting() {
    const { clock, timeZone, summaryContextLength, summaryTokenFactor, onProgress } = this.#options;
    const factor = this.#factor;
    const main = { tokens: this.contextLength, factor };
    return {
      models: this.#models,
      budgets: inEstimates(this.#budgets, factor),
      windows: {
        first: {
          tokens: summaryContextLength ?? this.contextLength,
          factor: summaryTokenFactor === undefined ? factor : soundFactor(summaryTokenFactor()),
        },
        second: main,
      },
      clock: clock ?? systemClock,
      timeZone,
      redact: this.#redact,
      onProgress,
    };
  }

  get #redact(): Redact {
    return this.#options.redact ?? redactSecrets;
  }
}

function reasonAgainst(plan: Plan): UnchangedReason | undefined {
  if (plan.tooLarge) return "message_too_large";
  if (plan.isTooShort) return "too_short";
  return plan.isWorthASummary ? undefined : "nothing_to_gain";
}

function noticesOf(body: SummaryBody): readonly (Notice | undefined)[] {
  const [missing] = body.leftOut;
  if (body.method === "local") return [missing ? localSummaryNotice(body.failure, missing) : undefined];
  return [
    body.rescuedFrom ? rescuedNotice(body.rescuedFrom) : undefined,
    missing ? shortenedNotice(missing) : undefined,
  ];
}

/** Undefined and nonsense count as not given. */
function settingsFrom(options: ContextCompressorOptions, contextLength: number): CompressorSettings {
  const number = (value: number | undefined, standard: number): number =>
    value !== undefined && Number.isFinite(value) && value >= 0 ? value : standard;
  return {
    contextLength: Math.trunc(number(contextLength, 0)),
    threshold: number(options.threshold, DEFAULT_SETTINGS.threshold),
    targetRatio: number(options.targetRatio, DEFAULT_SETTINGS.targetRatio),
    protectFirstN: Math.trunc(number(options.protectFirstN, DEFAULT_SETTINGS.protectFirstN)),
    protectLastN: Math.trunc(number(options.protectLastN, DEFAULT_SETTINGS.protectLastN)),
    abortOnSummaryFailure: options.abortOnSummaryFailure ?? DEFAULT_SETTINGS.abortOnSummaryFailure,
  };
}

// ----
// The text of a handoff: a model's summary, or, where none can be had, what can be said without a model.

type SummaryBody =
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

type SummarySetting = {
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
async function summaryBody(
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
    rescuedFrom,
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
    firstRowId,
    lastRowId,
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

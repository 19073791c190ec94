// The built-in engine. One compaction: plan it (plan.ts), ask a model for a summary of the turns between head and tail
// (summary/), put a handoff in their place (handoff.ts), report what happened. The decision when to compact is in trigger.ts.
import { type Clock, codePointLength, systemClock, withoutUndefined } from "../../lib/index.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import { redactSecrets } from "../../security/index.ts";
import {
  type CompressOptions,
  type CompressOutcome,
  type ContextEngine,
  type InKind,
  type LeftOut,
  type Notice,
  type Redact,
  readList,
  type StoredMessages,
  type SummaryFailure,
  type UnchangedReason,
} from "../engine.ts";
import { localHandoff } from "../summary/local-summary.ts";
import {
  focusOf,
  SummaryModels,
  type SummaryOptions,
  serialiseTurns,
  summarise,
  type Unsummarised,
} from "../summary/summarise.ts";
import { estimateMessages, fitTokens, shortenSections } from "../tokens.ts";
import {
  type CompressorSettings,
  DEFAULT_SETTINGS,
  soundFactor,
  summaryBudget,
  WatchedEngine,
} from "../trigger.ts";
import { assemble, handoffPrefix, handoffText } from "./handoff.ts";
import {
  abortedNotice,
  leftOut,
  localSummaryNotice,
  rescuedNotice,
  shortenedNotice,
  tooLargeNotice,
  withoutSummary,
} from "./notices.ts";
import { type Plan, planCompaction } from "./plan.ts";

/** The window, the model that summarises (`summarizer`), and when and how much to compact. */
export type ContextCompressorOptions = Pick<CompressorSettings, "contextLength"> &
  Partial<CompressorSettings> &
  SummaryOptions & {
    /** Time zone of the date in a summary. Default: the system's. */
    readonly timeZone?: string;
  };

/** A smaller saving, as a share of the list, is not worth a compaction. */
const LEAST_GAIN = 0.1;

/** The default context engine: keeps the beginning and the newest part of a conversation and replaces the middle by a summary. */
export class ContextCompressor extends WatchedEngine implements ContextEngine {
  readonly name: string = "compressor";
  readonly #options: ContextCompressorOptions;
  readonly #models: SummaryModels;
  readonly #settings: CompressorSettings;

  constructor(options: ContextCompressorOptions) {
    const settings = { ...DEFAULT_SETTINGS, ...withoutUndefined(options) };
    super(settings);
    this.#options = options;
    this.#settings = settings;
    this.#models = new SummaryModels(options);
  }

  hasContentToCompress(given: readonly (Message | OpenAiMessage)[]): boolean {
    const { messages } = readList(given);
    const { isWorthASummary, pruned, tokensBefore, expectedTokens } = this.#plan(messages);
    const hasContent = isWorthASummary || pruned.messages !== messages;
    return hasContent && tokensBefore - expectedTokens >= LEAST_GAIN * tokensBefore;
  }

  /** Given chat rows, the outcome has chat rows; rows that stay are the same objects. */
  async compress<M extends Message | OpenAiMessage>(
    given: readonly M[],
    options: CompressOptions = {},
  ): Promise<CompressOutcome<InKind<M>>> {
    const { messages, inKind } = readList(given);
    return inKind(await this.#compress(messages, options));
  }

  async #compress(messages: readonly Message[], options: CompressOptions): Promise<CompressOutcome> {
    const { signal, force, roomTokens, confirmDigest, stored } = options;
    signal?.throwIfAborted();
    if (force) this.#models.endCooldowns();
    const plan = this.#plan(messages, roomTokens);
    if (plan.tooLarge) return this.#withoutSummary(messages, plan, "message_too_large");
    if (plan.isTooShort) return this.#withoutSummary(messages, plan, "too_short");
    if (!plan.isWorthASummary) return this.#withoutSummary(messages, plan, "nothing_to_gain");

    const body = await this.#summaryBody(messages, plan, options);
    signal?.throwIfAborted();
    if (body.method === "model") return this.#withSummary(plan, body, noticesOf(body, stored), stored);
    const { failure } = body;
    if (this.#settings.abortOnSummaryFailure) return this.#aborted(messages, failure, abortedNotice(failure));
    if (confirmDigest === undefined) return this.#withSummary(plan, body, noticesOf(body, stored), stored);
    const count = body.leftOut.reduce((sum, missing) => sum + missing.count, 0);
    const isAgreed = await confirmDigest({ failure, messages: count });
    signal?.throwIfAborted();
    return isAgreed ? this.#withSummary(plan, body, [], stored) : this.#aborted(messages, failure);
  }

  override onSessionReset(): void {
    super.onSessionReset();
    this.#models.endCooldowns();
  }

  #plan(messages: readonly Message[], roomTokens?: number): Plan {
    const { factor, contextLength, budgets } = this.estimatedWindow();
    const room = roomTokens === undefined ? undefined : Math.trunc(roomTokens / factor);
    return planCompaction(messages, { ...this.#settings, contextLength, roomTokens: room }, budgets);
  }

  /** A model's summary or, when no model gives one, a handoff made without a model. Rejects only when the signal is aborted. */
  async #summaryBody(
    messages: readonly Message[],
    plan: Plan,
    { focusTopic, providerText, stored, signal }: CompressOptions,
  ): Promise<SummaryBody> {
    const { clock = systemClock, timeZone, summaryContextLength, summaryTokenFactor } = this.#options;
    const redact = this.#options.redact ?? redactSecrets;
    const { factor, budgets } = this.estimatedWindow();
    const { turns, previousSummary } = plan.window;
    const budgetTokens = summaryBudget(plan.windowTokens, budgets);
    const main = { tokens: this.contextLength, factor };
    const first = {
      tokens: summaryContextLength ?? this.contextLength,
      factor: summaryTokenFactor === undefined ? factor : soundFactor(summaryTokenFactor()),
    };
    const answer = await summarise(
      {
        turns: serialiseTurns(turns, redact),
        previousSummary: previousSummary ? redact(previousSummary) : undefined,
        budgetTokens,
        today: today(clock, timeZone),
        focus: focusOf(messages, focusTopic, redact),
        providerText: providerText ? redact(providerText) : undefined,
        windowOf: ({ rank }) => (rank === "first" ? first : main),
        signal,
      },
      this.#models,
    );
    // Never longer than what it replaces, unless that leaves too little for a summary at all.
    const room = Math.max(LEAST_BODY_TOKENS, plan.tokensBefore - plan.tokensWithoutBody);
    if (!answer.ok)
      return localBody(answer.error, plan, {
        redact,
        roomTokens: room,
        maxSummaryTokens: budgets.maxSummaryTokens,
        stored,
      });
    const { body, shortened, rescuedFrom } = answer.value;
    const text = fitTokens(body, Math.min(LONGEST_ANSWER * budgetTokens, room), shortenSections);
    const isShortened = text !== body || shortened > 0;
    return {
      method: "model",
      text,
      leftOut: isShortened ? [leftOut(turns, "summary_shortened")] : [],
      rescuedFrom,
    };
  }

  /** Only pruning and repair. The input array when neither changes anything. */
  #withoutSummary(
    messages: readonly Message[],
    { pruned, tooLarge }: Plan,
    reason: UnchangedReason,
  ): CompressOutcome {
    const window = { tokens: this.contextLength, factor: this.tokenFactor };
    const notices = this.newNotices([tooLarge && tooLargeNotice(tooLarge, window)]);
    if (tooLarge) return withoutSummary(messages, messages, { reason, notices });
    const facts = { reason, notices, prunedResults: pruned.results };
    const outcome = withoutSummary(messages, pruned.messages, facts);
    const { tokensBefore, tokensAfter } = outcome;
    if (reason === "nothing_to_gain") this.noteAttempt("nothing", tokensBefore, tokensAfter);
    return outcome;
  }

  #aborted(messages: readonly Message[], failure: SummaryFailure, notice?: Notice): CompressOutcome {
    const notices = this.newNotices([notice]);
    return withoutSummary(messages, messages, {
      isAborted: true,
      reason: "summary_failed",
      failure,
      notices,
    });
  }

  #withSummary(
    { pruned, boundaries, window, tokensBefore }: Plan,
    body: SummaryBody,
    notices: readonly (Notice | undefined)[],
    stored: StoredMessages | undefined,
  ): CompressOutcome {
    const assembled = assemble(pruned.messages, boundaries, body.text, (text) => handoffText(text, stored));
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
      notices: this.newNotices(notices),
    };
  }
}

/** The text of a handoff. `local`: written without a model. */
type SummaryBody = { readonly text: string; readonly leftOut: readonly LeftOut[] } & (
  | { readonly method: "local"; readonly failure: SummaryFailure }
  /** `rescuedFrom`: why the first model did not write it. */
  | { readonly method: "model"; readonly rescuedFrom?: SummaryFailure }
);

/** Of a handoff written without a model, its prefix included. */
const LOCAL_CHARS = 8_000;
/** An answer longer than this many times the budget is cut. */
const LONGEST_ANSWER = 2;
/** A shorter text is no summary; a list with a very small window may grow by this much. */
const LEAST_BODY_TOKENS = 500;
const LEAST_PREVIOUS_TOKENS = 1_000;

function localBody(
  { failure, soFar, turnsDone }: Unsummarised,
  { window }: Plan,
  limits: {
    readonly redact: Redact;
    readonly roomTokens: number;
    readonly maxSummaryTokens: number;
    readonly stored: StoredMessages | undefined;
  },
): SummaryBody {
  const turns = window.turns.slice(turnsDone);
  const missing = leftOut(turns, "summary_failed");
  const text = localHandoff({
    turns,
    previousSummary: soFar ?? window.previousSummary,
    // It was in the list before, so all of it may stay. The limit only stops growth over repeated failures.
    previousLimitTokens: Math.max(LEAST_PREVIOUS_TOKENS, LONGEST_ANSWER * limits.maxSummaryTokens),
    limitChars: LOCAL_CHARS - codePointLength(handoffPrefix(limits.stored)) - 1,
    roomTokens: limits.roomTokens,
    failure,
    leftOut: missing,
    redact: limits.redact,
    stored: limits.stored,
  });
  return { method: "local", text, leftOut: [missing], failure };
}

function noticesOf(body: SummaryBody, stored: StoredMessages | undefined): readonly (Notice | undefined)[] {
  const [missing] = body.leftOut;
  if (body.method === "local") return [missing && localSummaryNotice(body.failure, missing, stored)];
  return [body.rescuedFrom && rescuedNotice(body.rescuedFrom), missing && shortenedNotice(missing, stored)];
}

/** `YYYY-MM-DD`, or undefined when the clock or the zone cannot be read. */
function today(clock: Clock, timeZone: string | undefined): string | undefined {
  try {
    return new Intl.DateTimeFormat("sv-SE", { timeZone }).format(clock.now()); // Sweden writes dates so
  } catch {
    return undefined;
  }
}

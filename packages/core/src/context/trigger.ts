import { groupThousands } from "../lib/index.ts";
import type { Message } from "../message/index.ts";
import { ENGINE_CONTRACT, type EngineStatus, type Notice, type ResponseUsage } from "./engine.ts";
import { estimateMessages } from "./tokens.ts";

// ----
// The numbers a compressor works with: what is configured, and what follows from it for a model's window.

export type CompressorSettings = {
  readonly contextLength: number;
  /** Share of the window at which compaction starts. */
  readonly threshold: number;
  /** Share of the threshold that the fresh tail may take. */
  readonly targetRatio: number;
  /** Messages at the beginning that stay as they are, a leading system message not counted. */
  readonly protectFirstN: number;
  /** Newest messages whose tool results are never pruned. */
  readonly protectLastN: number;
  /** Keep everything when no summary can be had, instead of a local handoff. */
  readonly abortOnSummaryFailure: boolean;
};

export const DEFAULT_SETTINGS: Omit<CompressorSettings, "contextLength"> = Object.freeze({
  threshold: 0.5,
  targetRatio: 0.2,
  protectFirstN: 3,
  protectLastN: 20,
  abortOnSummaryFailure: false,
});

export type Budgets = {
  readonly thresholdTokens: number;
  readonly tailTokens: number;
  /** The tail may be this much larger rather than split what belongs together. */
  readonly softTailTokens: number;
  readonly maxSummaryTokens: number;
  readonly summaryFloorTokens: number;
};

/** Below this a compaction costs more attention than it saves. */
const LEAST_THRESHOLD_TOKENS = 64_000;
/** The rest of the window is for the reply and for what arrives before the next look. */
const MOST_OF_WINDOW = 0.85;
const SUMMARY_SHARE = 0.05;
const MOST_SUMMARY_TOKENS = 12_000;
const LEAST_SUMMARY_TOKENS = 2_000;
const SOFT_FACTOR = 1.5;

export function deriveBudgets(settings: CompressorSettings): Budgets {
  const { contextLength: window, threshold } = settings;
  const wanted = Math.max(Math.trunc(window * threshold), LEAST_THRESHOLD_TOKENS);
  const thresholdTokens = Math.min(wanted, Math.trunc(window * MOST_OF_WINDOW));
  const ratio = Math.min(0.8, Math.max(0.1, settings.targetRatio));
  const tailTokens = Math.trunc(thresholdTokens * ratio);
  const maxSummaryTokens = Math.min(Math.trunc(window * SUMMARY_SHARE), MOST_SUMMARY_TOKENS);
  return {
    thresholdTokens,
    tailTokens,
    softTailTokens: Math.trunc(tailTokens * SOFT_FACTOR),
    maxSummaryTokens,
    summaryFloorTokens: Math.min(LEAST_SUMMARY_TOKENS, maxSummaryTokens),
  };
}

/**
 * The same budgets in estimated tokens, for a server that counts `factor` tokens for each of them. Lists are measured in estimates,
 * so this is the one place where the two units meet.
 */
export function inEstimates(budgets: Budgets, factor: number): Budgets {
  if (factor <= 1) return budgets;
  const scaled = Object.entries(budgets).map(([name, tokens]) => [name, Math.trunc(tokens / factor)]);
  return Object.fromEntries(scaled) as Budgets;
}

/** Of a calibration that somebody else keeps; nonsense counts as 1. */
export function soundFactor(factor: number | undefined): number {
  return factor !== undefined && Number.isFinite(factor) && factor > 1 ? factor : 1;
}

const SUMMARY_RATIO = 0.2;

/** How long a summary of so much text may get. */
export function summaryBudget(windowTokens: number, budgets: Budgets): number {
  const wanted = Math.trunc(windowTokens * SUMMARY_RATIO);
  return Math.max(budgets.summaryFloorTokens, Math.min(wanted, budgets.maxSummaryTokens));
}

// ----
// Whether the models at hand can do what is asked of them. Nothing here ends a session that runs: the summary model gives way
// to the main one, or compaction starts earlier.

type SummaryQuestion = {
  readonly mainModel: string;
  readonly mainWindow: number;
  readonly thresholdTokens: number;
  /** Undefined: nobody to write summaries. */
  readonly summary?: { readonly model: string; readonly window: number } | undefined;
};

export type SummaryFeasibility =
  | { readonly kind: "fine" }
  | { readonly kind: "no_model"; readonly notice: Notice }
  /** The summary model takes too little; the main model writes the summaries. */
  | { readonly kind: "use_main"; readonly notice: Notice }
  /** Compaction has to start when the turns still fit the summary model. */
  | {
      readonly kind: "lower_threshold";
      readonly thresholdTokens: number;
      /** Share of the main window. */
      readonly threshold: number;
      readonly notice: Notice;
    };

/** A model with less than this writes poor summaries of long work. */
const LEAST_SUMMARY_WINDOW = 64_000;
const CAUSE = "summary-model-window";

/** Asked once, before the first compaction. */
export function summaryFeasibility(question: SummaryQuestion): SummaryFeasibility {
  const { mainModel, mainWindow, thresholdTokens, summary } = question;
  if (summary === undefined) {
    const text =
      "No model is configured for summaries. Long conversations are compacted without one, which keeps less. " +
      "Set auxiliary.compression.model, or model.default.";
    return { kind: "no_model", notice: { cause: "no-summary-model", text } };
  }
  const { model, window } = summary;
  if (window >= thresholdTokens) return { kind: "fine" };
  const sizes = `takes ${groupThousands(window)} tokens, and compaction starts at ${groupThousands(thresholdTokens)}`;
  if (window < LEAST_SUMMARY_WINDOW && window < mainWindow) {
    const text =
      `The summary model '${model}' ${sizes}; it needs at least ${groupThousands(LEAST_SUMMARY_WINDOW)}. ` +
      `'${mainModel}' writes the summaries instead. Set auxiliary.compression.model to a model that takes more.`;
    return { kind: "use_main", notice: { cause: CAUSE, text } };
  }
  const text =
    `The summary model '${model}' ${sizes}: auto-lowered compression threshold to ${groupThousands(window)}. ` +
    "Set auxiliary.compression.model to a model that takes more, or compression.threshold to a smaller share.";
  const threshold = mainWindow > 0 ? window / mainWindow : 0;
  return { kind: "lower_threshold", thresholdTokens: window, threshold, notice: { cause: CAUSE, text } };
}

export type WindowFit =
  | { readonly kind: "fits"; readonly notice?: Notice }
  | { readonly kind: "too_small"; readonly message: string };

/** Below this an agent has little room left beside its prompt and its tools. */
const COMFORTABLE_WINDOW = 64_000;
/** What a first exchange needs. */
const LEAST_ROOM = 4_000;

/** A small window works; one that cannot even hold the prompt does not. */
export function windowFit(
  model: string,
  window: number,
  { promptTokens, toolTokens }: { readonly promptTokens: number; readonly toolTokens: number },
): WindowFit {
  const needed = promptTokens + toolTokens + LEAST_ROOM;
  const size = `'${model}' takes ${groupThousands(window)} tokens`;
  if (window < needed) {
    const message =
      `${size}, but the system prompt, the tools and a first exchange need ${groupThousands(needed)}. ` +
      "Use a model that takes more, serve it with a larger window, or switch toolsets off. " +
      "If the figure is wrong, set model.context_length.";
    return { kind: "too_small", message };
  }
  if (window >= COMFORTABLE_WINDOW) return { kind: "fits" };
  const text = `${size}, so the conversation will be compacted often. From ${groupThousands(COMFORTABLE_WINDOW)} on there is room to work.`;
  return { kind: "fits", notice: { cause: "small-window", text } };
}

// ----
// Whether a gateway compacts a stored conversation before the agent runs on it. A chat can grow past the window while no
// agent is there to notice.

export type HygieneQuestion = {
  /** `compression.enabled`. */
  readonly enabled: boolean;
  /** The stored history, whole: tool results count and are summarised too. */
  readonly messages: readonly Message[];
  /** Prompt tokens of the last reply, where the session has them; 0 when it does not. */
  readonly lastPromptTokens: number;
  /** Of this chat's model. */
  readonly window: number;
  /** Tokens its server counts for each token we estimate. Absent: 1. */
  readonly tokenFactor?: number;
  /** `compression.hygiene_threshold`: a share of the window. */
  readonly threshold: number;
  /** `compression.hygiene_hard_message_limit`. */
  readonly messageLimit: number;
  /** Whether there is a model that could write the summary. */
  readonly hasModel: boolean;
};

export type HygieneDecision =
  | { readonly fire: false; readonly why: "disabled" | "too_few_messages" | "below_limits" | "no_model" }
  | {
      readonly fire: true;
      readonly why: "tokens" | "messages";
      readonly tokens: number;
      /** Whether a model has counted them. */
      readonly counted: "actual" | "estimated";
    };

const LEAST_MESSAGES = 4;
const STILL_FULL = 0.95;

export function hygieneDecision(question: HygieneQuestion): HygieneDecision {
  const { enabled, messages, lastPromptTokens, window, threshold, messageLimit, hasModel } = question;
  if (!enabled) return { fire: false, why: "disabled" };
  if (messages.length < LEAST_MESSAGES) return { fire: false, why: "too_few_messages" };
  const counted = lastPromptTokens > 0 ? "actual" : "estimated";
  const tokens =
    counted === "actual"
      ? lastPromptTokens
      : Math.ceil(estimateMessages(messages) * soundFactor(question.tokenFactor));
  const isFull = window > 0 && tokens >= Math.trunc(window * threshold);
  if (!isFull && messages.length < messageLimit) return { fire: false, why: "below_limits" };
  if (!hasModel) return { fire: false, why: "no_model" };
  return { fire: true, why: isFull ? "tokens" : "messages", tokens, counted };
}

/** After the compaction: worth a line in the log, because the next turn may fail all the same. */
export function isStillFull(tokens: number, window: number): boolean {
  return window > 0 && tokens >= window * STILL_FULL;
}

// ----
// When to compact. Pure: a state, what happened, the next state. The figures of the model count; where only an estimate
// is at hand, it is trusted less once the model has shown that the real prompt is smaller.

export type TriggerState = {
  /** -1 right after a compaction: the old figure is wrong and no new one is known yet. */
  readonly lastPromptTokens: number;
  readonly lastCompletionTokens: number;
  readonly lastTotalTokens: number;
  readonly lastRealPromptTokens: number;
  /** Estimate of the request at the last compaction. */
  readonly roughAtCompaction: number;
  /** The largest estimate of which the real prompt is known to have stayed below the threshold. */
  readonly roughThatFits: number;
  readonly isAwaitingUsage: boolean;
  /** Compactions in a row that saved too little. */
  readonly ineffective: number;
};

export const INITIAL_TRIGGER: TriggerState = Object.freeze({
  lastPromptTokens: 0,
  lastCompletionTokens: 0,
  lastTotalTokens: 0,
  lastRealPromptTokens: 0,
  roughAtCompaction: 0,
  roughThatFits: 0,
  isAwaitingUsage: false,
  ineffective: 0,
});

const NOT_KNOWN = -1;
/** After so many in a row, another compaction would only cost time. */
const MOST_INEFFECTIVE = 2;
const EFFECTIVE_SHARE = 0.1;
const LEAST_TOLERANCE = 4_096;
const TOLERANCE_SHARE = 0.05;

export function afterResponse(
  state: TriggerState,
  usage: ResponseUsage,
  thresholdTokens: number,
): TriggerState {
  const prompt = count(usage.promptTokens);
  const completion = count(usage.completionTokens);
  const total = usage.totalTokens === undefined ? prompt + completion : count(usage.totalTokens);
  const next = {
    ...state,
    lastPromptTokens: prompt,
    lastCompletionTokens: completion,
    lastTotalTokens: total,
    isAwaitingUsage: false,
  };
  if (prompt === 0) return next;
  return { ...next, lastRealPromptTokens: prompt, roughThatFits: fitting(state, prompt, thresholdTokens) };
}

export function shouldCompress(
  state: TriggerState,
  thresholdTokens: number,
  promptTokens = state.lastPromptTokens,
): boolean {
  // Without a window there is nothing to fill.
  return thresholdTokens > 0 && promptTokens >= thresholdTokens && state.ineffective < MOST_INEFFECTIVE;
}

/** Is the estimate too high although it reaches the threshold? True while it has grown little since the model disproved it. */
export function deferToRealUsage(
  state: TriggerState,
  thresholdTokens: number,
  roughTokens: number,
): { readonly isDeferred: boolean; readonly state: TriggerState } {
  const real = state.lastRealPromptTokens;
  const baseline = state.roughThatFits || state.roughAtCompaction;
  const tolerance = Math.max(LEAST_TOLERANCE, Math.trunc(thresholdTokens * TOLERANCE_SHARE));
  const isDeferred =
    roughTokens >= thresholdTokens &&
    real > 0 &&
    real < thresholdTokens &&
    baseline > 0 &&
    Math.max(0, roughTokens - baseline) <= tolerance;
  return {
    isDeferred,
    state: isDeferred ? { ...state, roughThatFits: Math.max(baseline, roughTokens) } : state,
  };
}

/** The compacted list is in use. */
export function afterCompaction(state: TriggerState, roughTokens: number): TriggerState {
  return {
    ...state,
    lastPromptTokens: NOT_KNOWN,
    lastCompletionTokens: 0,
    roughAtCompaction: count(roughTokens),
    isAwaitingUsage: true,
  };
}

/** How much a compaction saved. Both figures are estimates of the list, so that like is compared with like. */
export function afterAttempt(state: TriggerState, tokensBefore: number, tokensAfter: number): TriggerState {
  const isEffective = tokensBefore - tokensAfter >= EFFECTIVE_SHARE * tokensBefore && tokensBefore > 0;
  return { ...state, ineffective: isEffective ? 0 : state.ineffective + 1 };
}

/** Another model counts in another way, so what was learnt about the estimate no longer holds. */
export function afterModelSwitch(state: TriggerState): TriggerState {
  return {
    ...state,
    lastRealPromptTokens: 0,
    roughThatFits: 0,
    roughAtCompaction: 0,
    isAwaitingUsage: false,
  };
}

function fitting(state: TriggerState, prompt: number, thresholdTokens: number): number {
  if (prompt >= thresholdTokens) return 0;
  return state.isAwaitingUsage ? state.roughAtCompaction : state.roughThatFits;
}

/** Figures come from a server; anything that is no count is none. */
function count(value: unknown): number {
  const number = typeof value === "number" ? value : Number.NaN;
  return Number.isFinite(number) && number > 0 ? Math.trunc(number) : 0;
}

// ----
// The half of an engine that watches: what the last replies used, when it is time to compact, what compactions achieved.
// The decisions are in ts; this keeps their state between calls.

export abstract class WatchedEngine {
  readonly contract = ENGINE_CONTRACT;
  #state = INITIAL_TRIGGER;
  #compressionCount = 0;

  abstract get thresholdTokens(): number;
  abstract get contextLength(): number;

  get lastPromptTokens(): number {
    return this.#state.lastPromptTokens;
  }
  get lastCompletionTokens(): number {
    return this.#state.lastCompletionTokens;
  }
  get lastTotalTokens(): number {
    return this.#state.lastTotalTokens;
  }
  get compressionCount(): number {
    return this.#compressionCount;
  }

  updateFromResponse(usage: ResponseUsage): void {
    this.#state = afterResponse(this.#state, usage, this.thresholdTokens);
  }

  shouldCompress(promptTokens?: number): boolean {
    return shouldCompress(this.#state, this.thresholdTokens, promptTokens);
  }

  shouldDeferPreflightToRealUsage(roughTokens: number): boolean {
    const { isDeferred, state } = deferToRealUsage(this.#state, this.thresholdTokens, roughTokens);
    this.#state = state;
    return isDeferred;
  }

  onCompacted(roughTokens: number): void {
    this.#state = afterCompaction(this.#state, roughTokens);
  }

  onSessionReset(): void {
    this.#state = INITIAL_TRIGGER;
    this.#compressionCount = 0;
  }

  getStatus(): EngineStatus {
    const used = Math.max(0, this.lastPromptTokens);
    const window = this.contextLength;
    return {
      last_prompt_tokens: used,
      threshold_tokens: this.thresholdTokens,
      context_length: window,
      usage_percent: window > 0 ? Math.min(100, (used / window) * 100) : 0,
      compression_count: this.#compressionCount,
    };
  }

  /** A list was compacted, or nothing was found worth it. */
  protected noteAttempt(kind: "compacted" | "nothing", tokensBefore: number, tokensAfter: number): void {
    if (kind === "compacted") this.#compressionCount += 1;
    this.#state = afterAttempt(this.#state, tokensBefore, tokensAfter);
  }

  protected noteModelSwitch(): void {
    this.#state = afterModelSwitch(this.#state);
  }
}

// When to compact: the token budgets of a model's window, the checks a host makes before it starts, and the trigger that
// watches real usage. WatchedEngine, at the end, keeps what the server has counted between calls.
import type { HermesConfig } from "../config/index.ts";
import { groupThousands } from "../lib/index.ts";
import type { Message } from "../message/index.ts";
import {
  ENGINE_CONTRACT,
  type EngineStatus,
  type ModelWindow,
  type Notice,
  type ResponseUsage,
} from "./engine.ts";
import { estimateMessages } from "./tokens.ts";

// Settings and budgets

export type CompressorSettings = {
  /** Tokens, as the model's server counts. */
  readonly contextLength: number;
  /** Share of the window at which compaction starts. */
  readonly threshold: number;
  /** Share of the threshold that the fresh tail may take. */
  readonly targetRatio: number;
  /** Messages at the beginning that stay unchanged; a leading system message is not counted. */
  readonly protectFirstN: number;
  /** Newest messages whose tool results are never pruned. */
  readonly protectLastN: number;
  /** When no model gives a summary: true keeps the list unchanged, false writes a handoff without a model. */
  readonly abortOnSummaryFailure: boolean;
};

export const DEFAULT_SETTINGS: Omit<CompressorSettings, "contextLength"> = Object.freeze({
  threshold: 0.5,
  targetRatio: 0.2,
  protectFirstN: 3,
  protectLastN: 20,
  abortOnSummaryFailure: false,
});

/** The settings of config.yaml. */
export function compressorSettings(
  { compression }: Pick<HermesConfig, "compression">,
  contextLength: number,
): CompressorSettings {
  const { threshold, targetRatio, protectFirstN, protectLastN, abortOnSummaryFailure } = compression;
  return { contextLength, threshold, targetRatio, protectFirstN, protectLastN, abortOnSummaryFailure };
}

export type Budgets = {
  readonly thresholdTokens: number;
  readonly tailTokens: number;
  /** Limit of a tail that is extended so that a tool call stays with its results. */
  readonly softTailTokens: number;
  readonly maxSummaryTokens: number;
  readonly summaryFloorTokens: number;
};

/** Below this a compaction costs more attention than it saves. */
const LEAST_THRESHOLD_TOKENS = 64_000;
/** The rest of the window is for the reply and for messages that arrive before the next check. */
const MOST_OF_WINDOW = 0.85;
const SUMMARY_SHARE = 0.05;
const MOST_SUMMARY_TOKENS = 12_000;
const LEAST_SUMMARY_TOKENS = 2_000;
const SOFT_FACTOR = 1.5;

export function deriveBudgets(
  settings: Pick<CompressorSettings, "contextLength" | "threshold" | "targetRatio">,
): Budgets {
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

/** A calibration factor (tokens the server counts for each token we estimate); values that make no sense count as 1. */
export function soundFactor(factor: number | undefined): number {
  return factor !== undefined && Number.isFinite(factor) && factor > 1 ? factor : 1;
}

const SUMMARY_RATIO = 0.2;

/** How many tokens a summary of `windowTokens` may have. */
export function summaryBudget(windowTokens: number, budgets: Budgets): number {
  const wanted = Math.trunc(windowTokens * SUMMARY_RATIO);
  return Math.max(budgets.summaryFloorTokens, Math.min(wanted, budgets.maxSummaryTokens));
}

// Checks a host makes: is the window large enough, can the summary model read the turns, is a stored chat already too long?

/** Whether a model's window is large enough for an agent at all. */
export type WindowFit =
  | { readonly kind: "fits"; readonly notice?: Notice }
  | { readonly kind: "too_small"; readonly message: string };

/** In a smaller window, prompt and tools leave little room for the conversation. */
const COMFORTABLE_WINDOW = 64_000;
/** A first exchange needs this many tokens. */
const FIRST_EXCHANGE_TOKENS = 4_000;
const SMALL_WINDOW = "small-window"; // one cause for both notices, so that a host shows only the first

/** A small window works, with a notice. A window that cannot hold even prompt, tools and one exchange does not. */
export function windowFit(
  model: string,
  window: number,
  { promptTokens, toolTokens }: { readonly promptTokens: number; readonly toolTokens: number },
): WindowFit {
  const needed = promptTokens + toolTokens + FIRST_EXCHANGE_TOKENS;
  const size = `'${model}' takes ${groupThousands(window)} tokens`;
  if (window < needed) {
    const message =
      `${size}, but the system prompt, the tools and a first exchange need ${groupThousands(needed)}. ` +
      "Use a model that takes more, serve it with a larger window, or switch toolsets off. " +
      "If the figure is wrong, set model.context_length.";
    return { kind: "too_small", message };
  }
  return { kind: "fits", ...(window >= COMFORTABLE_WINDOW ? {} : { notice: smallWindow(size) }) };
}

function smallWindow(size: string): Notice {
  const text = `${size}, so the conversation will be compacted often. From ${groupThousands(COMFORTABLE_WINDOW)} on there is room to work.`;
  return { cause: SMALL_WINDOW, text };
}

type SummaryQuestion = {
  readonly mainModel: string;
  readonly mainWindow: number;
  readonly thresholdTokens: number;
  /** Undefined: no model is configured for summaries. */
  readonly summary?: { readonly model: string; readonly window: number };
};

/** Whether the summary model can read what it will have to summarise, and what to do if not. */
export type SummaryFeasibility =
  | { readonly kind: "fine" }
  | { readonly kind: "no_model"; readonly notice: Notice }
  /** The summary model's window is too small, so the main model writes the summaries. */
  | { readonly kind: "use_main"; readonly notice: Notice }
  /** Compaction has to start earlier, while the turns still fit the summary model. */
  | {
      readonly kind: "lower_threshold";
      readonly thresholdTokens: number;
      /** Share of the main window. */
      readonly threshold: number;
      readonly notice: Notice;
    };

/** A model with a smaller window writes poor summaries of long work. */
const LEAST_SUMMARY_WINDOW = 64_000;

/** Asked once per session, before the first compaction. */
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
  const cause = "summary-model-window";
  const sizes = `takes ${groupThousands(window)} tokens, and compaction starts at ${groupThousands(thresholdTokens)}`;
  if (window < LEAST_SUMMARY_WINDOW && window < mainWindow) {
    const text =
      `The summary model '${model}' ${sizes}; it needs at least ${groupThousands(LEAST_SUMMARY_WINDOW)}. ` +
      `'${mainModel}' writes the summaries instead. Set auxiliary.compression.model to a model that takes more.`;
    return { kind: "use_main", notice: { cause, text } };
  }
  const text =
    `The summary model '${model}' ${sizes}: auto-lowered compression threshold to ${groupThousands(window)}. ` +
    "Set auxiliary.compression.model to a model that takes more, or compression.threshold to a smaller share.";
  const threshold = mainWindow > 0 ? window / mainWindow : 0;
  return { kind: "lower_threshold", thresholdTokens: window, threshold, notice: { cause, text } };
}

/** The stored conversation and the limits that `hygieneDecision` compares it with. */
export type HygieneQuestion = {
  /** `compression.enabled`. */
  readonly enabled: boolean;
  /** The whole stored history: tool results count and are summarised too. */
  readonly messages: readonly Message[];
  /** Prompt tokens of the last reply; 0 when the session has no such figure. */
  readonly lastPromptTokens: number;
  /** Window of this chat's model. */
  readonly window: number;
  /** Tokens its server counts for each token we estimate. Absent: 1. */
  readonly tokenFactor?: number;
  /** `compression.hygiene_threshold`: a share of the window. */
  readonly threshold: number;
  /** `compression.hygiene_hard_message_limit`. */
  readonly messageLimit: number;
  /** Whether a model is configured that could write the summary. */
  readonly hasModel: boolean;
};

/** Whether a stored conversation should be compacted before its next turn, and why. */
export type HygieneDecision =
  | { readonly fire: false; readonly why: "disabled" | "too_few_messages" | "below_limits" | "no_model" }
  | {
      readonly fire: true;
      readonly why: "tokens" | "messages";
      readonly tokens: number;
      /** `actual`: a model has counted the tokens. */
      readonly counted: "actual" | "estimated";
    };

const LEAST_MESSAGES = 4;

/** Should a gateway compact a stored chat before the agent runs on it? It may have grown past the window while no agent ran. */
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

/** The figures come from a server; a value that is no count becomes 0. */
function count(value: unknown): number {
  const number = typeof value === "number" ? value : Number.NaN;
  return Number.isFinite(number) && number > 0 ? Math.trunc(number) : 0;
}

// The trigger, shared by both built-in engines: the window, its budgets, what the server has counted, notices shown once.

const NOT_KNOWN = -1;
/** After this many in a row, another compaction would only cost time. */
const MOST_INEFFECTIVE = 2;
const EFFECTIVE_SHARE = 0.1;
const LEAST_TOLERANCE = 4_096;
const TOLERANCE_SHARE = 0.05;

type WatchedOptions = {
  readonly contextLength: number;
  /** See `CompressorSettings`. */
  readonly threshold: number;
  readonly targetRatio: number;
  /** Tokens the model's server counts for each token we estimate; asked at every compaction. Absent: 1. */
  readonly tokenFactor?: () => number;
};

/** The window in estimated tokens. Lists are measured in estimates, so windows and budgets are divided by the factor. */
type EstimatedWindow = {
  readonly factor: number;
  readonly contextLength: number;
  readonly budgets: Budgets;
};

/**
 * Token counts of the model's server decide. An estimate is trusted less once the server has shown that the real prompt is smaller.
 */
export abstract class WatchedEngine {
  readonly contract = ENGINE_CONTRACT;
  /** -1 right after a compaction: the old figure is wrong and no new one is known yet. */
  lastPromptTokens = 0;
  lastCompletionTokens = 0;
  lastTotalTokens = 0;
  compressionCount = 0;
  readonly #options: WatchedOptions;
  readonly #shownCauses = new Set<string>();
  #contextLength: number;
  #budgets: Budgets;
  #lastRealPrompt = 0;
  /** Estimate of the request at the last compaction. */
  #roughAtCompaction = 0;
  /** The largest estimate whose real prompt is known to have stayed below the threshold. */
  #roughThatFits = 0;
  #isAwaitingUsage = false;
  /** Compactions in a row that saved too little. */
  #ineffective = 0;

  constructor(options: WatchedOptions) {
    this.#options = options;
    this.#contextLength = count(options.contextLength);
    this.#budgets = deriveBudgets({ ...options, contextLength: this.#contextLength });
  }

  get contextLength(): number {
    return this.#contextLength;
  }
  get thresholdTokens(): number {
    return this.#budgets.thresholdTokens;
  }

  updateFromResponse(usage: ResponseUsage): void {
    const prompt = count(usage.promptTokens);
    this.lastPromptTokens = prompt;
    this.lastCompletionTokens = count(usage.completionTokens);
    this.lastTotalTokens =
      usage.totalTokens === undefined ? prompt + this.lastCompletionTokens : count(usage.totalTokens);
    if (prompt > 0) {
      this.#lastRealPrompt = prompt;
      const known = this.#isAwaitingUsage ? this.#roughAtCompaction : this.#roughThatFits;
      this.#roughThatFits = prompt >= this.thresholdTokens ? 0 : known;
    }
    this.#isAwaitingUsage = false;
  }

  shouldCompress(promptTokens = this.lastPromptTokens): boolean {
    // A threshold of 0 means that the window is not known.
    const { thresholdTokens } = this;
    return thresholdTokens > 0 && promptTokens >= thresholdTokens && this.#ineffective < MOST_INEFFECTIVE;
  }

  /** True while the estimate has grown little since the server counted fewer tokens than the threshold. */
  shouldDeferPreflightToRealUsage(roughTokens: number): boolean {
    const { thresholdTokens } = this;
    const baseline = this.#roughThatFits || this.#roughAtCompaction;
    const tolerance = Math.max(LEAST_TOLERANCE, Math.trunc(thresholdTokens * TOLERANCE_SHARE));
    const isDeferred =
      roughTokens >= thresholdTokens &&
      this.#lastRealPrompt > 0 &&
      this.#lastRealPrompt < thresholdTokens &&
      baseline > 0 &&
      roughTokens - baseline <= tolerance;
    if (isDeferred) this.#roughThatFits = Math.max(baseline, roughTokens);
    return isDeferred;
  }

  /** The compacted list is in use now. */
  onCompacted(roughTokens: number): void {
    this.lastPromptTokens = NOT_KNOWN;
    this.lastCompletionTokens = 0;
    this.#roughAtCompaction = count(roughTokens);
    this.#isAwaitingUsage = true;
  }

  onSessionReset(): void {
    this.lastPromptTokens = 0;
    this.lastCompletionTokens = 0;
    this.lastTotalTokens = 0;
    this.compressionCount = 0;
    this.#ineffective = 0;
    this.#shownCauses.clear();
    this.#forgetEstimates();
  }

  /** Another model counts differently, so what was learnt about the estimate no longer holds. */
  updateModel({ contextLength }: ModelWindow): void {
    this.#contextLength = count(contextLength);
    this.#budgets = deriveBudgets({ ...this.#options, contextLength: this.#contextLength });
    this.#forgetEstimates();
  }

  #forgetEstimates(): void {
    this.#lastRealPrompt = 0;
    this.#roughThatFits = 0;
    this.#roughAtCompaction = 0;
    this.#isAwaitingUsage = false;
  }

  getStatus(): EngineStatus {
    const used = Math.max(0, this.lastPromptTokens);
    const window = this.contextLength;
    return {
      last_prompt_tokens: used,
      threshold_tokens: this.thresholdTokens,
      context_length: window,
      usage_percent: window > 0 ? Math.min(100, (used / window) * 100) : 0,
      compression_count: this.compressionCount,
    };
  }

  protected get tokenFactor(): number {
    return soundFactor(this.#options.tokenFactor?.());
  }

  protected estimatedWindow(): EstimatedWindow {
    const factor = this.tokenFactor;
    const scaled = Object.entries(this.#budgets).map(([name, tokens]) => [name, Math.trunc(tokens / factor)]);
    const contextLength = Math.trunc(this.contextLength / factor);
    return { factor, contextLength, budgets: Object.fromEntries(scaled) as Budgets };
  }

  /** `nothing`: the compaction found nothing worth a summary. Both figures are estimates of the list, so they can be compared. */
  protected noteAttempt(kind: "compacted" | "nothing", tokensBefore: number, tokensAfter: number): void {
    if (kind === "compacted") this.compressionCount += 1;
    const isEffective = tokensBefore - tokensAfter >= EFFECTIVE_SHARE * tokensBefore && tokensBefore > 0;
    this.#ineffective = isEffective ? 0 : this.#ineffective + 1;
  }

  /** Those not shown in this session, with a notice about a small window in front. Each cause is shown once. */
  protected newNotices(notices: readonly (Notice | undefined)[]): readonly Notice[] {
    const window = this.contextLength;
    const isSmall = window > 0 && window < COMFORTABLE_WINDOW;
    const size = `The model takes ${groupThousands(window)} tokens`;
    return [isSmall ? smallWindow(size) : undefined, ...notices].filter((notice): notice is Notice => {
      if (notice === undefined || this.#shownCauses.has(notice.cause)) return false;
      this.#shownCauses.add(notice.cause);
      return true;
    });
  }
}

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

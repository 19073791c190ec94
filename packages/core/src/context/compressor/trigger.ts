// When to compact. Pure: a state, what happened, the next state. The figures of the model count; where only an estimate
// is at hand, it is trusted less once the model has shown that the real prompt is smaller.
import type { ResponseUsage } from "../engine.ts";

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

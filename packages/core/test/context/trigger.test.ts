import { describe, expect, it } from "vitest";
import * as trigger from "../../src/context/trigger.ts";
import {
  DEFAULT_SETTINGS,
  deriveBudgets,
  type HygieneQuestion,
  hygieneDecision,
  summaryBudget,
  summaryFeasibility,
  windowFit,
} from "../../src/context/trigger.ts";
import type { Message } from "../../src/message/index.ts";
import { asMessage } from "./messages.ts";

const budgetsOf = (contextLength: number, more: Partial<typeof DEFAULT_SETTINGS> = {}) =>
  deriveBudgets({ ...DEFAULT_SETTINGS, contextLength, ...more });

describe("budgets", () => {
  it.each([
    [32_000, 27_200, 5_440, 8_160, 1_600],
    [64_000, 54_400, 10_880, 16_320, 3_200],
    [128_000, 64_000, 12_800, 19_200, 6_400],
    [200_000, 100_000, 20_000, 30_000, 10_000],
    [272_000, 136_000, 27_200, 40_800, 12_000],
    [1_000_000, 500_000, 100_000, 150_000, 12_000],
  ])("of a window of %i tokens", (window, thresholdTokens, tailTokens, softTailTokens, maxSummaryTokens) => {
    expect(budgetsOf(window)).toMatchObject({
      thresholdTokens,
      tailTokens,
      softTailTokens,
      maxSummaryTokens,
    });
  });

  it("keep the ratio between 0.1 and 0.8", () => {
    expect(budgetsOf(200_000, { targetRatio: 0.01 }).tailTokens).toBe(10_000);
    expect(budgetsOf(200_000, { targetRatio: 0.99 }).tailTokens).toBe(80_000);
  });

  it("never start a compaction later than at 85 % of the window", () => {
    expect(budgetsOf(200_000, { threshold: 0.99 }).thresholdTokens).toBe(170_000);
    expect(budgetsOf(4_000).thresholdTokens).toBe(3_400);
  });

  it("give a summary a fifth of what it stands for, within limits", () => {
    expect(summaryBudget(28_235, budgetsOf(200_000))).toBe(5_647);
    expect(summaryBudget(500, budgetsOf(200_000))).toBe(2_000);
    expect(summaryBudget(900_000, budgetsOf(200_000))).toBe(10_000);
    expect(summaryBudget(500, budgetsOf(16_000))).toBe(800); // the usual floor would exceed its whole share
  });
});

describe("the summary model", () => {
  const ask = (window: number | undefined, more: { mainWindow?: number; thresholdTokens?: number } = {}) =>
    summaryFeasibility({
      mainModel: "main",
      mainWindow: 200_000,
      thresholdTokens: 100_000,
      ...more,
      summary: window === undefined ? undefined : { model: "small", window },
    });

  it("is fine when it takes what is summarised, to the token", () => {
    expect(ask(100_000)).toEqual({ kind: "fine" });
    expect(ask(1_000_000)).toEqual({ kind: "fine" });
  });

  it("makes compaction start earlier when it takes a little less, and both remedies are named", () => {
    const answer = ask(99_999);
    expect(answer).toMatchObject({ kind: "lower_threshold", thresholdTokens: 99_999, threshold: 0.499995 });
    expect(answer).toMatchObject({
      notice: { text: expect.stringContaining("auto-lowered compression threshold") },
    });
    expect(answer).toMatchObject({
      notice: { text: expect.stringContaining("auxiliary.compression.model") },
    });
    expect(answer).toMatchObject({ notice: { text: expect.stringContaining("compression.threshold") } });
    expect(ask(64_000)).toMatchObject({ kind: "lower_threshold", thresholdTokens: 64_000 });
  });

  it("gives way to the main model below 64,000 tokens; the notice names both figures", () => {
    const answer = ask(63_999);
    expect(answer).toMatchObject({ kind: "use_main" });
    const text = answer.kind === "use_main" ? answer.notice.text : "";
    for (const part of ["'small'", "63,999", "64,000", "'main'"]) expect(text).toContain(part);
  });

  it("of 32,000 tokens will do for a main model that takes no more", () => {
    expect(ask(32_000, { mainWindow: 32_000, thresholdTokens: 27_200 })).toEqual({ kind: "fine" });
  });

  it("may be missing; nothing ends for that", () => {
    expect(ask(undefined)).toMatchObject({ kind: "no_model", notice: { cause: "no-summary-model" } });
  });
});

describe("a window", () => {
  const fitOf = (window: number) => windowFit("m", window, { promptTokens: 6000, toolTokens: 2000 });

  it("below 64,000 tokens works, with a notice", () => {
    expect(fitOf(64_000)).toEqual({ kind: "fits" });
    expect(fitOf(63_999)).toMatchObject({ kind: "fits", notice: { cause: "small-window" } });
    expect(fitOf(12_000)).toMatchObject({ kind: "fits" });
  });

  it("that cannot hold prompt, tools and 4,000 tokens does not", () => {
    const answer = fitOf(11_999);
    expect(answer.kind).toBe("too_small");
    for (const part of ["11,999", "12,000", "model.context_length"])
      expect(answer.kind === "too_small" && answer.message).toContain(part);
  });
});

function turns(count: number, chars = 20): Message[] {
  return Array.from({ length: count }, (_, index) =>
    asMessage({ role: index % 2 === 0 ? "user" : "assistant", content: "x".repeat(chars) }),
  );
}

function decide(messages: readonly Message[], more: Partial<HygieneQuestion> = {}) {
  return hygieneDecision({
    enabled: true,
    messages,
    lastPromptTokens: 0,
    window: 200_000,
    threshold: 0.85,
    messageLimit: 400,
    hasModel: true,
    ...more,
  });
}

describe("compacting a stored conversation before the agent runs", () => {
  it.each([128_000, 200_000, 1_000_000])("happens at 85 %% of a window of %d tokens", (window) => {
    const limit = Math.trunc(window * 0.85);
    const at = (lastPromptTokens: number) => decide(turns(4), { window, lastPromptTokens });
    expect(at(limit - 1)).toEqual({ fire: false, why: "below_limits" });
    expect(at(limit)).toEqual({ fire: true, why: "tokens", tokens: limit, counted: "actual" });
  });

  it("happens for the number of messages alone, but not for 300 short ones", () => {
    expect(decide(turns(300))).toEqual({ fire: false, why: "below_limits" });
    expect(decide(turns(399))).toMatchObject({ fire: false });
    expect(decide(turns(400))).toMatchObject({ fire: true, why: "messages", counted: "estimated" });
    expect(decide(turns(12), { messageLimit: 10 })).toMatchObject({ fire: true, why: "messages" });
    expect(decide(turns(12), { messageLimit: 10, window: 0 })).toMatchObject({ fire: true, why: "messages" });
  });

  it("goes by what a model has counted, and by the estimate only without it", () => {
    const large = turns(10, 100_000);
    expect(decide(large)).toMatchObject({ fire: true, why: "tokens", tokens: 250_100, counted: "estimated" });
    expect(decide(large, { lastPromptTokens: 1000 })).toEqual({ fire: false, why: "below_limits" });
    expect(decide(large, { lastPromptTokens: -1 })).toMatchObject({ fire: true, counted: "estimated" });
  });

  it("counts tool results too", () => {
    const messages: Message[] = [
      ...turns(3),
      asMessage({ role: "tool", content: "y".repeat(800_000), tool_call_id: "a" }),
    ];
    expect(decide(messages)).toMatchObject({ fire: true, why: "tokens" });
  });

  it("never happens with three messages, when it is switched off, or without a model", () => {
    expect(decide(turns(3, 4_000_000))).toEqual({ fire: false, why: "too_few_messages" });
    expect(decide(turns(500), { enabled: false })).toEqual({ fire: false, why: "disabled" });
    expect(decide(turns(500), { hasModel: false })).toEqual({ fire: false, why: "no_model" });
  });
});

const THRESHOLD = 100_000;
const { INITIAL_TRIGGER } = trigger;
const reply = (state: trigger.TriggerState, promptTokens: number, completionTokens = 10) =>
  trigger.afterResponse(state, { promptTokens, completionTokens }, THRESHOLD);
const defers = (state: trigger.TriggerState, rough: number) =>
  trigger.deferToRealUsage(state, THRESHOLD, rough).isDeferred;

describe("the trigger", () => {
  it("fires at the threshold, by the prompt alone", () => {
    expect(trigger.shouldCompress(reply(INITIAL_TRIGGER, 99_999, 50_000), THRESHOLD)).toBe(false);
    expect(trigger.shouldCompress(reply(INITIAL_TRIGGER, 100_000), THRESHOLD)).toBe(true);
    expect(trigger.shouldCompress(INITIAL_TRIGGER, THRESHOLD, 150_000)).toBe(true);
  });

  it("never fires without a window, nor right after a compaction", () => {
    expect(trigger.shouldCompress(INITIAL_TRIGGER, 0)).toBe(false);
    const compacted = trigger.afterCompaction(reply(INITIAL_TRIGGER, 150_000), 40_000);
    expect(compacted.lastPromptTokens).toBe(-1);
    expect(trigger.shouldCompress(compacted, THRESHOLD)).toBe(false);
  });

  it("stops after two compactions that saved less than a tenth, until one saves more", () => {
    const once = trigger.afterAttempt(INITIAL_TRIGGER, 100_000, 90_001);
    expect(trigger.shouldCompress(once, THRESHOLD, 150_000)).toBe(true);
    const twice = trigger.afterAttempt(once, 100_000, 120_000);
    expect(trigger.shouldCompress(twice, THRESHOLD, 150_000)).toBe(false);
    const good = trigger.afterAttempt(twice, 100_000, 90_000);
    expect(trigger.shouldCompress(good, THRESHOLD, 150_000)).toBe(true);
  });

  it("takes what is no count for none", () => {
    const usage = { promptTokens: Number.NaN, completionTokens: -5, totalTokens: "9" as unknown as number };
    const state = trigger.afterResponse(INITIAL_TRIGGER, usage, THRESHOLD);
    expect([state.lastPromptTokens, state.lastCompletionTokens, state.lastTotalTokens]).toEqual([0, 0, 0]);
  });
});

describe("deferral to the real usage", () => {
  const fits = reply(trigger.afterCompaction(INITIAL_TRIGGER, 110_000), 60_000);

  it("needs a real figure below the threshold", () => {
    expect(defers(trigger.afterCompaction(INITIAL_TRIGGER, 110_000), 110_000)).toBe(false);
    expect(defers(fits, 110_000)).toBe(true);
    expect(defers(reply(fits, 100_000), 110_000)).toBe(false);
  });

  it("holds for small growth and follows it step by step", () => {
    expect(defers(fits, 115_000)).toBe(true);
    expect(defers(fits, 115_001)).toBe(false);
    const { state } = trigger.deferToRealUsage(fits, THRESHOLD, 114_000);
    expect(defers(state, 119_000)).toBe(true);
    expect(defers(fits, 99_999)).toBe(false); // below the threshold there is nothing to defer
  });

  it("goes by the estimate at the compaction only for the first reply after it", () => {
    expect(fits.roughThatFits).toBe(110_000);
    expect(reply(fits, 70_000).roughThatFits).toBe(110_000);
    expect(reply(INITIAL_TRIGGER, 60_000).roughThatFits).toBe(0);
    expect(reply(fits, 0).lastRealPromptTokens).toBe(60_000);
  });

  it("forgets what it learnt when the model changes", () => {
    expect(defers(trigger.afterModelSwitch(fits), 110_000)).toBe(false);
  });
});

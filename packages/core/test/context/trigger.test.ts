import { describe, expect, it } from "vitest";
import {
  DEFAULT_SETTINGS,
  deriveBudgets,
  type HygieneQuestion,
  hygieneDecision,
  summaryFeasibility,
  WatchedEngine,
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

  it("never start a compaction later than at 85 % of the window", () => {
    expect(budgetsOf(200_000, { threshold: 0.99 }).thresholdTokens).toBe(170_000);
    expect(budgetsOf(4_000).thresholdTokens).toBe(3_400);
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

  it("never happens with three messages, when it is switched off, or without a model", () => {
    expect(decide(turns(3, 4_000_000))).toEqual({ fire: false, why: "too_few_messages" });
    expect(decide(turns(500), { enabled: false })).toEqual({ fire: false, why: "disabled" });
    expect(decide(turns(500), { hasModel: false })).toEqual({ fire: false, why: "no_model" });
  });
});

class Engine extends WatchedEngine {
  note = (before: number, after: number) => this.noteAttempt("compacted", before, after);
}

/** The threshold is 100,000 tokens. */
const engine = (contextLength = 200_000) => new Engine({ contextLength, threshold: 0.5, targetRatio: 0.2 });
const counted = (to: Engine, promptTokens: number, completionTokens = 10) =>
  to.updateFromResponse({ promptTokens, completionTokens });

describe("the trigger", () => {
  it("fires at the threshold, by the prompt alone, and never without a window or right after a compaction", () => {
    const given = engine();
    expect(given.shouldCompress(150_000)).toBe(true);
    counted(given, 99_999, 50_000);
    expect(given.shouldCompress()).toBe(false);
    counted(given, 100_000);
    expect(given.shouldCompress()).toBe(true);
    given.onCompacted(40_000);
    expect([given.lastPromptTokens, given.shouldCompress()]).toEqual([-1, false]);
    expect(engine(0).shouldCompress(1)).toBe(false);
  });

  it("stops after two compactions that saved less than a tenth, until one saves more", () => {
    const given = engine();
    const fires = [
      [100_000, 90_001],
      [100_000, 120_000],
      [100_000, 90_000],
    ].map(([before = 0, after = 0]) => {
      given.note(before, after);
      return given.shouldCompress(150_000);
    });
    expect(fires).toEqual([true, false, true]);
  });

  it("takes what is no count for none", () => {
    const given = engine();
    given.updateFromResponse({ promptTokens: Number.NaN, completionTokens: -5, totalTokens: "9" as never });
    expect([given.lastPromptTokens, given.lastCompletionTokens, given.lastTotalTokens]).toEqual([0, 0, 0]);
  });

  it("defers to a real figure below the threshold while the estimate grows little, and forgets it with the model", () => {
    const given = engine();
    given.onCompacted(110_000);
    expect(given.shouldDeferPreflightToRealUsage(110_000)).toBe(false);
    counted(given, 60_000);
    for (const rough of [110_000, 114_000, 118_500])
      expect(given.shouldDeferPreflightToRealUsage(rough)).toBe(true);
    expect(given.shouldDeferPreflightToRealUsage(124_000)).toBe(false);
    given.updateModel({ model: "m", contextLength: 200_000 });
    expect(given.shouldDeferPreflightToRealUsage(110_000)).toBe(false);
    given.onCompacted(110_000);
    counted(given, 100_000);
    expect(given.shouldDeferPreflightToRealUsage(110_000)).toBe(false);
  });
});

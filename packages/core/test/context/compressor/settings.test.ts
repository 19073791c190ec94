import { describe, expect, it } from "vitest";
import { DEFAULT_SETTINGS, deriveBudgets, summaryBudget } from "../../../src/context/trigger.ts";

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
    expect(summaryBudget(500, budgetsOf(16_000))).toBe(800); // the usual floor is more than its whole share
  });
});

import { describe, expect, it } from "vitest";
import { summaryFeasibility, windowFit } from "../../src/context/trigger.ts";

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

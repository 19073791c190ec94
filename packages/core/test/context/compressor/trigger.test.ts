import { describe, expect, it } from "vitest";
import * as trigger from "../../../src/context/trigger.ts";

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
    expect(defers(fits, 99_999)).toBe(false); // there is nothing to put off
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

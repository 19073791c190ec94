import { describe, expect, it } from "vitest";
import { type HygieneQuestion, hygieneDecision, isStillFull } from "../../src/context/trigger.ts";
import type { Message } from "../../src/message/index.ts";
import { asMessage } from "./messages.ts";

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

  it("is worth a line in the log when it did not help", () => {
    expect([isStillFull(94_999, 100_000), isStillFull(95_000, 100_000), isStillFull(5, 0)]).toEqual([
      false,
      true,
      false,
    ]);
  });
});

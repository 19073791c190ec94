import { describe, expect, it } from "vitest";
import {
  ContextCompressor,
  type ContextCompressorOptions,
} from "../../../src/context/compressor/compressor.ts";
import { handoffText } from "../../../src/context/compressor/handoff.ts";
import { estimateText } from "../../../src/context/tokens.ts";
import type { Message } from "../../../src/message/index.ts";
import { alternating, toolRounds, user } from "../../../testing/context-engine/lists.ts";
import { answering, factsIn, modelThat, remembering } from "../../../testing/context-engine/summarisers.ts";

function compressorWith(options: Partial<ContextCompressorOptions> = {}): ContextCompressor {
  return new ContextCompressor({
    contextLength: 200_000,
    summarizer: answering("## Goal\nGo on."),
    ...options,
  });
}

describe("a compaction", () => {
  it("says nothing about dates when the clock cannot be read", async () => {
    for (const now of [
      () => new Date(Number.NaN),
      () => {
        throw new Error("no clock");
      },
    ]) {
      const model = answering("## Goal");
      await compressorWith({ summarizer: model, clock: { now } }).compress(alternating(60, 4000));
      expect(model.prompts[0]).not.toContain("TEMPORAL");
    }
  });
});

describe("a compaction of a compaction", () => {
  it("does not repeat the frame of the handoff where the model writes it too", async () => {
    const outcome = await compressorWith({ summarizer: answering(handoffText("## Goal\nGo on.")) }).compress(
      alternating(60, 4000),
    );
    expect(outcome.summary).toBe("## Goal\nGo on.");
  });

  it("knows nothing of another session's summary", async () => {
    const model = modelThat(() => "## Goal\nstale notes");
    const compressor = compressorWith({ summarizer: model });
    await compressor.compress(alternating(60, 4000));
    await compressor.compress(alternating(60, 4000));
    expect(model.prompts[1]).not.toContain("stale notes");
    expect(model.prompts[1]).not.toContain("PREVIOUS SUMMARY");
  });
});

describe("a window larger than the summary model's", () => {
  it("is summarised piece by piece, each within that window, and every piece counts", async () => {
    const model = remembering();
    const compressor = compressorWith({ summarizer: model, summaryContextLength: 16_000 });
    const turns = alternating(60, 3900).map((message, index) => ({
      ...message,
      content: `fact-t${index} ${message.content}`,
    }));
    const outcome = await compressor.compress(turns);
    expect(model.prompts.length).toBeGreaterThan(2);
    for (const { prompt, maxOutputTokens } of model.requests)
      expect(estimateText(prompt) + (maxOutputTokens ?? 0)).toBeLessThan(16_000);
    const { from, to } = outcome.summarised ?? { from: 0, to: 0 };
    expect(factsIn(outcome.summary ?? "")).toEqual(
      expect.arrayContaining(turns.slice(from, to).map((_, at) => `fact-t${from + at}`)),
    );
  });
});

describe("the engine's figures", () => {
  it("are all zero after a reset, and the window may be unknown", async () => {
    const compressor = compressorWith({ contextLength: Number.NaN });
    expect(compressor.getStatus().usage_percent).toBe(0);
    expect(compressor.shouldCompress(1_000_000)).toBe(false);
    await compressor.compress(alternating(60, 4000));
    compressor.updateFromResponse({ promptTokens: 5, completionTokens: 5 });
    compressor.onSessionReset();
    expect([compressor.lastPromptTokens, compressor.lastTotalTokens, compressor.compressionCount]).toEqual([
      0, 0, 0,
    ]);
  });

  it.each<[string, readonly Message[], boolean]>([
    ["a long conversation", alternating(60, 4000), true],
    ["a long turn", [user(), ...toolRounds(60, 8000)], true],
    ["tiny turns, where a handoff costs more than it saves", alternating(30, 40), false],
    ["too few messages", alternating(6, 40_000), false],
    ["nothing", [], false],
  ])("know whether there is something to gain: %s", (_, messages, expected) => {
    expect(compressorWith().hasContentToCompress(messages)).toBe(expected);
  });
});

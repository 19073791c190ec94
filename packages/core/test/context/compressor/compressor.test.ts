import { describe, expect, it } from "vitest";
import {
  ContextCompressor,
  type ContextCompressorOptions,
} from "../../../src/context/compressor/compressor.ts";
import { handoffText, isHandoff } from "../../../src/context/compressor/handoff.ts";
import { estimateMessages, estimateText } from "../../../src/context/tokens.ts";
import { type Message, withMeta } from "../../../src/message/index.ts";
import {
  alternating,
  assistant,
  filler,
  frozen,
  system,
  toolGroup,
  toolRounds,
  user,
} from "../../../testing/context-engine/lists.ts";
import { answering, factsIn, modelThat, remembering } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { expectPairs } from "../valid-list.ts";

function compressorWith(options: Partial<ContextCompressorOptions> = {}): ContextCompressor {
  return new ContextCompressor({
    contextLength: 200_000,
    summarizer: answering("## Goal\nGo on."),
    ...options,
  });
}
const numbered = (messages: readonly Message[]): readonly Message[] =>
  frozen(messages.map((message, index) => withMeta(message, { rowId: 100 + index })));
const textOf = (messages: readonly Message[]): string => JSON.stringify(messages);

describe("a compaction", () => {
  it("says what it did", async () => {
    const messages = numbered([system(), ...alternating(60, 4000)]);
    const compressor = compressorWith();
    const outcome = await compressor.compress(messages);
    expect(outcome).toMatchObject({
      kind: "compacted",
      method: "model",
      summarised: { from: 4, to: 32 },
      summaryIndex: 4,
      summary: "## Goal\nGo on.",
      leftOut: [],
      prunedResults: 0,
      tokensBefore: estimateMessages(messages),
      tokensAfter: estimateMessages(outcome.messages),
      notices: [],
    });
    expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore * 0.6);
    expect(compressor.compressionCount).toBe(1);
  });

  it("asks once, in one prompt, for a fifth of the window", async () => {
    const model = answering("## Goal");
    const clock = { now: () => new Date("2026-06-01T23:30:00Z") };
    await compressorWith({ summarizer: model, clock, timeZone: "Asia/Tokyo" }).compress([
      system(),
      ...alternating(60, 4000),
    ]);
    const [request, ...more] = model.requests;
    expect(more).toEqual([]);
    expect(request?.prompt).toContain("about 5656 tokens"); // 28 messages of 1,010 tokens
    expect(request?.maxOutputTokens).toBe(7_352);
    expect(request?.system).toBeUndefined();
    expect(request?.prompt).toContain("today is 2026-06-02");
    expect(Object.keys(request ?? {}).sort()).toEqual(["maxOutputTokens", "prompt", "signal"]);
  });

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

  it("passes on focus and what memory providers say", async () => {
    const model = answering("## Goal");
    const options = { focusTopic: "the kiln", providerText: "The user glazes on Sundays." };
    await compressorWith({ summarizer: model }).compress(alternating(60, 4000), options);
    expect(model.prompts[0]).toContain('FOCUS TOPIC: "the kiln"');
    expect(model.prompts[0]).toContain("The user glazes on Sundays.");
  });

  it("of a short list changes nothing and does not ask", async () => {
    const model = answering("## Goal");
    const messages = [system(), ...alternating(7, 40_000)];
    const outcome = await compressorWith({ summarizer: model }).compress(messages);
    expect(outcome).toMatchObject({ kind: "unchanged", reason: "too_short" });
    expect(outcome.messages).toBe(messages);
    expect(model.prompts).toEqual([]);
  });

  it("of one turn behind a handoff does not ask again", async () => {
    const model = answering("## Goal");
    const handoff = asMessage({ role: "assistant", content: handoffText("## Goal\nGo on.") });
    const messages = [...alternating(3, 60), handoff, ...alternating(4, 40)];
    const outcome = await compressorWith({ summarizer: model }).compress(messages);
    expect(outcome).toMatchObject({ kind: "unchanged", reason: "nothing_to_gain" });
    expect(outcome.messages).toBe(messages);
    expect(model.prompts).toEqual([]);
  });

  it("that can only prune is progress all the same", async () => {
    const compressor = compressorWith();
    const page = filler(40_000);
    const rounds = toolRounds(2, 10).map((message) =>
      message.role === "tool" ? { ...message, content: page } : message,
    );
    const messages = [user(), ...toolGroup(100, 100), ...rounds];
    const outcome = await compressor.compress(messages);
    expect(outcome).toMatchObject({ kind: "pruned", reason: "nothing_to_gain", prunedResults: 1 });
    expect(outcome.messages).toHaveLength(messages.length);
    expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore * 0.6);
    await compressor.compress(messages);
    expect(compressor.shouldCompress(150_000)).toBe(true); // two compactions without effect would have stopped it
  });

  it("without effect is not repeated for ever", async () => {
    const compressor = compressorWith();
    const messages = [
      user(),
      ...toolGroup(100, 100),
      user(),
      ...toolGroup(...Array.from({ length: 9 }, () => 30_000)),
    ];
    for (const isTried of [true, true, false]) {
      expect(compressor.shouldCompress(150_000)).toBe(isTried);
      expect((await compressor.compress(messages)).kind).toBe("unchanged");
    }
  });
});

describe("one long turn", () => {
  it("shrinks and keeps its user message, again and again", async () => {
    const compressor = compressorWith();
    const text = "please migrate all the tables, carefully";
    const ask = asMessage({ role: "user", content: text, _row_id: 7 });
    let messages: readonly Message[] = [system(), ...alternating(4, 60), ask, ...toolRounds(60, 8000)];
    for (let run = 0; run < 4; run += 1) {
      const outcome = await compressor.compress(messages);
      expect(outcome.kind).toBe("compacted");
      expect(outcome.messages.length).toBeLessThan(40);
      const kept = outcome.messages.filter(({ meta }) => meta.rowId === 7);
      expect(kept).toHaveLength(1);
      expect(String(kept[0]?.content).endsWith(text)).toBe(true);
      expect(outcome.messages.filter(isHandoff)).toHaveLength(1);
      expectPairs(outcome.messages);
      messages = [...outcome.messages, ...toolRounds(60, 8000)];
    }
  });
});

describe("the task list that an agent repeats after a compaction", () => {
  const taskList = asMessage({
    role: "user",
    content: "[Your active task list was preserved across context compression]\n- [>] 1. sand (in_progress)",
  });

  it("does not stand in for what the user asked", async () => {
    const asked = asMessage({ role: "user", content: "sand the whole deck" });
    const prompts: string[] = [];
    const summarizer = modelThat((prompt) => {
      prompts.push(prompt);
      return "## Goal\nGo on.";
    });
    const compressor = compressorWith({ contextLength: 64_000, summarizer });
    let list: readonly Message[] = [...alternating(4, 100), asked];
    for (let round = 0; round < 3; round += 1) {
      const outcome = await compressor.compress([...list, ...toolRounds(60, 4_000)]);
      expect(outcome.kind).toBe("compacted");
      expect(outcome.messages).toContainEqual(asked);
      expect(outcome.messages).not.toContainEqual(taskList); // the summary mentions the older one
      list = [...outcome.messages, taskList];
    }
    expect(prompts.at(-1)).toContain("- sand the whole deck");
    expect(prompts.at(-1)).not.toContain("- [Your active task list");
  });
});

describe("a compaction of a compaction", () => {
  it("keeps the facts of the first summary, and asks with it once", async () => {
    const model = remembering();
    const compressor = compressorWith({ summarizer: model });
    const planted = asMessage({ role: "user", content: "remember fact-harbour" });
    let messages: readonly Message[] = [
      ...alternating(4, 60),
      planted,
      ...alternating(55, 4000, "assistant"),
    ];
    for (let run = 0; run < 5; run += 1) {
      const outcome = await compressor.compress(messages);
      expect(outcome.summary).toContain("fact-harbour");
      expect(outcome.messages.filter(isHandoff)).toHaveLength(1);
      messages = [
        ...outcome.messages,
        asMessage({ role: "user", content: `and fact-${run}` }),
        ...alternating(41, 4000, "assistant"),
      ];
    }
    const last = model.prompts.at(-1) ?? "";
    expect(last.split("PREVIOUS SUMMARY:")).toHaveLength(2);
    expect(last.split("fact-harbour")).toHaveLength(2);
    expect(factsIn(textOf(messages))).toEqual(
      expect.arrayContaining(["fact-harbour", "fact-0", "fact-1", "fact-2", "fact-3"]),
    );
  });

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
    const progress: number[] = [];
    const compressor = compressorWith({
      summarizer: model,
      summaryContextLength: 16_000,
      onProgress: ({ turnsDone }) => progress.push(turnsDone),
    });
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
    expect(progress.at(-1)).toBe(to - from);
    expect(progress).toEqual(progress.toSorted((one, other) => one - other));
  });

  it("is not stopped by a display that fails", async () => {
    const onProgress = () => {
      throw new Error("no screen");
    };
    expect((await compressorWith({ onProgress }).compress(alternating(60, 4000))).kind).toBe("compacted");
  });

  it("of 20,000 messages takes a bounded number of calls", async () => {
    const model = answering("## Goal\nGo on.");
    const outcome = await compressorWith({ summarizer: model }).compress(alternating(20_000, 2_000));
    expect(outcome.kind).toBe("compacted");
    expect(model.prompts.length).toBeLessThanOrEqual(16);
    for (const prompt of model.prompts) expect(estimateText(prompt)).toBeLessThan(200_000);
    const { from, to } = outcome.summarised ?? { from: 0, to: 0 };
    expect(outcome.leftOut).toEqual([{ reason: "summary_shortened", count: to - from }]);
  });
});

describe("an answer far too long", () => {
  it("is cut to what is useful, section by section, and that is said", async () => {
    const sections = ["Goal", "Completed Actions", "Critical Context"].map(
      (name) => `## ${name}\n${name} begins ${"word ".repeat(40_000)}`,
    );
    const messages = numbered(alternating(60, 4000));
    const outcome = await compressorWith({ summarizer: answering(sections.join("\n\n")) }).compress(messages);
    expect(estimateText(outcome.summary ?? "")).toBeLessThanOrEqual(2 * 5_656);
    expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore);
    for (const name of ["Goal", "Completed Actions", "Critical Context"])
      expect(outcome.summary).toContain(`${name} begins`);
    expect(outcome.leftOut).toEqual([
      { count: 28, reason: "summary_shortened", firstRowId: 103, lastRowId: 130 },
    ]);
    expect(outcome.notices.map(({ cause }) => cause)).toEqual(["summary_shortened"]);
  });
});

describe("a message larger than the window", () => {
  it("is an error and no loss", async () => {
    const model = answering("## Goal");
    const compressor = compressorWith({ summarizer: model });
    const messages = [...alternating(60, 4000), asMessage({ role: "user", content: "x".repeat(900_000) })];
    const outcome = await compressor.compress(messages);
    expect(outcome).toMatchObject({ kind: "unchanged", reason: "message_too_large" });
    expect(outcome.messages).toBe(messages);
    expect(outcome.notices[0]?.text).toMatch(/225,010 tokens.*200,000/);
    expect(model.prompts).toEqual([]);
    expect((await compressor.compress(messages)).notices).toEqual([]);
  });

  it("is none where it goes into the summary or can be pruned", async () => {
    const old = [...alternating(5, 60), assistant(900_000), ...alternating(30, 4000)];
    expect((await compressorWith().compress(old)).kind).toBe("compacted");
    const result = [...alternating(4, 60), ...toolGroup(900_000), ...alternating(40, 4000)];
    expect((await compressorWith().compress(result)).kind).toBe("compacted");
  });
});

describe("the engine's figures", () => {
  it("recompute with the model", () => {
    const compressor = compressorWith();
    expect([compressor.contextLength, compressor.thresholdTokens]).toEqual([200_000, 100_000]);
    compressor.updateModel({ model: "other", contextLength: 32_000 });
    expect([compressor.contextLength, compressor.thresholdTokens]).toEqual([32_000, 27_200]);
  });

  it("never show less than nothing", () => {
    const compressor = compressorWith();
    compressor.updateFromResponse({ promptTokens: 50_000, completionTokens: 10 });
    expect(compressor.getStatus()).toEqual({
      last_prompt_tokens: 50_000,
      threshold_tokens: 100_000,
      context_length: 200_000,
      usage_percent: 25,
      compression_count: 0,
    });
    compressor.onCompacted(20_000);
    expect(compressor.lastPromptTokens).toBe(-1);
    expect(compressor.getStatus()).toMatchObject({ last_prompt_tokens: 0, usage_percent: 0 });
  });

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

  it("defer to what the model reported", () => {
    const compressor = compressorWith();
    compressor.onCompacted(110_000);
    compressor.updateFromResponse({ promptTokens: 60_000, completionTokens: 10 });
    expect(compressor.shouldDeferPreflightToRealUsage(112_000)).toBe(true);
    expect(compressor.shouldDeferPreflightToRealUsage(130_000)).toBe(false);
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

  it("warn once about a small window", async () => {
    const compressor = compressorWith({ contextLength: 32_000 });
    const first = await compressor.compress(alternating(60, 1000));
    expect(first.notices.map(({ cause }) => cause)).toEqual(["small-window"]);
    expect((await compressor.compress(alternating(60, 1000))).notices).toEqual([]);
  });
});

describe("odd lists", () => {
  it("holes and entries that are no message are left out, and the rest is compacted", async () => {
    const messages = [system(), ...alternating(60, 4000)];
    const odd = [...messages.slice(0, 20), null, "text", 7, ...messages.slice(20)] as Message[];
    delete odd[30];
    const outcome = await compressorWith().compress(odd);
    expect(outcome.kind).toBe("compacted");
    expect(outcome.messages.every((message) => typeof message === "object" && message !== null)).toBe(true);
  });
});

describe("what model and user are told about messages that left the list", () => {
  it.each([
    ["searchable", "session_search"],
    ["kept", "still stored"],
    [undefined, "not kept"],
  ] as const)("stored: %s", async (stored, said) => {
    const outcome = await compressorWith({ summarizer: undefined }).compress(alternating(60, 4000), {
      stored,
    });
    const text = JSON.stringify([outcome.messages, outcome.notices]);
    expect(JSON.stringify(outcome.notices)).toContain(said);
    expect(JSON.stringify(outcome.messages[outcome.summaryIndex ?? -1])).toContain(said);
    if (stored !== "searchable") expect(text).not.toContain("session_search");
    if (stored === undefined) expect(text).not.toContain("still stored");
  });
});

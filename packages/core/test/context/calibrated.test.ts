// Engines whose model counts more tokens than we estimate, and engines with a limit for the list.
import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import { estimateMessages, estimateText } from "../../src/context/tokens.ts";
import { hygieneDecision } from "../../src/context/trigger.ts";
import { HermesError } from "../../src/lib/index.ts";
import { alternating, toolGroup, toolRounds, user } from "../../testing/context-engine/lists.ts";
import { answering, modelThat } from "../../testing/context-engine/summarisers.ts";
import { Conversation, SMALL } from "./lossless/conversation.ts";

const WINDOW = 64_000;
const SUMMARY = "## Goal\nGo on.";
const tooLong = (): never => {
  throw new HermesError("model-failed", "The conversation is longer than the model takes.", {
    cause: { kind: "overflow", message: "too long", isRetryable: false, partialText: "" },
  });
};

describe.each([1, 2, 4])("a server that counts %i tokens for each estimated one", (factor) => {
  it("is asked for summaries that fit its window, of both engines", async () => {
    const model = answering(SUMMARY);
    const window = 16_000;
    const common = { contextLength: window, summarizer: model, tokenFactor: () => factor };
    await new ContextCompressor(common).compress([...alternating(10, 400), ...alternating(300, 3_000)]);
    const talk = await Conversation.begin(common);
    await using _store = talk.store;
    await talk.say([...alternating(4, 100), ...toolRounds(30, 5_000), ...alternating(30, 400)]);
    await talk.compact();
    await talk.expectWhole();
    expect(model.requests.length).toBeGreaterThan(4);
    for (const { prompt, maxOutputTokens } of model.requests)
      expect(estimateText(prompt) * factor + (maxOutputTokens ?? 0)).toBeLessThanOrEqual(window);
  });
});

describe("room for the list", () => {
  it("lets the tail give way, then the head, and never the newest user message", async () => {
    const asked = user(100);
    const list = [...alternating(4, 6_000), ...alternating(20, 4_000), asked, ...toolGroup(8_000)];
    const engine = new ContextCompressor({ contextLength: WINDOW, summarizer: answering(SUMMARY) });
    const usual = estimateMessages((await engine.compress(list)).messages);
    const tight = await engine.compress(list, { roomTokens: 4_500, force: true });
    expect(usual).toBeGreaterThan(4_500);
    expect(estimateMessages(tight.messages)).toBeLessThan(4_500);
    expect(tight.messages).toContainEqual(asked);
  });

  it("counts for the lossless engine too", async () => {
    const talk = await Conversation.begin({
      ...SMALL,
      contextLength: WINDOW,
      summarizer: answering("short"),
    });
    await using _store = talk.store;
    await talk.say([...alternating(4, 6_000), ...alternating(20, 4_000), user(100), ...toolGroup(8_000)]);
    const outcome = await talk.compact({ roomTokens: 5_000 });
    expect(estimateMessages(outcome.messages)).toBeLessThan(5_000);
    await talk.expectWhole();
  });
});

describe("a summary request that the server refuses as too long", () => {
  it("that stays too long is condensed without a model", async () => {
    const engine = new ContextCompressor({ contextLength: WINDOW, summarizer: modelThat(tooLong) });
    const outcome = await engine.compress(alternating(60, 4_000));
    expect(outcome).toMatchObject({ kind: "compacted", method: "local", failure: { kind: "too_long" } });
  });
});

it("lcm_expand gives pieces in the model's own tokens, and never more than a quarter of its window", async () => {
  const talk = await Conversation.begin({ ...SMALL, summarizer: answering("short"), tokenFactor: () => 2 });
  await using _store = talk.store;
  const [id = 0] = await talk.say([user(40_000)]);
  const sizeOf = async (max_tokens: number): Promise<number> => {
    const { content } = await talk.tool("lcm_expand", { store_id: id, max_tokens });
    return estimateText(String(content)) * 2;
  };
  expect(await sizeOf(1_000)).toBeLessThanOrEqual(1_000);
  expect(await sizeOf(1_000)).toBeGreaterThan(900);
  expect(await sizeOf(30_000)).toBeLessThanOrEqual(2_000);
});

it("hygiene compares what the server would count with its window", () => {
  const question = {
    enabled: true,
    messages: alternating(10, 4_000),
    lastPromptTokens: 0,
    window: 20_000,
    threshold: 0.85,
    messageLimit: 400,
    hasModel: true,
  };
  expect(hygieneDecision(question)).toMatchObject({ fire: false });
  expect(hygieneDecision({ ...question, tokenFactor: 2 })).toMatchObject({ fire: true, tokens: 20_200 });
});

// A compaction of the lossless engine: its effects on the list and on the database.

import { describe, expect, it } from "vitest";
import { HANDOFF_END, HANDOFF_MARKER, isHandoff } from "../../../src/context/compressor/handoff.ts";
import { LosslessEngine } from "../../../src/context/lossless/lossless-engine.ts";
import { listedNodes } from "../../../src/context/lossless/overview.ts";
import { estimateMessages } from "../../../src/context/tokens.ts";
import type { Message } from "../../../src/message/index.ts";
import { alternating, assistant, toolGroup } from "../../../testing/context-engine/lists.ts";
import { answering, modelThat } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { expectPairs } from "../valid-list.ts";
import { Conversation, SMALL } from "./conversation.ts";

const texts = (messages: readonly Message[]) => messages.map(({ content }) => String(content));

describe("the list after a compaction", () => {
  it("is head, one overview of the parts in order of time, and the fresh tail", async () => {
    const talk = await Conversation.begin({
      ...SMALL,
      summarizer: modelThat((_, call) => `summary ${call}`),
    });
    await using _store = talk.store;
    const ids = await talk.say(alternating(60, 400));
    const before = talk.live;
    const outcome = await talk.engine.compress(before);
    expect(outcome).toMatchObject({
      kind: "compacted",
      method: "model",
      leftOut: [],
      prunedResults: 0,
    });
    const { summarised: span = { from: -1, to: -1 }, messages, summaryIndex = -1, summary = "" } = outcome;
    expect(messages.slice(0, span.from)).toEqual(before.slice(0, 3));
    expect(texts(messages).slice(-5)).toEqual(texts(before).slice(-5));
    expect(messages.filter(isHandoff)).toEqual([messages[summaryIndex]]);
    const handoff = messages[summaryIndex];
    expect(handoff?.meta.isHandoff).toBe(true);
    expect(String(handoff?.content).startsWith(HANDOFF_MARKER)).toBe(true);
    expect(String(handoff?.content)).toContain(HANDOFF_END);
    expect(outcome.tokensAfter).toBe(estimateMessages(messages));
    expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore / 2);

    const nodes = await talk.nodes();
    const covered = nodes.filter(({ depth }) => depth === 0).flatMap(({ source_ids }) => source_ids);
    expect(covered).toEqual(ids.slice(span.from, span.to));
    const listed = listedNodes(summary).map((id) => nodes.find(({ node_id }) => node_id === id));
    const firsts = listed.map((node) => node?.first_message_id ?? 0);
    expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
    for (const node of listed) {
      expect(summary).toContain(
        `[${node?.node_id}] messages ${node?.first_message_id}-${node?.last_message_id}`,
      );
      expect(summary).toContain(node?.summary);
    }
  });

  it("can be compacted again in the same session, when the host does not rotate", async () => {
    const talk = await Conversation.begin({ ...SMALL, summarizer: answering("short") });
    await using _store = talk.store;
    for (let round = 0; round < 3; round += 1) {
      await talk.say([...alternating(46, 400), ...toolGroup(100).slice(0, 1), ...alternating(4, 400)]);
      const outcome = await talk.engine.compress(talk.live);
      expect(outcome.kind).toBe("compacted");
      expectPairs(outcome.messages); // the repair added a stub for a call without a result; the stub is in no database
      expect(outcome.messages.filter(isHandoff)).toHaveLength(1);
      talk.live = outcome.messages;
      await talk.expectWhole();
    }
    await talk.expectReadable();
  });
});

describe("a list that is left as it is", () => {
  it.each([
    ["too_short", [...alternating(7, 400)]],
    [
      "message_too_large",
      [...alternating(20, 400), asMessage({ role: "user", content: "x".repeat(40_000) })],
    ],
  ] as const)("%s", async (reason, messages) => {
    const talk = await Conversation.begin({ ...SMALL, summarizer: answering("short") });
    await using _store = talk.store;
    await talk.say(messages);
    const outcome = await talk.engine.compress(talk.live);
    expect(outcome).toMatchObject({ kind: "unchanged", reason });
    expect(outcome.messages).toBe(talk.live);
    expect(await talk.nodes()).toEqual([]);
  });

  it.each([
    [20, 0],
    [1_300, 1],
  ])(
    "when only one message of %i characters could go and its summary would be longer",
    async (chars, calls) => {
      const model = answering("longer than what it stands for ".repeat(100));
      const talk = await Conversation.begin({ ...SMALL, leafSummaryTokens: 600, summarizer: model });
      await using _store = talk.store;
      await talk.say([...alternating(3, 40), assistant(chars), ...alternating(6, 1_000)]);
      const outcome = await talk.engine.compress(talk.live);
      expect(outcome).toMatchObject({ kind: "unchanged", reason: "nothing_to_gain" });
      expect(outcome.messages).toBe(talk.live);
      expect(model.prompts).toHaveLength(calls);
      expect(await talk.nodes()).toEqual([]);
    },
  );
});

describe("what the host reads", () => {
  it("the figures start at nothing and follow the replies", () => {
    const engine = new LosslessEngine({
      store: {} as never,
      sessionId: "s",
      contextLength: 200_000,
      summarizer: undefined,
    });
    expect(engine.name).toBe("lcm");
    expect(engine.thresholdTokens).toBe(100_000);
    expect(engine.getStatus()).toEqual({
      last_prompt_tokens: 0,
      threshold_tokens: 100_000,
      context_length: 200_000,
      usage_percent: 0,
      compression_count: 0,
    });
    engine.updateFromResponse({ promptTokens: 120_000, completionTokens: 10 });
    expect(engine.shouldCompress()).toBe(true);
    expect(engine.shouldCompress(99_999)).toBe(false);
    expect(engine.getStatus().usage_percent).toBe(60);
    engine.onCompacted(30_000);
    expect(engine.getStatus().last_prompt_tokens).toBe(0);
    engine.updateModel({ model: "m", contextLength: 1_000_000 });
    expect(engine.thresholdTokens).toBe(500_000);
    engine.onSessionReset();
    expect([engine.lastPromptTokens, engine.compressionCount]).toEqual([0, 0]);
  });

  it("there is content to compress from a tenth of the list on", () => {
    const engine = new LosslessEngine({
      ...SMALL,
      store: {} as never,
      sessionId: "s",
      summarizer: undefined,
    });
    expect(engine.hasContentToCompress(alternating(60, 400))).toBe(true);
    expect(engine.hasContentToCompress(alternating(6, 40))).toBe(false);
    expect(engine.hasContentToCompress([])).toBe(false);
    expect(engine.hasContentToCompress([...alternating(3, 400), assistant(2_000)])).toBe(false);
  });
});

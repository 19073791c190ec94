// The texts of parts: what models are asked, what happens when they fail, how excerpts are improved later.

import { describe, expect, it } from "vitest";
import { isHandoff } from "../../../src/context/compressor/handoff.ts";
import { estimateText } from "../../../src/context/tokens.ts";
import { alternating, toolRounds, user } from "../../../testing/context-engine/lists.ts";
import { answering, failing, modelThat } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { Conversation, SMALL } from "./conversation.ts";

describe("a model", () => {
  it("is asked for each part with its messages, the focus and what providers want kept, and never for secrets", async () => {
    const model = answering("short");
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
    await talk.say([
      ...alternating(4, 100),
      asMessage({ role: "user", content: `the key is ${secret}` }),
      ...toolRounds(10, 400),
      ...alternating(20, 400),
    ]);
    await talk.compact({ focusTopic: "the quay", providerText: "he prefers lighters" });
    const ofMessages = model.prompts.filter((prompt) => prompt.includes("MESSAGES:\n"));
    const ofSummaries = model.prompts.filter((prompt) => prompt.includes("SUMMARIES:\n"));
    const nodes = await talk.nodes();
    expect(ofMessages).toHaveLength(nodes.filter(({ depth }) => depth === 0).length);
    expect(ofSummaries).toHaveLength(nodes.filter(({ depth }) => depth > 0).length);
    expect(ofMessages[0]).toContain(String(talk.written.get(4)?.content));
    for (const prompt of model.prompts) expect(prompt).toContain('FOCUS TOPIC: "the quay"');
    expect(model.prompts.filter((prompt) => prompt.includes("he prefers lighters"))).toHaveLength(1);
    expect(model.prompts.join("\n")).not.toContain(secret);
    expect(JSON.stringify(nodes)).not.toContain(secret);
    for (const { maxOutputTokens } of model.requests)
      expect(maxOutputTokens).toBeLessThanOrEqual(SMALL.leafSummaryTokens * 1.3);
  });

  it("is asked about no more than its window holds", async () => {
    const model = answering("short");
    const summaryContextLength = 2_000;
    const talk = await Conversation.begin({
      ...SMALL,
      leafTokens: 6_000,
      summaryContextLength,
      summarizer: model,
    });
    await using _store = talk.store;
    await talk.say([...alternating(4, 100), ...toolRounds(30, 5_000), ...alternating(30, 400)]);
    await talk.compact();
    expect(model.prompts.length).toBeGreaterThan(3);
    for (const prompt of model.prompts) expect(estimateText(prompt)).toBeLessThan(summaryContextLength);
    await talk.expectWhole();
  });

  it("that writes too much is cut", async () => {
    const talk = await Conversation.begin({ ...SMALL, summarizer: answering("many words ".repeat(2_000)) });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    await talk.compact();
    for (const { summary, tokens } of await talk.nodes()) {
      expect(tokens).toBeLessThanOrEqual(2 * SMALL.leafSummaryTokens);
      expect(tokens).toBe(estimateText(summary));
    }
  });

  it("may write text that looks like an overview without adding parts to it", async () => {
    const model = modelThat(
      () => "## [lcm_000000000000] messages 1-2 (2 messages)\nnothing\n# [x] messages 3",
    );
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    for (let round = 0; round < 3; round += 1) {
      await talk.say(alternating(50, 400));
      const outcome = await talk.compact();
      expect(outcome.messages.filter(isHandoff)).toHaveLength(1);
    }
    await talk.expectWhole();
  });

  it("is not asked again when the list gains nothing", async () => {
    const model = answering("short");
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    await talk.compact();
    const asked = model.prompts.length;
    await talk.engine.compress(talk.live);
    expect(model.prompts).toHaveLength(asked);
  });
});

describe("without a model's answer", () => {
  it.each([
    ["fails", failing(), "failed"],
    ["says nothing", answering("  "), "empty"],
    ["declines", answering("I'm sorry, but I can't help with that."), "refused"],
    ["is not configured", undefined, "no_model"],
    ["throws what is no error", modelThat(() => Promise.reject("oops")), "failed"],
  ] as const)("parts are excerpts and the user is told once: the model %s", async (_, summarizer, kind) => {
    const talk = await Conversation.begin({ ...SMALL, summarizer });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    const outcome = await talk.compact();
    expect(outcome).toMatchObject({ kind: "compacted", method: "local", failure: { kind } });
    const nodes = await talk.nodes();
    expect(nodes.every(({ method }) => method === "extract")).toBe(true);
    const covered = nodes.filter(({ depth }) => depth === 0).flatMap(({ source_ids }) => source_ids);
    expect(outcome.leftOut).toEqual([
      { reason: "summary_failed", count: covered.length, firstRowId: covered[0], lastRowId: covered.at(-1) },
    ]);
    expect(outcome.notices.map(({ cause }) => cause)).toContain(`summary_failed:${kind}`);
    expect(outcome.summary).toContain("Summary generation was unavailable");
    const beginning = String(talk.written.get(4)?.content).slice(0, 40);
    expect(nodes[0]?.summary).toContain(beginning);
    for (const { tokens } of nodes) expect(tokens).toBeLessThanOrEqual(2 * SMALL.leafSummaryTokens);
    await talk.expectReadable();
    await talk.say(alternating(60, 400));
    expect((await talk.compact()).notices.filter(({ cause }) => cause === `summary_failed:${kind}`)).toEqual(
      [],
    );
    await talk.expectWhole();
  });

  it("an excerpt is the same for the same messages", async () => {
    const make = async () => {
      const talk = await Conversation.begin({ ...SMALL, summarizer: undefined });
      await using _store = talk.store;
      await talk.say(
        Array.from({ length: 60 }, (_, at) =>
          asMessage({ role: at % 2 ? "assistant" : "user", content: `${at} `.repeat(200) }),
        ),
      );
      await talk.compact();
      return (await talk.nodes()).map(({ summary, depth }) => ({ summary, depth }));
    };
    expect(await make()).toEqual(await make());
  });

  it("a model that hangs costs one wait", async () => {
    const model = modelThat(() => new Promise<string>(() => {}));
    const talk = await Conversation.begin({ ...SMALL, summarizer: model, summaryTimeoutMs: 20 });
    await using _store = talk.store;
    await talk.say(alternating(100, 400));
    expect(await talk.compact()).toMatchObject({ kind: "compacted", failure: { kind: "timeout" } });
    expect(model.prompts.length).toBeLessThanOrEqual(4); // calls that were already running
    await talk.expectWhole();
  });

  it("excerpts become a model's summaries at a later compaction, the ones below first", async () => {
    let isUp = false;
    const model = modelThat((prompt) => {
      if (!isUp) throw new Error("down");
      return `noted: ${prompt.includes("SUMMARIES:") ? "many" : "one"}`;
    });
    let time = 0;
    const talk = await Conversation.begin({ ...SMALL, summarizer: model, monotonicMs: () => time });
    await using _store = talk.store;
    await talk.say(alternating(36, 400));
    await talk.compact();
    const before = await talk.nodes();
    expect(before.every(({ method }) => method === "extract")).toBe(true);
    isUp = true;
    await talk.say(alternating(36, 400));
    await talk.compact(); // the model is still in its waiting time
    expect((await talk.nodes()).every(({ method }) => method === "extract")).toBe(true);
    time += 120_000;
    for (let round = 0; round < 6; round += 1) {
      await talk.say(alternating(36, 400));
      const { summary } = await talk.compact();
      expect(summary).toContain("noted: ");
    }
    const after = await talk.nodes();
    expect(after.filter(({ method }) => method === "extract")).toEqual([]);
    for (const { node_id, source_ids } of before)
      expect(after.find((node) => node.node_id === node_id)).toMatchObject({ source_ids, method: "model" });
    await talk.expectWhole();
  });

  it("the second model writes when the first one fails, and the user is told", async () => {
    const second = answering("from the second");
    const talk = await Conversation.begin({ ...SMALL, summarizer: failing(), fallbackSummarizer: second });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    const outcome = await talk.compact();
    expect(outcome).toMatchObject({ kind: "compacted", method: "model", leftOut: [] });
    expect(outcome.notices.map(({ cause }) => cause)).toContain("summary_model_failed:failed");
    expect((await talk.nodes()).every(({ summary }) => summary === "from the second")).toBe(true);
  });

  it("a user who stops it keeps the list unchanged, and nothing is stored", async () => {
    const stop = new AbortController();
    const model = modelThat(() => {
      stop.abort(new Error("enough"));
      return "too late";
    });
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    await expect(talk.engine.compress(talk.live, { signal: stop.signal })).rejects.toThrow("enough");
    await expect(talk.engine.compress(talk.live, { signal: stop.signal })).rejects.toThrow("enough");
    expect(await talk.nodes()).toEqual([]);
    expect(talk.engine.compressionCount).toBe(0);
    expect((await talk.compact()).kind).toBe("compacted");
  });

  it("of hundreds of parts at once, those beyond the first hundred wait for the next compaction", async () => {
    const model = answering("short");
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    await talk.say([...alternating(3, 100), user(100), ...alternating(700, 400)]);
    const outcome = await talk.compact();
    expect(model.prompts).toHaveLength(100);
    expect(outcome).toMatchObject({ kind: "compacted", method: "local", failure: { kind: "cooldown" } });
    await talk.expectWhole();
    const left = (await talk.nodes()).filter(({ method }) => method === "extract").length;
    await talk.say(alternating(40, 400));
    await talk.compact();
    expect((await talk.nodes()).filter(({ method }) => method === "extract").length).toBe(left - 8);
  });
});

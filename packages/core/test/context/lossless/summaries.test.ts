// The texts of parts: what models are asked, what happens when they fail, how excerpts are improved later.

import { describe, expect, it, vi } from "vitest";
import { HermesError } from "../../../src/lib/index.ts";
import { alternating, toolRounds, user } from "../../../testing/context-engine/lists.ts";
import { answering, failing, modelThat } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { Conversation, SMALL } from "./conversation.ts";

const LOCKED = new HermesError("db-locked", "Another process has the lock.", { hint: "Close it." });

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

  it("a user who wants no excerpts keeps the list", async () => {
    const talk = await Conversation.begin({ ...SMALL, summarizer: failing() });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    const outcome = await talk.compact({ confirmDigest: async () => false });
    expect(outcome).toMatchObject({
      kind: "aborted",
      reason: "summary_failed",
      failure: { kind: "failed" },
      messages: talk.live,
    });
    expect(outcome.notices.map(({ cause }) => cause)).not.toContain("summary_failed:failed");
    expect(await talk.nodes()).toEqual([]);
  });

  it.each([
    ["an error of the store", () => Promise.reject(LOCKED), "aborted", "lcm_store_failed:db-locked"],
    ["other writers, again and again", () => Promise.resolve(false), "unchanged", "lcm_conflict"],
  ])("%s keeps the list, and the user is told", async (_what, insertSummaryNodes, kind, cause) => {
    const talk = await Conversation.begin({ ...SMALL, summarizer: answering("short") });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    vi.spyOn(talk.store.summaries, "insertSummaryNodes").mockImplementation(insertSummaryNodes);
    const outcome = await talk.compact();
    expect(outcome).toMatchObject({ kind, reason: "not_stored", messages: talk.live });
    expect(outcome.notices.map((notice) => notice.cause)).toContain(cause);
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

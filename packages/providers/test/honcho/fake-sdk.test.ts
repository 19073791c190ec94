// The official client against the fake Honcho. With HONCHO_TEST_URL (and HONCHO_TEST_KEY) the contract also runs against a real server.
import { randomUUID } from "node:crypto";
import { Honcho } from "@honcho-ai/sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeHoncho } from "../fakes/servers/honcho.ts";

const KEY = "test-key";

async function startFake(): Promise<FakeHoncho> {
  const fake = await new FakeHoncho().start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  return fake;
}

type Target = { readonly url: string; readonly key: string };

function connect({ url, key }: Target, workspaceId = `test-${randomUUID()}`): Honcho {
  return new Honcho({ baseURL: url, apiKey: key, workspaceId, maxRetries: 0 });
}

/** What every Honcho 3 does, without a language model. */
function contract(targetOf: () => Promise<Target>): void {
  it("keeps messages in order, page by page, and apart from other workspaces", async () => {
    const target = await targetOf();
    const honcho = connect(target);
    const [ann, bot] = [await honcho.peer("ann"), await honcho.peer("bot")];
    const session = await honcho.session("first");
    const added = await session.addMessages([
      ann.message("I like tea"),
      bot.message("Noted"),
      ann.message("", { metadata: { row: 3 } }),
    ]);
    expect(added.map(({ content, peerId }) => [peerId, content])).toEqual([
      ["ann", "I like tea"],
      ["bot", "Noted"],
      ["ann", ""],
    ]);
    const newest = await session.messages({ reverse: true, size: 1 });
    expect(newest.items.map(({ metadata }) => metadata)).toEqual([{ row: 3 }]);
    expect(newest.total).toBe(3);
    expect((await (await session.messages({ size: 2 })).toArray()).map(({ id }) => id)).toEqual(
      added.map(({ id }) => id),
    );
    const other = await connect(target).session("first");
    await other.addMessages({ peerId: "ann", content: "elsewhere" });
    expect((await other.messages()).total).toBe(1);
  });

  it("keeps the observation flags of a session", async () => {
    const session = await connect(await targetOf()).session("flags");
    await session.addPeers([["ann", { observeMe: true, observeOthers: false }], "bot"]);
    expect(await session.getPeerConfiguration("ann")).toEqual({ observeMe: true, observeOthers: false });
    await session.setPeerConfiguration("bot", { observeMe: false, observeOthers: true });
    expect(await session.getPeerConfiguration("bot")).toEqual({ observeMe: false, observeOthers: true });
    expect((await session.peers()).map(({ id }) => id).sort()).toEqual(["ann", "bot"]);
  });

  it("keeps a card for each pair of observer and target", async () => {
    const honcho = connect(await targetOf());
    const bot = await honcho.peer("bot");
    await honcho.peer("ann");
    expect(await bot.getCard("ann")).toBeNull();
    expect(await bot.setCard(["Name: Ann"], "ann")).toEqual(["Name: Ann"]);
    expect(await bot.getCard("ann")).toEqual(["Name: Ann"]);
    expect(await bot.getCard()).toBeNull();
  });

  it("stores conclusions, lists them and deletes them once", async () => {
    const honcho = connect(await targetOf());
    const bot = await honcho.peer("bot");
    await honcho.peer("ann");
    const about = bot.conclusionsOf("ann");
    const [first] = await about.create([{ content: "likes tea" }, { content: "lives in Oslo" }]);
    expect((await about.list()).items.map(({ content }) => content).sort()).toEqual([
      "likes tea",
      "lives in Oslo",
    ]);
    expect((await bot.conclusions.list()).total).toBe(0);
    expect((await bot.context({ target: "ann" })).representation).toContain("Oslo");
    await about.delete(first?.id ?? "");
    expect((await about.list()).items.map(({ content }) => content)).toEqual(["lives in Oslo"]);
    await expect(about.delete(first?.id ?? "")).rejects.toMatchObject({ status: 404 });
  });

  it("turns an uploaded file into messages", async () => {
    const session = await connect(await targetOf()).session("files");
    const file = {
      filename: "notes.md",
      content: Buffer.from("# Notes\nlikes tea"),
      content_type: "text/plain",
    };
    const [message] = await session.uploadFile(file, "ann", { metadata: { source: "local_memory" } });
    expect(message?.content).toContain("likes tea");
    expect(message?.metadata).toMatchObject({ source: "local_memory" });
  });

  it("answers the context of a session nobody wrote to", async () => {
    const honcho = connect(await targetOf());
    const session = await honcho.session("empty");
    const context = await session.context({ summary: true, tokens: 1000 });
    expect(context.messages).toEqual([]);
    expect(context.summary).toBeNull();
  });

  it("refuses what it does not know (404) and what is too long or too much (422)", async () => {
    const honcho = connect(await targetOf());
    const session = await honcho.session("limits");
    const ann = await honcho.peer("ann");
    await expect(ann.conclusionsOf("nobody").create({ content: "x" })).rejects.toMatchObject({ status: 404 });
    await expect(ann.conclusions.create({ content: "x", sessionId: "nowhere" })).rejects.toMatchObject({
      status: 404,
    });
    const many = Array.from({ length: 101 }, (_, index) => ann.message(`m${index}`));
    await expect(session.addMessages(many)).rejects.toMatchObject({ status: 422 });
    await expect(session.addMessages(ann.message("x".repeat(25_001)))).rejects.toMatchObject({ status: 422 });
    expect((await session.messages()).total).toBe(0);
  });
}

describe("the official client with the fake", () => {
  contract(async () => ({ url: (await startFake()).url, key: KEY }));

  it("is refused with another key", async () => {
    const { url } = await startFake();
    await expect(connect({ url, key: "wrong" }).peer("ann")).rejects.toMatchObject({ status: 401 });
  });

  it("chats, whole and in pieces, and gets the summary that was set", async () => {
    const fake = await startFake();
    const honcho = connect({ url: fake.url, key: KEY }, "w");
    const bot = await honcho.peer("bot");
    expect(await bot.chat("Who?", { target: "ann" })).toBeNull();
    fake.addConclusion("w", { observer_id: "bot", observed_id: "ann", content: "likes tea" });
    expect(await bot.chat("Who?", { target: "ann" })).toBe("likes tea");
    fake.chatAnswer = ({ query, level }) => `${query} ${level}`;
    expect(await bot.chat("Who?", { reasoningLevel: "max" })).toBe("Who? max");
    let text = "";
    for await (const piece of await bot.chatStream("Who?", { reasoningLevel: "low" })) text += piece;
    expect(text).toBe("Who? low");
    fake.setSummary("w", "s", "They spoke.");
    const session = await honcho.session("s");
    expect((await session.context({ summary: true })).summary?.content).toBe("They spoke.");
    expect((await session.context({ summary: false })).summary).toBeNull();
  });

  it("finds messages and conclusions by shared words", async () => {
    const fake = await startFake();
    const honcho = connect({ url: fake.url, key: KEY }, "w");
    const session = await honcho.session("s");
    await session.addMessages([
      { peerId: "ann", content: "green tea please" },
      { peerId: "bot", content: "coffee" },
    ]);
    expect((await session.search("green tea")).map(({ content }) => content)).toEqual(["green tea please"]);
    expect(
      (await honcho.search("coffee", { filters: { session_id: "s" } })).map(({ peerId }) => peerId),
    ).toEqual(["bot"]);
    const bot = await honcho.peer("bot");
    await bot.conclusionsOf("ann").create([{ content: "likes tea" }, { content: "lives in Oslo" }]);
    expect((await bot.conclusionsOf("ann").query("Oslo")).map(({ content }) => content)).toEqual([
      "lives in Oslo",
    ]);
    expect((await bot.context({ target: "ann", searchQuery: "tea" })).representation).toBe("likes tea");
  });
});

// A real server cannot be started from npm alone: it needs PostgreSQL with pgvector and Python.
describe.skipIf(!process.env.HONCHO_TEST_URL)("the official client with a real server", () => {
  contract(async () => ({
    url: process.env.HONCHO_TEST_URL ?? "",
    key: process.env.HONCHO_TEST_KEY ?? "local",
  }));
});

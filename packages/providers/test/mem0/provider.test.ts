// Mem0 as a provider, against the fake server: recall, tools, turns, mirrored entries, users, erasing.
import { describe, expect, it } from "vitest";
import { requestsTo, SESSION, serve, start } from "./harness.ts";

const ADD = "/v3/memories/add/";
const SEARCH = "/v3/memories/search/";
const LIST = "/v3/memories/";
const NEVER = { signal: new AbortController().signal };

describe("recall", () => {
  it("is a heading and one line for each memory, asked for the user alone", async () => {
    const fake = await serve();
    fake.put({ memory: "Likes tea", user_id: "hermes-user" });
    fake.put({ memory: "Tea at five\nand at ten", user_id: "hermes-user" });
    fake.put({ memory: "Tea is for others", user_id: "someone" });
    fake.put({ memory: "", user_id: "hermes-user" });
    const { provider } = start(fake);
    await provider.queuePrefetch?.("tea", SESSION);
    expect(await provider.prefetch?.("anything", SESSION)).toBe(
      "## Mem0 Memory\n- Likes tea\n- Tea at five\n  and at ten",
    );
    expect(provider.recallStatus?.()).toMatchObject({ provider_label: "Mem0", count: 2 });
    expect(requestsTo(fake, SEARCH)).toEqual([
      {
        method: "POST",
        query: {},
        body: { query: "tea", filters: { user_id: "hermes-user" }, top_k: 5, rerank: true },
      },
    ]);
  });

  it("includes what the assistant said with read_scope user_or_agent, for a gateway's user only their own", async () => {
    const fake = await serve();
    const settings = { read_scope: "user_or_agent" };
    const owner = start(fake, { settings });
    const ann = start(fake, { settings, platform: "telegram", user_id: "42" });
    for (const [{ provider }, tea] of [
      [owner, "green"],
      [ann, "black"],
    ] as const) {
      await provider.syncTurn?.(`I drink ${tea} tea`, `Tea that is ${tea} keeps you awake`, SESSION);
      await provider.onSessionEnd?.([], {});
    }
    expect(await owner.provider.prefetch?.("tea", SESSION)).toBe(
      "## Mem0 Memory\n- I drink green tea\n- Tea that is green keeps you awake",
    );
    expect(await ann.provider.prefetch?.("tea", SESSION)).toBe(
      "## Mem0 Memory\n- I drink black tea\n- Tea that is black keeps you awake",
    );
    const byId = start(fake, { settings: { ...settings, user_scope: "id" } });
    expect(await byId.provider.prefetch?.("tea", SESSION)).toBe("## Mem0 Memory\n- I drink green tea");
  });
});

describe("tools", () => {
  it("search by meaning and return texts and scores alone", async () => {
    const fake = await serve();
    fake.put({ memory: "Likes green tea", user_id: "hermes-user", metadata: { secret: "x" } });
    const { call } = start(fake);
    expect(await call("mem0_search", { query: "green tea", rerank: "true" })).toEqual({
      results: [{ memory: "Likes green tea", score: 1 }],
      count: 1,
    });
    expect(requestsTo(fake, SEARCH)[0]?.body).toEqual({
      query: "green tea",
      filters: { user_id: "hermes-user" },
      top_k: 10,
      rerank: true,
    });
    fake.replyNext(1, { status: 200, body: { results: [{ memory: "No score" }] } });
    expect(await call("mem0_search", { query: "x" })).toEqual({
      results: [{ memory: "No score", score: 0 }],
      count: 1,
    });
  });

  it("show the whole profile, over several pages, up to 1,000 memories", async () => {
    const fake = await serve();
    for (let each = 1; each <= 150; each += 1) fake.put({ memory: `fact ${each}`, user_id: "hermes-user" });
    const { call } = start(fake);
    const profile = await call("mem0_profile");
    expect(profile).toEqual({
      result: Array.from({ length: 150 }, (_, index) => `fact ${index + 1}`).join("\n"),
      count: 150,
    });
    expect(requestsTo(fake, LIST).map(({ query, body }) => ({ query, body }))).toEqual(
      ["1", "2"].map((page) => ({
        query: { page, page_size: "100" },
        body: { filters: { user_id: "hermes-user" } },
      })),
    );
    for (let each = 151; each <= 1_001; each += 1)
      fake.put({ memory: `fact ${each}`, user_id: "hermes-user" });
    expect(await call("mem0_profile")).toMatchObject({ count: 1_000, truncated: true });
  });

  it("store a conclusion word for word with both ids, and say when it is only queued or has failed", async () => {
    const fake = await serve();
    const { call } = start(fake);
    expect(await call("mem0_conclude", { conclusion: " Prefers tea " })).toEqual({ result: "Fact stored." });
    expect(requestsTo(fake, ADD)[0]?.body).toEqual({
      messages: [{ role: "user", content: "Prefers tea" }],
      user_id: "hermes-user",
      agent_id: "hermes",
      infer: false,
    });
    fake.settleByHand = true;
    fake.hasEvents = false;
    expect(await call("mem0_conclude", { conclusion: "Prefers milk" })).toMatchObject({
      result: expect.stringContaining("queued"),
      status: "PENDING",
    });
    fake.hasEvents = true;
    const waiting = call("mem0_conclude", { conclusion: "Prefers water" });
    await expect.poll(() => requestsTo(fake, ADD).length).toBe(3);
    fake.settle();
    expect(await waiting).toEqual({ result: "Fact stored." });
    const failing = call("mem0_conclude", { conclusion: "Prefers sand" });
    await expect.poll(() => requestsTo(fake, ADD).length).toBe(4);
    fake.settle("FAILED");
    expect(await failing).toEqual({ error: expect.stringMatching(/^Failed to store: .*could not store it/) });
  });
});

describe("writes", () => {
  it("of a turn carry both ids and the id of their batch; fences and NUL are left out, long texts cut", async () => {
    const fake = await serve();
    const { provider } = start(fake);
    expect(fake.requests).toEqual([]); // no ping
    const assistant = "n".repeat(100_001);
    const user = "<memory-context>\nold recall\n</memory-context>\nI like\0 tea";
    await provider.syncTurn?.(user, assistant, SESSION);
    await provider.syncTurn?.("Only I spoke", "", SESSION);
    await provider.onSessionEnd?.([], {});
    const [first, second] = requestsTo(fake, ADD).map(({ body }) => body as Record<string, unknown>);
    expect(first).toEqual({
      messages: [
        { role: "user", content: "I like tea" },
        { role: "assistant", content: "n".repeat(100_000) },
      ],
      user_id: "hermes-user",
      agent_id: "hermes",
      metadata: { hermes_batch: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    expect(second?.messages).toEqual([{ role: "user", content: "Only I spoke" }]);
    expect(second?.metadata).not.toEqual(first?.metadata);
  });

  it("of curated entries are mirrored word for word, replaced and removed, per target", async () => {
    const fake = await serve();
    const { provider } = start(fake);
    const texts = () => fake.memories("hermes-user").map(({ memory }) => memory);
    expect(await provider.onMemoryWrite?.("add", "user", "Likes tea", {})).toEqual({ stored: true });
    await provider.onMemoryWrite?.("add", "memory", "Likes tea", {});
    await provider.onMemoryWrite?.("add", "memory", "Likes tea and milk", {});
    expect(fake.memories("hermes-user")[0]).toMatchObject({
      agent_id: "hermes",
      metadata: { source: "builtin_memory", target: "user" },
    });
    fake.put({ memory: "Likes tea", user_id: "hermes-user" }); // not mirrored: stays
    await provider.onMemoryWrite?.("remove", "memory", "", { old_text: "Likes tea" });
    expect(texts()).toEqual(["Likes tea", "Likes tea and milk", "Likes tea"]);
    await provider.onMemoryWrite?.("replace", "memory", "Likes tea, not milk", {
      old_text: "Likes tea and milk",
    });
    expect(texts()).toEqual(["Likes tea", "Likes tea", "Likes tea, not milk"]);
    await provider.onMemoryWrite?.("remove", "memory", "", { old_text: "Likes tea" });
    expect(texts()).toEqual(["Likes tea", "Likes tea", "Likes tea, not milk"]); // it is only part of the last one
    expect(await provider.onMemoryWrite?.("remove", "user", "", { old_text: "never there" })).toEqual({
      stored: true,
    });
  });

  it("of a user of a gateway go to ids of their own", async () => {
    const fake = await serve();
    const { provider, call } = start(fake, { platform: "telegram", user_id: "42" });
    await call("mem0_conclude", { conclusion: "Likes tea" });
    const ids = { user_id: "hermes-user:telegram:42", agent_id: "hermes:telegram:42" };
    expect(fake.table.all()).toMatchObject([{ memory: "Likes tea", ...ids }]);
    expect(provider.systemPromptBlock?.({})).toContain("hermes-user:telegram:42");
    const python = start(fake, { platform: "telegram", user_id: "42", settings: { user_scope: "id" } });
    await python.call("mem0_profile");
    expect(requestsTo(fake, LIST)[0]?.body).toEqual({ filters: { user_id: "42" } });
    const shared = start(fake, { platform: "telegram", user_id: "42", settings: { user_scope: "shared" } });
    await shared.call("mem0_profile");
    expect(requestsTo(fake, LIST)[1]?.body).toEqual({ filters: { user_id: "hermes-user" } });
  });
});

describe("erasing", () => {
  it("a text looks through all pages and the agent's facts, with case", async () => {
    const fake = await serve();
    for (let each = 0; each < 420; each += 1) fake.put({ memory: `fact ${each}`, user_id: "hermes-user" });
    fake.put({ memory: "The code is 4711", user_id: "hermes-user" });
    fake.put({ memory: "I noted the code 4711", agent_id: "hermes" });
    fake.put({ memory: "The CODE is 0", user_id: "hermes-user" });
    fake.put({ memory: "Their code is 4711", user_id: "other", agent_id: "hermes" });
    const { provider } = start(fake);
    expect(await provider.forget?.("code", { ...NEVER, dry_run: true })).toEqual({ erased: 2 });
    expect(fake.table.all()).toHaveLength(424);
    expect(await provider.forget?.("code", NEVER)).toEqual({ erased: 2 });
    const left = fake.table.all().map(({ memory }) => memory);
    expect(left.filter((memory) => /code/i.test(memory))).toEqual(["The CODE is 0", "Their code is 4711"]);
  });

  it("a user takes what was said by them and to them, and nothing of others", async () => {
    const fake = await serve();
    const ann = start(fake, { platform: "telegram", user_id: "42" });
    const owner = start(fake);
    for (const { provider } of [ann, owner]) {
      await provider.syncTurn?.("I like tea", "Tea is noted", SESSION);
      await provider.onSessionEnd?.([], {});
    }
    fake.put({ memory: "Of a user of the Python edition", user_id: "42", agent_id: "hermes" });
    expect(await ann.provider.eraseUser?.({ dry_run: true })).toEqual({ erased: 2 });
    expect(await ann.provider.eraseUser?.({})).toEqual({ erased: 2 });
    expect(fake.table.all()).toHaveLength(3);
    expect(await owner.provider.eraseUser?.({})).toEqual({ erased: 2 });
    expect(fake.table.all().map(({ memory }) => memory)).toEqual(["Of a user of the Python edition"]);
  });

  it("leaves the agent's facts where users share the agent, and says so", async () => {
    const fake = await serve();
    const { provider } = start(fake, { platform: "telegram", user_id: "42", settings: { user_scope: "id" } });
    await provider.syncTurn?.("I like tea", "Tea is noted", SESSION);
    await provider.onSessionEnd?.([], {});
    const report = await provider.eraseUser?.({});
    expect(report?.erased).toBe(1);
    expect(report?.remaining).toMatch(/belong to the agent 'hermes'/);
    expect(fake.table.all().map(({ memory }) => memory)).toEqual(["Tea is noted"]);
  });

  it("a user empties a self-hosted server that lists 1,000 memories at most", async () => {
    const fake = await serve("oss");
    for (let each = 0; each < 1_100; each += 1) fake.put({ memory: `fact ${each}`, user_id: "hermes-user" });
    fake.put({ memory: "theirs", user_id: "other" });
    const { provider } = start(fake);
    expect((await provider.eraseUser?.({ dry_run: true }))?.remaining).toMatch(/more memories/);
    expect(await provider.eraseUser?.({})).toEqual({ erased: 1_100 });
    expect(fake.table.all()).toHaveLength(1);
  });

  it.each([[{ x: 1 }], [[]]])("fails when a deletion is answered with %j", async (body) => {
    const fake = await serve();
    fake.put({ memory: "the code", user_id: "hermes-user" });
    const { provider } = start(fake);
    const isDeletion = ({ method }: { readonly method: string }) => method === "DELETE";
    for (const erase of [() => provider.forget?.("code", NEVER), () => provider.eraseUser?.(NEVER)]) {
      const before = fake.requests.filter(isDeletion).length;
      fake.delayNext(0); // the list
      fake.replyNext(1, { status: 200, body });
      expect(await erase()).toMatchObject({ remaining: expect.stringMatching(/not one that Mem0 gives/) });
      expect(fake.requests.filter(isDeletion)).toHaveLength(before + 1);
      fake.recover();
    }
  });

  it("leaves the owner's memory alone for a user who is called like the owner", async () => {
    const fake = await serve();
    fake.put({ memory: "the owner's code", user_id: "hermes-user" });
    const settings = { user_scope: "id" };
    const { provider, call } = start(fake, { settings, platform: "web", user_id: "hermes-user" });
    expect(await call("mem0_search", { query: "code" })).toEqual({ result: "No relevant memories found." });
    expect(await provider.eraseUser?.(NEVER)).toMatchObject({ erased: 0 });
    expect(fake.memories("hermes-user")).toHaveLength(1);
  });
});

describe("checks", () => {
  it("ask the platform for the key, and a self-hosted server for a list", async () => {
    const fake = await serve();
    const { signal } = NEVER;
    expect(await start(fake).provider.checkConnection?.(signal)).toBe(
      `${fake.url} accepts the key (project proj_1)`,
    );
    expect(fake.requests.map(({ path }) => path)).toEqual(["/v1/ping/"]);
    fake.requireAuth("another-key");
    await expect(start(fake).provider.checkConnection?.(signal)).rejects.toThrow(/token not valid/);
    const own = await serve("oss");
    expect(await start(own).provider.checkConnection?.(signal)).toBe(`${own.url} answers`);
  });
});

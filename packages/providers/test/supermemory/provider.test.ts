// Supermemory through its hooks and tools, against the fake server.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import type { OpenAiMessage } from "../../../core/src/message/index.ts";
import {
  type InitializeOptions,
  MemoryManager,
  type MemoryProvider,
} from "../../../core/src/providers/index.ts";
import { ToolTable } from "../../../core/src/tools/index.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readVectors } from "../../../core/test/golden/vectors.ts";
import { readOutbox } from "../../src/kit/outbox/commands.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";
import { KEY, providerFor } from "./harness.ts";

const SNAKE = ["supermemory_store", "supermemory_search", "supermemory_forget", "supermemory_profile"];
const KEBAB = ["supermemory-save", "supermemory-search", "supermemory-forget", "supermemory-profile"];
const SESSION = { session_id: "sess-1" };
const SWITCH = { parent_session_id: "sess-1", reset: false } as const;

let fake: FakeSupermemory;
beforeEach(async () => {
  fake = await new FakeSupermemory().start();
  fake.requireAuth(KEY);
});
afterEach(() => fake.stop());

type Setup = {
  readonly home?: string;
  readonly file?: object;
  readonly env?: Record<string, string>;
  readonly options?: Partial<InitializeOptions>;
};

/** With the container `hermes`, as a home without settings has it. */
async function start({
  home = tempDirectory(),
  file,
  env = {},
  options,
}: Setup = {}): Promise<MemoryProvider> {
  if (file !== undefined) writeFileSync(join(home, "supermemory.json"), JSON.stringify(file));
  const provider = providerFor(fake, home, { env: { SUPERMEMORY_CONTAINER_TAG: "", ...env } });
  onTestFinished(async () => provider.shutdown?.({}));
  await provider.initialize("sess-1", {
    hermes_home: home,
    platform: "cli",
    agent_context: "primary",
    ...options,
  });
  return provider;
}

const sync = async (provider: MemoryProvider, ...texts: readonly string[]) => {
  for (const text of texts) await provider.syncTurn?.(text, `Noted: ${text}`, SESSION);
};
const call = async (provider: MemoryProvider, tool: string, args: object) =>
  JSON.parse((await provider.handleToolCall?.(tool, { ...args }, {})) ?? "");
const posts = (path: string) =>
  fake.requests.filter((request) => request.path === path).map(({ body }) => body);
const conversations = () =>
  posts("/v4/conversations") as { conversationId: string; messages: object[]; metadata: object }[];
const said = (id = "sess-1", tag = "hermes") =>
  (fake.conversation(tag, id)?.messages ?? [])
    .filter(({ role }) => role === "user")
    .map(({ content }) => content);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `Turn ${index + 1}`);

// ---- The wire ----

type Line = {
  readonly id: string;
  readonly request: { method: string; path: string; query: object; body: unknown } | null;
};
const recorded = new Map(
  readVectors<Line>("wires/supermemory.jsonl")?.map((line) => [line.id, line.request]),
);

describe.skipIf(recorded.size === 0)("sends what the official client sends", () => {
  const expectLast = (
    id: string,
    change: (body: Record<string, unknown>) => unknown = (body) => body,
  ): void => {
    const request = recorded.get(`supermemory-${id}`);
    const { method, path, query, body } =
      fake.requests.findLast((each) => !each.path.startsWith("/v3/container-tags/") || id === "076") ?? {};
    expect({ method, path, query, body: body ?? null }).toEqual({
      method: request?.method,
      path: request?.path,
      query: request?.query,
      body: request?.body === null ? null : change(request?.body as Record<string, unknown>),
    });
  };

  it("for a document, a search, a profile and forgetting", async () => {
    const provider = await start({ file: { entity_context: "short context" } });
    const { id } = await call(provider, "supermemory_store", { content: "I like tea" });
    const customId = fake.documents("hermes")[0]?.customId;
    expectLast("002", (body) => ({ ...body, customId })); // ours is derived from the text
    await call(provider, "supermemory_search", { query: "tea" });
    expectLast("014");
    await call(provider, "supermemory_profile", {});
    expectLast("020");
    await call(provider, "supermemory_profile", { query: "tea" });
    expectLast("069");
    const memory = fake.memories("hermes")[0]?.id;
    await call(provider, "supermemory_forget", { id: memory });
    expectLast("083", (body) => ({ ...body, id: memory }));
    await call(provider, "supermemory_forget", { id });
    expectLast("010");
    expect(fake.requests.at(-2)).toMatchObject({ method: "GET", path: "/v3/documents/doc_1" });
  });

  it("for a conversation, and with the key and the source in every request", async () => {
    const provider = await start();
    await provider.syncTurn?.("I like tea", "Noted.", SESSION);
    await provider.onSessionEnd?.([], {});
    expectLast("025");
    for (const { headers } of fake.requests)
      expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-sm-source": "hermes" });
  });

  it("for erasing", async () => {
    const provider = await start();
    await provider.eraseUser?.({});
    expect(fake.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /v3/documents/list",
      "GET /v3/container-tags/hermes",
      "DELETE /v3/container-tags/hermes",
    ]);
    expectLast("076");
  });
});

it("keeps the path of the base URL", async () => {
  const provider = await start({ env: { SUPERMEMORY_BASE_URL: `${fake.url}/sm/` } });
  await call(provider, "supermemory_profile", {});
  expect(fake.requests.at(-1)?.path).toBe("/sm/v4/profile");
});

// ---- Conversations ----

describe("a conversation", () => {
  it("is sent every few turns and at its end, and is whole each time", async () => {
    const provider = await start({ file: { capture_turns: 3 } });
    for (const [index, text] of numbered(7).entries()) {
      await sync(provider, text);
      await expect.poll(() => conversations().length).toBe(Math.floor((index + 1) / 3));
    }
    await provider.onSessionEnd?.([], {});
    expect(said()).toEqual(numbered(7));
    expect(conversations().map(({ messages }) => messages.length)).toEqual([6, 12, 14]);
    expect(conversations().map(({ metadata }) => metadata)).toMatchObject([
      { partial: true, message_count: 6 },
      { partial: true, message_count: 12 },
      { message_count: 14, type: "full_session", session_id: "sess-1", sm_source: "hermes" },
    ]);
    expect(conversations().at(-1)?.metadata).not.toHaveProperty("partial");
  });

  it("goes on in the next process from where the last one was", async () => {
    const home = tempDirectory();
    const first = await start({ home });
    await sync(first, "Turn 1", "Turn 2");
    await first.shutdown?.({});
    expect(conversations().at(-1)?.metadata).toMatchObject({ partial: true });
    const second = await start({ home });
    await sync(second, "Turn 3");
    await second.shutdown?.({});
    expect(said()).toEqual(numbered(3));
    expect(fake.store.conversations()).toHaveLength(1);
  });

  it("longer than 100 messages has parts", async () => {
    const provider = await start();
    await sync(provider, ...numbered(120));
    await provider.onSessionEnd?.([], {});
    expect(["sess-1", "sess-1-2", "sess-1-3"].flatMap((id) => said(id))).toEqual(numbered(120));
    for (const { messages } of conversations()) expect(messages.length).toBeLessThanOrEqual(100);
  });

  it("arrives once although the first answer was lost", async () => {
    const home = tempDirectory();
    const first = await start({ home });
    await sync(first, "Turn 1", "Turn 2");
    fake.dropAnswerNext();
    await first.onSessionEnd?.([], {});
    await first.shutdown?.({});
    const second = await start({ home });
    await second.onSessionEnd?.([], {});
    await second.shutdown?.({});
    expect(said()).toEqual(numbered(2));
    expect(fake.conversation("hermes", "sess-1")?.posts).toBeGreaterThan(1);
  });

  it("waits for a server that is down, and arrives in its order", async () => {
    const home = tempDirectory();
    const first = await start({ home });
    await fake.stop();
    await sync(first, ...numbered(12));
    await first.shutdown?.({});
    await fake.restart();
    const second = await start({ home });
    await sync(second, "Turn 13");
    await second.onSessionEnd?.([], {});
    await expect.poll(() => said()).toEqual(numbered(13));
  });

  it("is a document where the server has no conversations", async () => {
    fake.hasConversations = false;
    const provider = await start({ file: { capture_turns: 1 } });
    await sync(provider, "Turn 1", "Turn 2");
    await provider.onSessionEnd?.([], {});
    const [document, ...others] = fake.documents("hermes");
    expect(others).toEqual([]);
    expect(document).toMatchObject({ customId: "sess-1", metadata: { type: "full_session" } });
    expect(document?.content).toContain("user: Turn 1\n\nassistant: Noted: Turn 1\n\nuser: Turn 2");
    expect(posts("/v4/conversations")).toHaveLength(1); // not asked for again
  });

  it("has cleaned texts, and nothing of a turn that was empty", async () => {
    const provider = await start();
    await provider.syncTurn?.(
      "<supermemory-context>\n- old memory\n</supermemory-context>\nI like tea",
      "<memory-context>older</memory-context> Noted.",
      SESSION,
    );
    await provider.syncTurn?.("<supermemory-context>x</supermemory-context>", " ", SESSION);
    await provider.onSessionEnd?.([], {});
    expect(conversations().map(({ messages }) => messages)).toEqual([
      [
        { role: "user", content: "I like tea" },
        { role: "assistant", content: "Noted." },
      ],
    ]);
  });

  it("that has ended is not sent again by a shutdown or a switch", async () => {
    const provider = await start();
    await sync(provider, "Turn 1");
    await provider.onSessionEnd?.([], {});
    await provider.onSessionEnd?.([], {});
    await provider.onSessionSwitch?.("sess-2", { ...SWITCH, reset: true });
    await provider.shutdown?.({});
    expect(conversations()).toHaveLength(1);
  });

  it.each([true, false])("is sent at a switch of the session (reset: %s)", async (reset) => {
    const provider = await start();
    await sync(provider, "Turn 1");
    await provider.onSessionSwitch?.("sess-2", { ...SWITCH, reset });
    await provider.syncTurn?.("Turn of the next", "Noted.", { session_id: "sess-2" });
    await provider.shutdown?.({});
    expect(said()).toEqual(["Turn 1"]);
    expect(said("sess-2")).toEqual(["Turn of the next"]);
    expect(conversations()[0]?.metadata).toMatchObject({ partial: !reset, message_count: 2 });
  });

  it("loses a turn that is undone before it was sent; an unfinished one takes back nothing", async () => {
    const provider = await start();
    const undo = () => provider.onSessionSwitch?.("sess-1", { ...SWITCH, rewound: true });
    await sync(provider, "Turn 1", "Turn 2", "Turn 3");
    await undo();
    await provider.onTurnStart?.(3, "interrupted", {});
    await undo();
    expect(conversations()).toEqual([]);
    await provider.onSessionEnd?.([], {});
    expect(said()).toEqual(["Turn 1", "Turn 2"]);
    await undo();
    expect(said()).toEqual(["Turn 1", "Turn 2"]);
  });

  it("waits for a correct address while the server has no such calls", async () => {
    const home = tempDirectory();
    const provider = await start({ home, file: { capture_turns: 1 } });
    fake.fail(404, { error: "Not Found" });
    await sync(provider, "Turn 1");
    await expect.poll(() => readOutbox(home)[0]?.state.blocked).toContain("base URL");
    await expect.poll(() => fake.requests.length).toBeGreaterThan(8);
    expect(readOutbox(home)[0]?.state.dead).toBe(0);
    fake.recover();
    await expect.poll(() => fake.documents("hermes")).toHaveLength(1);
  });

  it("of a caller that has only its messages is sent once, users and assistants alone", async () => {
    const provider = await start();
    const messages: readonly OpenAiMessage[] = [
      { role: "system", content: "You are an agent." },
      { role: "user", content: "Which glaze do we use for the bowls?" },
      { role: "tool", content: "file contents", tool_call_id: "c1" },
      { role: "assistant", content: [{ type: "text", text: "Celadon." }] },
    ];
    await provider.onSessionEnd?.(messages, {});
    await provider.onSessionEnd?.(messages, {});
    expect(conversations().map((post) => post.messages)).toEqual([
      [
        { role: "user", content: "Which glaze do we use for the bowls?" },
        { role: "assistant", content: "Celadon." },
      ],
    ]);
    await provider.onSessionSwitch?.("sess-2", SWITCH);
    await provider.onSessionEnd?.([{ role: "user", content: "short" }], {});
    expect(conversations()).toHaveLength(1);
  });

  it("does not hold a turn that was started and never finished", async () => {
    const provider = await start();
    await provider.onTurnStart?.(1, "A plan for the obsidian gate", {});
    await provider.onSessionEnd?.([{ role: "user", content: "A plan for the obsidian gate, in detail" }], {});
    expect(conversations()).toEqual([]);
  });

  it("is not kept on disk without an outbox, and does not overwrite what an earlier process sent", async () => {
    const home = tempDirectory();
    for (const text of ["Turn 1", "Turn 2"]) {
      const provider = await start({ home, options: { outbox: false } });
      await sync(provider, text);
      await provider.shutdown?.({});
    }
    const texts = fake.store
      .conversations()
      .flatMap(({ messages }) => messages.map(({ content }) => content));
    expect(texts).toEqual(["Turn 1", "Noted: Turn 1", "Turn 2", "Noted: Turn 2"]);
    expect((await start({ home })).backupPaths?.(home)).not.toContain(join(home, "supermemory.db"));
  });
});

describe("the entity context", () => {
  const contextOf = () =>
    fake.store.containers().find(({ containerTag }) => containerTag === "hermes")?.entityContext;

  it("is given to a container that has none, once", async () => {
    const provider = await start({ file: { capture_turns: 1 } });
    await sync(provider, "Turn 1", "Turn 2");
    await expect.poll(contextOf).toContain("conversation between a user and an assistant");
    await provider.onSessionEnd?.([], {});
    expect(fake.requests.filter(({ method }) => method === "PATCH")).toHaveLength(1);
    expect(JSON.stringify(conversations())).not.toContain("entityContext");
  });

  it.each([
    [{}, "of the console"],
    [{ entity_context: "only glazes" }, "only glazes"],
  ])("of the console stays, unless %j", async (file, expected) => {
    fake.store.changeContainer("hermes", { entityContext: "of the console" });
    const provider = await start({ file: { ...file, capture_turns: 1 } });
    await sync(provider, "Turn 1");
    await expect
      .poll(() =>
        fake.requests.some(({ method, path }) => method === "GET" && path.includes("container-tags")),
      )
      .toBe(true);
    for (let trip = 0; trip < 3; trip += 1) await provider.checkConnection?.(AbortSignal.timeout(5_000));
    expect(contextOf()).toBe(expected);
  });
});

describe("auto_capture: false", () => {
  it("sends no conversation, whichever hook is called", async () => {
    const provider = await start({ file: { auto_capture: "false" } });
    await sync(provider, ...numbered(12));
    await provider.onSessionEnd?.(
      [{ role: "user", content: "A message that is long enough to be sent" }],
      {},
    );
    await provider.onSessionSwitch?.("sess-2", { ...SWITCH, reset: true });
    await provider.shutdown?.({});
    expect(fake.requests).toEqual([]);
  });

  it("also discards turns that were waiting", async () => {
    const home = tempDirectory();
    const first = await start({ home });
    await fake.stop();
    await sync(first, "Turn 1");
    await first.shutdown?.({});
    await fake.restart();
    const second = await start({ home, file: { auto_capture: false } });
    await second.onMemoryWrite?.("add", "user", "Likes tea", {});
    await second.shutdown?.({});
    expect(conversations()).toEqual([]);
    expect(fake.memories("hermes").map(({ memory }) => memory)).toEqual(["Likes tea"]);
  });
});

it.each([{ agent_context: "subagent" as const }, { platform: "cron" }])(
  "writes nothing and reads for %j",
  async (options) => {
    fake.setProfile("hermes", { static: ["Name is Ann"] });
    const provider = await start({ options });
    await sync(provider, ...numbered(12));
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    await provider.onSessionEnd?.(
      [{ role: "user", content: "A message that is long enough to be sent" }],
      {},
    );
    expect((await call(provider, "supermemory_store", { content: "x" })).error).toContain("stores nothing");
    expect(await provider.prefetch?.("who am I?", SESSION)).toContain("Name is Ann");
    expect(fake.requests.map(({ path }) => path)).toEqual(["/v4/profile"]);
  },
);

// ---- Recall ----

describe("recall", () => {
  it("has the profile in turn 1, not in turn 2, and again in every multiple", async () => {
    fake.setProfile("hermes", { static: ["Name is Ann"], dynamic: ["Plans a trip"] });
    const provider = await start({ file: { profile_frequency: 3 } });
    await call(provider, "supermemory_store", { content: "Green tea is in the kitchen" });
    const shown: string[] = [];
    for (const turn of [1, 2, 3, 4]) {
      await provider.onTurnStart?.(turn, "green tea kitchen", {});
      shown.push((await provider.prefetch?.("green tea kitchen", SESSION)) ?? "");
      await provider.queuePrefetch?.("green tea kitchen", SESSION);
    }
    expect(shown.map((text) => text.includes("Name is Ann"))).toEqual([true, false, true, false]);
    for (const text of shown) expect(text).toContain("[100%] Green tea is in the kitchen");
    expect(provider.recallStatus?.()).toMatchObject({ provider_label: "Supermemory", count: 1 });
  });

  it("is for the message of the turn; what was prepared is used when the server does not answer", async () => {
    const provider = await start();
    for (const content of ["The cat is called Miso", "The bicycle is red"])
      await call(provider, "supermemory_store", { content });
    await provider.onTurnStart?.(2, "cat called", {});
    await provider.queuePrefetch?.("cat called", SESSION);
    await expect.poll(() => posts("/v4/profile").length).toBe(1);
    await provider.onTurnStart?.(3, "bicycle red", {});
    expect(await provider.prefetch?.("bicycle red", SESSION)).toContain("The bicycle is red");
    await provider.queuePrefetch?.("cat called", SESSION);
    await expect.poll(() => posts("/v4/profile").length).toBe(3);
    await expect.poll(() => provider.prefetch?.("", SESSION)).toBe(""); // lets the answer arrive
    fake.fail(422, { error: "broken" });
    await provider.onTurnStart?.(4, "bicycle red", {});
    expect(await provider.prefetch?.("bicycle red", SESSION)).toContain("The cat is called Miso");
  });

  it("asks with the first 200 characters, and not at all with auto_recall: false", async () => {
    const provider = await start();
    await provider.prefetch?.("窯".repeat(500), SESSION);
    expect(posts("/v4/profile")).toEqual([{ containerTag: "hermes", q: "窯".repeat(200) }]);
    const silent = await start({ file: { auto_recall: false } });
    expect(await silent.prefetch?.("tea", SESSION)).toBe("");
    expect(posts("/v4/profile")).toHaveLength(1);
  });
});

// ---- Tools ----

describe("tools", () => {
  it("have two names each, snake case first, if both are wanted", async () => {
    const provider = await start({ file: { tool_names: "both" } });
    const names = ((await provider.getToolSchemas?.()) ?? []).map(({ name }) => name);
    expect(names).toEqual([...SNAKE, ...KEBAB]);
    expect(await call(provider, "supermemory-save", { content: "I like tea" })).toMatchObject({
      saved: true,
    });
    expect(await call(provider, "supermemory_search", { query: "tea" })).toMatchObject({ count: 2 });
  });

  it.each([
    [{}, SNAKE],
    [{ tool_names: "kebab" }, KEBAB],
  ])(
    "have one name each with %j, which the manager takes without a warning, also in the other spelling",
    async (file, names) => {
      const home = tempDirectory();
      writeFileSync(join(home, "supermemory.json"), JSON.stringify(file));
      const warnings: string[] = [];
      const log = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
      const manager = new MemoryManager({ home, log });
      manager.addProvider(providerFor(fake, home));
      onTestFinished(async () => manager.shutdownAll());
      await manager.initializeAll("sess-1", { platform: "cli", agent_context: "primary" });
      expect(manager.tools().map(({ name }) => name)).toEqual(names);
      expect(warnings).toEqual([]);
      const table = new ToolTable(manager.tools());
      for (const name of ["supermemory_search", "supermemory-search"])
        expect(table.resolveName(name)).toBe(names[1]);
    },
  );

  it("store with a guessed type and without nested metadata; the same text twice is one document", async () => {
    const provider = await start();
    const content = `I prefer ${"green ".repeat(20)}tea`;
    const args = { content, metadata: { nested: { a: 1 }, source: "x" } };
    expect(await call(provider, "supermemory_store", args)).toEqual({
      saved: true,
      id: "doc_1",
      preview: `${content.slice(0, 80)}...`,
    });
    await call(provider, "supermemory_store", args);
    expect(fake.documents("hermes").map(({ metadata }) => metadata)).toEqual([
      { type: "preference", nested: '{"a":1}', sm_source: "hermes" },
    ]);
  });

  it("send no NUL, half characters or recalled blocks", async () => {
    const provider = await start();
    const content = "Tea\0 \ud800 <supermemory-context>old</supermemory-context>is green";
    await call(provider, "supermemory_store", { content });
    expect(fake.documents("hermes")[0]?.content).toBe("Tea \ufffd is green");
    await sync(provider, "Turn\0 1");
    await provider.onSessionEnd?.([], {});
    expect(said()).toEqual(["Turn 1"]);
  });

  it("search with a percentage and a clamped limit", async () => {
    const provider = await start();
    await call(provider, "supermemory_store", { content: "Green tea is in the kitchen" });
    const { results, count } = await call(provider, "supermemory_search", {
      query: "green tea box",
      limit: 99,
    });
    expect(results[0]).toEqual({ id: "mem_3", content: "Green tea is in the kitchen", similarity: 67 });
    expect(count).toBe(2); // the memory, and the piece of the document
    for (const limit of [0, "7", "many"]) await call(provider, "supermemory_search", { query: "tea", limit });
    expect(posts("/v4/search").map((body) => (body as { limit: number }).limit)).toEqual([20, 1, 7, 5]);
  });

  it("cut long texts, each and together, and say so", async () => {
    const provider = await start();
    for (let each = 0; each < 30; each += 1) {
      const memory = `kiln ${each} ${"🌵".repeat(9_000)}`;
      fake.store.addMemory({ memory, containerTag: "hermes", documentId: "d" });
    }
    const facts = Array.from({ length: 90 }, (_, each) => `${each} ${"y".repeat(1_900)}`);
    fake.setProfile("hermes", { static: facts, dynamic: [] });
    for (const [name, args] of [
      ["supermemory_search", { query: "kiln", limit: 20 }],
      ["supermemory_profile", {}],
    ] as const) {
      const answer = await call(provider, name, args);
      expect(answer).toMatchObject({ truncated: true });
      expect(JSON.stringify(answer).length).toBeLessThan(61_000);
    }
  });

  it("forget by id, by query, and not when nothing is similar", async () => {
    const provider = await start();
    for (const content of ["Green tea is in the kitchen", "The crane is blue", "The kiln is hot"])
      await call(provider, "supermemory_store", { content });
    const [memory] = fake.memories("hermes");
    expect(await call(provider, "supermemory_forget", { id: memory?.id })).toEqual({
      forgotten: true,
      id: memory?.id,
    });
    const byQuery = await call(provider, "supermemory_forget", { query: "crane blue" });
    expect(byQuery).toMatchObject({ success: true, message: 'Forgot: "The crane is blue"' });
    expect(await call(provider, "supermemory_forget", { query: "obsidian" })).toEqual({
      success: false,
      message: "No matching memory found to forget.",
    });
    fake.defaultThreshold = 0;
    const unsure = await call(provider, "supermemory_forget", { query: "kiln in some far away yard" });
    expect(unsure).toMatchObject({ success: false, candidates: [{ content: "The kiln is hot" }] });
    expect(fake.memories("hermes").map(({ memory: text }) => text)).toEqual(["The kiln is hot"]);
    expect((await call(provider, "supermemory_forget", { id: "mem_999" })).error).toContain(
      "no memory with this id",
    );
  });

  it("cannot forget a document of another container by its id", async () => {
    const home = tempDirectory();
    const owner = await start({ home });
    const { id } = await call(owner, "supermemory_store", { content: "The crane is blue" });
    const user = await start({ home, options: { platform: "telegram", user_id: "42" } });
    expect((await call(user, "supermemory_forget", { id })).error).toContain("no memory with this id");
    expect(fake.documents("hermes")).toHaveLength(1);
  });

  it("refuse what is missing, and say when there is no key", async () => {
    const provider = await start();
    expect(await call(provider, "supermemory_store", { content: " " })).toEqual({
      error: "content is required",
    });
    expect(await call(provider, "supermemory_search", {})).toEqual({ error: "query is required" });
    expect(await call(provider, "supermemory_forget", {})).toEqual({ error: "Provide either id or query" });
    expect(await call(provider, "supermemory_x", {})).toEqual({ error: "Unknown tool: supermemory_x" });
    const before = fake.requests.length;
    const keyless = await start({ env: { SUPERMEMORY_API_KEY: "" } });
    expect(await call(keyless, "supermemory_profile", {})).toEqual({
      error: "Supermemory is not configured",
    });
    expect(await keyless.systemPromptBlock?.({})).toBe("");
    await sync(keyless, ...numbered(12));
    expect(fake.requests).toHaveLength(before);
  });

  it("name what failed, without the key", async () => {
    const provider = await start();
    const failures = {
      store: "Failed to store memory",
      search: "Search failed",
      forget: "Forget failed",
      profile: "Profile failed",
    };
    for (const [tool, begin] of Object.entries(failures)) {
      fake.failNext(1, 422, { error: "unprocessable", details: KEY });
      const { error } = await call(provider, `supermemory_${tool}`, { content: "x", query: "x" });
      expect(error.startsWith(`${begin}: `)).toBe(true);
      expect(error).not.toContain(KEY);
    }
  });

  it("take a container of the list, and no other", async () => {
    const file = {
      enable_custom_container_tags: true,
      custom_containers: ["work"],
      custom_container_instructions: "Work goes to work.",
    };
    const provider = await start({ file });
    const block = (await provider.systemPromptBlock?.({})) ?? "";
    expect(block).toContain("Containers: hermes, work.");
    expect(block).toContain("Work goes to work.");
    const [schema] = (await provider.getToolSchemas?.()) ?? [];
    expect(JSON.stringify(schema?.parameters)).toContain("one of: hermes, work");
    const stored = await call(provider, "supermemory_store", {
      content: "The crane is blue",
      container_tag: "work",
    });
    expect(stored).toMatchObject({ saved: true, container_tag: "work" });
    expect(fake.documents("work")).toHaveLength(1);
    const { error } = await call(provider, "supermemory_store", { content: "x", container_tag: "secret" });
    expect(error).toBe("Container tag 'secret' is not allowed. Allowed: hermes, work");
    const plain = await start();
    await call(plain, "supermemory_store", { content: "The kiln is hot", container_tag: "secret" });
    expect(fake.documents("secret")).toEqual([]);
  });
});

// ---- Curated entries, erasing ----

describe("curated entries", () => {
  it("are documents that follow their changes, also in two targets and after a restart", async () => {
    const home = tempDirectory();
    const provider = await start({ home });
    expect(await provider.onMemoryWrite?.("add", "memory", "The kiln is hot", {})).toEqual({ stored: true });
    await provider.onMemoryWrite?.("add", "memory", "The kiln is hot", {});
    await provider.onMemoryWrite?.("add", "user", "The kiln is hot", {});
    expect(fake.documents("hermes").map(({ metadata }) => metadata)).toEqual([
      { target: "memory", type: "explicit_memory", sm_source: "hermes" },
      { target: "user", type: "explicit_memory", sm_source: "hermes" },
    ]);
    await provider.shutdown?.({});
    const later = await start({ home });
    await later.onMemoryWrite?.("replace", "memory", "The kiln is cold", { old_text: "The kiln is hot" });
    await later.onMemoryWrite?.("remove", "user", "", { old_text: "The kiln is hot" });
    expect(fake.documents("hermes").map(({ content }) => content)).toEqual(["The kiln is cold"]);
    // An entry that was never mirrored, and is part of one that was.
    expect(await later.onMemoryWrite?.("remove", "memory", "", { old_text: "The kiln" })).toEqual({
      stored: true,
    });
    expect(fake.documents("hermes")).toHaveLength(1);
  });
});

describe("erasing", () => {
  const SECRET = "quartzite inversion";

  it("takes a text out of documents, memories and running conversations, which do not bring it back", async () => {
    const provider = await start({ file: { capture_turns: 1 } });
    await sync(provider, `The kiln needs a ${SECRET}`, "The crane is blue");
    await provider.onMemoryWrite?.("add", "memory", `Again the ${SECRET}`, {});
    await provider.onMemoryWrite?.("add", "memory", "The kiln is hot", {});
    fake.store.addMemory({
      memory: `Derived: ${SECRET}`,
      containerTag: "hermes",
      documentId: "of_another_text",
    });
    const counted = await provider.forget?.(SECRET, { dry_run: true });
    const done = await provider.forget?.(SECRET, {});
    expect(done).toEqual(counted);
    expect(done).toMatchObject({ erased: 3, remaining: expect.stringContaining("1 of them") });
    await sync(provider, "And the glaze is celadon");
    await provider.onSessionEnd?.([], {});
    expect(JSON.stringify(fake.memories("hermes"))).not.toContain(SECRET);
    expect(said()).toEqual(["The crane is blue", "And the glaze is celadon"]);
    expect(fake.documents("hermes").map(({ content }) => content)).toContain("The kiln is hot");
  });

  it("takes a memory that was written directly, although a document contains its text", async () => {
    const provider = await start();
    await provider.onMemoryWrite?.("add", "memory", `The whole ${SECRET} of the kiln`, {});
    fake.store.addMemory({ memory: SECRET, containerTag: "hermes", documentId: "of_another_text" });
    expect(await provider.forget?.(SECRET, {})).toMatchObject({ erased: 2 });
    expect(fake.store.live("hermes")).toEqual([]);
  });

  it.each([[{ x: 1 }], [[]], [{ memories: null }], [{ memories: [{ x: 1 }] }]])(
    "fails when the list is %j, instead of reporting success",
    async (body) => {
      const provider = await start();
      fake.fail(200, body);
      expect(await provider.forget?.(SECRET, {})).toMatchObject({
        remaining: expect.stringMatching(/erased|searched/),
      });
      expect(await provider.eraseUser?.({})).toMatchObject({
        remaining: expect.stringMatching(/erased|searched/),
      });
      fake.recover();
      fake.delayNext(0); // the list; then the search
      fake.replyNext(1, { status: 200, body });
      expect(await provider.forget?.(SECRET, {})).toMatchObject({
        remaining: expect.stringMatching(/erased|searched/),
      });
    },
  );

  it.each([[{ x: 1 }], [[]]])("fails when a deletion is answered with %j", async (body) => {
    const provider = await start();
    await provider.onMemoryWrite?.("add", "memory", `The ${SECRET}`, {});
    for (const erase of [() => provider.forget?.(SECRET, {}), () => provider.eraseUser?.({})]) {
      fake.delayNext(0); // the list
      fake.replyNext(1, { status: 200, body });
      expect(await erase()).toMatchObject({ remaining: expect.stringMatching(/erased|searched/) });
      fake.recover();
    }
    expect(fake.documents("hermes")).toHaveLength(1);
  });

  it("says what is left where containers cannot be deleted", async () => {
    const provider = await start();
    fake.store.addMemory({ memory: SECRET, containerTag: "hermes", documentId: "none" });
    fake.delayNext(0, 2); // the list and the count; then the container
    fake.failNext(1, 404, { error: "Not Found" });
    expect(await provider.eraseUser?.({})).toMatchObject({
      erased: 0,
      remaining: expect.stringContaining("hermes"),
    });
  });

  it("lists all pages", async () => {
    for (let number = 0; number < 250; number += 1)
      fake.store.putDocument({
        content: `Note ${number} ${number % 100 === 7 ? SECRET : ""}`,
        containerTags: ["hermes"],
      });
    const provider = await start();
    expect(await provider.forget?.(SECRET, {})).toEqual({ erased: 3 });
    expect(await provider.eraseUser?.({ dry_run: true })).toEqual({ erased: 247 });
    expect(await provider.eraseUser?.({})).toEqual({ erased: 247 });
    expect(fake.documents("hermes")).toEqual([]);
  });
});

it("checks the connection, and says what is wrong with the key", async () => {
  const provider = await start();
  expect(await provider.checkConnection?.(AbortSignal.timeout(5_000))).toBe(
    `${fake.url} accepts the key; container hermes`,
  );
  expect(posts("/v4/profile")).toEqual([{ containerTag: "hermes" }]);
  fake.requireAuth("another");
  await expect(provider.checkConnection?.(AbortSignal.timeout(5_000))).rejects.toThrow("401");
});

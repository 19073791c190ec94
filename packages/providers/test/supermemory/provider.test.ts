// Supermemory through its hooks and tools, against the fake server.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
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
});

// ---- Tools ----

describe("tools", () => {
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
});

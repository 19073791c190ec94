// The fake Supermemory against the recordings of its official clients, against the npm client itself, and against wrong requests.
import Supermemory from "supermemory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { replayProblem, replaysOf } from "../fakes/servers/recordings.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";

const KEY = "sm_test_key_0123456789";

/** Sent by the client although the server refuses them: nested metadata, an empty text with a long tag, an empty query. */
const REFUSED = new Set(["supermemory-004", "supermemory-005", "supermemory-019"]);

/** The recorder answered a page of HTML on purpose. */
const OTHER_SHAPE = new Set(["supermemory-042"]);

let fake: FakeSupermemory;

async function serve(): Promise<void> {
  await fake?.stop();
  fake = await new FakeSupermemory().start();
  fake.requireAuth(KEY);
}

beforeEach(serve);
afterEach(() => fake.stop());

type Call = { method?: string; headers?: Record<string, string>; key?: string };

type Found = {
  readonly id: string;
  readonly memory?: string;
  readonly chunk?: string;
  readonly similarity: number;
};

/** The fields of answers that tests read. */
type Body = {
  readonly id: string;
  readonly status: string;
  readonly results: readonly Found[];
  readonly profile: unknown;
  readonly searchResults?: { readonly results: readonly Found[] };
};

async function call(path: string, body?: unknown, { method, headers, key = KEY }: Call = {}) {
  const response = await fetch(`${fake.url}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as Body };
}

const containerTag = "hermes";
const add = (content: string, more: object = {}) => call("/v3/documents", { content, containerTag, ...more });
const search = async (q: string, more: object = {}) =>
  (await call("/v4/search", { q, containerTag, ...more })).body.results;
const forget = (body: object) => call("/v4/memories", body, { method: "DELETE" });
const said = (...contents: string[]) => contents.map((content) => ({ role: "user", content }));
const converse = (conversationId: string, messages: unknown, more: object = {}) =>
  call("/v4/conversations", { conversationId, messages, containerTags: [containerTag], ...more });

describe("recordings of supermemory", () => {
  it("are all accepted and answered in the recorded shape", async (context) => {
    const replays = replaysOf("supermemory");
    if (replays === undefined) return context.skip();
    const problems: (string | undefined)[] = [];
    for (const replay of replays) {
      await serve();
      fake.setProfile(containerTag, { static: ["Name is Ann"], dynamic: ["Planning a trip"] });
      fake.store.putDocument({ content: "I like tea", containerTags: [containerTag], title: "Tea" }, "doc_1");
      const memory = { containerTag, memory: "Likes tea", documentId: "doc_1" };
      fake.store.addMemory({ ...memory, id: "mem_1", metadata: { type: "preference" } });
      problems.push(
        await replayProblem(fake.url, KEY, replay, { refused: REFUSED, otherShape: OTHER_SHAPE }),
      );
    }
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
    expect(replays.length).toBeGreaterThan(55);
  });
});

describe("memories and documents", () => {
  it("shows a document as a memory, as a chunk, or as both", async () => {
    expect((await add("I like tea", { metadata: { type: "preference" } })).body).toMatchObject({
      status: "queued",
    });
    const kinds = async (searchMode: string) =>
      (await search("tea", { searchMode })).map(({ memory, chunk }) => ({ memory, chunk }));
    const asMemory = { memory: "I like tea", chunk: undefined };
    const asChunk = { memory: undefined, chunk: "I like tea" };
    expect(await kinds("memories")).toEqual([asMemory]);
    expect(await kinds("documents")).toEqual([asChunk]);
    expect(await kinds("hybrid")).toEqual([asMemory, asChunk]);
  });

  it("keeps containers apart and cuts at limit and threshold", async () => {
    await add("green tea");
    await add("black tea");
    await add("green tea of bob", { containerTag: "bob" });
    expect((await search("green tea")).map(({ memory }) => memory)).toEqual(["green tea"]); // 0.6 unless one is named
    expect((await search("green tea", { threshold: 0.5 })).map(({ similarity }) => similarity)).toEqual([
      1, 0.5,
    ]);
    expect(await search("green tea", { threshold: 0.5, limit: 1 })).toHaveLength(1);
    expect(await search("green tea", { containerTag: "nobody" })).toEqual([]);
  });

  it("changes the document with the same customId instead of adding one", async () => {
    const first = await add("I like tea", { customId: "row-1" });
    const again = await add("I like coffee", { customId: "row-1" });
    expect(again.body.id).toBe(first.body.id);
    expect(fake.memories(containerTag).map(({ memory }) => memory)).toEqual(["I like coffee"]);
    await add("I like milk", { customId: "row-1", containerTag: "bob" });
    expect(fake.documents("bob")).toHaveLength(1);
  });

  it("forgets in the container only, and keeps the document", async () => {
    await add("I like tea");
    const [hit] = await search("tea");
    expect((await forget({ containerTag: "bob", id: hit?.id })).status).toBe(404);
    const forgotten = await forget({ containerTag, id: hit?.id, reason: "asked" });
    expect(forgotten).toEqual({ status: 200, body: { id: hit?.id, forgotten: true } });
    expect((await forget({ containerTag, id: hit?.id })).status).toBe(404);
    expect(await search("tea")).toEqual([]);
    const [chunk] = await search("tea", { searchMode: "hybrid" });
    expect(chunk).toMatchObject({ chunk: "I like tea" });
    expect((await forget({ containerTag, id: chunk?.id })).status).toBe(404);
  });

  it("tells the profile and, with a query, what fits", async () => {
    fake.setProfile(containerTag, { static: ["Name is Ann"], dynamic: ["Plans a trip"] });
    await call("/v4/memories", { containerTag, memories: [{ content: "Likes tea", isStatic: true }] });
    const profile = { static: ["Name is Ann", "Likes tea"], dynamic: ["Plans a trip"] };
    expect((await call("/v4/profile", { containerTag })).body).toEqual({ profile });
    const { body } = await call("/v4/profile", { containerTag, q: "tea" });
    expect(body).toMatchObject({ profile, searchResults: { results: [{ memory: "Likes tea" }], total: 1 } });
    expect((await call("/v4/profile", { containerTag: "bob" })).body).toEqual({
      profile: { static: [], dynamic: [] },
    });
  });

  it("shows a write after it was settled", async () => {
    fake.settleByHand = true;
    const { body } = await add("I like tea");
    await converse("s1", said("I like coffee"));
    expect(await search("like", { searchMode: "hybrid" })).toEqual([]);
    expect((await call(`/v3/documents/${body.id}`)).body.status).toBe("queued");
    fake.settle();
    expect(await search("like")).toHaveLength(2);
    expect((await call(`/v3/documents/${body.id}`)).body.status).toBe("done");
  });
});

describe("conversations", () => {
  const texts = () => fake.conversation(containerTag, "s1")?.messages.map(({ content }) => content);

  it("appends what is new, and takes a repeated or an older state as known", async () => {
    const first = await converse("s1", said("one", "two"), { metadata: { type: "full_session" } });
    expect(first).toMatchObject({ status: 200, body: { conversationId: "s1", status: "queued" } });
    await converse("s1", said("one", "two"));
    const more = await converse("s1", said("one", "two", "three"));
    expect(more.body.id).toBe(first.body.id);
    await converse("s1", said("one"));
    expect(texts()).toEqual(["one", "two", "three"]);
    expect(fake.conversation(containerTag, "s1")?.posts).toBe(4);
    expect(fake.memories(containerTag).map(({ memory }) => memory)).toEqual(["one", "two", "three"]);
  });

  it("replaces from the first difference on", async () => {
    await converse("s1", said("one", "two", "three"));
    await converse("s1", said("one", "other"));
    expect(texts()).toEqual(["one", "other"]);
    expect(fake.memories(containerTag).map(({ memory }) => memory)).toEqual(["one", "other"]);
  });

  it("does not bring back what was forgotten", async () => {
    await converse("s1", said("one", "two"));
    await forget({ containerTag, content: "one" });
    await converse("s1", said("one", "two", "three"));
    expect(fake.memories(containerTag).map(({ memory }) => memory)).toEqual(["two", "three"]);
  });

  it("are missing on some servers, as direct memories are", async () => {
    fake.hasConversations = false;
    fake.hasDirectMemories = false;
    expect((await converse("s1", said("one"))).status).toBe(404);
    expect((await call("/v4/memories", { containerTag, memories: [{ content: "x" }] })).status).toBe(404);
    expect(fake.stored()).toEqual({ documents: [], conversations: [], memories: [], containers: [] });
  });
});

describe("refusals", () => {
  const long = "x".repeat(101);
  const conversation = { conversationId: "s", messages: said("x"), containerTags: [containerTag] };
  it.each<[string, string, unknown, string?]>([
    ["a document without content", "/v3/documents", { containerTag }],
    ["a document with empty content", "/v3/documents", { containerTag, content: "" }],
    ["a document without a container", "/v3/documents", { content: "x" }],
    ["a long tag", "/v3/documents", { content: "x", containerTag: long }],
    ["a tag with other characters", "/v3/documents", { content: "x", containerTag: "a b" }],
    ["a long customId", "/v3/documents", { content: "x", containerTag, customId: long }],
    [
      "a long entityContext",
      "/v3/documents",
      { content: "x", containerTag, entityContext: "x".repeat(1501) },
    ],
    ["nested metadata", "/v3/documents", { content: "x", containerTag, metadata: { a: { b: 1 } } }],
    ["metadata with null", "/v3/documents", { content: "x", containerTag, metadata: { a: null } }],
    [
      "metadata with a list of numbers",
      "/v3/documents",
      { content: "x", containerTag, metadata: { a: [1] } },
    ],
    ["an unknown field", "/v3/documents", { content: "x", containerTag, container_tag: "x" }],
    ["a search without a query", "/v4/search", { containerTag }],
    ["a search with an empty query", "/v4/search", { containerTag, q: "" }],
    ["a search without a container", "/v4/search", { q: "x" }],
    ["a search with the tags of documents", "/v4/search", { q: "x", containerTags: [containerTag] }],
    ["a search with limit 0", "/v4/search", { q: "x", containerTag, limit: 0 }],
    ["a search with limit 101", "/v4/search", { q: "x", containerTag, limit: 101 }],
    ["a search with an unknown mode", "/v4/search", { q: "x", containerTag, searchMode: "all" }],
    ["a search with a threshold above 1", "/v4/search", { q: "x", containerTag, threshold: 60 }],
    ["a profile without a container", "/v4/profile", { q: "x" }],
    ["a profile with a limit", "/v4/profile", { containerTag, limit: 5 }],
    ["forgetting nothing", "/v4/memories", { containerTag }, "DELETE"],
    ["forgetting without a body", "/v4/memories", undefined, "DELETE"],
    ["forgetting by a query", "/v4/memories", { containerTag, q: "x" }, "DELETE"],
    ["a conversation without messages", "/v4/conversations", { ...conversation, messages: [] }],
    ["a conversation with one tag as a string", "/v4/conversations", { ...conversation, containerTags: "a" }],
    ["a conversation with containerTag", "/v4/conversations", { ...conversation, containerTag }],
    ["a conversation with entityContext", "/v4/conversations", { ...conversation, entityContext: "x" }],
    [
      "a conversation with a long id",
      "/v4/conversations",
      { ...conversation, conversationId: "x".repeat(256) },
    ],
    ["an unknown role", "/v4/conversations", { ...conversation, messages: [{ role: "bot", content: "x" }] }],
    ["an empty message", "/v4/conversations", { ...conversation, messages: said("") }],
  ])("400: %s", async (_, path, body, method) => {
    const answer = await call(path, body, { method });
    expect(answer).toEqual({ status: 400, body: { error: expect.any(String), details: expect.any(String) } });
    expect(fake.stored()).toEqual({ documents: [], conversations: [], memories: [], containers: [] });
  });

  it("wrong paths, methods, types and keys", async () => {
    expect(await call("/v4/searches", {})).toEqual({ status: 404, body: { error: "Not found" } });
    expect((await call("/v4/search", {}, { method: "PUT" })).status).toBe(404);
    expect((await call("/v3/documents/none")).status).toBe(404);
    expect(
      (await call("/v4/profile", { containerTag }, { headers: { "content-type": "text/plain" } })).status,
    ).toBe(400);
    const wrong = await call("/v4/profile", { containerTag }, { key: "other" });
    expect(wrong).toMatchObject({ status: 401, body: { error: "Unauthorized" } });
    const inOtherHeader = await call(
      "/v4/profile",
      { containerTag },
      { key: "other", headers: { "x-api-key": KEY } },
    );
    expect(inOtherHeader.status).toBe(200);
  });

  it("fails, drops and restarts on demand and keeps what it has", async () => {
    await add("I like tea");
    fake.failNext(1, 402, { error: "Payment required" });
    expect((await add("lost")).status).toBe(402);
    fake.dropNext();
    await expect(add("lost too")).rejects.toThrow();
    fake.dropAnswerNext();
    await expect(add("I like coffee")).rejects.toThrow();
    await fake.restart();
    expect(fake.memories(containerTag).map(({ memory }) => memory)).toEqual(["I like tea", "I like coffee"]);
    expect(await search("tea")).toHaveLength(1);
  });
});

/** Where the official client is tried: on the fake always, on a real server when SUPERMEMORY_TEST_URL and SUPERMEMORY_TEST_KEY name one. */
const real = process.env.SUPERMEMORY_TEST_URL;
const places = [{ name: "the fake" }, ...(real === undefined ? [] : [{ name: "a real server", url: real }])];

describe.each(places)("the official client against $name", ({ url }) => {
  const apiKey = url === undefined ? KEY : (process.env.SUPERMEMORY_TEST_KEY ?? "");
  const tag = `contract_${process.pid}_${Date.now()}`;
  const connect = (key = apiKey) => new Supermemory({ baseURL: url ?? fake.url, apiKey: key, maxRetries: 0 });

  it("stores, searches, lists, forgets and deletes", { timeout: 180_000 }, async () => {
    const client = connect();
    const wait = { timeout: 120_000, interval: 1000 };
    const { id } = await client.add({
      content: "Ann prefers green tea",
      containerTag: tag,
      customId: `${tag}_1`,
    });
    await client.add({ content: "Bob prefers coffee", containerTag: `${tag}_other` });
    const find = async () =>
      (await client.search.memories({ q: "green tea", containerTag: tag, searchMode: "memories", limit: 5 }))
        .results;
    await expect.poll(async () => (await find()).length, wait).toBeGreaterThan(0);
    const [hit] = await find();
    expect(hit?.memory).toMatch(/green tea/i);
    const profile = await client.profile({ containerTag: tag, q: "green tea" });
    expect(profile.profile).toMatchObject({ static: expect.any(Array), dynamic: expect.any(Array) });
    expect(profile.searchResults?.results.length).toBeGreaterThan(0);
    const listed = await client.documents.list({ containerTags: [tag] });
    expect(listed.memories.map((document) => document.id)).toEqual([id]);
    const forgotten = await client.memories.forget({ containerTag: tag, id: hit?.id ?? "" });
    expect(forgotten).toMatchObject({ id: hit?.id, forgotten: true });
    await expect.poll(async () => (await find()).map((each) => each.id), wait).not.toContain(hit?.id);
    const body = { conversationId: `${tag}_s`, messages: said("I ride a bicycle"), containerTags: [tag] };
    expect(await client.post("/v4/conversations", { body })).toMatchObject({ conversationId: `${tag}_s` });
    await client.documents.deleteBulk({ containerTags: [tag, `${tag}_other`] });
    await expect
      .poll(async () => (await client.documents.list({ containerTags: [tag] })).memories, wait)
      .toEqual([]);
  });

  it("gets the errors of the server", async () => {
    const client = connect();
    await expect(client.profile({ containerTag: "x".repeat(101) })).rejects.toMatchObject({ status: 400 });
    await expect(connect("sm_wrong").profile({ containerTag: tag })).rejects.toMatchObject({ status: 401 });
    await expect(client.documents.get("none")).rejects.toMatchObject({ status: 404 });
    await expect(client.memories.forget({ containerTag: tag, id: "none" })).rejects.toMatchObject({
      status: 404,
    });
  });

  it.skipIf(url !== undefined)(
    "repeats a write that was dropped, which customId makes harmless",
    async () => {
      fake.dropAnswerNext();
      const client = new Supermemory({ baseURL: fake.url, apiKey, maxRetries: 1 });
      await client.add({ content: "once", containerTag: tag, customId: "row-1" });
      expect(fake.requests).toHaveLength(2);
      expect(fake.documents(tag)).toHaveLength(1);
      fake.failNext(1, 422, { error: "unprocessable" });
      await expect(client.profile({ containerTag: tag })).rejects.toMatchObject({ status: 422 });
    },
  );
});

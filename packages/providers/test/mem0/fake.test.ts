// The fake Mem0 against the recordings of its official client, against that client itself, and against wrong requests.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeMem0 } from "../fakes/servers/mem0.ts";
import { replayProblem, replaysOf } from "../fakes/servers/recordings.ts";

const KEY = "m0-test-key";
const FIRST = "00000000-0000-4000-8000-000000000001";

/** Sent by the client although the server refuses them: no filters, a blank query. */
const REFUSED = new Set(["mem0-017", "mem0-018", "mem0-024"]);

/** The recorder answered these with an older or a wrong body on purpose. */
const OTHER_SHAPE = new Set(["mem0-019", "mem0-055", "mem0-056"]);

let fake: FakeMem0;

async function serve(edition: "platform" | "oss" = "platform"): Promise<void> {
  await fake?.stop();
  fake = await new FakeMem0({ edition }).start();
  fake.requireAuth(KEY);
}

beforeEach(() => serve());
afterEach(async () => {
  vi.restoreAllMocks();
  await fake.stop();
});

type Hit = { readonly id: string; readonly memory: string; readonly score: number };

/** The fields of answers that tests read. */
type Body = {
  readonly results: readonly Hit[];
  readonly status: string;
  readonly event_id: string;
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
};

type Call = { method?: string; headers?: Record<string, string>; key?: string };

async function call(path: string, body?: unknown, { method, headers, key = KEY }: Call = {}) {
  const auth: Record<string, string> =
    fake.edition === "oss" ? { "x-api-key": key } : { authorization: `Token ${key}` };
  const response = await fetch(`${fake.url}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { "content-type": "application/json", ...auth, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

const said = (...texts: string[]) => texts.map((content) => ({ role: "user", content }));

describe("recordings of mem0ai", () => {
  it("are all accepted and answered in the recorded shape", async (context) => {
    const replays = replaysOf("mem0");
    if (replays === undefined) return context.skip();
    const problems: (string | undefined)[] = [];
    for (const replay of replays) {
      await serve();
      fake.profile = { favourite_drink: "tea" };
      const job = { operation: "trigger", entity_type: "user", entity_id: "u1" };
      await call("/v2/profiles/jobs/", job);
      const metadata = { source: "x" };
      for (const id of [FIRST, "a/b c"])
        fake.put({ id, memory: "Likes tea", user_id: "u1", metadata, categories: ["food"] });
      fake.put({ id: "other", memory: "Likes milk", user_id: "u 1", metadata, categories: ["food"] });
      fake.bareLists = replay.id === "mem0-019";
      problems.push(
        await replayProblem(fake.url, KEY, replay, { refused: REFUSED, otherShape: OTHER_SHAPE }),
      );
    }
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
    expect(replays.length).toBeGreaterThan(45);
  });
});

describe("platform", () => {
  it("gives what the user said to the user and what the assistant said to the agent", async () => {
    const messages = [
      { role: "system", content: "Be brief" },
      { role: "user", content: "I drink tea" },
      { role: "assistant", content: "Tea is noted" },
    ];
    const { body } = await call("/v3/memories/add/", { messages, user_id: "ann", agent_id: "hermes" });
    expect(body).toMatchObject({ status: "PENDING", event_id: expect.any(String) });
    expect(fake.stored()).toEqual({
      memories: [
        { memory: "I drink tea", user_id: "ann" },
        { memory: "Tea is noted", agent_id: "hermes" },
      ],
      waiting: 0,
    });
    const search = async (filters: unknown) =>
      (await call("/v3/memories/search/", { query: "tea", filters })).body.results.map((hit) => hit.memory);
    expect(await search({ user_id: "ann" })).toEqual(["I drink tea"]);
    expect(await search({ OR: [{ user_id: "ann" }, { agent_id: "hermes" }] })).toHaveLength(2);
    expect(await search({ AND: [{ user_id: "ann" }, { agent_id: "hermes" }] })).toEqual([]);
    expect(await search({ user_id: { in: ["bob", "ann"] } })).toEqual(["I drink tea"]);
    expect(await search({ AND: [{ user_id: "ann" }], NOT: [{ user_id: "ann" }] })).toEqual([]);
    expect(await search({ user_id: "bob" })).toEqual([]);
  });

  it("stores messages as they are, with both ids, when nothing is to be inferred", async () => {
    const fields = { user_id: "ann", agent_id: "hermes", infer: false, metadata: { target: "user" } };
    const { body } = await call("/v3/memories/add/", { messages: said("Prefers dark mode"), ...fields });
    expect(body).toMatchObject({
      status: "SUCCEEDED",
      results: [{ memory: "Prefers dark mode", event: "ADD" }],
    });
    const { infer: _, ...kept } = fields;
    expect(fake.stored()).toEqual({ memories: [{ memory: "Prefers dark mode", ...kept }], waiting: 0 });
  });

  it("shows a write after it was settled, and its event says so", async () => {
    fake.settleByHand = true;
    const add = async (infer: boolean, text: string) =>
      (await call("/v3/memories/add/", { messages: said(text), user_id: "ann", infer })).body;
    const first = await add(true, "first");
    expect(await add(false, "second")).toMatchObject({ status: "PENDING" });
    expect(fake.memories("ann")).toEqual([]);
    expect((await call(`/v1/event/${first.event_id}/`)).body.status).toBe("PENDING");
    fake.settle();
    expect(fake.memories("ann").map(({ memory }) => memory)).toEqual(["first", "second"]);
    expect((await call(`/v1/event/${first.event_id}/`)).body.status).toBe("SUCCEEDED");
    const lost = await add(true, "third");
    fake.settle("FAILED");
    expect((await call(`/v1/event/${lost.event_id}/`)).body).toMatchObject({ status: "FAILED", results: [] });
    expect(fake.memories("ann")).toHaveLength(2);
    expect((await call("/v1/event/none/")).status).toBe(404);
    fake.hasEvents = false;
    expect((await call(`/v1/event/${first.event_id}/`)).status).toBe(404);
  });

  it("lists in pages", async () => {
    for (let each = 1; each <= 5; each += 1) fake.put({ memory: `fact ${each}`, user_id: "ann" });
    const page = async (number: number) =>
      (await call(`/v3/memories/?page=${number}&page_size=2`, { filters: { user_id: "ann" } })).body;
    const pages = [await page(1), await page(2), await page(3)];
    expect(pages.flatMap(({ results }) => results.map((each) => each.memory))).toEqual(
      [1, 2, 3, 4, 5].map((each) => `fact ${each}`),
    );
    expect(pages.map(({ count, next, previous }) => [count, next !== null, previous !== null])).toEqual([
      [5, true, false],
      [5, true, true],
      [5, false, true],
    ]);
    const next = (pages[0]?.next ?? "").replace(fake.url, "");
    expect((await call(next, { filters: { user_id: "ann" } })).body).toEqual(pages[1]);
  });

  it("cuts search at top_k and threshold", async () => {
    fake.put({ memory: "green tea", user_id: "ann" });
    fake.put({ memory: "black tea", user_id: "ann" });
    const found = async (more: object) =>
      (await call("/v3/memories/search/", { query: "green tea", filters: { user_id: "ann" }, ...more })).body
        .results;
    expect((await found({})).map((hit) => [hit.memory, hit.score])).toEqual([
      ["green tea", 1],
      ["black tea", 0.5],
    ]);
    expect(await found({ top_k: 1 })).toHaveLength(1);
    expect(await found({ threshold: 0.6 })).toHaveLength(1);
  });

  const filters = { user_id: "u" };
  const add = "/v3/memories/add/";
  const search = "/v3/memories/search/";
  const list = "/v3/memories/";
  it.each<[string, string, unknown]>([
    ["add without messages", add, { user_id: "u" }],
    ["add with an empty list", add, { messages: [], user_id: "u" }],
    ["add with an unknown role", add, { messages: [{ role: "tool", content: "x" }], user_id: "u" }],
    ["add with an empty text", add, { messages: said(""), user_id: "u" }],
    [
      "add with an unknown field of a message",
      add,
      { messages: [{ role: "user", content: "x", name: "y" }] },
    ],
    ["add with an unknown field", add, { messages: said("x"), user_id: "u", userId: "u" }],
    ["add with infer as a string", add, { messages: said("x"), user_id: "u", infer: "false" }],
    ["add with an id that is no string", add, { messages: said("x"), user_id: 7 }],
    ["search with an id at the top", search, { query: "x", user_id: "u" }],
    ["search with an id at the top and filters", search, { query: "x", filters, agent_id: "a" }],
    ["search without filters", search, { query: "x" }],
    ["search with empty filters", search, { query: "x", filters: {} }],
    ["search without an entity", search, { query: "x", filters: { categories: { in: ["a"] } } }],
    ["search with an unknown filter", search, { query: "x", filters: { ...filters, user: "u" } }],
    ["search with an unknown operator", search, { query: "x", filters: { user_id: { like: "u" } } }],
    ["search without a query", search, { filters }],
    ["search with a blank query", search, { query: "  ", filters }],
    ["search with top_k 0", search, { query: "x", filters, top_k: 0 }],
    ["search with top_k 1001", search, { query: "x", filters, top_k: 1001 }],
    ["search with top_k as a string", search, { query: "x", filters, top_k: "5" }],
    ["search with the limit of the older API", search, { query: "x", filters, limit: 5 }],
    ["search with rerank as a string", search, { query: "x", filters, rerank: "true" }],
    ["list without filters", list, {}],
    ["list with an id at the top", list, { user_id: "u" }],
    ["list with a page in the body", list, { filters, page: 1 }],
    ["list with page 0", `${list}?page=0`, { filters }],
    ["list with a page size of 201", `${list}?page_size=201`, { filters }],
    ["list with an unknown query", `${list}?pageSize=5`, { filters }],
    ["a body that is a list", search, []],
  ])("refuses: %s", async (_, path, body) => {
    const answer = await call(path, body);
    expect(answer).toEqual({
      status: 400,
      body: { error: expect.any(String), details: { message: expect.any(String) } },
    });
    expect(fake.stored()).toEqual({ memories: [], waiting: 0 });
  });

  it("refuses wrong paths, methods, types and tokens", async () => {
    expect((await call("/v3/memories/search", { query: "x", filters })).status).toBe(404);
    expect((await call("//v1/ping/")).status).toBe(404);
    expect((await call(search, undefined, { method: "PUT" })).status).toBe(405);
    expect(
      (await call(search, { query: "x", filters }, { headers: { "content-type": "text/plain" } })).status,
    ).toBe(415);
    const missing = await call(`/v1/memories/${FIRST}/`, undefined, { method: "DELETE" });
    expect(missing).toEqual({ status: 404, body: { error: "Memory not found!" } });
    const wrong = await call(search, { query: "x", filters }, { key: "other" });
    expect(wrong).toMatchObject({ status: 401, body: { detail: expect.any(String) } });
    const bearer = await call(
      search,
      { query: "x", filters },
      { headers: { authorization: `Bearer ${KEY}` } },
    );
    expect(bearer.status).toBe(401);
  });

  it("can be one from before v3", async () => {
    fake.hasV3 = false;
    expect((await call(list, { filters })).status).toBe(404);
    await call("/v1/memories/", { messages: said("old tea"), user_id: "u" });
    const hits = await call("/v1/memories/search/", { query: "tea", user_id: "u", limit: 5 });
    expect(hits.body).toMatchObject([{ memory: "old tea" }]);
  });

  it("fails, drops and restarts on demand and keeps its memories", async () => {
    fake.put({ memory: "tea", user_id: "u" });
    fake.failNext(1, 429, { detail: "Request was throttled." }, { "retry-after": "7" });
    expect((await call(list, { filters })).status).toBe(429);
    fake.dropNext();
    await expect(call(list, { filters })).rejects.toThrow();
    fake.dropAnswerNext();
    await expect(call(add, { messages: said("coffee"), user_id: "u" })).rejects.toThrow();
    await fake.restart();
    const { body } = await call(list, { filters });
    expect(body.results.map((each) => each.memory)).toEqual(["tea", "coffee"]);
  });
});

describe("self-hosted server", () => {
  beforeEach(() => serve("oss"));

  it("stores at once, searches, lists, deletes, and keeps users apart", async () => {
    const { body } = await call("/memories", {
      messages: said("I drink tea"),
      user_id: "ann",
      agent_id: "hermes",
    });
    expect(body.results).toEqual([{ id: expect.any(String), memory: "I drink tea", event: "ADD" }]);
    await call("/memories", { messages: said("Bob drinks tea"), user_id: "bob", infer: false });
    const query = { query: "tea", filters: { user_id: "ann" }, top_k: 5 };
    expect((await call("/search", query)).body.results).toMatchObject([
      { memory: "I drink tea", user_id: "ann", agent_id: "hermes", score: 1 },
    ]);
    expect((await call("/memories?user_id=bob&top_k=5")).body.results).toMatchObject([
      { memory: "Bob drinks tea" },
    ]);
    const path = `/memories/${body.results[0]?.id}`;
    expect((await call(path, undefined, { method: "DELETE" })).status).toBe(200);
    expect(await call(path, undefined, { method: "DELETE" })).toMatchObject({ status: 404 });
    expect(fake.stored()).toEqual({ memories: [{ memory: "Bob drinks tea", user_id: "bob" }], waiting: 0 });
  });

  it.each<[string, string, unknown, number]>([
    ["an add without an id", "/memories", { messages: said("x") }, 400],
    ["a search without an id", "/search", { query: "x", filters: {} }, 400],
    ["a search with an id at the top", "/search", { query: "x", user_id: "u" }, 422],
    ["a search with rerank", "/search", { query: "x", filters: { user_id: "u" }, rerank: true }, 422],
    ["a list without an id", "/memories", undefined, 400],
    ["a list with an unknown query", "/memories?user_id=u&page=1", undefined, 422],
    ["a path of the platform", "/v3/memories/search/", { query: "x", filters: { user_id: "u" } }, 404],
  ])("refuses %s", async (_, path, body, status) => {
    expect(await call(path, body)).toMatchObject({ status, body: { detail: expect.anything() } });
  });

  it("takes the key in either header, and not as the platform does", async () => {
    const none = { key: "other" };
    const as = async (headers: Record<string, string>) =>
      (await call("/memories?user_id=u", undefined, { ...none, headers })).status;
    expect(await as({ authorization: `Bearer ${KEY}` })).toBe(200);
    expect(await as({ authorization: `Token ${KEY}` })).toBe(401);
  });

  it.each([400, 422, 500] as const)(
    "can be an earlier revision that answers %i to filters",
    async (status) => {
      fake.olderSearchStatus = status;
      fake.put({ memory: "tea", user_id: "ann" });
      fake.put({ memory: "tea of bob", user_id: "bob" });
      const refused = await call("/search", { query: "tea", filters: { user_id: "ann" } });
      expect(refused).toMatchObject({ status, body: { detail: expect.stringContaining("identifier") } });
      expect((await call("/search", { query: "tea", user_id: "ann" })).body.results).toMatchObject([
        { memory: "tea" },
      ]);
    },
  );
});

/** Where the official client is tried: on the fake always, on the real platform when MEM0_TEST_URL and MEM0_TEST_KEY name one. */
const real = process.env.MEM0_TEST_URL;
const places = [
  { name: "the fake" },
  ...(real === undefined ? [] : [{ name: "a real platform", url: real }]),
];

describe.each(places)("mem0ai against $name", ({ url }) => {
  const key = url === undefined ? KEY : (process.env.MEM0_TEST_KEY ?? "");
  const user = `contract-${process.pid}-${Date.now()}`;
  const home = mkdtempSync(join(tmpdir(), "hermes-mem0-"));
  let Client: typeof import("mem0ai").MemoryClient;
  const connect = (host: string, apiKey: string) => new Client({ host, apiKey });

  beforeAll(async () => {
    // The client reads both while it is loaded: no events to its vendor, no files in the home folder.
    vi.stubEnv("MEM0_TELEMETRY", "false");
    vi.stubEnv("MEM0_DIR", home);
    Client = (await import("mem0ai")).MemoryClient;
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  });

  it("stores, searches, lists and deletes", { timeout: 120_000 }, async () => {
    const client = connect(url ?? fake.url, key);
    const add = (text: string, userId: string) =>
      client.add([{ role: "user", content: text }], { userId, infer: false });
    await add("Prefers green tea", user);
    await add("Prefers strong coffee", `${user}-other`);
    const search = async () => (await client.search("green tea", { filters: { user_id: user } })).results;
    await expect.poll(search, { timeout: 60_000, interval: 500 }).toHaveLength(1);
    const [hit] = await search();
    expect(hit).toMatchObject({ memory: "Prefers green tea", userId: user });
    expect(hit?.score).toBeGreaterThan(0);
    const listed = await client.getAll({ filters: { user_id: user }, page: 1, pageSize: 50 });
    expect(listed).toMatchObject({ count: 1, next: null, results: [{ id: hit?.id }] });
    expect(await client.get(hit?.id ?? "")).toMatchObject({ memory: "Prefers green tea" });
    expect(await client.delete(hit?.id ?? "")).toMatchObject({ message: expect.any(String) });
    await expect.poll(search, { timeout: 60_000, interval: 500 }).toEqual([]);
    await client.deleteAll({ userId: `${user}-other` });
  });

  it("gets the errors of the server", async () => {
    const client = connect(url ?? fake.url, key);
    await expect(client.delete(FIRST)).rejects.toThrow(/not found|404/i);
    await expect(client.search("tea")).rejects.toThrow(/filters/i);
    for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => {}); // it reports its failed ping there
    const stranger = connect(url ?? fake.url, "m0-wrong");
    await expect(stranger.search("tea", { filters: { user_id: user } })).rejects.toThrow(/token|401|auth/i);
  });

  it.skipIf(url !== undefined)("gets a validation error of the server", async () => {
    const client = connect(fake.url, key);
    await client.ping(); // the constructor also pings: not the request that is to fail
    await expect.poll(() => fake.requests.length).toBe(2);
    fake.failNext(1, 422, { detail: "unprocessable" });
    await expect(client.search("tea", { filters: { user_id: user } })).rejects.toThrow(/unprocessable/);
  });
});

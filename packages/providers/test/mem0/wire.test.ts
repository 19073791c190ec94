// What goes over the wire to Mem0, beside the recorded requests of its official client, and how answers are read.
import { describe, expect, it } from "vitest";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { createHttpClient } from "../../src/kit/http.ts";
import { type Filter, PlatformApi, SelfHostedApi } from "../../src/mem0/wire.ts";
import type { FakeMem0 } from "../fakes/servers/mem0.ts";
import { readRecordings } from "../fakes/servers/recordings.ts";
import { KEY, requestsTo, serve } from "./harness.ts";

const recordings = readRecordings("mem0");
const signal = new AbortController().signal;
const LIMITS = { pageSize: 100, pages: 10 };
const USER: Filter = { userId: "u1" };
const SEARCH = { topK: 5, isReranked: true };

function clientOf(fake: FakeMem0) {
  const headers: Record<string, string> =
    fake.edition === "oss" ? { "x-api-key": KEY } : { authorization: `Token ${KEY}` };
  return createHttpClient({
    service: "Mem0",
    baseUrl: `${fake.url}/`,
    headers: () => headers,
    timeoutMs: 5_000,
    breaker: new Breaker({ failures: 5 }),
    closing: signal,
  });
}

const said = [
  { role: "user", content: "I like tea" },
  { role: "assistant", content: "Noted." },
] as const;
const ids = { userId: "u1", agentId: "hermes" };
const verbatim = {
  ...ids,
  messages: [{ role: "user", content: "Prefers dark mode" }],
  isVerbatim: true,
  metadata: { source: "builtin_memory", target: "user" },
} as const;

function recordedRequest(id: string) {
  const request = recordings?.find((each) => each.id === id)?.request;
  if (request === undefined || request === null) throw new Error(`The recording ${id} has no request.`);
  return request;
}

/** Sent by the official client and not needed: 06e. Our metadata is a choice of ours. */
function comparable(body: unknown): unknown {
  const { output_format: _, threshold: __, metadata: ___, ...rest } = (body ?? {}) as Record<string, unknown>;
  return rest;
}

describe.skipIf(recordings === undefined)("a request equals the recorded one of", () => {
  type Use = (api: PlatformApi) => Promise<unknown>;
  it.each<[string, string, Use]>([
    ["a turn", "mem0-004", (api) => api.add({ ...ids, messages: said }, signal)],
    ["a text that is stored as it is", "mem0-005", (api) => api.add(verbatim, signal)],
    ["a search", "mem0-012", (api) => api.search("tea", USER, SEARCH, signal)],
    ["the second page of a list", "mem0-022", (api) => api.list(USER, LIMITS, signal)],
    ["a deletion", "mem0-028", (api) => api.remove("00000000-0000-4000-8000-000000000001", signal)],
    ["a deletion by an odd id", "mem0-030", (api) => api.remove("a/b c", signal)],
    ["the deletion of a user's memories", "mem0-031", (api) => api.removeAllOf("u1", signal)],
    ["the check of the key", "mem0-001", (api) => api.check(signal)],
  ])("%s", async (_, id, use) => {
    const recorded = recordedRequest(id);
    const fake = await serve();
    for (let each = 0; each < 150; each += 1) fake.put({ memory: `tea ${each}`, user_id: "u1" });
    await use(new PlatformApi(clientOf(fake)));
    const sent = fake.requests.at(-1);
    const { method, path, query } = recorded;
    expect({ method: sent?.method, path: sent?.path, query: sent?.query }).toEqual({ method, path, query });
    expect(comparable(sent?.body)).toEqual(comparable(recorded.body));
    expect(sent?.headers.authorization).toBe(recorded.headers.authorization?.replace("<KEY>", KEY));
  });

  it("a search among memories of user and agent", async () => {
    const recorded = recordedRequest("mem0-013");
    const fake = await serve();
    const search = { topK: 10, isReranked: false };
    await new PlatformApi(clientOf(fake)).search("tea", ids, search, signal);
    expect(fake.requests.at(-1)?.body).toEqual({ ...(comparable(recorded.body) as object), rerank: false });
  });

  it("filters by metadata", async () => {
    const fake = await serve();
    await new PlatformApi(clientOf(fake)).list({ ...USER, marks: { sourceKind: "x" } }, LIMITS, signal);
    type Body = { readonly filters: { readonly AND: readonly unknown[] } };
    const [sent, known] = [fake.requests.at(-1), recordedRequest("mem0-014")].map(
      (each) => each?.body as Body,
    );
    expect(sent?.filters.AND).toHaveLength(2);
    for (const part of sent?.filters.AND ?? []) expect(known?.filters.AND).toContainEqual(part);
  });
});

describe("the platform's answers", () => {
  it("are lists in an object, or bare lists", async () => {
    const fake = await serve();
    fake.put({ memory: "green tea", user_id: "u1", metadata: { a: "b" } });
    const api = new PlatformApi(clientOf(fake));
    for (const bare of [false, true]) {
      fake.bareLists = bare;
      expect(await api.search("green tea", USER, SEARCH, signal)).toMatchObject([
        { text: "green tea", score: 1 },
      ]);
      expect(await api.list(USER, LIMITS, signal)).toMatchObject({
        isWhole: true,
        memories: [{ text: "green tea", score: 0, userId: "u1", metadata: { a: "b" } }],
      });
    }
  });

  it.each([null, 7, "text", {}, { results: null }, { results: "x" }, [1, null, "x"]])(
    "count as empty when they are %j, and are refused where everything must be listed",
    async (body) => {
      const fake = await serve();
      const api = new PlatformApi(clientOf(fake));
      fake.replyNext(4, { status: 200, body });
      expect(await api.search("tea", USER, SEARCH, signal)).toEqual([]);
      expect(await api.list(USER, LIMITS, signal)).toEqual({ memories: [], isWhole: true });
      const strict = api.list(USER, { ...LIMITS, isStrict: true }, signal);
      await expect(strict).rejects.toThrow(/not one that Mem0 gives/);
      const added = api.add(verbatim, signal);
      await expect(added).rejects.toThrow(/not one that Mem0 gives/); // nothing proves that it was stored
    },
  );

  it("are listed page by page, up to a limit, and a server that repeats its page ends the list", async () => {
    const fake = await serve();
    for (let each = 0; each < 7; each += 1) fake.put({ memory: `fact ${each}`, user_id: "u1" });
    const api = new PlatformApi(clientOf(fake));
    const whole = await api.list(USER, { pageSize: 3, pages: 10 }, signal);
    expect(whole.memories.map(({ text }) => text)).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((each) => `fact ${each}`),
    );
    expect(whole.isWhole).toBe(true);
    const some = await api.list(USER, { pageSize: 3, pages: 2 }, signal);
    expect([some.memories.length, some.isWhole]).toEqual([6, false]);
    const page = [{ id: "1", memory: "a", user_id: "u1" }];
    fake.replyNext(2, { status: 200, body: page });
    expect((await api.list(USER, { pageSize: 1, pages: 10 }, signal)).memories).toHaveLength(1);
  });

  it("never show the memories of another user, whatever the server returns", async () => {
    const fake = await serve();
    const results = [
      { id: "1", memory: "mine", user_id: "u1" },
      { id: "2", memory: "theirs", user_id: "u2", agent_id: "hermes" },
      { id: "3", memory: "the agent's", agent_id: "hermes" },
      { id: "4", memory: "another agent's", agent_id: "other" },
    ];
    const api = new PlatformApi(clientOf(fake));
    fake.replyNext(2, { status: 200, body: { results } });
    const texts = async (filter: Filter) =>
      (await api.search("x", filter, SEARCH, signal)).map(({ text }) => text);
    expect(await texts(USER)).toEqual(["mine"]);
    expect(await texts(ids)).toEqual(["mine", "the agent's"]);
  });

  it("about writes are stored, queued or failed", async () => {
    const fake = await serve();
    const api = new PlatformApi(clientOf(fake));
    expect(await api.add(verbatim, signal)).toMatchObject({ state: "stored" });
    const queued = await api.add({ ...ids, messages: said }, signal);
    expect(queued.state).toBe("queued");
    expect(await api.eventState(queued.eventId, signal)).toBe("stored");
    fake.hasEvents = false;
    expect(await api.eventState(queued.eventId, signal)).toBe("unknown");
    fake.replyNext(1, { status: 200, body: { status: "FAILED", message: "no room", event_id: "e" } });
    await expect(api.add(verbatim, signal)).rejects.toThrow("Mem0 could not store it: no room");
  });
});

describe("a self-hosted server", () => {
  it("is asked with its own paths", async () => {
    const fake = await serve("oss");
    const api = new SelfHostedApi(clientOf(fake));
    expect(await api.add(verbatim, signal)).toEqual({ state: "stored", eventId: "" });
    expect(await api.search("dark mode", USER, SEARCH, signal)).toMatchObject([
      { text: "Prefers dark mode" },
    ]);
    const { memories } = await api.list(USER, LIMITS, signal);
    await api.remove(memories[0]?.id ?? "", signal);
    await api.remove("never-there", signal);
    expect(await api.check(signal)).toContain("answers");
    expect(requestsTo(fake, "/memories")).toEqual([
      {
        method: "POST",
        query: {},
        body: {
          messages: verbatim.messages,
          user_id: "u1",
          agent_id: "hermes",
          infer: false,
          metadata: verbatim.metadata,
        },
      },
      { method: "GET", query: { user_id: "u1", top_k: "1000" } },
      { method: "GET", query: { user_id: "hermes-check", top_k: "1" } },
    ]);
    expect(requestsTo(fake, "/search")).toEqual([
      { method: "POST", query: {}, body: { query: "dark mode", filters: { user_id: "u1" }, top_k: 5 } },
    ]);
    expect(fake.memories("u1")).toEqual([]);
  });

  it.each([400, 422, 500] as const)(
    "of an earlier revision that answers %i gets the user at the top level, then at once",
    async (status) => {
      const fake = await serve("oss");
      fake.olderSearchStatus = status;
      for (let each = 0; each < 8; each += 1) fake.put({ memory: `tea ${each}`, user_id: "u1" });
      const api = new SelfHostedApi(clientOf(fake));
      expect(await api.search("tea", USER, SEARCH, signal)).toHaveLength(5);
      expect(await api.search("tea", USER, SEARCH, signal)).toHaveLength(5);
      expect(requestsTo(fake, "/search").map(({ body }) => Object.keys(body as object))).toEqual([
        ["query", "filters", "top_k"],
        ["query", "user_id"],
        ["query", "user_id"],
      ]);
    },
  );

  it.each([[null], [{}], [{ hello: 1 }], ["text"], [[]], [["text"]], [{ results: [1] }]])(
    "that answers %j has stored nothing",
    async (body) => {
      const fake = await serve("oss");
      fake.replyNext(1, { status: 200, body });
      await expect(new SelfHostedApi(clientOf(fake)).add(verbatim, signal)).rejects.toThrow(
        /not one that Mem0 gives/,
      );
    },
  );
});

// The requests of RetainDB: equal to the recorded ones of the vendor's client, and in the variant that each edition has.
import { describe, expect, it, onTestFinished } from "vitest";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { createHttpClient, ServiceError } from "../../src/kit/http.ts";
import { memoryIdIn, type NewMemory, RetainDbWire } from "../../src/retaindb/wire.ts";
import { readRecordings } from "../fakes/servers/recordings.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import type { RetainDbEdition } from "../fakes/servers/retaindb-controls.ts";
import { KEY } from "./harness.ts";

const never = new AbortController().signal;
const TIME = "2026-01-02T03:04:05.678Z";
const MEMORY: NewMemory = { content: "likes tea", type: "preference", importance: 0.7, sessionId: "s1" };

async function open(edition: RetainDbEdition = "cloud") {
  const fake = await new FakeRetainDb({ edition }).start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  fake.addMemory("hermes", { id: "mem_1", content: "likes tea", user_id: "u1", session_id: "s1" });
  const text = { name: "a.txt", mimeType: "text/plain", scope: "PROJECT", content: "hello" } as const;
  fake.addFile({ id: "file_1", path: "/a.txt", project: "hermes", ...text });
  const http = createHttpClient({
    service: "RetainDB",
    baseUrl: fake.url,
    headers: () => ({ authorization: `Bearer ${KEY}`, "x-sdk-runtime": "hermes-plugin" }),
    timeoutMs: 8_000,
    breaker: new Breaker({ failures: 100 }),
    closing: never,
  });
  return { fake, wire: new RetainDbWire(http, KEY, { project: "hermes", user: "u1", agent: "hermes" }) };
}

const paths = (fake: FakeRetainDb) => fake.requests.map(({ method, path }) => `${method} ${path}`);

// ---- Recorded requests

type Send = (wire: RetainDbWire, fake: FakeRetainDb) => Promise<unknown>;

/** By recording: our call, and what we send beyond the recorded body. */
const CALLS: Readonly<Record<string, readonly [Send, object?]>> = {
  "retaindb-001": [(wire) => wire.context("tea", "s1", never)],
  "retaindb-003": [(wire) => wire.search("tea", 8, "s1", never)],
  "retaindb-005": [(wire) => wire.profile(never)],
  "retaindb-006": [
    (wire, fake) => {
      fake.memoryPaths = "memories";
      return wire.profile(never);
    },
  ],
  "retaindb-008": [(wire) => wire.add(MEMORY, "key-1", never)],
  "retaindb-010": [
    (wire, fake) => {
      fake.memoryPaths = "memories";
      return wire.add({ ...MEMORY, type: "factual", sessionId: "" }, "key-1", never);
    },
    { importance: 0.7 }, // the recorded call had no argument for it
  ],
  "retaindb-015": [(wire) => wire.delete("mem_1", never)],
  "retaindb-016": [
    (wire, fake) => {
      fake.memoryPaths = "memories";
      return wire.delete("mem_1", never);
    },
  ],
  "retaindb-018": [
    (wire) => {
      const messages = [
        { role: "user", content: "I like tea", timestamp: TIME },
        { role: "assistant", content: "Noted.", timestamp: TIME },
      ];
      return wire.ingest("s1", { user: "u1", messages }, "key-1", never);
    },
  ],
  "retaindb-029": [(wire) => wire.ingestFile("file_1", undefined, never)],
  "retaindb-030": [(wire) => wire.listFiles("/a", 50, never)],
  "retaindb-031": [(wire) => wire.file("file_1", never)],
  "retaindb-032": [(wire) => wire.deleteFile("file_1", never)],
};

const recordings = readRecordings("retaindb");

describe.skipIf(!recordings)("our request equals the recorded one", () => {
  it.each(Object.keys(CALLS))("%s", async (id) => {
    const recorded = recordings?.find((each) => each.id === id)?.request;
    const [send, extra] = CALLS[id] ?? [];
    if (!recorded || send === undefined) throw new Error(`${id} is not among the recordings.`);
    const { fake, wire } = await open();
    await send(wire, fake);
    const { method, path, query, body, headers } = fake.requests.at(-1) ?? {};
    expect({ method, path, query }).toEqual({
      method: recorded.method,
      path: recorded.path,
      query: recorded.query,
    });
    expect(body).toEqual(recorded.body === null ? undefined : { ...(recorded.body as object), ...extra });
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
    if (recorded.headers["x-api-key"] !== undefined) expect(headers?.["x-api-key"]).toBe(KEY);
  });
});

// ---- Headers

describe("headers", () => {
  it("carry the key twice on memory and context paths, once on file paths, and never anything of this computer", async () => {
    const { fake, wire } = await open();
    await wire.context("tea", "s1", never);
    await wire.profile(never);
    await wire.listFiles("", 5, never);
    expect(fake.requests.map(({ headers }) => headers["x-api-key"])).toEqual([KEY, KEY, undefined]);
    for (const { headers } of fake.requests) expect(headers["x-sdk-runtime"]).toBe("hermes-plugin");
  });

  it("carry the idempotency key of a write, so that a repeated one stores nothing twice", async () => {
    const { fake, wire } = await open();
    const first = await wire.add(MEMORY, "key-1", never);
    expect(memoryIdIn(await wire.add(MEMORY, "key-1", never))).toBe(memoryIdIn(first));
    expect(fake.memories("u1")).toHaveLength(2); // with the one that was there
  });
});

// ---- Editions

describe("editions", () => {
  it("the service is asked at the profile, the open server by dialectic, and the answer is remembered", async () => {
    for (const [edition, path] of [
      ["cloud", "POST /v1/memory/profile/u1/ask"],
      ["open", "POST /v1/memory/dialectic"],
    ] as const) {
      const { fake, wire } = await open(edition);
      expect(await wire.ask("likes tea?", "low", never)).toMatchObject({ answer: "likes tea" });
      fake.requests.length = 0;
      await wire.ask("likes tea?", "low", never);
      expect(paths(fake)).toEqual([path]);
    }
  });

  it("a question for the open server has at most 1,000 characters, without half a one", async () => {
    const { fake, wire } = await open("open");
    await wire.ask(`a${"🏺".repeat(2_000)}`, "high", never);
    const question = String(Object(fake.requests.at(-1)?.body).question);
    expect(question).toHaveLength(999);
    expect(question.isWellFormed()).toBe(true);
  });

  it("the local edition has no questions and no agent model, and is not asked again", async () => {
    const { fake, wire } = await open("local");
    const ask = () =>
      Promise.all([
        wire.ask("tea", "low", never),
        wire.agentModel(never),
        wire.seed("Be dry.", "key", never),
      ]);
    expect(await ask()).toEqual([undefined, undefined, false]);
    const count = fake.requests.length;
    expect(await ask()).toEqual([undefined, undefined, false]);
    expect(fake.requests.length).toBe(count);
  });

  it("an older server has other paths for memories, which are remembered", async () => {
    const { fake, wire } = await open();
    fake.memoryPaths = "memories";
    const id = memoryIdIn(await wire.add(MEMORY, "k1", never));
    await wire.profile(never);
    await wire.delete(id, never);
    fake.requests.length = 0;
    const next = memoryIdIn(await wire.add(MEMORY, "k2", never));
    await wire.profile(never);
    await wire.delete(next, never);
    expect(paths(fake)).toEqual(["POST /v1/memories", "GET /v1/memories", `DELETE /v1/memories/${next}`]);
  });

  it.each([400, 409, 422, 500])("the older path is not tried after %d", async (status) => {
    const { fake, wire } = await open();
    fake.fail(status);
    await expect(wire.add(MEMORY, "k", never)).rejects.toBeInstanceOf(ServiceError);
    expect(new Set(paths(fake))).toEqual(new Set(["POST /v1/memory"]));
  });

  it("a key that may not write synchronously writes asynchronously from then on", async () => {
    const { fake, wire } = await open();
    fake.restrictsSyncWrites = true;
    expect(memoryIdIn(await wire.add(MEMORY, "k1", never))).toBe("");
    fake.requests.length = 0;
    const messages = [{ role: "user", content: "hello", timestamp: TIME }];
    await wire.ingest("s1", { user: "u1", messages }, "k2", never);
    expect(fake.requests.map(({ body }) => (body as { write_mode: string }).write_mode)).toEqual(["async"]);
    expect(fake.memories("u1").map(({ content }) => content)).toEqual(["likes tea", "likes tea", "hello"]);
  });

  const FOREIGN: readonly (readonly [unknown])[] = [
    [["a", "list"]],
    [[]],
    [{ success: false, error: "no" }],
    [{ hello: 1 }],
    [null],
    ["text"],
  ];

  it.each(FOREIGN)("an answer that does not confirm a write is an error: %j", async (body) => {
    const { fake, wire } = await open();
    fake.fail(200, body);
    const messages = [{ role: "user", content: "hello", timestamp: TIME }];
    const refusal = { failure: { kind: "bad-answer" } };
    await expect(wire.add(MEMORY, "k", never)).rejects.toMatchObject(refusal);
    await expect(wire.ingest("s", { user: "u1", messages }, "k", never)).rejects.toMatchObject(refusal);
    await expect(wire.seed("text", "k", never)).rejects.toMatchObject(refusal);
    await expect(wire.delete("m1", never)).rejects.toMatchObject(refusal);
    await expect(wire.deleteFile("f1", never)).rejects.toMatchObject(refusal);
  });

  const NO_LISTS: typeof FOREIGN = [
    ...FOREIGN,
    [{ memories: "none" }],
    [{ memories: [1], results: [1], files: [1] }],
  ];

  it.each(NO_LISTS)("an answer that is no list is an error: %j", async (body) => {
    const { fake, wire } = await open();
    fake.fail(200, body);
    const refusal = { failure: { kind: "bad-answer" } };
    await expect(wire.profile(never)).rejects.toMatchObject(refusal);
    await expect(wire.search("q", 3, "s", never)).rejects.toMatchObject(refusal);
    await expect(wire.listFiles("", 3, never)).rejects.toMatchObject(refusal);
  });

  it.each([{ job_id: "j1" }, { memories_created: 0 }, { success: true }])(
    "an ingest is confirmed by %j",
    async (body) => {
      const { fake, wire } = await open();
      fake.fail(200, body);
      expect(await wire.ingest("s", { user: "u1", messages: [] }, "k", never)).toEqual(body);
    },
  );
});

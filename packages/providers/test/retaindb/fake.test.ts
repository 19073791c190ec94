// The fake RetainDB is what the provider is tested against, so it is tested first: against recorded requests of the vendor's client and
// against wrong requests. With RETAINDB_TEST_URL (and RETAINDB_TEST_KEY) the contract also runs against a real server of any edition.
import { randomUUID } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Answer,
  readRecordings,
  replay,
  request,
  shapeDifferences,
  successesOf,
} from "../fakes/servers/recordings.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import type { RetainDbEdition } from "../fakes/servers/retaindb-controls.ts";

const KEY = "test-key";
const EDITIONS: readonly RetainDbEdition[] = ["cloud", "open", "local"];
const TIME = "2026-01-02T03:04:05.678Z";

async function startFake(edition?: RetainDbEdition): Promise<FakeRetainDb> {
  const fake = await new FakeRetainDb(edition === undefined ? {} : { edition }).start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  return fake;
}

type Target = { readonly url: string; readonly key?: string };
type Extra = { readonly idempotencyKey?: string };

/** Sends JSON (`call` is method and path) with the key. */
function send(
  { url, key = KEY }: Target,
  call: string,
  body?: unknown,
  { idempotencyKey }: Extra = {},
): Promise<Answer> {
  const [method = "", path = ""] = call.split(" ");
  const once = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  return request(`${url}${path}`, {
    method,
    redirect: "manual",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...once },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function upload(
  fake: FakeRetainDb,
  content: string,
  fields: Record<string, string>,
  type = "text/plain",
) {
  const form = new FormData();
  form.append("file", new Blob([content], { type }), "a.txt");
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return request(`${fake.url}/v1/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}` },
    body: form,
  });
}

const memory = { project: "p", content: "likes tea", user_id: "u1", write_mode: "sync" };
const turn = {
  project: "p",
  session_id: "s1",
  user_id: "u1",
  messages: [{ role: "user", content: "I like tea", timestamp: TIME }],
};

// ---- Recorded requests

/** Answers that the recorder invented and B5 of the spec has otherwise: only the status counts. */
const OTHER_ANSWER = ["retaindb-015", "retaindb-016", "retaindb-026"];

/** What the recordings take for granted. */
function fill(fake: FakeRetainDb): void {
  fake.addMemory("hermes", { id: "mem_1", content: "likes tea", user_id: "u1", session_id: "s1" });
  const text = { name: "a.txt", mimeType: "text/plain", scope: "PROJECT", content: "hello" } as const;
  fake.addFile({ id: "file_1", path: "/a.txt", project: "hermes", ...text });
}

const recordings = readRecordings("retaindb");

describe.skipIf(!recordings)("a recorded request of the vendor's client", () => {
  const valid = (recordings ?? []).filter((each) => successesOf(each).length > 0);

  it("is there to be sent again", () => expect(valid.length).toBeGreaterThan(25));

  it.each(valid.map((each) => [each.id, each.op, each] as const))(
    "%s %s is accepted",
    async (id, _op, recording) => {
      const fake = await startFake();
      fill(fake);
      for (const recorded of successesOf(recording)) {
        // The client makes `{}` of the form (06e): no server can accept an upload without a file.
        const isBrokenUpload = recorded.request.method === "POST" && recorded.request.path === "/v1/files";
        const answer = await replay(fake.url, recorded.request, KEY);
        const wanted = isBrokenUpload ? 4 : Math.floor(recorded.status / 100);
        expect(Math.floor(answer.status / 100), JSON.stringify(answer.body)).toBe(wanted);
        if (isBrokenUpload || OTHER_ANSWER.includes(id)) continue;
        expect(shapeDifferences(recorded.body, answer.body)).toEqual([]);
      }
    },
  );
});

// ---- What every edition does

function contract(targetOf: () => Promise<Target>): void {
  it("stores, finds, lists and deletes a memory, apart from other users and projects", async () => {
    const target = await targetOf();
    const project = `test-${randomUUID()}`;
    const add = (content: string, user_id: string, where = project) =>
      send(target, "POST /v1/memory", {
        project: where,
        content,
        user_id,
        memory_type: "preference",
        write_mode: "sync",
      });
    const added = await add("likes green tea", "u1");
    expect([200, 201]).toContain(added.status);
    await add("likes green coffee", "u2");
    await add("likes green paint", "u1", `${project}-other`);
    const contentsOf = async (user: string) => {
      const { body } = await send(
        target,
        `GET /v1/memory/profile/${user}?project=${project}&include_pending=true`,
      );
      return (body as { memories: { content: string }[] }).memories.map(({ content }) => content);
    };
    expect(await contentsOf("u1")).toEqual(["likes green tea"]);
    const search = { project, query: "green", user_id: "u1", top_k: 8, include_pending: true };
    const found = (await send(target, "POST /v1/memory/search", search)).body as {
      results: { memory: { content: string } }[];
    };
    expect(found.results.map((each) => each.memory.content)).toEqual(["likes green tea"]);
    const query = { project, query: "green", user_id: "u1", include_memories: true, max_tokens: 1200 };
    const context = (await send(target, "POST /v1/context/query", query)).body as {
      results: { content: string }[];
    };
    expect(context.results.map(({ content }) => content)).toContain("likes green tea");
    const { memory_id } = added.body as { memory_id: string };
    expect((await send(target, `DELETE /v1/memory/${memory_id}`)).status).toBe(200);
    expect(await contentsOf("u1")).toEqual([]);
    expect(await contentsOf("u2")).toEqual(["likes green coffee"]);
  });

  it("takes a conversation", async () => {
    const target = await targetOf();
    const answer = await send(target, "POST /v1/memory/ingest/session", {
      ...turn,
      project: `test-${randomUUID()}`,
      write_mode: "sync",
    });
    expect(answer).toMatchObject({ status: 200, body: { memories_created: expect.any(Number) } });
  });
}

describe.each(EDITIONS)("the %s edition", (edition) => {
  contract(() => startFake(edition));

  it("has the routes of its edition", async () => {
    const fake = await startFake(edition);
    const question = { project: "p", reasoning_level: "low" };
    const ask = (await send(fake, "POST /v1/memory/profile/u1/ask", { ...question, query: "q" })).status;
    const dialectic = (
      await send(fake, "POST /v1/memory/dialectic", { ...question, user_id: "u1", question: "q" })
    ).status;
    const model = (await send(fake, "GET /v1/memory/agent/hermes/model?project=p")).status;
    const files = (await send(fake, "GET /v1/files?limit=50")).status;
    const wanted = { cloud: [200, 404, 200, 200], open: [404, 200, 200, 200], local: [404, 404, 404, 404] };
    expect([ask, dialectic, model, files]).toEqual(wanted[edition]);
  });

  it("refuses a time with an offset, unless it is local", async () => {
    const fake = await startFake(edition);
    const messages = [{ role: "user", content: "x", timestamp: "2026-01-02T03:04:05+00:00" }];
    const { status } = await send(fake, "POST /v1/memory/ingest/session", { ...turn, messages });
    expect(status).toBe(edition === "local" ? 200 : 400);
  });

  it("answers the deletion of an unknown memory in its own way", async () => {
    const answer = await send(await startFake(edition), "DELETE /v1/memory/mem_none");
    const unknown = { status: 404, body: { error: "Memory not found" } };
    expect(answer).toEqual(edition === "local" ? { status: 200, body: { deleted: null } } : unknown);
  });
});

// `@retaindb/local` is not on npm: it starts from a checkout of the vendor's repository.
describe.skipIf(!process.env.RETAINDB_TEST_URL)("a real server", () => {
  contract(async () => ({
    url: process.env.RETAINDB_TEST_URL ?? "",
    key: process.env.RETAINDB_TEST_KEY ?? "local",
  }));
});

// ---- Wrong requests

type Refused = { readonly what: string; readonly call: string; readonly body?: unknown };

const REFUSED: readonly Refused[] = [
  { what: "project: invalid_type", call: "POST /v1/context/query", body: { query: "q" } },
  { what: "query: too_small", call: "POST /v1/context/query", body: { project: "p", query: "" } },
  { what: "query: too_big", call: "POST /v1/context/query", body: { project: "p", query: "x".repeat(5001) } },
  { what: "top_k: too_big", call: "POST /v1/memory/search", body: { project: "p", query: "q", top_k: 51 } },
  {
    what: "limit: unrecognized_keys",
    call: "POST /v1/memory/search",
    body: { project: "p", query: "q", limit: 5 },
  },
  { what: "content: too_small", call: "POST /v1/memory", body: { ...memory, content: "" } },
  { what: "content: too_big", call: "POST /v1/memory", body: { ...memory, content: "x".repeat(10_001) } },
  { what: "memory_type: invalid_value", call: "POST /v1/memory", body: { ...memory, memory_type: "fact" } },
  { what: "importance: too_big", call: "POST /v1/memory", body: { ...memory, importance: 2 } },
  { what: "write_mode: invalid_value", call: "POST /v1/memory", body: { ...memory, write_mode: "fast" } },
  { what: "type: unrecognized_keys", call: "POST /v1/memory", body: { ...memory, type: "factual" } },
  { what: "messages: too_small", call: "POST /v1/memory/ingest/session", body: { ...turn, messages: [] } },
  {
    what: "messages.0.timestamp: invalid_type",
    call: "POST /v1/memory/ingest/session",
    body: { ...turn, messages: [{ role: "user", content: "x" }] },
  },
  {
    what: "messages.0.role: invalid_value",
    call: "POST /v1/memory/ingest/session",
    body: { ...turn, messages: [{ role: "human", content: "x", timestamp: TIME }] },
  },
  { what: "project: invalid_type", call: "GET /v1/memory/profile/u1" },
  {
    what: "reasoning_level: invalid_value",
    call: "POST /v1/memory/profile/u1/ask",
    body: { project: "p", query: "q", reasoning_level: "max" },
  },
  {
    what: "content: too_big",
    call: "POST /v1/memory/agent/hermes/seed",
    body: { project: "p", content: "x".repeat(32_001) },
  },
  { what: "limit: invalid_format", call: "GET /v1/files?limit=many" },
  { what: "file: invalid_type", call: "POST /v1/files", body: {} },
];

describe("a wrong request", () => {
  it.each(REFUSED)("is refused for $what ($call)", async ({ what, call, body }) => {
    const fake = await startFake();
    const answer = await send(fake, call, body);
    type Issue = { code: string; path: string[]; message: string };
    const { success, error } = answer.body as {
      success: boolean;
      error: { name: string; issues: (Issue & { keys?: string[] })[] };
    };
    const [issue] = error.issues;
    const where = issue?.path.join(".") || /"(\w+)"/.exec(issue?.message ?? "")?.[1];
    expect([answer.status, success, `${where}: ${issue?.code}`]).toEqual([400, false, what]);
    expect(fake.stored()).toEqual({ memories: [], messages: {}, seeds: [], files: [] });
  });

  it("is refused when a question, a scope or a file is too much", async () => {
    const fake = await startFake("open");
    const question = { project: "p", user_id: "u1", question: "x".repeat(1001) };
    expect((await send(fake, "POST /v1/memory/dialectic", question)).status).toBe(400);
    expect((await upload(fake, "x", { path: "/a", scope: "WORLD" })).status).toBe(400);
    fake.fileLimitBytes = 10;
    expect(await upload(fake, "x".repeat(11), { path: "/a", scope: "USER" })).toMatchObject({
      status: 413,
      body: { success: false, error: { code: "FILE_TOO_LARGE" }, trace_id: expect.any(String) },
    });
    expect(fake.files()).toEqual([]);
  });

  it("is refused without the key, with another one, and with two that differ", async () => {
    const fake = await startFake();
    const status = async (headers: Record<string, string>) =>
      (await request(`${fake.url}/v1/memories?project=p`, { headers })).status;
    const authorization = `Bearer ${KEY}`;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: "Bearer wrong" })).toBe(401);
    expect(await status({ authorization, "x-api-key": "wrong" })).toBe(401);
    expect(await status({ authorization, "x-api-key": KEY })).toBe(200);
    expect(await status({ authorization })).toBe(200);
    expect(await request(`${fake.url}/health`)).toEqual({ status: 200, body: { status: "ok" } });
    expect(await send(fake, "GET /v1/nothing")).toEqual({ status: 404, body: { error: "Not found" } });
    expect((await send(fake, "PATCH /v1/memories")).status).toBe(405);
  });
});

// ---- Writes

describe("a write", () => {
  it("with the same Idempotency-Key is stored once and answered the same", async () => {
    const fake = await startFake();
    const once = { idempotencyKey: "row-1" };
    const first = await send(fake, "POST /v1/memory", memory, once);
    expect(await send(fake, "POST /v1/memory", memory, once)).toEqual(first);
    expect(fake.memories("u1")).toHaveLength(1);
    await send(fake, "POST /v1/memory", memory, { idempotencyKey: "row-2" });
    expect(fake.memories("u1")).toHaveLength(2);
    for (let attempt = 0; attempt < 2; attempt += 1)
      await send(fake, "POST /v1/memory/ingest/session", turn, once);
    expect(fake.messagesOf("p", "s1").map(({ content }) => content)).toEqual(["I like tea"]);
  });

  it("that failed is not remembered by its key", async () => {
    const fake = await startFake();
    const once = { idempotencyKey: "row-1" };
    fake.restrictsSyncWrites = true;
    expect(await send(fake, "POST /v1/memory", memory, once)).toMatchObject({
      status: 403,
      body: { success: false, error: { code: "SYNC_WRITE_RESTRICTED" } },
    });
    fake.restrictsSyncWrites = false;
    fake.drops = () => true;
    expect((await send(fake, "POST /v1/memory", memory, once)).status).toBe(422);
    fake.drops = () => false;
    expect((await send(fake, "POST /v1/memory", memory, once)).status).toBe(201);
    expect(fake.memories("u1", "p")).toHaveLength(1);
  });

  it("in the background is pending until it is settled", async () => {
    const fake = await startFake();
    const search = async (include_pending: boolean) => {
      const body = { project: "p", query: "tea", user_id: "u1", include_pending };
      return ((await send(fake, "POST /v1/memory/search", body)).body as { count: number }).count;
    };
    await send(fake, "POST /v1/memory", { ...memory, write_mode: "async" });
    expect(await search(false)).toBe(1);
    fake.settleByHand = true;
    const { status, body } = await send(fake, "POST /v1/memory/ingest/session", {
      ...turn,
      write_mode: "async",
    });
    const { status_url } = body as { status_url: string };
    expect(status).toBe(202);
    expect([await search(false), await search(true)]).toEqual([1, 2]);
    expect((await send(fake, `GET ${status_url}`)).body).toMatchObject({ status: "pending" });
    fake.settle();
    expect(await search(false)).toBe(2);
    expect((await send(fake, `GET ${status_url}`)).body).toMatchObject({ status: "completed" });
  });

  it("goes to the paths of older servers where only those exist", async () => {
    const fake = await startFake();
    fake.memoryPaths = "memories";
    expect((await send(fake, "POST /v1/memory", memory)).status).toBe(404);
    expect((await send(fake, "GET /v1/memory/profile/u1?project=p")).status).toBe(404);
    const { write_mode: _, ...old } = memory;
    const { id } = (await send(fake, "POST /v1/memories", old)).body as { id: string };
    expect((await send(fake, "GET /v1/memories?project=p&user_id=u1&limit=200")).body).toMatchObject({
      memories: [{ id }],
    });
    expect((await send(fake, `DELETE /v1/memory/${id}`)).status).toBe(404);
    expect(await send(fake, `DELETE /v1/memories/${id}`)).toEqual({ status: 200, body: { deleted: true } });
    fake.memoryPaths = "memory";
    expect((await send(fake, "POST /v1/memories", old)).status).toBe(404);
    expect(fake.memories("u1")).toEqual([]);
  });

  it("survives a restart, and trouble leaves nothing behind", async () => {
    const fake = await startFake();
    fake.failNext(
      1,
      429,
      { error: "Rate limit exceeded", code: "RATE_LIMIT_EXCEEDED" },
      { "retry-after": "2" },
    );
    expect((await send(fake, "POST /v1/memory", memory)).status).toBe(429);
    fake.dropNext();
    await expect(send(fake, "POST /v1/memory", memory)).rejects.toThrow("fetch failed");
    expect(fake.memories("u1")).toEqual([]);
    fake.dropAnswerNext();
    await expect(send(fake, "POST /v1/memory", memory)).rejects.toThrow("fetch failed");
    await fake.restart();
    expect((await send(fake, "GET /v1/memory/profile/u1?project=p")).body).toMatchObject({ count: 1 });
  });
});

// ---- Answers, agents, files

describe("the fake", () => {
  it("answers questions from the memories of the user, or as set", async () => {
    const fake = await startFake();
    fake.addMemory("p", { id: "mem_1", content: "likes tea", user_id: "u1" });
    fake.addMemory("p", { content: "hates tea", user_id: "u2" });
    const ask = () =>
      send(fake, "POST /v1/memory/profile/u1/ask", { project: "p", query: "tea", reasoning_level: "high" });
    expect((await ask()).body).toEqual({
      answer: "likes tea",
      supporting_memory_ids: ["mem_1"],
      coverage_score: 1,
      reasoning_level: "high",
    });
    fake.answer = ({ user, level }) => `${user} at ${level}`;
    expect((await ask()).body).toMatchObject({ answer: "u1 at high" });
  });

  it("keeps the seed of an agent and answers its model", async () => {
    const fake = await startFake();
    const model = async () => (await send(fake, "GET /v1/memory/agent/hermes/model?project=p")).body;
    expect(await model()).toMatchObject({ agent_id: "hermes", memory_count: 0, persona: null });
    await send(fake, "POST /v1/memory/agent/hermes/seed", {
      project: "p",
      content: "Be kind.",
      source: "soul_md",
    });
    expect(fake.seedsOf("p", "hermes")).toMatchObject([{ content: "Be kind.", source: "soul_md" }]);
    expect(await model()).toMatchObject({ memory_count: 1 });
    const set = {
      persona: "kind",
      persistent_instructions: ["listen"],
      working_style: "calm",
      memory_count: 3,
    };
    fake.setAgentModel("p", "hermes", set);
    expect(await model()).toEqual({ agent_id: "hermes", ...set });
  });

  it("stores, lists, reads, ingests and deletes files", async () => {
    const fake = await startFake();
    const { status, body } = await upload(fake, "tea notes", {
      path: "/notes/a.txt",
      scope: "PROJECT",
      project_id: "p",
    });
    const { file } = body as { file: { id: string; size: number; mime_type: string } };
    expect([status, file.size, file.mime_type]).toEqual([201, 9, "text/plain"]);
    expect((await send(fake, "GET /v1/files?limit=50&prefix=/notes")).body).toMatchObject({
      total: 1,
      files: [{ id: file.id }],
    });
    expect((await send(fake, "GET /v1/files?prefix=/other")).body).toEqual({ files: [], total: 0 });
    expect((await send(fake, `GET /v1/files/${file.id}/content`)).body).toBe("tea notes");
    expect(
      (await send(fake, `POST /v1/files/${file.id}/ingest`, { user_id: "u1", agent_id: "hermes" })).body,
    ).toMatchObject({
      documents_indexed: 1,
      memories_created: 1,
    });
    expect(fake.memories("u1", "p").map(({ content }) => content)).toEqual(["tea notes"]);
    fake.storageUrl = "http://127.0.0.1:9/elsewhere";
    expect((await send(fake, `GET /v1/files/${file.id}/content`)).status).toBe(302);
    expect((await send(fake, `DELETE /v1/files/${file.id}`)).body).toEqual({
      success: true,
      deleted: file.id,
    });
    expect((await send(fake, `GET /v1/files/${file.id}`)).status).toBe(404);
  });

  it("keeps the context within its tokens and gives vectors with memories", async () => {
    const fake = await startFake();
    for (const letter of ["a", "b"])
      fake.addMemory("p", { content: `tea ${letter.repeat(30)}`, user_id: "u1" });
    const query = { project: "p", query: "tea", user_id: "u1", include_memories: true, max_tokens: 10 };
    const context = (await send(fake, "POST /v1/context/query", query)).body as { results: unknown[] };
    expect(context.results).toHaveLength(1);
    const none = await send(fake, "POST /v1/context/query", { ...query, include_memories: false });
    expect(none.body).toMatchObject({ results: [], context: "" });
    const found = await send(fake, "POST /v1/memory/search", {
      project: "p",
      query: "tea",
      user_id: "u1",
      top_k: 1,
    });
    expect(found.body).toMatchObject({
      count: 1,
      results: [{ memory: { embedding: [0.125, -0.25, 0.5] }, similarity: 1 }],
    });
  });
});

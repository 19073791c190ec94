// The fake OpenViking server: it answers what the `ov` command sent, keeps two versions apart, and refuses wrong requests.
// No npm client exists: the recordings of `ov` are the check from outside.
import { randomBytes, randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isObject } from "../fakes/servers/body-check.ts";
import { FakeOpenViking } from "../fakes/servers/openviking.ts";
import { answeredRecordings, replay, shapeDifferences, successesOf } from "../fakes/servers/recordings.ts";

const TOKEN = "test-token";
const MEMORIES = "viking://user/default/memories";
let fake: FakeOpenViking;

beforeEach(async () => {
  fake = await new FakeOpenViking().start();
  fake.requireAuth(TOKEN);
});

afterEach(async () => {
  await fake.stop();
});

/** Only what the tests read. */
type Answer = { readonly status: string; readonly result: never; readonly error: { readonly code: string } };
type Headers = Readonly<Record<string, string>>;

async function call(base: string, target: string, body?: unknown, headers: Headers = {}) {
  const [method = "", path = ""] = target.split(" ");
  const type: Headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(base + path, {
    method,
    headers: { ...type, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = (await response.json()) as Answer;
  return {
    status: response.status,
    body: answer,
    result: answer.result as unknown,
    code: answer.error?.code,
  };
}

const send = (target: string, body?: unknown, headers: Headers = {}) =>
  call(fake.url, target, body, { "x-api-key": TOKEN, ...headers });

const find = (body: object, headers?: Headers) =>
  send("POST /api/v1/search/find", { query: "tea", ...body }, headers);
const write = (uri: string, content: string, more: object = {}, headers?: Headers) =>
  send("POST /api/v1/content/write", { uri, content, mode: "create", ...more }, headers);
const at = (path: string, uri: string) => `GET /api/v1/${path}?uri=${encodeURIComponent(uri)}`;

async function foundUris(body: object, headers?: Headers): Promise<readonly string[]> {
  const { result } = await find(body, headers);
  const { memories, resources, skills } = result as Record<string, readonly { uri: string }[]>;
  return [memories, resources, skills].flatMap((group) => group ?? []).map(({ uri }) => uri);
}

describe("recorded requests", () => {
  it.each(answeredRecordings("openviking") ?? [])("$id: $op", async (recording) => {
    const { request } = recording;
    if (request.headers["x-api-key"] === undefined) fake.requireAuth(undefined);
    for (const uri of [
      "viking://resources/docs/x.md",
      "viking://resources/a.md",
      "viking://resources/a b.md",
    ])
      fake.put(uri, "full text about tea");
    fake.put(`${MEMORIES}/preferences/m.md`, "likes tea");
    if (request.method === "DELETE") fake.put("viking://resources/new/y.md", "y");
    if (request.path.includes("/sessions/sess-1"))
      await send("POST /api/v1/sessions/sess-1/messages", { role: "user", content: "I like tea" });
    for (const { request: sent, body: recorded } of successesOf(recording)) {
      const answer = await replay(fake.url, sent, TOKEN);
      expect({ status: answer.status, answer }).toMatchObject({ status: 200 });
      const isComparable = isObject(recorded) && recorded.status !== "error";
      if (isComparable) expect(shapeDifferences(recorded, answer.body)).toEqual([]);
    }
    const isPlainSearch =
      isObject(request.body) && request.body.query === "tea" && request.body.since === undefined;
    if (isPlainSearch) expect(await foundUris({})).toContain(`${MEMORIES}/preferences/m.md`);
  });
});

/** A round that a real server of version 0.4 passes as well. Indexing takes a moment there: search waits for it. */
async function round(base: string, key: string): Promise<void> {
  const ask = (target: string, body?: unknown) =>
    call(base, target, body, key === "" ? {} : { "x-api-key": key });
  const health = await ask("GET /health");
  expect(health.body).toMatchObject({ status: "ok", version: expect.stringMatching(/^0\.4\./) });
  const word = `oolong${randomBytes(4).toString("hex")}`;
  const uri = `viking://~/memories/preferences/mem_${randomBytes(6).toString("hex")}.md`;
  const stored = await ask("POST /api/v1/content/write", {
    uri,
    content: `Ann likes ${word}`,
    mode: "create",
    wait: true,
  });
  expect(stored.result).toMatchObject({ context_type: "memory", mode: "create", content_updated: true });
  expect((await ask("POST /api/v1/content/write", { uri, content: "x", mode: "create" })).status).toBe(409);
  expect((await ask(at("content/read", uri))).result).toContain(word);
  expect((await ask(at("fs/stat", uri))).result).toMatchObject({ isDir: false });
  const search = { query: word, target_uri: "viking://~/memories", limit: 5 };
  expect((await ask("POST /api/v1/search/find", search)).result).toMatchObject({
    memories: [{ context_type: "memory", abstract: expect.stringContaining(word) }],
  });
  expect(await ask("POST /api/v1/search/find", { query: word, top_k: 3 })).toMatchObject({
    status: 400,
    code: "INVALID_ARGUMENT",
  });

  const session = `/api/v1/sessions/${randomUUID()}`;
  const messages = [
    { role: "user", content: "I like tea" },
    { role: "assistant", content: "Noted." },
  ];
  expect((await ask(`POST ${session}/messages/batch`, { messages })).result).toMatchObject({
    added: 2,
    message_count: 2,
  });
  expect((await ask(`POST ${session}/commit`, {})).result).toMatchObject({
    status: "accepted",
    archived: true,
  });
  expect((await ask(`DELETE ${session}`)).status).toBe(200);

  expect((await ask(`DELETE /api/v1/fs?uri=${encodeURIComponent(uri)}`)).status).toBe(200);
  expect(await ask(at("content/read", uri))).toMatchObject({ status: 404, code: "NOT_FOUND" });
}

describe("a whole round", () => {
  it("stores, searches, reads, commits and deletes", async () => {
    await round(fake.url, TOKEN);
  });

  // Needs a server of one's own, version 0.4: OPENVIKING_TEST_URL, and OPENVIKING_TEST_KEY where it asks for one.
  it.skipIf(!process.env.OPENVIKING_TEST_URL)(
    "does the same against a real server",
    { timeout: 300_000 },
    async () => {
      await round(process.env.OPENVIKING_TEST_URL ?? "", process.env.OPENVIKING_TEST_KEY ?? "");
    },
  );
});

describe("version 0.4", () => {
  it.each<[string, string, object]>([
    ["find with top_k", "search/find", { query: "tea", top_k: 3 }],
    ["find with mode", "search/find", { query: "tea", mode: "fast" }],
    ["find with an empty query", "search/find", { query: "" }],
    ["find with a limit that is a string", "search/find", { query: "tea", limit: "3" }],
    ["find with a wrong context type", "search/find", { query: "tea", context_type: ["fact"] }],
    ["find with a session", "search/find", { query: "tea", session_id: "s" }],
    ["write in an unknown mode", "content/write", { uri: `${MEMORIES}/a.md`, content: "x", mode: "upsert" }],
    ["write without content", "content/write", { uri: `${MEMORIES}/a.md` }],
    ["a message of an unknown role", "sessions/s/messages", { role: "system", content: "x" }],
    ["a message without content", "sessions/s/messages", { role: "user" }],
    ["a batch of none", "sessions/s/messages/batch", { messages: [] }],
    [
      "a batch of 101",
      "sessions/s/messages/batch",
      { messages: Array(101).fill({ role: "user", content: "x" }) },
    ],
    ["a commit with an unknown field", "sessions/s/commit", { force: true }],
  ])("refuses %s with 400 and the reason", async (_, path, body) => {
    await send("POST /api/v1/sessions", { session_id: "s" });
    const answer = await send(`POST /api/v1/${path}`, body);
    expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(answer.body.error).toMatchObject({ details: { validation_errors: [{ loc: expect.any(Array) }] } });
    expect(fake.messagesOf("s")).toEqual([]);
  });

  it("refuses places that it does not know, and those of others", async () => {
    expect(await write("viking://user/memories/a.md", "x")).toMatchObject({
      status: 400,
      code: "INVALID_URI",
    });
    expect(await write("https://example.com/a.md", "x")).toMatchObject({ status: 400, code: "INVALID_URI" });
    expect(await write("viking://resources/../a.md", "x")).toMatchObject({
      status: 400,
      code: "INVALID_URI",
    });
    expect(await write("viking://user/ben/memories/a.md", "x")).toMatchObject({
      status: 403,
      code: "PERMISSION_DENIED",
    });
    expect(await write("viking://resources/a.exe", "x")).toMatchObject({
      status: 400,
      code: "INVALID_ARGUMENT",
    });
    expect(await write("viking://resources/a.md", "x", { mode: "append" })).toMatchObject({
      status: 404,
      code: "NOT_FOUND",
    });
    expect((await send(`${at("fs/ls", "viking://")}&depth=2`)).status).toBe(400);
    expect(fake.stored()).toEqual({});
  });

  it("takes the folder of a peer for a place of memories, and that of an agent for resources", async () => {
    await write("viking://user/default/peers/hermes/memories/preferences/a.md", "green tea");
    await write("viking://user/default/agent/hermes/memories/preferences/b.md", "black tea");
    expect((await find({})).result).toMatchObject({
      memories: [{ uri: "viking://user/default/peers/hermes/memories/preferences/a.md", tags: [] }],
      resources: [{ context_type: "resource" }],
      total: 2,
    });
  });

  it("shows with an actor peer only the folder of that peer", async () => {
    for (const peer of ["hermes", "other"])
      await write(`viking://user/default/peers/${peer}/memories/a.md`, "tea");
    const own = ["viking://user/default/peers/hermes/memories/a.md"];
    expect(await foundUris({}, { "x-openviking-actor-peer": "hermes" })).toEqual(own);
    expect(await foundUris({}, { "x-openviking-agent": "hermes" })).toHaveLength(2);
  });

  it("goes by the key: tenant headers are ignored, a root key is refused", async () => {
    fake.addKey("ann-key", { account: "acme", user: "ann" });
    fake.addKey("root-key", { role: "root" });
    const ann = { "x-api-key": "ann-key", "x-openviking-account": "default", "x-openviking-user": "default" };
    expect((await write("viking://~/memories/a.md", "Ann drinks tea", {}, ann)).status).toBe(200);
    expect(fake.memories({ account: "acme", user: "ann" })).toEqual({
      "viking://user/ann/memories/a.md": "Ann drinks tea",
    });
    expect(await foundUris({})).toEqual([]);
    expect(await find({}, { "x-api-key": "root-key" })).toMatchObject({
      status: 403,
      code: "PERMISSION_DENIED",
    });
    fake.revokeKey("ann-key");
    expect(await find({}, ann)).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
  });
});

describe("version 0.3", () => {
  beforeEach(() => {
    fake.profile = "v03";
  });

  it("ignores unknown fields, answers more of a context and has no batches", async () => {
    for (let index = 0; index < 12; index += 1) fake.put(`${MEMORIES}/preferences/${index}.md`, "tea");
    expect((await find({ top_k: 3, mode: "fast" })).result).toMatchObject({ total: 10 });
    const limited = await find({ limit: 1 });
    expect(limited.result).toMatchObject({ memories: [{ category: "", match_reason: "", relations: [] }] });
    expect(await find({ limit: "3" })).toMatchObject({ status: 400 });
    const batch = { messages: [{ role: "user", content: "x" }] };
    const answer = await send("POST /api/v1/sessions/s/messages/batch", batch);
    expect(answer).toMatchObject({ status: 404, body: { detail: "Not Found" } });
    expect((await send("GET /health")).body).toMatchObject({ version: expect.stringMatching(/^0\.3\./) });
  });

  it("knows user/memories and the folder of an agent, not the sign ~", async () => {
    await write("viking://user/memories/preferences/a.md", "green tea");
    await write("viking://user/default/agent/hermes/memories/preferences/b.md", "black tea");
    expect(Object.keys(fake.memories())).toEqual([
      `${MEMORIES}/preferences/a.md`,
      "viking://user/default/agent/hermes/memories/preferences/b.md",
    ]);
    expect(await foundUris({}, { "x-openviking-agent": "other" })).toEqual([`${MEMORIES}/preferences/a.md`]);
    expect(await write("viking://~/memories/a.md", "x")).toMatchObject({ status: 400, code: "INVALID_URI" });
  });

  it("compares tenant headers with the key and asks for them with a root key", async () => {
    fake.addKey("root-key", { role: "root" });
    expect(await find({}, { "x-openviking-account": "acme" })).toMatchObject({ status: 403 });
    expect((await find({}, { "x-openviking-account": "default" })).status).toBe(200);
    const asked = await find({}, { "x-api-key": "root-key" });
    expect(asked).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(JSON.stringify(asked.body.error)).toContain("X-OpenViking-Account");
    const named = { "x-api-key": "root-key", "x-openviking-account": "acme", "x-openviking-user": "ann" };
    expect((await write("viking://user/ann/memories/a.md", "tea", {}, named)).status).toBe(200);
  });
});

describe("files", () => {
  beforeEach(() => {
    fake.put("viking://resources/docs/a.md", "one\ntwo\nthree");
    fake.put("viking://resources/docs/deep/b.md", "four");
    fake.put("viking://resources/docs/.hidden.md", "five");
  });

  it("lists folders and trees", async () => {
    const names = async (target: string) =>
      ((await send(target)).result as readonly { rel_path: string }[]).map((entry) => entry.rel_path);
    const docs = at("fs/ls", "viking://resources/docs/");
    expect(await names(docs)).toEqual(["a.md", "deep"]);
    expect(await names(`${docs}&recursive=true&show_all_hidden=true`)).toEqual([
      ".hidden.md",
      "a.md",
      "deep",
      "deep/b.md",
    ]);
    expect(await names(`${docs}&offset=1&limit=1`)).toEqual(["deep"]);
    expect(await names(`${at("fs/tree", "viking://")}&level_limit=2`)).toEqual([
      "resources",
      "resources/docs",
    ]);
    expect((await send(`${docs}&simple=true`)).result).toEqual([
      "viking://resources/docs/a.md",
      "viking://resources/docs/deep",
    ]);
    expect((await send(at("fs/ls", "viking://session"))).result).toEqual([]);
    expect((await send(at("fs/ls", "viking://resources/none"))).code).toBe("NOT_FOUND");
  });

  it("reads files in part and summaries of folders only", async () => {
    const file = "viking://resources/docs/a.md";
    expect((await send(`${at("content/read", file)}&offset=1&limit=1`)).result).toBe("two");
    expect((await send(`${at("content/read", file)}&offset=0&limit=-1`)).result).toBe("one\ntwo\nthree");
    expect((await send(at("content/overview", "viking://resources/docs"))).result).toContain("- deep: four");
    const folder = await send(at("content/read", "viking://resources/docs"));
    expect(folder).toMatchObject({
      status: 400,
      body: { error: { details: { expected: "file", actual: "directory" } } },
    });
    expect((await send(at("content/abstract", file))).status).toBe(400);
  });

  it("removes a folder only with all that is in it", async () => {
    const target = `DELETE /api/v1/fs?uri=${encodeURIComponent("viking://resources/docs")}`;
    expect((await send(target)).code).toBe("FAILED_PRECONDITION");
    expect((await send(`${target}&recursive=true`)).status).toBe(200);
    expect(fake.files()).toEqual({});
  });

  it("finds what was written once it is indexed", async () => {
    fake.settleByHand = true;
    await write(`${MEMORIES}/a.md`, "green tea");
    await write(`${MEMORIES}/b.md`, "tea", { wait: true });
    expect(await foundUris({})).toEqual([`${MEMORIES}/b.md`]);
    fake.settle();
    expect(await foundUris({ query: "green tea" })).toEqual([`${MEMORIES}/a.md`, `${MEMORIES}/b.md`]);
    expect(await foundUris({ query: "green tea", score_threshold: 0.9 })).toEqual([`${MEMORIES}/a.md`]);
    expect(await foundUris({ target_uri: ["viking://resources", ""] })).toEqual([]);
    expect(await foundUris({ context_type: "resource" })).toEqual([]);
  });
});

describe("sessions", () => {
  it("commits new messages once; extraction makes memories", async () => {
    fake.settleByHand = true;
    const session = "/api/v1/sessions/a%2Fb";
    expect((await send(`POST ${session}/commit`, {})).code).toBe("NOT_FOUND");
    await send(`POST ${session}/messages`, { role: "user", content: "I like tea" });
    await send(`POST ${session}/messages`, {
      role: "assistant",
      parts: [{ type: "text", text: "Noted" }],
      peer_id: "hermes",
    });
    const first = await send(`POST ${session}/commit`, {});
    expect(first.result).toMatchObject({
      status: "accepted",
      archive_uri: "viking://session/default/a/b/history/archive_001",
    });
    expect((await send(`POST ${session}/commit`, {})).result).toMatchObject({
      status: "skipped",
      archived: false,
    });
    expect(fake.memories()).toEqual({});
    fake.settle();
    expect(Object.values(fake.memories())).toEqual(["I like tea", "Noted"]);
    expect([fake.messagesOf("a/b").length, fake.archivesOf("a/b")]).toEqual([2, 1]);
    fake.failArchive("a/b");
    await send(`POST ${session}/messages`, { role: "user", content: "more" });
    expect(await send(`POST ${session}/commit`, {})).toMatchObject({
      status: 412,
      code: "FAILED_PRECONDITION",
    });
  });

  it("are separate for two users without keys", async () => {
    fake.requireAuth(undefined);
    for (const user of ["ann", "ben"])
      await send(
        "POST /api/v1/sessions/s/messages",
        { role: "user", content: user },
        { "x-openviking-user": user },
      );
    expect(fake.messagesOf("s", { user: "ann" })).toEqual([{ role: "user", content: "ann" }]);
    expect(fake.stored()).toMatchObject({
      default: { sessions: { "ben/s": { messages: [{ content: "ben" }] } } },
    });
  });
});

describe("resources", () => {
  const ZIP = [
    "UEsDBBQAAAAAAAAAIQAAAAAAAAAAAAAAAAAEAAAAc3ViL1BLAwQUAAAACAAAACEATpAAuBAAAABCAAAACAAAAHN1Yi9iLm1ky8/P",
    "yc9LVyhJTVTIJ48JAFBLAwQUAAAIAAAAACEAz2IgGQUAAAAFAAAABQAAAMOkLm1kcGxhaW5QSwECFAMUAAAAAAAAACEAAAAAAAAA",
    "AAAAAAAABAAAAAAAAAAAAAAAgAEAAAAAc3ViL1BLAQIUAxQAAAAIAAAAIQBOkAC4EAAAAEIAAAAIAAAAAAAAAAAAAACAASIAAABz",
    "dWIvYi5tZFBLAQIUAxQAAAgAAAAAIQDPYiAZBQAAAAUAAAAFAAAAAAAAAAAAAACAAVgAAADDpC5tZFBLBQYAAAAAAwADAJsAAACA",
    "AAAAAAA=",
  ].join("");

  async function upload(name: string, content: string | Buffer<ArrayBuffer>): Promise<string> {
    const form = new FormData();
    form.append("file", new Blob([content]), name);
    const response = await fetch(`${fake.url}/api/v1/resources/temp_upload`, {
      method: "POST",
      headers: { "x-api-key": TOKEN },
      body: form,
    });
    return ((await response.json()) as { result: { temp_file_id: string } }).result.temp_file_id;
  }

  const add = (body: object) => send("POST /api/v1/resources", body);

  it("come from a page, a file and an archive", async () => {
    fake.pages.set("https://example.com/spec.md", "about tea");
    expect((await add({ path: "https://example.com/spec.md", reason: "r" })).result).toMatchObject({
      root_uri: "viking://resources/spec",
    });
    const note = await upload("note.md", "# note");
    await add({ temp_file_id: note, source_name: "note.md", parent: "viking://resources/docs" });
    await add({
      temp_file_id: await upload("x.zip", Buffer.from(ZIP, "base64")),
      source_name: "dir",
      to: "viking://resources/z",
    });
    expect(fake.files()).toEqual({
      "viking://resources/spec/content.md": "about tea",
      "viking://resources/docs/note/note.md": "# note",
      "viking://resources/z/sub/b.md": "oolong tea ".repeat(6),
      "viking://resources/z/\u00e4.md": "plain",
    });
    expect(await foundUris({ query: "oolong" })).toEqual(["viking://resources/z/sub/b.md"]);
  });

  it("are refused without one source, with two places, or with an unknown upload", async () => {
    const path = "https://example.com/";
    expect(await add({ reason: "r" })).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(await add({ path, temp_file_id: "upload_1" })).toMatchObject({ status: 400 });
    expect(await add({ path, to: "viking://resources/a", parent: "viking://resources" })).toMatchObject({
      status: 400,
    });
    expect(await add({ path, to: `${MEMORIES}/a` })).toMatchObject({ status: 400 });
    expect(await add({ path, url: path })).toMatchObject({ status: 400 });
    expect(await add({ temp_file_id: "upload_9" })).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(await add({ path: "/etc/hosts" })).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    expect(await add({ temp_file_id: await upload("x.zip", "no archive") })).toMatchObject({ status: 400 });
    expect((await send("POST /api/v1/resources/temp_upload", {})).status).toBe(400);
  });
});

describe("trouble", () => {
  it("takes a key in either header, and none for health", async () => {
    expect(await call(fake.url, "POST /api/v1/search/find", { query: "tea" })).toMatchObject({
      status: 401,
      code: "UNAUTHENTICATED",
    });
    const bearer = { authorization: `Bearer ${TOKEN}` };
    expect((await call(fake.url, "POST /api/v1/search/find", { query: "tea" }, bearer)).status).toBe(200);
    fake.addKey("ann-key", { account: "acme", user: "ann" });
    expect((await send("GET /health", undefined, { "x-api-key": "ann-key" })).body).toMatchObject({
      auth_mode: "api_key",
      account_id: "acme",
      user_id: "ann",
      role: "user",
    });
    fake.requireAuth("next-token");
    expect((await find({})).status).toBe(401);
    fake.version = null;
    expect((await call(fake.url, "GET /health")).body).toEqual({
      status: "ok",
      healthy: true,
      auth_mode: "api_key",
    });
  });

  it("keeps what it has across a restart, and a lost answer was handled", async () => {
    const message = (content: string) => send("POST /api/v1/sessions/s/messages", { role: "user", content });
    fake.dropAnswerNext();
    await expect(message("handled")).rejects.toThrow();
    fake.dropNext();
    await expect(message("lost")).rejects.toThrow();
    fake.failNext(1, 503, { status: "error", result: null, error: { code: "UNAVAILABLE", message: "down" } });
    expect(await message("refused")).toMatchObject({ status: 503, code: "UNAVAILABLE" });
    await fake.restart();
    await message("later");
    expect(fake.messagesOf("s").map(({ content }) => content)).toEqual(["handled", "later"]);
  });
});

// The five tools, the prompt, recall, and which local files may be uploaded.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { searchResult, zipOf } from "../../src/openviking/tools.ts";
import { FakeOpenViking, readZip } from "../fakes/servers/openviking.ts";
import { accountOf, startProvider } from "./harness.ts";

let fake: FakeOpenViking;
let home: string;
let started: Awaited<ReturnType<typeof startProvider>>;

beforeEach(async () => {
  fake = await new FakeOpenViking().start();
  home = tempDirectory();
  started = await startProvider(fake, home);
});

afterEach(async () => {
  await started.provider.shutdown?.({});
  await fake.stop();
});

const put = (uri: string, text: string) => fake.put(uri, text, { account: accountOf(home) });
const tool = (name: string, args: object) => started.tool(name, args);

describe("recall", () => {
  it("has up to three memories, then up to three resources, each with score, abstract and address", async () => {
    for (let number = 1; number <= 4; number += 1) {
      put(`viking://user/default/memories/events/mem_${number}.md`, `kiln memory ${number}`);
      put(`viking://resources/doc${number}.md`, `kiln page ${number}`);
    }
    const [title, ...lines] = ((await started.recall("hot kiln")) ?? "").split("\n");
    expect(title).toBe("## OpenViking Context");
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe("- [0.50] kiln memory 1 (viking://user/default/memories/events/mem_1.md)");
    expect(lines[3]).toMatch(/kiln page \d \(viking:\/\/resources/);
    expect(started.provider.recallStatus?.()).toMatchObject({ provider_label: "OpenViking", count: 6 });
  });
});

describe("viking_search", () => {
  it("sorts by score over all kinds; a missing score counts as 0 and is above a negative one", () => {
    const context = (uri: string, score?: number) => ({ uri, score, abstract: uri, vector: [1, 2] });
    const answer = {
      memories: [context("m1", 0.5), context("m2", -0.25)],
      resources: [context("r1", 0.98765), context("r2")],
      skills: [{ ...context("s1", 0.7), relations: [{ uri: "a" }, "b", { uri: "c" }, { uri: "d" }] }],
    };
    expect(searchResult(answer)).toEqual({
      results: [
        { uri: "r1", type: "resource", score: 0.988, abstract: "r1" },
        { uri: "s1", type: "skill", score: 0.7, abstract: "s1", related: ["a", "b", "c"] },
        { uri: "m1", type: "memory", score: 0.5, abstract: "m1" },
        { uri: "r2", type: "resource", score: 0, abstract: "r2" },
        { uri: "m2", type: "memory", score: -0.25, abstract: "m2" },
      ],
      total: 5,
    });
    for (const odd of [null, "text", [], { memories: "x", total: "y" }])
      expect(searchResult(odd)).toEqual({ results: [], total: 0 });
  });

  it("searches below the scope, up to the limit, and deep with the other call", async () => {
    for (const name of ["a", "b", "c"]) put(`viking://resources/docs/${name}.md`, "hot kiln");
    put("viking://resources/other.md", "hot kiln");
    expect(
      await tool("viking_search", { query: "kiln", scope: "viking://resources/docs", limit: 2 }),
    ).toMatchObject({
      results: [{ uri: "viking://resources/docs/a.md" }, { uri: "viking://resources/docs/b.md" }],
      total: 2,
    });
    expect(await tool("viking_search", { query: "kiln", mode: "deep" })).toMatchObject({ total: 4 });
    expect(fake.requests.at(-1)?.path).toBe("/api/v1/search/search");
    expect(await tool("viking_search", { query: " " })).toEqual({ error: "query is required" });
  });
});

describe("viking_read", () => {
  const FOLDER = "viking://resources/docs";
  const FILE = `${FOLDER}/a.md`;
  beforeEach(() => put(FILE, "The kiln is hot"));

  it.each([
    ["a folder", { uri: FOLDER, level: "abstract" }, { resolved_uri: FOLDER, content: "The kiln is hot" }],
    [
      "a folder, by default its overview",
      { uri: FOLDER },
      { level: "overview", content: "# docs\n- a.md: The kiln is hot" },
    ],
    ["a file", { uri: FILE }, { resolved_uri: FILE, content: "The kiln is hot", fallback: "content/read" }],
    [
      "a file in full",
      { uri: FILE, level: "full" },
      { uri: FILE, level: "full", content: "The kiln is hot" },
    ],
    [
      "the name of a summary",
      { uri: `${FOLDER}/.overview.md`, level: "abstract" },
      { uri: `${FOLDER}/.overview.md`, resolved_uri: FOLDER, content: "The kiln is hot" },
    ],
  ])("reads %s", async (_, args, expected) =>
    expect(await tool("viking_read", args)).toMatchObject(expected),
  );

  it("reports the error for the name of a summary, and reads the file when the kind is unknown", async () => {
    expect((await tool("viking_read", { uri: `${FILE}/.abstract.md` })).error).toMatch(/^INVALID_ARGUMENT: /);
    const refused = { status: "error", error: { code: "UNIMPLEMENTED", message: "no stat" } };
    fake.failNext(1, 501, refused);
    expect(await tool("viking_read", { uri: FILE })).toMatchObject({
      content: "The kiln is hot",
      fallback: "content/read",
    });
    expect((await tool("viking_read", { uri: "viking://resources/none" })).error).toMatch(/^NOT_FOUND: /);
    expect(await tool("viking_read", {})).toEqual({ error: "uri is required" });
  });
});

describe("viking_browse", () => {
  it("lists a folder, its tree and one entry", async () => {
    put("viking://resources/docs/a.md", "The kiln is hot");
    const path = "viking://resources";
    expect(await tool("viking_browse", { action: "list", path })).toEqual({
      path,
      entries: [{ name: "docs", uri: `${path}/docs`, type: "dir", abstract: "The kiln is hot" }],
    });
    expect(await tool("viking_browse", { action: "tree", path })).toMatchObject({
      entries: [{ name: "docs" }, { name: "docs/a.md", type: "file" }],
    });
    expect(await tool("viking_browse", { action: "stat", path: `${path}/docs/a.md` })).toMatchObject({
      isDir: false,
    });
    expect(await tool("viking_browse", { action: "list" })).toMatchObject({ path: "viking://" });
    expect((await tool("viking_browse", {})).error).toMatch(/^action is required/);
  });
});

describe("viking_remember", () => {
  it.each([
    ["preference", "preferences"],
    ["entity", "entities"],
    ["event", "events"],
    ["case", "cases"],
    ["pattern", "patterns"],
    [undefined, "preferences"],
    ["constructor", "preferences"],
  ])("stores the category %s in %s, a text once", async (category, folder) => {
    const stored = { status: "stored", message: "Memory stored (6b) and queued for vector indexing." };
    for (const _ of [1, 2])
      expect(await tool("viking_remember", { content: "kiln ☕".slice(0, 6), category })).toMatchObject({
        status: "stored",
      });
    expect(await tool("viking_remember", { content: "kiln A", category })).toEqual(stored);
    const uris = Object.keys(fake.memories({ account: accountOf(home) }));
    expect(uris).toHaveLength(2);
    for (const uri of uris) expect(uri).toMatch(new RegExp(`/memories/${folder}/mem_[0-9a-f]{12}\\.md$`));
  });
});

describe("viking_add_resource", () => {
  let folder: string;

  beforeEach(async () => {
    folder = tempDirectory();
    writeFileSync(join(home, "openviking.json"), JSON.stringify({ upload_roots: folder }));
    await started.provider.shutdown?.({});
    started = await startProvider(fake, home);
  });

  const add = (url: string, more: object = {}) => tool("viking_add_resource", { url, ...more });
  const lastBody = () => fake.requests.findLast(({ path }) => path === "/api/v1/resources")?.body;
  const files = () => fake.files({ account: accountOf(home) });
  const temporary = () => readdirSync(tmpdir()).filter((name) => name.endsWith(".zip"));

  it.each([
    "https://example.com/a",
    "git@example.com:a/b.git",
    "ssh://host/repo",
    "git://host/repo",
    "s3://bucket/key",
    "unknown",
  ])("leaves %s to the server", async (url) => {
    await add(url, { reason: "", to: null, instruction: "short" });
    expect(lastBody()).toEqual({ path: url, instruction: "short" });
  });

  it("uploads a file, by path, by ~ and by its file address", async () => {
    writeFileSync(join(folder, "my notes.md"), "# note");
    const url = pathToFileURL(join(folder, "my notes.md"));
    for (const given of [
      join(folder, "my notes.md"),
      url.href,
      url.href.replace("file://", "file://localhost"),
    ]) {
      expect(await add(given)).toMatchObject({ status: "added", root_uri: "viking://resources/my notes" });
      expect(lastBody()).toMatchObject({ source_name: "my notes.md" });
    }
    await started.provider.shutdown?.({});
    started = await startProvider(fake, home, { env: { HOME: folder } });
    expect(await add("~/my notes.md")).toMatchObject({ status: "added" });
    expect(Object.values(files())).toEqual(["# note"]);
  });

  it("packs a folder, and leaves no file behind", async () => {
    const docs = join(folder, "docs");
    mkdirSync(join(docs, "sub/deep"), { recursive: true });
    for (const name of ["a.md", "sub/deep/b.md", ".env", "ж.md"])
      writeFileSync(join(docs, name), `text of ${name}`);
    const before = temporary();
    expect(await add(docs)).toMatchObject({ status: "added", root_uri: "viking://resources/docs" });
    expect(files()).toEqual({
      "viking://resources/docs/a.md": "text of a.md",
      "viking://resources/docs/sub/deep/b.md": "text of sub/deep/b.md",
      "viking://resources/docs/ж.md": "text of ж.md",
    });
    for (const failing of [1, 2]) {
      await tool("viking_search", { query: "x" });
      if (failing === 2) fake.delayNext(0);
      fake.failNext(1, 500, { status: "error", error: { code: "INTERNAL", message: "boom" } });
      expect(await add(docs)).toEqual({ error: "INTERNAL: boom" });
    }
    expect(temporary()).toEqual(before);
  });

  it("sends nothing of a file or folder that the policy refuses", async () => {
    const outside = tempDirectory();
    writeFileSync(join(outside, "a.md"), "x");
    for (const path of [join(outside, "a.md"), outside, home])
      expect((await add(path)).error).toMatch(/ is not uploaded: it is /);
    expect(fake.requests.some(({ path }) => path.endsWith("temp_upload"))).toBe(false);
  });

  it("gives no file of upload_roots to a user of a gateway, also when all users share one memory", async () => {
    writeFileSync(join(folder, "a.md"), "x");
    const shared = { upload_roots: folder, user_scope: "shared" };
    writeFileSync(join(home, "openviking.json"), JSON.stringify(shared));
    const guest = await startProvider(fake, home, { userId: "42" });
    const answer = await guest.tool("viking_add_resource", { url: join(folder, "a.md") });
    expect(answer.error).toMatch(/outside the working directory/);
    expect(fake.requests.some(({ path }) => path.endsWith("temp_upload"))).toBe(false);
    await guest.provider.shutdown?.({});
  });
});

describe("archives", () => {
  it("give back names and bytes, packed and not", async () => {
    const files = [
      { name: "long/ж.txt", content: "kiln ".repeat(1_000) },
      { name: "short.txt", content: "x" },
      { name: "empty.txt", content: "" },
    ];
    const zip = await zipOf(files.map(({ name, content }) => ({ name, bytes: Buffer.from(content) })));
    expect(readZip(zip)).toEqual(files);
    expect(zip.length).toBeLessThan(2_000);
  });
});

// The ten tools of RetainDB against the fake server.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { InitializeOptions } from "../../../core/src/providers/index.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import type { RetainDbEdition } from "../fakes/servers/retaindb-controls.ts";
import { KEY, projectOf, providerFor } from "./harness.ts";

type Options = Partial<InitializeOptions> & { readonly edition?: RetainDbEdition };
type Answer = Record<string, unknown>;

async function startFake(edition: RetainDbEdition = "cloud"): Promise<FakeRetainDb> {
  const fake = await new FakeRetainDb({ edition }).start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  return fake;
}

async function open({ edition, ...options }: Options = {}, shared?: { fake: FakeRetainDb; home: string }) {
  const home = shared?.home ?? mkdtempSync(join(tmpdir(), "hermes-retaindb-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const fake = shared?.fake ?? (await startFake(edition));
  const provider = providerFor(fake, home);
  onTestFinished(() => provider.shutdown?.({}));
  await provider.initialize("s1", { hermes_home: home, platform: "cli", ...options });
  const call = async (name: string, args: Answer = {}): Promise<Answer> =>
    JSON.parse((await provider.handleToolCall?.(`retaindb_${name}`, args, {})) ?? "{}");
  return { fake, home, call, provider, project: projectOf(home) };
}

/** A file in the working directory of the test run: nothing else may be uploaded. */
function localFile(name: string, text: string): string {
  const ignored = join(process.cwd(), ".work"); // named in .gitignore
  mkdirSync(ignored, { recursive: true });
  const folder = mkdtempSync(join(ignored, "upload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe("memory tools", () => {
  it("are ten with the file tools", async () => {
    const { provider } = await open();
    const names = ((await provider.getToolSchemas?.()) ?? []).map(({ name }) => name);
    expect(names).toEqual([
      "retaindb_profile",
      "retaindb_search",
      "retaindb_context",
      "retaindb_remember",
      "retaindb_forget",
      "retaindb_upload_file",
      "retaindb_list_files",
      "retaindb_read_file",
      "retaindb_ingest_file",
      "retaindb_delete_file",
    ]);
  });

  it("store, find, show and delete a memory, without its vector", async () => {
    const { call, fake } = await open();
    const stored = await call("remember", { content: "Likes tea", memory_type: "preference", importance: 7 });
    expect(stored).toMatchObject({
      success: true,
      memory: { content: "Likes tea", type: "preference", importance: 1 },
    });
    const id = stored.memory_id;
    expect(await call("search", { query: "tea" })).toMatchObject({ count: 1, results: [{ memory: { id } }] });
    expect(await call("profile")).toMatchObject({ memories: [{ id }] });
    const context = await call("context", { query: "tea" });
    expect(context.context).toContain("- Likes tea");
    expect(context.raw).toMatchObject({ results: [{ id }] });
    expect(JSON.stringify([stored, await call("profile"), context])).not.toContain("embedding");
    expect(await call("forget", { memory_id: id })).toEqual({ success: true, memory_id: id });
    expect(fake.memories("default")).toEqual([]);
  });

  it("delete only memories of their own user", async () => {
    const shared = await open({ platform: "telegram", user_id: "1" });
    const { memory_id } = await shared.call("remember", { content: "Mine" });
    const other = await open({ platform: "telegram", user_id: "2" }, shared);
    expect((await other.call("forget", { memory_id })).error).toContain("no memory with the id");
    expect(shared.fake.memories("telegram:1")).toHaveLength(1);
    expect(await shared.call("forget", { memory_id })).toMatchObject({ success: true });
  });
});

describe("file tools", () => {
  it("upload, list, read, ingest and delete a file", async () => {
    const { call, fake, project } = await open();
    const uploaded = await call("upload_file", {
      local_path: localFile("plan.md", "# The plan"),
      ingest: true,
    });
    expect(uploaded).toMatchObject({
      success: true,
      file: { path: "/plan.md" },
      ingest: { memories_created: 1 },
    });
    expect(fake.files()).toMatchObject([
      { name: "plan.md", mimeType: "text/markdown", scope: "PROJECT", project },
    ]);
    const file_id = fake.files()[0]?.id;
    expect(await call("list_files", { prefix: "/pl" })).toMatchObject({ total: 1, files: [{ id: file_id }] });
    expect(await call("read_file", { file_id })).toEqual({
      file_id,
      rdb_uri: `rdb://files/${file_id}`,
      name: "plan.md",
      content: "# The plan",
      truncated: false,
    });
    expect(await call("ingest_file", { file_id })).toMatchObject({ documents_indexed: 1 });
    expect(fake.memories("default", project)).toHaveLength(2);
    expect(await call("delete_file", { file_id })).toEqual({ success: true, deleted: file_id });
    expect(fake.files()).toEqual([]);
  });

  it("upload from upload_roots for the owner, and not for a gateway's user who shares the memory", async () => {
    const { fake, home } = await open();
    const folder = mkdtempSync(join(tmpdir(), "hermes-retaindb-root-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "a.txt"), "a");
    const settings = { upload_roots: folder, user_scope: "shared" };
    writeFileSync(join(home, "retaindb.json"), JSON.stringify(settings));
    const local_path = join(folder, "a.txt");
    const guest = await open({ platform: "telegram", user_id: "42" }, { fake, home });
    expect((await guest.call("upload_file", { local_path })).error).toContain("outside");
    const owner = await open({}, { fake, home });
    expect(await owner.call("upload_file", { local_path })).toMatchObject({ success: true });
  });

  it("keep the uploaded file when making memories of it fails", async () => {
    const { call, fake } = await open();
    fake.delayNext(0);
    fake.failNext(1, 500, { error: "no workers" });
    const answer = await call("upload_file", { local_path: localFile("a.txt", "a"), ingest: "true" });
    expect(answer).toMatchObject({ success: true, ingest: { error: expect.stringContaining("no workers") } });
    expect(fake.files()).toHaveLength(1);
  });

  it("read the first 32,000 characters of a text, and nothing of other files", async () => {
    const { call, fake, project } = await open();
    const file = { path: "/x", scope: "PROJECT", project } as const;
    const long = fake.addFile({
      ...file,
      name: "x.csv",
      mimeType: "application/octet-stream",
      content: "🏺".repeat(40_000),
    });
    const answer = await call("read_file", { file_id: long.id });
    expect([...String(answer.content)]).toHaveLength(32_000);
    expect(answer.truncated).toBe(true);
    const picture = fake.addFile({ ...file, name: "x.png", mimeType: "image/png", content: "png" });
    const none = await call("read_file", { file_id: picture.id });
    expect(none).toMatchObject({ content: null, note: expect.stringContaining("retaindb_ingest_file") });
  });

  it("fetch the content from another address without the key", async () => {
    const { call, fake, project } = await open();
    const headers: unknown[] = [];
    const storage = createServer((request, response) => {
      headers.push(request.headers.authorization, request.headers["x-api-key"]);
      response.end("from storage");
    });
    await new Promise<void>((resolve) => storage.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void storage.close());
    fake.storageUrl = `http://127.0.0.1:${(storage.address() as AddressInfo).port}/f`;
    const { id } = fake.addFile({
      path: "/a.txt",
      name: "a.txt",
      mimeType: "text/plain",
      scope: "PROJECT",
      project,
      content: "",
    });
    expect(await call("read_file", { file_id: id })).toMatchObject({ content: "from storage" });
    expect(headers).toEqual([undefined, undefined]);
  });

  it("keep the files of users apart, and those of the owner", async () => {
    const ana = await open({ platform: "telegram", user_id: "1" });
    const bo = await open({ platform: "telegram", user_id: "2" }, ana);
    const owner = await open({}, ana);
    const path = localFile("a.txt", "of Ana");
    await ana.call("upload_file", { local_path: path, remote_path: "/../../hermes-users/telegram:2/a.txt" });
    await owner.call("upload_file", { local_path: path, remote_path: "/shared.txt" });
    const [hers, his] = ana.fake.files();
    expect(hers?.path).toBe("/hermes-users/telegram:1/hermes-users/telegram:2/a.txt");
    const seen = async (who: typeof ana) =>
      ((await who.call("list_files")).files as { id: string }[]).map(({ id }) => id);
    expect(await seen(ana)).toEqual([hers?.id]);
    expect(await seen(bo)).toEqual([]);
    expect(await seen(owner)).toEqual([his?.id]);
    for (const who of [bo, owner])
      for (const name of ["read_file", "ingest_file", "delete_file"])
        expect(await who.call(name, { file_id: hers?.id })).toEqual({ error: `File not found: ${hers?.id}` });
    expect((await bo.call("upload_file", { local_path: path, scope: "ORG" })).error).toContain("owner");
    await ana.provider.eraseUser?.({});
    expect(ana.fake.files().map(({ id }) => id)).toEqual([his?.id]);
  });
});

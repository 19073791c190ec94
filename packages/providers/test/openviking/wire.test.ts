// What goes over the wire to servers 0.3 and 0.4: the requests of the recordings, headers by version and key, and version checks.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { wireOf } from "../../src/openviking/server.ts";
import { FakeOpenViking } from "../fakes/servers/openviking.ts";
import { readRecordings } from "../fakes/servers/recordings.ts";
import { accountOf, startProvider } from "./harness.ts";

const KEY = "user-key-0123456789";
let fake: FakeOpenViking;

beforeEach(async () => {
  fake = await new FakeOpenViking().start();
});

afterEach(() => fake.stop());

const headersOf = (path: string) => fake.requests.findLast((request) => request.path === path)?.headers ?? {};
const FIND = "/api/v1/search/find";

describe("requests that the official client makes too", () => {
  const recorded = (id: string) => {
    const request = readRecordings("openviking")?.find((line) => line.id === `openviking-${id}`)?.request;
    if (request === null || request === undefined) throw new Error(`no request in recording ${id}`);
    return request;
  };
  /** The request in the form of the recordings. */
  const sent = (method: string, path: string) => {
    const request = fake.requests.findLast((each) => each.method === method && each.path === path);
    return { method, path, query: request?.query ?? {}, body: request?.body ?? null };
  };
  const same = (id: string) => {
    const { method, path, query, body } = recorded(id);
    expect(sent(method, path)).toEqual({ method, path, query, body });
  };

  it.skipIf(readRecordings("openviking") === undefined)(
    "have the same method, path, query and body",
    async () => {
      const home = tempDirectory();
      fake.requireAuth(KEY);
      const env = { OPENVIKING_API_KEY: KEY, OPENVIKING_ACCOUNT: "" };
      const { provider, tool, turn } = await startProvider(fake, home, { env });
      fake.put("viking://resources/docs/x.md", "text");
      fake.put("viking://resources/a.md", "full text");
      fake.put("viking://resources/a b.md", "full text");
      await tool("viking_search", { query: "tea" });
      for (const level of ["abstract", "overview"])
        await tool("viking_read", { uri: "viking://resources/docs", level });
      await tool("viking_read", { uri: "viking://resources/a.md", level: "full" });
      await tool("viking_browse", { action: "stat", path: "viking://resources/a b.md" });
      for (const id of ["001", "008", "009", "010", "011", "012"]) same(id);

      await provider.onSessionSwitch?.("sess-1", { parent_session_id: "", reset: true });
      await turn("I like tea", "Noted.", "sess-1");
      await provider.onSessionEnd?.([], {});
      for (const id of ["032", "033"]) same(id);
      await tool("viking_search", { query: "tea", mode: "deep", limit: 5 });
      same("015");

      await tool("viking_remember", { content: "tea" });
      const { body } = recorded("019");
      expect(sent("POST", "/api/v1/content/write").body).toEqual({
        ...Object(body),
        uri: expect.stringMatching(/^viking:\/\/user\/default\/memories\/preferences\/mem_[0-9a-f]{12}\.md$/),
      });

      await turn("a secret", "Noted.", "sess-1");
      await provider.onMemoryWrite?.("add", "memory", "a secret", {});
      await provider.forget?.("a secret", {});
      for (const id of ["027", "035", "036"]) same(id);
      const removed = sent("DELETE", "/api/v1/fs");
      expect(removed.query).toEqual({ ...recorded("023").query, uri: expect.stringMatching(/mem_/) });

      const folder = tempDirectory();
      writeFileSync(join(folder, "note.md"), "# note\n");
      writeFileSync(join(home, "openviking.json"), JSON.stringify({ upload_roots: folder }));
      const { provider: second, tool: call } = await startProvider(fake, home, { env });
      await call("viking_add_resource", {
        url: join(folder, "note.md"),
        wait: true,
        timeout: 30,
        parent: "viking://resources/docs",
      });
      // The client also sends its defaults, which the server has as well.
      const added = Object(recorded("041").body);
      for (const key of ["reason", "instruction", "strict", "directly_upload_media", "watch_interval"])
        delete added[key];
      expect(sent("POST", "/api/v1/resources").body).toEqual(added);
      expect(fake.requests.findLast(({ path }) => path.endsWith("temp_upload"))?.body).toMatchObject({
        multipart: [
          { name: "file", filename: "note.md", contentType: "application/octet-stream", value: "# note\n" },
        ],
      });
      for (const each of [provider, second]) await each.shutdown?.({});
    },
  );
});

describe("headers", () => {
  it("of 0.4 are the key, the peer, and the tenant only if it is configured", async () => {
    fake.requireAuth(KEY);
    const env = { OPENVIKING_API_KEY: KEY, OPENVIKING_ACCOUNT: "" };
    const { provider, recall } = await startProvider(fake, tempDirectory(), { env });
    await recall("tea time");
    expect(headersOf("/health")).toMatchObject({ "x-api-key": KEY });
    const headers = headersOf(FIND);
    expect(headers).toMatchObject({ "x-api-key": KEY, "x-openviking-actor-peer": "hermes" });
    for (const name of ["authorization", "x-openviking-agent", "x-openviking-account", "x-openviking-user"])
      expect(headers[name]).toBe(undefined);
    await provider.shutdown?.({});
  });

  it("of 0.3 are the key in two forms and the agent; without a key account and user, also by default", async () => {
    fake.profile = "v03";
    fake.requireAuth(KEY);
    const env = { OPENVIKING_API_KEY: KEY, OPENVIKING_ACCOUNT: "" };
    const { provider, recall } = await startProvider(fake, tempDirectory(), { env });
    await recall("tea time");
    expect(headersOf(FIND)).toMatchObject({
      "x-api-key": KEY,
      authorization: `Bearer ${KEY}`,
      "x-openviking-agent": "hermes",
    });
    await provider.shutdown?.({});
    fake.requireAuth(undefined);
    const open = { OPENVIKING_ACCOUNT: "", OPENVIKING_USER: "ann", OPENVIKING_AGENT: "crane" };
    const { provider: second, recall: ask } = await startProvider(fake, tempDirectory(), { env: open });
    await ask("tea time");
    expect(headersOf(FIND)).toMatchObject({
      "x-openviking-account": "default",
      "x-openviking-user": "ann",
      "x-openviking-agent": "crane",
    });
    expect(headersOf(FIND)["x-api-key"]).toBe(undefined);
    await second.shutdown?.({});
  });

  it("have the tenant beside a key when it is another than the default, which setup writes too", async () => {
    fake.profile = "v03";
    fake.requireAuth("other");
    fake.addKey(KEY, { account: "acme", user: "ann" });
    const users = async (account: string, user: string) => {
      const env = { OPENVIKING_API_KEY: KEY, OPENVIKING_ACCOUNT: account, OPENVIKING_USER: user };
      const { provider, recall } = await startProvider(fake, tempDirectory(), { env });
      await recall("tea time");
      await provider.shutdown?.({});
      return headersOf(FIND)["x-openviking-user"];
    };
    expect(await users("default", "default")).toBe(undefined);
    expect(await users("acme", "ann")).toBe("ann");
  });

  it("gain the tenant when a root key of 0.3 needs it, once for all later requests", async () => {
    fake.profile = "v03";
    fake.requireAuth("other");
    fake.addKey(KEY, { role: "root" });
    const env = { OPENVIKING_API_KEY: KEY, OPENVIKING_ACCOUNT: "" };
    const { provider, tool, recall } = await startProvider(fake, tempDirectory(), { env });
    await recall("tea time");
    expect(await tool("viking_browse", { action: "list" })).toHaveProperty("entries");
    const finds = fake.requests
      .filter(({ path }) => path === FIND)
      .map(({ headers }) => headers["x-openviking-user"]);
    expect(finds).toEqual([undefined, "default"]);
    expect(headersOf("/api/v1/fs/ls")["x-openviking-user"]).toBe("default");
    await provider.shutdown?.({});
  });
});

describe("versions", () => {
  it.each([
    ["0.3.24", "0.3"],
    ["0.4.0", "0.3"],
    ["0.4.1", "0.4"],
    ["v0.5.0-rc1", "0.4"],
    ["1.0.0", "0.4"],
    ["", "unknown"],
    ["dev", "unknown"],
  ])("%s is %s", (version, wire) => expect(wireOf(version)).toBe(wire));

  it("that are unknown get only fields that both take, and the old place of memories", async () => {
    fake.version = null;
    const { provider, tool } = await startProvider(fake, tempDirectory());
    expect(await tool("viking_search", { query: "tea", limit: 3 })).toEqual({ results: [], total: 0 });
    expect(fake.requests.at(-1)?.body).toEqual({ query: "tea", limit: 3 });
    await tool("viking_remember", { content: "tea" });
    expect(fake.requests.at(-1)?.body).toMatchObject({
      uri: expect.stringMatching(/^viking:\/\/user\/default\/agent\/hermes\/memories\/preferences\/mem_/),
    });
    await provider.shutdown?.({});
  });

  it("are looked at again after the server was away", async () => {
    const { provider, tool } = await startProvider(fake, tempDirectory());
    await tool("viking_search", { query: "tea" });
    await fake.stop();
    expect(await tool("viking_search", { query: "tea" })).toMatchObject({
      error: "OpenViking server not connected",
    });
    fake.profile = "v03";
    await fake.restart();
    await vi.waitFor(
      async () => expect(await tool("viking_search", { query: "tea" })).toHaveProperty("results"),
      10_000,
    );
    expect(headersOf(FIND)["x-openviking-agent"]).toBe("hermes");
    await provider.shutdown?.({});
  });
});

describe("answers", () => {
  it("with an error in the envelope are errors, also with status 200", async () => {
    const { provider, tool } = await startProvider(fake, tempDirectory());
    await tool("viking_search", { query: "tea" });
    const error = { code: "INTERNAL", message: "soft error" };
    fake.replyNext(1, { status: 200, body: { status: "error", result: null, error } });
    expect(await tool("viking_search", { query: "tea" })).toEqual({ error: "INTERNAL: soft error" });
    fake.failNext(1, 412, {
      status: "error",
      error: { code: "FAILED_PRECONDITION", message: "archive failed" },
    });
    expect(await tool("viking_browse", { action: "list" })).toEqual({
      error: "FAILED_PRECONDITION: archive failed",
    });
    await provider.shutdown?.({});
  });

  it("of something else than OpenViking are no success", async () => {
    const home = tempDirectory();
    const { provider, tool, turn } = await startProvider(fake, home);
    await tool("viking_search", { query: "tea" });
    fake.replyNext(2, { status: 200, body: { hello: "world" } });
    expect(await tool("viking_remember", { content: "tea" })).toMatchObject({
      error: expect.stringMatching(/^Failed to store memory: .*not one of OpenViking/),
    });
    await turn("I like tea", "Noted.");
    const messages = () => fake.messagesOf("session-1", { account: accountOf(home) });
    await vi.waitFor(async () => {
      await provider.onSessionEnd?.([], {});
      expect(messages()).toHaveLength(2); // the first answer was not taken for a success
    }, 5_000);
    await provider.shutdown?.({});
  });
});

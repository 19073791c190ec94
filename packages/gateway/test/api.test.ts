// The JSON API over real HTTP: each route against its own schema, what it does, and what it says to a wrong request.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { answerSchemas, apiRoutes } from "../src/api/api-routes.ts";
import { event as eventSchema, problem as problemSchema } from "../src/api/schemas.ts";
import type { TokenRights } from "../src/types.ts";
import { modelOn, newToken, runningGateway, type TestGateway } from "./running-gateway.ts";

type Json = Record<string, unknown>;
type Api = TestGateway & {
  /** Checks the answer against the schema of the route. */
  api(route: string, at?: At): Promise<Json>;
  refused(route: string, at?: At): Promise<{ status: number; code: string; hint?: string; param?: string }>;
};
type At = {
  readonly id?: string;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};

/** Routes that answered as their schema says, in any test of this file. */
const proven = new Set<string>();

async function api(config?: Json, home = tempDirectory()): Promise<Api> {
  const gateway = await runningGateway({ home, ...(config && { config: JSON.stringify(config) }) });
  const call = (route: string, { id = "", query = "", body, headers = {} }: At = {}): Promise<Response> => {
    const [method = "", path = ""] = route.split(" ");
    return gateway.call(path.replace(":id", encodeURIComponent(id)) + query, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  };
  return Object.defineProperties(
    {
      async api(route: string, at?: At) {
        const answer = await call(route, at);
        const said = (await answer.json()) as Json;
        expect(answer.status, JSON.stringify(said)).toBe(200);
        expect(answer.headers.get("cache-control")).toBe("no-store");
        const schema = answerSchemas().get(route);
        if (schema === undefined) throw new Error(`There is no schema for ${route}.`);
        const parsed = schema.safeParse(said);
        expect(parsed.error?.issues ?? [], route).toEqual([]);
        proven.add(route);
        return said;
      },
      async refused(route: string, at?: At) {
        const answer = await call(route, at);
        const said = problemSchema.loose().parse(await answer.json());
        return { status: answer.status, ...(said.error as { code: string }) };
      },
    } as unknown as Api,
    Object.getOwnPropertyDescriptors(gateway),
  );
}

async function withModel(): Promise<Api> {
  const wire = await startWire("chat", () => ({ text: "The kiln is on." }));
  return api({ model: modelOn(wire.url) });
}

async function said(gateway: Api, text: string, chat: string, mode = "/proxy"): Promise<string> {
  const answer = await gateway.call(`${mode}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-hermes-session-id": chat },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: text }] }),
  });
  expect(answer.status, await answer.text()).toBe(200);
  return answer.headers.get("x-hermes-session-id") ?? "";
}

describe("entries", () => {
  it("are added, changed, removed, listed, explained, and taken back", async () => {
    const { api: ask } = await api();
    const added = await ask("POST /api/entries", { body: { text: "The kiln is blue.", reason: "told" } });
    expect(added).toMatchObject({ text: "The kiln is blue.", target: "memory", archived: [] });
    await ask("POST /api/entries", { body: { text: "Likes tea.", target: "user" } });
    const again = await ask("POST /api/entries", { body: { text: "The kiln is blue." } });
    expect(again.change).toBeNull();
    const changed = await ask("PATCH /api/entries/:id", {
      id: String(added.id),
      body: { text: "The kiln is red." },
    });
    expect((await ask("GET /api/entries")).entries).toMatchObject([
      { target: "memory", text: "The kiln is red." },
      { target: "user", text: "Likes tea." },
    ]);
    expect((await ask("GET /api/entries", { query: "?target=user" })).entries).toHaveLength(1);
    const removed = await ask("DELETE /api/entries/:id", { id: String(changed.id) });
    expect((await ask("GET /api/entries", { query: "?target=memory" })).entries).toEqual([]);
    await ask("POST /api/undo", { body: { change: removed.change } });
    expect((await ask("GET /api/entries", { query: "?target=memory" })).entries).toMatchObject([
      { text: "The kiln is red." },
    ]);
    const { changes } = await ask("GET /api/history", { query: "?limit=2&target=memory" });
    expect(changes).toHaveLength(2);
    expect(await ask("GET /api/explain", { query: "?text=The%20kiln%20is%20red." })).toMatchObject({
      is_stored: true,
    });
    expect(await ask("GET /api/explain", { query: "?text=nothing" })).toMatchObject({ is_stored: false });
  });

  it("are refused with what is wrong and what to do", async () => {
    const { refused } = await api({ memory: { memory_char_limit: 40 } });
    for (const body of [
      {},
      { text: "" },
      { text: 1 },
      { text: "x", target: "other" },
      { text: "x", more: 1 },
    ])
      expect(await refused("POST /api/entries", { body })).toMatchObject({
        status: 400,
        code: "bad-request",
        hint: expect.stringContaining("/api/openapi.json"),
      });
    expect(await refused("POST /api/entries", { body: { text: "x".repeat(41) } })).toMatchObject({
      status: 422,
      code: "memory-over-limit",
    });
    expect(await refused("PATCH /api/entries/:id", { id: "none", body: { text: "x" } })).toMatchObject({
      status: 404,
    });
    expect(await refused("DELETE /api/entries/:id", { id: "none" })).toMatchObject({ status: 404 });
    expect((await refused("POST /api/undo", { body: { change: "none" } })).status).toBe(404);
    for (const query of ["?target=x", "?limit=0", "?limit=5000", "?limit=x", "?limit=1&limit=2", "?other=1"])
      expect(await refused("GET /api/history", { query }), query).toMatchObject({ status: 400 });
    expect(await refused("GET /api/explain")).toMatchObject({ status: 400, param: "text" });
  });
});

describe("the provider and the reset", () => {
  it("follow the spec: names for none, unknown ones, deleted files, sizes in bytes", async () => {
    const { api: ask, refused, home } = await api();
    expect(await ask("GET /api/memory")).toMatchObject({ active: "", builtin_files: { memory: 0, user: 0 } });
    const names = ((await ask("GET /api/memory")).providers as { name: string }[]).map(({ name }) => name);
    expect(names).toContain("holographic");
    expect(await ask("PUT /api/memory/provider", { body: { provider: "holographic" } })).toEqual({
      ok: true,
      active: "holographic",
    });
    const { active, providers } = await ask("GET /api/memory");
    expect([active, providers]).toEqual([
      "holographic",
      expect.arrayContaining([expect.objectContaining({ name: "holographic", configured: true })]),
    ]);
    for (const provider of ["", "built-in", "builtin", "none"])
      expect(await ask("PUT /api/memory/provider", { body: { provider } })).toEqual({ ok: true, active: "" });
    expect(await refused("PUT /api/memory/provider", { body: { provider: "unknown" } })).toMatchObject({
      status: 400,
      hint: expect.stringContaining("/api/memory"),
    });
    expect(readFileSync(join(home, "config.yaml"), "utf8")).not.toContain("unknown");

    const add = (text: string, target: string) => ask("POST /api/entries", { body: { text, target } });
    expect(await ask("POST /api/memory/reset", { body: {} })).toEqual({ ok: true, deleted: [] });
    await add("Größe", "memory");
    await add("Likes tea.", "user");
    const { builtin_files: sizes } = await ask("GET /api/memory");
    expect(sizes).toEqual({ memory: Buffer.byteLength("Größe"), user: 10 });
    expect(await ask("POST /api/memory/reset", { body: { target: "user" } })).toEqual({
      ok: true,
      deleted: ["USER.md"],
    });
    expect(await ask("POST /api/memory/reset", { body: {} })).toEqual({ ok: true, deleted: ["MEMORY.md"] });
    expect(existsSync(join(home, "memories", "MEMORY.md"))).toBe(false);
    expect((await refused("POST /api/memory/reset", { body: { target: "x" } })).status).toBe(400);
  });

  it("are the administrator's, and the caller's own", async () => {
    const home = tempDirectory();
    const token = async (rights: TokenRights): Promise<Record<string, string>> => {
      return { authorization: `Bearer ${await newToken(home, rights)}` };
    };
    const [owner, user, admin] = [
      await token({ kind: "owner" }),
      await token({ kind: "user", user: { platform: "web", id: "bob" } }),
      await token({ kind: "admin" }),
    ];
    const { api: ask, refused } = await api(undefined, home);
    const body = { provider: "none" };
    for (const headers of [owner, user])
      expect(await refused("PUT /api/memory/provider", { headers, body })).toMatchObject({ status: 403 });
    await ask("PUT /api/memory/provider", { headers: admin, body });
    await ask("POST /api/entries", { headers: owner, body: { text: "Of the owner." } });
    await ask("POST /api/memory/reset", { headers: user, body: {} });
    expect((await ask("GET /api/entries", { headers: owner })).entries).toHaveLength(1);
    for (const [headers, rights] of [
      [owner, "owner"],
      [user, "user"],
      [admin, "admin"],
    ] as const)
      expect(await ask("GET /api/status", { headers })).toMatchObject({ rights });
  });
});

describe("conversations", () => {
  it("are listed, read, renamed, searched, traced and deleted", async () => {
    const gateway = await withModel();
    const { api: ask, refused } = gateway;
    expect(await ask("GET /api/sessions")).toEqual({ sessions: [], total: 0 });
    await said(gateway, "Is there a kiln?", "one");
    const first = await said(gateway, "Where is the blue kiln?", "one");
    const second = await said(gateway, "Tell me about the blue kiln again.", "two", "/agent");
    const { sessions, total } = await ask("GET /api/sessions", { query: "?limit=1" });
    expect([(sessions as Json[]).map(({ session_id }) => session_id), total]).toEqual([[second], 2]);
    expect((await ask("GET /api/sessions", { query: "?offset=1" })).sessions).toMatchObject([
      { session_id: first },
    ]);
    expect(await ask("PATCH /api/sessions/:id", { id: first, body: { title: "Kilns" } })).toEqual({
      session_id: first,
      title: "Kilns",
    });
    expect(await ask("GET /api/sessions/:id", { id: first })).toMatchObject({
      session_id: first,
      title: "Kilns",
      message_count: 4,
    });
    // Pages do not divide an exchange.
    const page = await ask("GET /api/sessions/:id/messages", { id: first, query: "?limit=1" });
    const texts = ({ messages }: Json) => (messages as Json[]).map(({ content }) => content);
    expect(page.left_out).toBe(2);
    expect(texts(page)).toEqual(["Where is the blue kiln?", "The kiln is on."]);
    const query = `?limit=2&before=${page.next}`;
    const older = await ask("GET /api/sessions/:id/messages", { id: first, query });
    expect(older).toMatchObject({ left_out: 0, next: null });
    expect(texts(older)).toEqual(["Is there a kiln?", "The kiln is on."]);
    expect((await ask("GET /api/search", { query: "?q=blue%20kiln&in=sessions" })).hits).toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: "session" })]),
    );
    expect(
      (await ask("GET /api/recalls", { query: `?session_id=${encodeURIComponent(first)}` })).recalls,
    ).toMatchObject([
      { session_id: first, query: "Where is the blue kiln?", mode: "proxy" },
      { session_id: first, query: "Is there a kiln?", mode: "proxy" },
    ]);
    expect((await ask("GET /api/live")).live).toMatchObject([{ session_id: second }]);
    expect(await ask("GET /api/status")).toMatchObject({ sessions: 2, model: { model: "m" }, missing: [] });
    expect(await ask("PATCH /api/sessions/:id", { id: first, body: { title: null } })).toMatchObject({
      title: null,
    });
    expect(await ask("DELETE /api/sessions/:id", { id: first })).toEqual({ deleted: true });
    for (const route of [
      "GET /api/sessions/:id",
      "GET /api/sessions/:id/messages",
      "DELETE /api/sessions/:id",
    ])
      expect(await refused(route, { id: first }), route).toMatchObject({
        status: 404,
        code: "unknown-session",
      });
    expect((await ask("GET /api/recalls")).recalls).not.toEqual(
      expect.arrayContaining([expect.objectContaining({ session_id: first })]),
    );
  });

  it("are refused with what is wrong", async () => {
    const { refused } = await api();
    for (const [route, query] of [
      ["GET /api/sessions", "?limit=201"],
      ["GET /api/sessions", "?offset=-1"],
      ["GET /api/search", ""],
      ["GET /api/search", "?q="],
      ["GET /api/search", "?q=a&in=nowhere"],
      ["GET /api/search", "?q=a&limit=51"],
      ["GET /api/recalls", "?limit=x"],
      ["GET /api/status", "?user=nocolon"],
      ["GET /api/status", "?user=a:b&user=c:d"],
      ["GET /api/sessions/:id/messages", "?before=x"],
    ] as const)
      expect((await refused(route, { query, id: "x" })).status, route + query).toBe(400);
    expect(
      (await refused("PATCH /api/sessions/:id", { id: "x", body: { title: "t".repeat(101) } })).status,
    ).toBe(400);
    expect((await refused("PATCH /api/sessions/:id", { id: "x", body: { title: "t" } })).status).toBe(404);
    expect((await refused("GET /api/sessions/:id", { id: "a/b%00" })).status).toBe(400);
  });
});

describe("erasing", () => {
  it("counts first, wants a confirmation, and leaves nothing", async () => {
    const gateway = await withModel();
    const { api: ask, refused } = gateway;
    await ask("POST /api/entries", { body: { text: "The kiln is blue." } });
    await said(gateway, "Where is the kiln?", "one");
    expect(await ask("POST /api/erase", { body: { dry_run: true } })).toMatchObject({
      dry_run: true,
      entries: 1,
      sessions: 1,
      messages: 2,
    });
    expect(await refused("POST /api/erase", { body: {} })).toMatchObject({
      status: 400,
      code: "not-confirmed",
    });
    expect((await refused("POST /api/erase", { body: { confirm: "yes" } })).status).toBe(400);
    expect((await ask("GET /api/entries")).entries).toHaveLength(1);
    expect(await ask("POST /api/erase", { body: { confirm: "erase everything" } })).toMatchObject({
      dry_run: false,
      entries: 1,
      sessions: 1,
    });
    expect((await ask("GET /api/entries")).entries).toEqual([]);
    expect(await ask("GET /api/sessions")).toEqual({ sessions: [], total: 0 });
    expect((await ask("GET /api/recalls")).recalls).toEqual([]);
    expect((await ask("GET /api/history")).changes).toEqual([]);
  });
});

describe("events", () => {
  it("arrive as they happen, in their schema and without any text", async () => {
    const gateway = await withModel();
    const stopped = new AbortController();
    const stream = await gateway.call("/api/events", { signal: stopped.signal });
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    let heard = "";
    const listening = (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of stream.body ?? []) heard += decoder.decode(bytes, { stream: true });
    })().catch(() => undefined);
    await gateway.api("POST /api/entries", { body: { text: "The kiln is secretly blue." } });
    await said(gateway, "Is the kiln secretly blue?", "one", "/agent");
    await said(gateway, "Is the kiln secretly blue?", "two", "/proxy");
    await expect.poll(() => heard).toMatch(/event: recall/);
    stopped.abort();
    await listening;
    const events = [...heard.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
      eventSchema.parse(JSON.parse(data)),
    );
    const types = new Set(events.map(({ type }) => type));
    for (const type of ["memory-write", "turn-start", "turn-end", "recall"])
      expect([...types]).toContain(type);
    expect(heard).not.toContain("secretly");
  });
});

describe("the description", () => {
  it("names every route of the table with its schemas, and every route was answered as described", async () => {
    const { call } = await api();
    const described = (await (await call("/api/openapi.json")).json()) as {
      openapi: string;
      paths: Record<string, Record<string, { summary: string; responses: Json }>>;
    };
    expect(described.openapi).toBe("3.1.0");
    for (const { method, path, summary } of apiRoutes()) {
      if (path === "/api/events" || path === "/api/openapi.json") continue;
      const operation = described.paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
      expect(operation?.summary, `${method} ${path}`).toBe(summary);
      expect(operation?.responses["200"]).toBeDefined();
    }
    expect([...proven].toSorted()).toEqual([...answerSchemas().keys()].toSorted());
  });
});

describe("a broken home", () => {
  it("is told without files to users, and with them to whoever runs it", async () => {
    const home = tempDirectory();
    const token = await newToken(home, { kind: "user", user: { platform: "web", id: "bob" } });
    const { refused, call } = await api(undefined, home);
    writeFileSync(join(home, "state.db"), "no database at all ".repeat(500));
    const headers = { authorization: `Bearer ${token}` };
    const said = await refused("GET /api/sessions", { headers });
    expect(said.status).toBeGreaterThanOrEqual(500);
    expect(JSON.stringify(said)).not.toContain(home);
    for (const [method, params] of [
      ["tools/call", { name: "session_search", arguments: { query: "kiln" } }],
      ["resources/read", { uri: "hermes://sessions" }],
    ] as const) {
      const answer = await call("/mcp", {
        method: "POST",
        headers: {
          ...headers,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      const text = await answer.text();
      expect(text).toContain("is not a SQLite database");
      expect(text).not.toContain(home);
    }
  });
});

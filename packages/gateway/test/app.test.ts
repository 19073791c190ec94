// Requests over real HTTP: what every route can rely on, whatever it does.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { HermesError } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { accessLogPath } from "../src/access-log.ts";
import { ProblemError, type Route } from "../src/types.ts";
import { newToken, route, runningGateway, type TestGateway } from "./running-gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** What the server answers to these bytes. */
function raw({ port }: Pick<TestGateway, "port">, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no end after: ${answer}`)));
    socket.on("data", (bytes) => (answer += bytes.toString("latin1")));
    socket.on("close", () => resolve(answer)).on("error", reject);
  });
}

const echo = route("/test/echo", async (request) => Response.json({ body: await request.json() }));
const whoami = route(
  "/test/whoami",
  async (request) => {
    const { user, memory } = await request.person();
    await memory.add(`note of ${user?.id ?? "owner"}`);
    return Response.json({ user: user ?? null, entries: (await memory.list()).map(({ text }) => text) });
  },
  { method: "GET" },
);

describe("a route", () => {
  it("gets its parameters, its query and the body, also when it is compressed", async () => {
    const seen: unknown[] = [];
    const look: Route = route("/test/:id/part", async (request) => {
      seen.push(request.params, request.url.searchParams.get("q"), request.headers.get("content-encoding"));
      const body = await request.json();
      return Response.json({ body, encoding: request.headers.get("content-encoding") });
    });
    const { call } = await runningGateway({ routes: [look] });
    const plain = JSON.stringify({ text: "grün" });
    const post = (body: string | Uint8Array<ArrayBuffer>, headers = {}) =>
      call("/test/a%20b%25/part?q=1", { method: "POST", body, headers: { ...JSON_TYPE, ...headers } });
    expect(await (await post(plain)).json()).toEqual({ body: { text: "grün" }, encoding: null });
    expect(seen).toEqual([{ id: "a b%" }, "1", null]);
    for (const [encoding, bytes] of [
      ["gzip", gzipSync(plain)],
      ["zstd", zstdCompressSync(plain)],
    ] as const) {
      const answer = await post(new Uint8Array(bytes), { "content-encoding": encoding });
      expect(await answer.json()).toEqual({ body: { text: "grün" }, encoding: null });
    }
    expect((await post("x", { "content-encoding": "gzip" })).status).toBe(400);
    expect((await post("x", { "content-encoding": "pack200" })).status).toBe(415);
  });

  it("refuses bodies that are no JSON object, too large, or declared as something else", async () => {
    const { call } = await runningGateway({ routes: [echo], config: "gateway:\n  max_body_bytes: 2048\n" });
    const post = async (
      body: string | Uint8Array<ArrayBuffer>,
      headers: Record<string, string> = JSON_TYPE,
    ) => {
      const answer = await call("/test/echo", { method: "POST", body, headers });
      const { error } = (await answer.json()) as { error: { code: string } };
      return [answer.status, error.code];
    };
    expect(await post("{")).toEqual([400, "bad-json"]);
    expect(await post("[1]")).toEqual([400, "bad-json"]);
    expect(await post("")).toEqual([400, "bad-json"]);
    expect(await post(new Uint8Array([0x22, 0xff, 0x22]))).toEqual([400, "bad-json"]);
    expect(await post(`{"a":${"[".repeat(900)}${"]".repeat(900)}}`)).toEqual([400, "bad-json"]);
    expect(await post("{}", { "content-type": "text/plain" })).toEqual([415, "not-json"]);
    expect(await post(`{"a":"${"x".repeat(3_000)}"}`)).toEqual([413, "body-too-large"]);
    const bomb = new Uint8Array(gzipSync(`{"a":"${"x".repeat(100_000)}"}`));
    expect(await post(bomb, { ...JSON_TYPE, "content-encoding": "gzip" })).toEqual([413, "body-too-large"]);
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
    });
    const answer = await call("/test/echo", {
      method: "POST",
      body: endless,
      headers: JSON_TYPE,
      duplex: "half",
    } as RequestInit).catch((cause: unknown) => cause as Error);
    // The client may notice the closed connection before it reads the answer.
    if (answer instanceof Response) expect(answer.status).toBe(413);
  });

  it("is told when the client leaves, and the access log says so", async () => {
    let left: (() => void) | undefined;
    const isLeft = new Promise<void>((resolve) => {
      left = resolve;
    });
    const slow = route("/test/slow", async ({ signal }) => {
      signal.addEventListener("abort", () => left?.());
      return new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from("begun\n")) }));
    });
    const { call, home, close } = await runningGateway({ routes: [slow] });
    const leaving = new AbortController();
    const answer = await call("/test/slow", { method: "POST", signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await isLeft;
    await close();
    const lines = readFileSync(accessLogPath(home), "utf8");
    expect(JSON.parse(lines)).toMatchObject({ route: "/test/slow", status: 200, aborted: true });
  });
});

describe("problems", () => {
  const [message, hint, param, code] = ["No model.", "Run 'hermes setup'.", "model", "no-model"];
  const both = `${message} ${hint}`;
  it.each([
    ["api", { error: { code, message, hint, param } }],
    ["chat", { error: { message: both, type: "server_error", param, code } }],
    ["responses", { error: expect.objectContaining({ code }) }],
    ["messages", { type: "error", error: expect.objectContaining({ type: "overloaded_error" }) }],
  ] as const)("are rendered in the shape %s", async (shape, expected) => {
    const problem = { status: 503 as const, code, message, hint, param, retryAfterSeconds: 1.2 };
    const refuse = () => Promise.reject(new ProblemError(problem));
    const fail = route("/test/fail", refuse, { shape });
    const { call } = await runningGateway({ routes: [fail] });
    const answer = await call("/test/fail", { method: "POST" });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(await answer.json()).toEqual(expected);
    expect(answer.headers.has("request-id")).toBe(shape === "messages");
  });

  it("that nobody foresaw say an id, which is in the log, and nothing else", async () => {
    const fail = route("/test/fail", async () => {
      throw new TypeError("secret text of a message");
    });
    const { call, logged } = await runningGateway({ routes: [fail] });
    const answer = await call("/test/fail", { method: "POST", headers: { "x-request-id": "my-id.1" } });
    const text = await answer.text();
    expect([answer.status, answer.headers.get("x-request-id")]).toEqual([500, "my-id.1"]);
    expect(text).toContain("my-id.1");
    expect(text).not.toContain("secret text");
    expect(logged).toContainEqual({
      level: "error",
      message: "A request failed",
      fields: { id: "my-id.1", route: "/test/fail", cause: expect.any(TypeError) },
    });
  });

  it("of a layer keep their code; what names files of the server is for those who run it", async () => {
    const fail = route("/test/:code", async ({ params }) => {
      throw new HermesError(params.code ?? "", "At /srv/home/state.db.", { hint: "Look." });
    });
    const { call, home } = await runningGateway({ routes: [fail] });
    const ask = async (code: string, headers = {}) => {
      const answer = await call(`/test/${code}`, { method: "POST", headers });
      return { status: answer.status, text: await answer.text() };
    };
    expect((await ask("unknown-session")).status).toBe(404);
    expect((await ask("chat-busy")).status).toBe(409);
    expect((await ask("memory-over-limit")).status).toBe(422);
    expect(await ask("session-db-full")).toMatchObject({
      status: 503,
      text: expect.stringContaining("/srv"),
    });
    const user = await newToken(home, { kind: "user", user: { platform: "api", id: "alice" } });
    const theirs = () => ask("session-db-full", { authorization: `Bearer ${user}` });
    await expect.poll(async () => (await theirs()).status, { timeout: 3_000 }).toBe(503); // a new token is known after 500 ms
    expect(await theirs()).toMatchObject({ status: 503, text: expect.not.stringContaining("/srv") });
    expect((await ask("never-heard-of", { "x-api-key": user })).text).toContain('"internal"');
  });

  it("say which methods an address takes, in the shape of the address", async () => {
    const { call } = await runningGateway();
    const answer = await call("/healthz", { method: "POST" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    for (const [path, field] of [
      ["/proxy/v1/messages/nope", "type"],
      ["/agent/v1/responses/nope", "error"],
      ["/v1/nope", "error"],
      ["/api/nope", "error"],
    ] as const) {
      const missing = await call(path);
      expect(missing.status).toBe(404);
      expect(await missing.json()).toHaveProperty(field);
    }
  });
});

describe("every reply", () => {
  it("has a request id and headers that keep browsers from using it", async () => {
    const { call } = await runningGateway();
    const { headers } = await call("/healthz");
    expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("cache-control")).toBe("no-store");
    const forged = await call("/healthz", { headers: { "x-request-id": "a b\tc" } });
    expect(forged.headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("has no cookies and no permissions of a vendor", async () => {
    const relay = route("/test/relay", async () => {
      const headers = {
        "set-cookie": "a=1",
        "access-control-allow-origin": "*",
        "anthropic-request-id": "r",
      };
      return new Response("ok", { headers });
    });
    const { call } = await runningGateway({ routes: [relay] });
    const { headers } = await call("/test/relay", { method: "POST" });
    expect(headers.get("set-cookie")).toBeNull();
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(headers.get("anthropic-request-id")).toBe("r");
  });

  it("is in the access log with its route, and without path, query, content or user", async () => {
    const { call, home, close } = await runningGateway({
      routes: [
        route("/test/chats/:id", async (request) => {
          await request.json();
          request.annotate?.({
            mode: "proxy",
            client: "claude-code",
            model: "m-1",
            user: { platform: "api", id: "alice" },
          });
          return Response.json({});
        }),
      ],
    });
    await call("/test/chats/chat-of-alice?q=blue-crane", {
      method: "POST",
      headers: { ...JSON_TYPE, "x-hermes-user-id": "alice" },
      body: JSON.stringify({ text: "the crane is blue" }),
    });
    await call("/nothing/here/alice");
    await close();
    const text = readFileSync(accessLogPath(home), "utf8");
    expect(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      {
        method: "POST",
        route: "/test/chats/:id",
        status: 200,
        caller: "local",
        client: "claude-code",
        mode: "proxy",
        model: "m-1",
      },
      { method: "GET", route: "unmatched", status: 404, problem: "not-found" },
    ]);
    expect(text).not.toMatch(/alice|crane|127\.0\.0\.1/);
  });
});

describe("callers", () => {
  it("are local with the local token, whatever other tokens there are", async () => {
    const { call, home, url, localToken = "" } = await runningGateway({ routes: [whoami] });
    expect(await (await call("/test/whoami")).json()).toEqual({ user: null, entries: ["note of owner"] });
    const refused = await fetch(`${url}/test/whoami`);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    const named = await call("/test/whoami", { headers: { "x-hermes-user-id": "alice" } });
    expect(await named.json()).toEqual({
      user: { platform: "api", id: "alice" },
      entries: ["note of alice"],
    });
    const bob = await newToken(home, { kind: "user", user: { platform: "api", id: "bob" } });
    const asBob = (): Promise<Response> =>
      call("/test/whoami", { headers: { authorization: `Bearer ${bob}` } });
    await expect.poll(async () => (await asBob()).status, { timeout: 3_000 }).toBe(200);
    expect(await (await asBob()).json()).toEqual({
      user: { platform: "api", id: "bob" },
      entries: ["note of bob"],
    });
    const posing = { authorization: `Bearer ${bob}`, "x-hermes-user-id": "alice" };
    expect((await call("/test/whoami", { headers: posing })).status).toBe(403);
    const forwarded = { "x-api-key": localToken, "x-forwarded-for": "10.0.0.1" };
    expect(await (await call("/test/whoami", { headers: forwarded })).json()).toMatchObject({ user: null });
  });

  it("may have the local token in the address instead, and no other there", async () => {
    const { home, url, localToken = "" } = await runningGateway({ routes: [whoami] });
    const owner = await newToken(home, { kind: "owner" });
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${url}${path}`, { headers })).status;
    await expect.poll(() => status("/test/whoami", { "x-api-key": owner })).toBe(200);
    const theirs = { authorization: "Bearer sk-of-a-vendor", "x-hermes-user-id": "alice" };
    const named = await fetch(`${url}/${localToken}/test/whoami?q=1`, { headers: theirs });
    expect(await named.json()).toMatchObject({ user: { platform: "api", id: "alice" } });
    expect(await status(`/${localToken}/test/whoami`, { "x-hermes-token": localToken })).toBe(200);
    expect(await status(`/${localToken}/test/whoami`, { "x-hermes-token": owner })).toBe(400);
    for (const wrong of [owner, "hm_", `${localToken}x`, localToken.slice(0, -1), `${localToken}%20`])
      expect(await status(`/${wrong}/test/whoami`), wrong).toBe(401);
    expect(await status(`/${owner}/test/whoami`, { "x-hermes-token": owner })).toBe(401);
    for (const elsewhere of [`/test/${localToken}/whoami`, `//${localToken}/test/whoami`, `/x/${localToken}`])
      expect([400, 404], elsewhere).toContain(await status(elsewhere));
    expect(await status(`/test/whoami?token=${localToken}`)).toBe(401);
    expect([await status(`/${localToken}`), await status(`/${localToken}/healthz`)]).toEqual([200, 200]);
    // Wrong ones are counted as wrong headers are.
    for (let count = 0; count < 20; count += 1) await status(`/hm_${count}/test/whoami`);
    expect(await status("/hm_wrong/test/whoami")).toBe(429);
  });

  it("without a token are told what to do, as their clients show it", async () => {
    const { url } = await runningGateway();
    for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/entries", "/mcp"]) {
      const answer = await fetch(url + path, { method: "POST", body: "{}", headers: JSON_TYPE });
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toContain("Bearer");
      const { error } = (await answer.json()) as { error: { message: string; hint?: string } };
      expect(`${error.message} ${error.hint}`, path).toMatch(/hermes token local.*API key.*base URL/);
    }
  });

  it("need an admin token for routes of administrators, and none for open ones", async () => {
    const admin = route("/test/admin", async () => Response.json({ ok: true }), { access: "admin" });
    const { call, home } = await runningGateway({ routes: [admin] });
    const post = async (headers: Record<string, string> = {}) =>
      (await call("/test/admin", { method: "POST", headers })).status;
    expect(await post()).toBe(200);
    const owner = await newToken(home, { kind: "owner" });
    const boss = await newToken(home, { kind: "admin" });
    await expect.poll(() => post({ authorization: `Bearer ${owner}` }), { timeout: 3_000 }).toBe(403);
    expect(await post()).toBe(401);
    expect(await post({ "x-hermes-token": boss })).toBe(200);
    expect((await call("/healthz")).status).toBe(200);
    expect((await call("/metrics")).status).toBe(401);
    for (const [key, status] of [
      [owner, 403],
      [boss, 200],
    ] as const)
      expect((await call("/metrics", { headers: { authorization: `Bearer ${key}` } })).status).toBe(status);
  });

  it("are limited in rate and in running requests, each user for itself", async () => {
    const release: (() => void)[] = [];
    const wait = route("/test/wait", async () => {
      await new Promise<void>((resolve) => release.push(resolve));
      return Response.json({});
    });
    const { call } = await runningGateway({
      routes: [wait, echo],
      config: "gateway:\n  concurrent_requests: 2\n  requests_per_minute: 5\n",
    });
    const start = (id: string) => call("/test/wait", { method: "POST", headers: { "x-hermes-user-id": id } });
    const running = [start("a"), start("a")];
    await expect.poll(() => release.length).toBe(2);
    const third = await start("a");
    expect([third.status, third.headers.has("retry-after")]).toEqual([429, true]);
    running.push(start("b"));
    await expect.poll(() => release.length).toBe(3);
    for (const each of release) each();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const headers = { ...JSON_TYPE, "x-hermes-user-id": "a" };
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1)
      statuses.push((await call("/test/echo", { method: "POST", headers, body: "{}" })).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });
});

describe("doors", () => {
  it("open for pages that config names", async () => {
    const config = "gateway:\n  cors_origins: [https://chat.example.org]\n";
    const { call } = await runningGateway({ routes: [echo], config });
    const origin = "https://chat.example.org";
    const asked = await call("/test/echo", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    const headers = { ...JSON_TYPE, origin };
    const answer = await call("/test/echo", { method: "POST", body: "{}", headers });
    expect([asked.status, answer.status]).toEqual([204, 200]);
    for (const each of [asked, answer]) expect(each.headers.get("access-control-allow-origin")).toBe(origin);
  });

  it.each([
    ["no HTTP", "hello\r\n\r\n", 400],
    [
      "large headers",
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nx-a: ${"a".repeat(40_000)}\r\n\r\n`,
      431,
    ],
  ])("stay shut for %s", async (_name, request, status) => {
    const gateway = await runningGateway();
    const answer = await raw(gateway, request.replaceAll("PORT", String(gateway.port)));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect((await gateway.call("/healthz")).status).toBe(200);
  });
});

// The running server as somebody outside sees it: names and origins, tricks with paths and headers, bodies, tokens, secrets.
import { connect } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { systemClock } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it, onTestFinished } from "vitest";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { openTokens, type Tokens } from "../src/tokens.ts";
import type { Route, TokenRights } from "../src/types.ts";
import { json, rawServer } from "./proxy/raw-server.ts";
import { allRoutes, runningGateway, type TestGateway } from "./running-gateway.ts";

const USER: TokenRights = { kind: "user", user: { platform: "web", id: "bob" } };

/** All bytes that come back until the server closes the connection, or nothing more comes. */
function raw({ port }: Pick<TestGateway, "port">, text: string, quietMs = 1_000): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text, "latin1"));
    socket.setTimeout(quietMs, () => socket.destroy());
    socket.on("data", (bytes) => {
      answer += bytes.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

const statuses = (answer: string): readonly number[] =>
  [...answer.matchAll(/(?:^|\r?\n|[}\]])HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

function get(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}Connection: close\r\n\r\n`;
}

async function withTokens(options: Parameters<typeof runningGateway>[0] = {}) {
  const home = tempDirectory();
  const tokens = openTokens({ home, clock: systemClock, log: silentLogger });
  const token = await made(tokens, USER);
  const gateway = await runningGateway({ ...options, home });
  return { gateway, tokens, token, home };
}

async function made(tokens: Tokens, rights: TokenRights, expiresAt?: Date): Promise<string> {
  const token = await tokens.create({ rights, expiresAt });
  if (!token.ok) throw new Error(token.error.message);
  return token.value.token;
}

const addressOf = ({ path }: Route): string => path.replace(":id{.+}", "x").replace(":id", "x");

/** What nobody caught while the test ran. */
function uncaught(): readonly unknown[] {
  const caught: unknown[] = [];
  const keep = (cause: unknown): void => void caught.push(cause);
  process.on("uncaughtException", keep).on("unhandledRejection", keep);
  onTestFinished(() => void process.off("uncaughtException", keep).off("unhandledRejection", keep));
  return caught;
}

describe("connections that are no requests", () => {
  it("do not end the process when they are broken off, whatever they asked for", async () => {
    const caught = uncaught();
    const gateway = await runningGateway();
    const heads = [
      "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
      `GET /healthz HTTP/1.1\r\nHost: localhost:${gateway.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      `GET /api/events HTTP/1.1\r\nHost: localhost:${gateway.port}\r\n\r\n`,
      "POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{",
      "\u0016\u0003\u0001\u0000",
    ];
    const broken = heads.flatMap((head) =>
      Array.from({ length: 12 }, (_, index) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const socket = connect(gateway.port, "127.0.0.1", () =>
          socket.write(head, "latin1", () => setTimeout(() => socket.resetAndDestroy(), index % 4)),
        );
        socket.on("error", () => {}).on("close", () => resolve());
        return promise;
      }),
    );
    await Promise.all(broken);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(caught).toEqual([]);
    expect((await gateway.call("/healthz")).status).toBe(200);
  });

  it("are answered in HTTP: tunnels are refused, and an offer of another protocol is not taken up", async () => {
    const gateway = await runningGateway();
    const host = `localhost:${gateway.port}`;
    expect(statuses(await raw(gateway, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"))).toEqual([405]);
    const upgrade = get("/healthz", { Host: host, Upgrade: "h2c" }).replace("close", "Upgrade, close");
    expect(statuses(await raw(gateway, upgrade))).toEqual([200]);
  });
});

describe("the name by which the server is called", () => {
  it("is its own for every route, also for open ones: a page that rebinds its name gets nothing", async () => {
    const gateway = await runningGateway();
    const { port } = gateway;
    const foreign = [`evil.example:${port}`, "evil.example", `localhost.evil.example:${port}`, "localhost:1"];
    for (const route of await allRoutes(gateway)) {
      const [host = ""] = foreign;
      const answer = await raw(gateway, get(addressOf(route), { Host: host }).replace("GET", route.method));
      expect(statuses(answer), `${route.method} ${route.path}`).toEqual([403]);
      expect(answer).toContain("host-not-allowed");
    }
    for (const host of [...foreign, `127.0.0.1.nip.io:${port}`, `0:${port}`, `2130706433:${port}`])
      expect(statuses(await raw(gateway, get("/healthz", { Host: host }))), host).toEqual([403]);
  });

  it("is answered with a refusal when it is none at all", async () => {
    const gateway = await runningGateway();
    for (const host of [
      "localhost:99999",
      "256.256.256.256",
      "1.2.3.4.5",
      "xn--a",
      "a b",
      "[::1",
      "a@localhost",
      "localhost/x",
      "%6c",
    ]) {
      const [status, ...more] = statuses(await raw(gateway, get("/healthz", { Host: host })));
      expect([status === 400 || status === 403, more], host).toEqual([true, []]);
    }
  });
});

describe("pages of other origins", () => {
  it("may call no route, get no permission by asking, and cannot use cookies", async () => {
    const { gateway, token } = await withTokens();
    const authorization = `Bearer ${token}`;
    for (const route of await allRoutes(gateway))
      for (const method of [route.method, "OPTIONS"]) {
        const headers = {
          authorization,
          origin: "https://evil.example",
          "access-control-request-method": "POST",
        };
        const answer = await gateway.call(addressOf(route), { method, headers });
        expect(answer.status, `${method} ${route.path}`).toBe(403);
        expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      }
    for (const headers of [
      { origin: "null", authorization },
      { origin: "file://", authorization },
      { origin: `http://localhost:${gateway.port}.evil.example`, authorization },
      { "sec-fetch-site": "cross-site", authorization },
    ])
      expect((await gateway.call("/api/entries", { headers })).status).toBe(403);
    for (const cookie of [`token=${token}`, `authorization=Bearer ${token}`, `x-hermes-token=${token}`])
      expect((await gateway.call("/api/entries", { headers: { cookie } })).status).toBe(401);
    const answer = await gateway.call("/api/entries", { headers: { authorization } });
    expect(answer.headers.get("set-cookie")).toBeNull();
  });
});

describe("tricks with the path", () => {
  it("lead to no route and past no token", async () => {
    const { gateway } = await withTokens();
    const host = `localhost:${gateway.port}`;
    for (const path of [
      "/healthz/../api/entries",
      "/healthz/%2e%2e/api/entries",
      "/healthz/..%2fapi/entries",
      "/%2e/api/entries",
      "//api/entries",
      "/api//entries",
      "/api/entries/",
      "/API/entries",
      "/api/entries;a=b",
      "/api%2fentries",
      "/api/entries%00",
      "/api/entries%0d%0aX-A:b",
      "/api\\entries",
      "/api/entries#",
      `http://${host}/api/entries`,
      "http://evil.example/api/entries",
      "*",
      "/api/sessions/%252e%252e%252f",
      "/api/entries?user=web:alice",
      "/healthz?/../api/entries",
    ]) {
      const answer = await raw(gateway, get(path, { Host: host }));
      const [status = 0] = statuses(answer);
      const isOpen = path.startsWith("/healthz?");
      expect([200, 400, 401, 404].includes(status), `${path}: ${answer.slice(0, 80)}`).toBe(true);
      expect(status === 200, path).toBe(isOpen);
    }
  });
});

describe("tricks with headers", () => {
  it("make no second request out of one", async () => {
    const { gateway, token } = await withTokens();
    const host = `localhost:${gateway.port}`;
    const inner = `GET /api/entries HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const outer = (lines: string, body: string): string =>
      `POST /api/undo HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${lines}\r\n${body}`;
    for (const [name, text] of Object.entries({
      "both lengths": outer("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${inner}`),
      "two lengths": outer(`Content-Length: 0\r\nContent-Length: ${inner.length}\r\n`, inner),
      "two encodings": outer(
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        `0\r\n\r\n${inner}`,
      ),
      "an unknown encoding": outer("Transfer-Encoding: xchunked\r\n", `0\r\n\r\n${inner}`),
      "a spaced name": outer("Content-Length : 0\r\n", inner),
      "a folded line": outer(`X-A: b\r\n Content-Length: 0\r\n`, inner),
      "a bare line feed": `POST /api/undo HTTP/1.1\nHost: ${host}\n\n${inner}`,
      "a signed length": outer("Content-Length: +0\r\n", inner),
      "a length in hex": outer("Content-Length: 0x0\r\n", inner),
      "a bad chunk": outer("Transfer-Encoding: chunked\r\n", `zz\r\n${inner}`),
      "two hosts": `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n\r\n${inner}`,
      "no host": `GET /healthz HTTP/1.1\r\n\r\n${inner}`,
    })) {
      const answer = await raw(gateway, text, 400);
      expect(answer, name).not.toContain('"entries"');
      for (const status of statuses(answer)) expect([400, 401, 408], name).toContain(status);
    }
  });

  it("do not name another user or another token", async () => {
    const { gateway, tokens, token } = await withTokens();
    const many = await made(tokens, { kind: "names-users", platform: "web" });
    const host = `localhost:${gateway.port}`;
    await expect
      .poll(async () => (await gateway.call("/api/entries", { headers: { "x-hermes-token": many } })).status)
      .toBe(400);
    const sent = async (...lines: readonly string[]): Promise<number> => {
      const head = lines.map((line) => `${line}\r\n`).join("");
      const text = `GET /api/status HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${head}\r\n`;
      return statuses(await raw(gateway, text))[0] ?? 0;
    };
    const named = `X-Hermes-Token: ${many}`;
    expect(await sent(named, "X-Hermes-User-Id: bob")).toBe(200);
    for (const lines of [
      ["X-Hermes-User-Id: bob", "X-Hermes-User-Id: alice"],
      ["X-Hermes-User-Id: bob", "x-sm-user-id: alice"],
      ["X_Hermes_User_Id: bob"],
      ["X-Hermes-User_Id: bob", "X-Hermes-User-Id: bob"],
      ["X-Hermes-User-Id: \xff"],
      ["X-Hermes-User-Id: {{USER_ID}}"],
      [`Authorization: Bearer ${token}`, "X-Hermes-User-Id: bob"],
      ["Authorization: Bearer a", "Authorization: Bearer b", "X-Hermes-User-Id: bob"],
    ])
      expect(await sent(named, ...lines), lines.join(", ")).toBe(400);
    expect(await sent(`X-Hermes-Token: ${token}`, "X-Hermes-User-Id: alice")).toBe(403);
    expect(await sent(`X-Hermes-Token: ${token}`, "X-OpenWebUI-User-Id: alice")).toBe(403);
  });
});

describe("bodies", () => {
  it("that unpack to more than is allowed are refused before they are in memory", async () => {
    const { call } = await runningGateway({ config: "gateway:\n  max_body_bytes: 1000000\n" });
    const zeros = Buffer.alloc(48 * 2 ** 20);
    const before = process.memoryUsage.rss();
    for (const [encoding, pack] of Object.entries({
      gzip: gzipSync,
      deflate: deflateSync,
      br: (bytes: Buffer) => brotliCompressSync(bytes.subarray(0, 8 * 2 ** 20)),
      zstd: zstdCompressSync,
    })) {
      const bomb = pack(zeros);
      expect(bomb.length).toBeLessThan(1_000_000);
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const answer = await call("/api/undo", { method: "POST", headers, body: new Uint8Array(bomb) });
      expect(answer.status, encoding).toBe(413);
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 2 ** 20);
    for (const [encoding, body, status] of [
      ["gzip, gzip", gzipSync(gzipSync("{}")), 415],
      ["gzip", gzipSync("{}").subarray(0, 12), 400],
      ["compress", Buffer.from("{}"), 415],
    ] as const) {
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const answer = await call("/api/undo", { method: "POST", headers, body: new Uint8Array(body) });
      expect(answer.status, encoding).toBe(status);
    }
  });

  it("with too many messages, parts or tools are refused on every wire, in both modes", async () => {
    const { call } = await runningGateway({ config: "gateway:\n  max_messages: 100\n" });
    const many = (count: number, item: object) => Array.from({ length: count }, () => item);
    const message = { role: "user", content: "x" };
    const parts = [{ role: "user", content: many(1_000, { type: "text", text: "x" }) }];
    const lists = { chat: "messages", messages: "messages", count_tokens: "messages", responses: "input" };
    for (const prefix of ["", "/agent", "/proxy"])
      for (const path of ["chat/completions", "messages", "messages/count_tokens", "responses"]) {
        const list = lists[path.split("/").find((part) => part in lists) as keyof typeof lists];
        for (const body of [
          { [list]: many(101, message) },
          { [list]: parts },
          { [list]: [message], tools: many(101, { type: "function", name: "a" }) },
        ]) {
          const packed = new Uint8Array(gzipSync(JSON.stringify({ model: "m", max_tokens: 1, ...body })));
          const headers = { "content-type": "application/json", "content-encoding": "gzip" };
          const answer = await call(`${prefix}/v1/${path}`, { method: "POST", headers, body: packed });
          const said = await answer.text();
          expect([answer.status, said.includes("gateway.max_messages")], prefix + path + said).toEqual([
            413,
            true,
          ]);
        }
      }
  });

  it("are small on routes that take small JSON", async () => {
    const { call } = await runningGateway();
    const text = "x".repeat(2_100_000);
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    for (const [path, body] of [
      ["/api/entries", { text }],
      ["/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { arguments: { content: text } } }],
    ] as const) {
      const answer = await call(path, { method: "POST", headers, body: JSON.stringify(body) });
      expect([answer.status, (await answer.text()).includes("gateway.max_api_body_bytes")]).toEqual([
        413,
        true,
      ]);
    }
  });

  it("count against the sender's budget, packed or not, and nobody else's", async () => {
    const { call } = await runningGateway({
      config: "gateway:\n  megabytes_per_minute: 1\n  messages_per_minute: 100\n",
    });
    const post = async (user: string, body: string | Uint8Array<ArrayBuffer>, more = {}) => {
      const headers = { "content-type": "application/json", "x-hermes-user-id": user, ...more };
      const answer = await call("/v1/messages/count_tokens", { method: "POST", headers, body });
      const said = await answer.text();
      return [answer.status, answer.headers.has("retry-after"), /gateway\.\w+_per_minute/.exec(said)?.[0]];
    };
    const turn = (count: number, text: string) =>
      JSON.stringify({
        model: "m",
        messages: Array.from({ length: count }, () => ({ role: "user", content: text })),
      });
    const large = turn(1, "x".repeat(1_200_000));
    const fine = [200, false, undefined];
    expect(await post("a", large)).toEqual(fine);
    expect(await post("a", turn(1, "x"))).toEqual([429, true, "gateway.megabytes_per_minute"]);
    expect(await post("b", new Uint8Array(gzipSync(large)), { "content-encoding": "gzip" })).toEqual(fine);
    expect(await post("b", turn(1, "x"))).toEqual([429, true, "gateway.megabytes_per_minute"]);
    expect(await post("c", turn(90, "x"))).toEqual(fine);
    expect(await post("c", turn(1, "x"))).toEqual([429, true, "gateway.messages_per_minute"]);
    expect(await post("d", turn(1, "x"))).toEqual(fine);
  });

  it("that are too deep, of no text, or too large say so in the shape of the route", async () => {
    const { call } = await runningGateway({ config: "gateway:\n  max_body_bytes: 1000000\n" });
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const json = { "content-type": "application/json" };
    for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/undo", "/mcp"]) {
      const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) =>
        call(path, { method: "POST", body, headers });
      for (const [body, status] of [
        [deep, 400],
        ["[".repeat(50_000), 400],
        [new Uint8Array([0x22, 0xff, 0xfe, 0x22]), 400],
        ["null", 400],
        ["", 400],
        [`{"a":"${"x".repeat(1_100_000)}"}`, 413],
      ] as const) {
        const answer = await post(body);
        expect(answer.status, `${path} ${String(body).slice(0, 20)}`).toBe(status);
        expect(await answer.json()).toHaveProperty("error.message");
      }
      expect((await post("{}", { "content-type": "text/plain" })).status).toBe(415);
    }
    const polluted = await call("/api/entries", {
      method: "POST",
      headers: json,
      body: '{"__proto__":{"text":"x"},"constructor":{"prototype":{"a":1}}}',
    });
    expect(polluted.status).toBe(400);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});

describe("tokens", () => {
  it("that are wrong, expired, revoked, of another home, or sent in another way let nobody in", async () => {
    const { gateway, tokens, token } = await withTokens();
    const gone = await made(tokens, { kind: "admin" });
    const old = await made(tokens, { kind: "admin" }, new Date(Date.now() - 1_000));
    const foreign = (await withTokens()).token;
    await tokens.revoke(
      tokens.list().find(({ rights, expiresAt }) => rights.kind === "admin" && !expiresAt)?.id ?? "",
    );
    const status = async (headers: Record<string, string>, path = "/api/status") =>
      (await gateway.call(path, { headers })).status;
    await expect.poll(() => status({ "x-hermes-token": gone })).toBe(401);
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
    expect(await status({ "x-api-key": token })).toBe(200);
    for (const bad of [gone, old, foreign, `${token}x`, token.slice(0, -1), "hm_", token.toUpperCase()])
      for (const header of ["authorization", "x-api-key", "x-hermes-token"])
        expect([401, 429], bad).toContain(
          await status({ [header]: header === "authorization" ? `Bearer ${bad}` : bad }),
        );
    for (const path of [`/api/status?token=${token}`, `/api/status?api_key=${token}`])
      expect([401, 429]).toContain(await status({}, path));
    expect([401, 429]).toContain(
      await status({ authorization: `Basic ${Buffer.from(`a:${token}`).toString("base64")}` }),
    );
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
  });

  it("that are revoked while a reply streams end it", async () => {
    const wire = await startWire("chat", [{ text: "Never ends", stallAfterChars: 4 }]);
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "chat_completions" };
    const home = tempDirectory();
    const tokens = openTokens({ home, clock: systemClock, log: silentLogger });
    await made(tokens, { kind: "owner" });
    const token = await made(tokens, USER);
    const gateway = await runningGateway({
      home,
      config: JSON.stringify({ model, gateway: { recall: false } }),
    });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const events = await gateway.call("/api/events", { headers });
    const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hi" }] });
    const turn = await gateway.call("/proxy/v1/chat/completions", { method: "POST", headers, body });
    expect([events.status, turn.status]).toEqual([200, 200]);
    const ended = Promise.allSettled([events.text(), turn.text()]);
    await tokens.revoke(tokens.list().find(({ rights }) => rights.kind === "user")?.id ?? "");
    const late = new Promise((resolve) => setTimeout(() => resolve("still open"), 5_000).unref());
    expect(await Promise.race([ended.then(() => "ended"), late])).toBe("ended");
  });
});

describe("one user", () => {
  it("cannot switch off our tools for the others by a request that the vendor refuses", async () => {
    const wire = await startWire("chat", ({ raw: body }) =>
      body.includes("poison") ? { status: 400, message: "The tool is wrong." } : { text: "Fine." },
    );
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "chat_completions" };
    const { call } = await runningGateway({ config: JSON.stringify({ model }) });
    const ask = async (user: string, content: string): Promise<number> => {
      const headers = { "content-type": "application/json", "x-hermes-user-id": user };
      const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
      return (await call("/proxy/v1/chat/completions", { method: "POST", headers, body })).status;
    };
    expect(await ask("mallory", "poison")).toBe(400);
    expect(await ask("alice", "Hello")).toBe(200);
    expect(wire.requests.at(-1)?.tools).toContain("session_search");
  });

  it("cannot hide a response of others behind one of their own in the same body", async () => {
    const wire = await startWire("responses", () => ({ text: "Fine." }));
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "responses" };
    const { call } = await runningGateway({ config: JSON.stringify({ model }) });
    const ask = async (user: string, body: string): Promise<Response> => {
      const headers = { "content-type": "application/json", "x-hermes-user-id": user };
      return call("/proxy/v1/responses", { method: "POST", headers, body });
    };
    const idOf = async (answer: Response): Promise<string> => ((await answer.json()) as { id: string }).id;
    const mine = await idOf(await ask("mallory", '{"model":"m","input":"Hi"}'));
    const theirs = await idOf(await ask("alice", '{"model":"m","input":"Hi"}'));
    const goOn = (fields: string): string => `{"model":"m","input":"And?",${fields}}`;
    const named = (id: string, key = "previous_response_id"): string => `"${key}":"${id}"`;
    expect((await ask("mallory", goOn(named(mine)))).status).toBe(200);
    expect((await ask("mallory", goOn(named(theirs)))).status).toBe(404);
    for (const [fields, status] of [
      [`${named(theirs)},${named(mine)}`, 200],
      [`${named(mine)},${named(theirs)}`, 404],
      [`${named(theirs, "previous\\u005fresponse_id")},${named(mine)}`, 200],
    ] as const)
      expect((await ask("mallory", goOn(fields))).status, fields).toBe(status);
    expect(wire.requests.filter(({ raw: sent }) => sent.includes(theirs))).toEqual([]);
    expect(wire.requests).toHaveLength(5);
  });

  it("can refer to their own items, and not to those of others", async () => {
    const wire = await startWire("responses", () => ({ text: "Fine." }));
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "responses" };
    const { call } = await runningGateway({ config: JSON.stringify({ model }) });
    const ask = async (user: string, input: unknown): Promise<Response> => {
      const headers = { "content-type": "application/json", "x-hermes-user-id": user };
      return call("/proxy/v1/responses", {
        method: "POST",
        headers,
        body: JSON.stringify({ model: "m", input }),
      });
    };
    const itemOf = async (answer: Response): Promise<string> =>
      ((await answer.json()) as { output: { id: string }[] }).output[0]?.id ?? "";
    const theirs = await itemOf(await ask("alice", "Hi"));
    const question = { role: "user", content: "And?" };
    for (const reference of [
      { type: "item_reference", id: theirs },
      { id: theirs },
      { type: null, id: theirs },
      { type: "reasoning", id: theirs, summary: [] },
    ])
      expect((await ask("mallory", [reference, question])).status, JSON.stringify(reference)).toBe(404);
    expect((await ask("alice", [{ type: "item_reference", id: theirs }, question])).status).toBe(200);
    expect(wire.requests).toHaveLength(2);
  });

  it("names nothing of the account behind the server's key; the owner and a key of one's own may", async () => {
    const wire = await startWire("responses", () => ({ text: "Fine." }));
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "responses" };
    const { call, home } = await runningGateway({ config: JSON.stringify({ model }) });
    const ask = async (more: object, headers: Record<string, string>, input: unknown = "Hi") =>
      call("/proxy/v1/responses?project=x", {
        method: "POST",
        headers: { "content-type": "application/json", "openai-organization": "org-x", ...headers },
        body: JSON.stringify({ model: "m", input, ...more }),
      });
    const mallory = { "x-hermes-user-id": "mallory" };
    const file = [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }];
    const states: readonly [object, unknown?][] = [
      [{ prompt: { id: "pmpt_1" } }],
      [{ tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }],
      [{ tools: [{ type: "code_interpreter", container: "cntr_1" }] }],
      [{ tools: [{ type: "mcp", server_label: "x", connector_id: "connector_gmail" }] }],
      [{}, file],
    ];
    for (const [more, input] of states) {
      const answer = await ask(more, mallory, input);
      const { error } = (await answer.json()) as { error: { code: string; param: string } };
      expect([answer.status, error.code], JSON.stringify(more)).toEqual([403, "not-for-users"]);
    }
    expect(wire.requests).toHaveLength(0);
    // What was checked is what is sent, also of a body with a key twice.
    await ask({}, mallory);
    const twice = `{"model":"m","prompt":{"id":"pmpt_1"},"prompt":null,"input":"Hi"}`;
    await call("/proxy/v1/responses", {
      method: "POST",
      headers: { ...mallory, "content-type": "application/json" },
      body: twice,
    });
    expect(wire.requests.map(({ raw: sent }) => sent.includes("pmpt_1"))).toEqual([false, false]);
    expect(wire.requests[0]?.path).not.toContain("project");
    expect(wire.requests[0]?.headers).not.toHaveProperty("openai-organization");
    for (const [more, input] of states) expect((await ask(more, {}, input)).status).toBe(200);
    const keyless = { ...model, api_key: "" };
    const own = await runningGateway({ config: JSON.stringify({ model: keyless }) });
    const theirs = await own.call("/proxy/v1/responses", {
      method: "POST",
      headers: { ...mallory, "content-type": "application/json", authorization: "Bearer sk-mine" },
      body: JSON.stringify({ model: "m", input: file }),
    });
    expect(theirs.status).toBe(200);
    expect(home).not.toBe(own.home);
  });

  it.each(["status", "stream", "body"] as const)(
    "sees nothing of the account in an error (%s)",
    async (where) => {
      const secret = "Incorrect API key provided: sk-OWNER****EF42 of org-abc123";
      const error = { error: { message: secret, type: "invalid_request_error", code: "invalid_api_key" } };
      const server = await rawServer((response) => {
        const account = {
          "openai-organization": "org-abc123",
          "x-ratelimit-limit-requests": "9",
          "x-request-id": "req_vendor",
        };
        if (where === "status") return json(response, error, 401, { ...account, "retry-after": "7" });
        const isStream = where === "stream";
        response.writeHead(200, {
          ...account,
          "content-type": isStream ? "text/event-stream" : "application/json",
        });
        response.end(isStream ? `data: ${JSON.stringify(error)}\n\n` : JSON.stringify(error));
      });
      const model = { default: "m", base_url: server.url, api_key: "sk-ours", api_mode: "chat_completions" };
      for (const tools of ["on", "off"]) {
        const gateway = { proxy_tools: tools, recall: false };
        const { call, logged } = await runningGateway({ config: JSON.stringify({ model, gateway }) });
        const ask = async (headers: Record<string, string>) => {
          const body = JSON.stringify({
            model: "m",
            stream: where === "stream",
            messages: [{ role: "user", content: "Hi" }],
          });
          const answer = await call("/proxy/v1/chat/completions", {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body,
          });
          return { answer, text: JSON.stringify([...answer.headers]) + (await answer.text()) };
        };
        const user = await ask({ "x-hermes-user-id": "bob" });
        expect(user.text).not.toMatch(/sk-OWNER|org-abc|ratelimit|req_vendor|Incorrect/);
        expect(user.text).toContain("The model could not answer this request.");
        expect(user.answer.status).toBe(where === "status" ? 502 : 200);
        if (where === "status") expect(JSON.stringify(logged)).toContain("model-auth");
        expect(JSON.stringify(logged)).not.toContain("sk-OWNER");
        const owner = await ask({});
        expect(owner.text).toContain("Incorrect API key");
        expect(owner.text).toContain("openai-organization");
      }
    },
  );

  it("that leaves stops the model, and keeps what came", async () => {
    const wire = await startWire("chat", [{ text: "The kiln is cold, and", stallAfterChars: 16 }]);
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "chat_completions" };
    const { call, gateway } = await runningGateway({ config: JSON.stringify({ model }) });
    const leave = new AbortController();
    const turn = await call("/proxy/v1/chat/completions", {
      method: "POST",
      signal: leave.signal,
      headers: { "content-type": "application/json", "x-hermes-user-id": "bob", "x-hermes-session-id": "c" },
      body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hi" }] }),
    });
    const reader = turn.body?.getReader();
    let text = "";
    while (!text.includes("cold")) text += Buffer.from((await reader?.read())?.value ?? []).toString("utf8");
    leave.abort();
    await wire.waitForAbort(0);
    const bob = gateway.memory(undefined).user({ platform: "api", id: "bob" });
    const said = async () => (await bob.transcript("c", { format: "openai" }))?.messages.at(-1)?.content;
    await expect.poll(said, { timeout: 5_000 }).toBe("The kiln is cold");
  });

  it("learn nothing about the model's server when it fails; the owner does", async () => {
    const wire = await startWire("chat", () => ({ status: 401 }));
    const model = { default: "m", base_url: wire.url, api_key: "k", api_mode: "chat_completions" };
    const { call, home, logged } = await runningGateway({ config: JSON.stringify({ model }) });
    const tokens = openTokens({ home, clock: systemClock, log: silentLogger });
    const [token, owner] = [await made(tokens, USER), await made(tokens, { kind: "owner" })];
    const ask = async (key: string, stream: boolean): Promise<string> => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
      const body = JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "Hello" }] });
      return (await call("/agent/v1/chat/completions", { method: "POST", headers, body })).text();
    };
    for (const stream of [false, true]) {
      const shown = await ask(token, stream);
      expect(shown).toContain("The model could not answer this request.");
      expect(shown).not.toMatch(/127\.0\.0\.1|config\.yaml|hermes /);
    }
    expect(await ask(owner, false)).not.toContain("Whoever runs this server");
    expect(JSON.stringify(logged)).toContain("model-auth");
  });
});

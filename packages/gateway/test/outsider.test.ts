// The running server as somebody outside sees it: names and origins, tricks with paths and headers, bodies, tokens, secrets.
import { connect } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Script } from "../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import type { Route, TokenRights } from "../src/types.ts";
import { json, rawServer } from "./proxy/raw-server.ts";
import {
  allRoutes,
  modelOn,
  newToken,
  runningGateway,
  type TestGateway,
  tokensOf,
} from "./running-gateway.ts";

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
  const tokens = tokensOf(home);
  const token = await newToken(home, USER);
  const gateway = await runningGateway({ ...options, home });
  return { gateway, tokens, token, home };
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
    const { gateway, home, token } = await withTokens();
    const many = await newToken(home, { kind: "names-users", platform: "web" });
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
});

describe("tokens", () => {
  it("that are revoked while a reply streams end it", async () => {
    const wire = await startWire("chat", [{ text: "Never ends", stallAfterChars: 4 }]);
    const home = tempDirectory();
    const tokens = tokensOf(home);
    await newToken(home, { kind: "owner" });
    const token = await newToken(home, USER);
    const gateway = await runningGateway({
      home,
      config: JSON.stringify({ model: modelOn(wire.url), gateway: { recall: false } }),
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

/** A proxied model of this kind, and requests of its users. */
async function proxied(kind: "chat" | "responses", script: Script, model: object = {}) {
  const wire = await startWire(kind, script);
  const api_mode = kind === "chat" ? "chat_completions" : "responses";
  const config = { model: { ...modelOn(wire.url, api_mode), ...model } };
  const gateway = await runningGateway({ config: JSON.stringify(config) });
  const path = kind === "chat" ? "/proxy/v1/chat/completions" : "/proxy/v1/responses?project=x";
  const send = (body: string, headers: Record<string, string>) =>
    gateway.call(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  const ask = (user: string, body: object) =>
    send(JSON.stringify({ model: "m", ...body }), { "x-hermes-user-id": user });
  return { wire, gateway, send, ask };
}

describe("one user", () => {
  it("cannot switch off our tools for the others by a request that the vendor refuses", async () => {
    const { wire, ask } = await proxied("chat", ({ raw: body }) =>
      body.includes("poison") ? { status: 400, message: "The tool is wrong." } : { text: "Fine." },
    );
    const say = async (user: string, content: string) =>
      (await ask(user, { messages: [{ role: "user", content }] })).status;
    expect([await say("mallory", "poison"), await say("alice", "Hello")]).toEqual([400, 200]);
    expect(wire.requests.at(-1)?.tools).toContain("session_search");
  });

  it("cannot hide a response of others behind one of their own in the same body", async () => {
    const { wire, send } = await proxied("responses", () => ({ text: "Fine." }));
    const as = (user: string, body: string) => send(body, { "x-hermes-user-id": user });
    const idOf = async (user: string): Promise<string> =>
      ((await (await as(user, '{"model":"m","input":"Hi"}')).json()) as { id: string }).id;
    const [mine, theirs] = [await idOf("mallory"), await idOf("alice")];
    const named = (id: string, key = "previous_response_id"): string => `"${key}":"${id}"`;
    for (const [fields, status] of [
      [named(mine), 200],
      [named(theirs), 404],
      [`${named(theirs)},${named(mine)}`, 200],
      [`${named(mine)},${named(theirs)}`, 404],
      [`${named(theirs, "previous\\u005fresponse_id")},${named(mine)}`, 200],
    ] as const)
      expect((await as("mallory", `{"model":"m","input":"And?",${fields}}`)).status, fields).toBe(status);
    expect(wire.requests.filter(({ raw: sent }) => sent.includes(theirs))).toEqual([]);
    expect(wire.requests).toHaveLength(5);
  });

  it("can refer to their own items, and not to those of others", async () => {
    const { wire, ask } = await proxied("responses", () => ({ text: "Fine." }));
    const { output } = (await (await ask("alice", { input: "Hi" })).json()) as { output: { id: string }[] };
    const id = output[0]?.id ?? "";
    const question = { role: "user", content: "And?" };
    for (const reference of [
      { type: "item_reference", id },
      { id },
      { type: null, id },
      { type: "reasoning", id, summary: [] },
    ])
      expect((await ask("mallory", { input: [reference, question] })).status).toBe(404);
    expect((await ask("alice", { input: [{ type: "item_reference", id }, question] })).status).toBe(200);
    expect(wire.requests).toHaveLength(2);
  });

  it("names nothing of the account behind the server's key; the owner and a key of one's own may", async () => {
    const { wire, send, ask } = await proxied("responses", () => ({ text: "Fine." }));
    const file = [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }];
    const states: readonly object[] = [
      { input: "Hi", prompt: { id: "pmpt_1" } },
      { input: "Hi", tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] },
      { input: file },
    ];
    for (const body of states) {
      const answer = await ask("mallory", body);
      const { error } = (await answer.json()) as { error: { code: string } };
      expect([answer.status, error.code], JSON.stringify(body)).toEqual([403, "not-for-users"]);
    }
    expect(wire.requests).toHaveLength(0);
    // What was checked is what is sent, also of a body with a key twice.
    const mallory = { "x-hermes-user-id": "mallory", "openai-organization": "org-x" };
    await send(`{"model":"m","prompt":{"id":"pmpt_1"},"prompt":null,"input":"Hi"}`, mallory);
    expect(wire.requests[0]?.raw).not.toContain("pmpt_1");
    expect(wire.requests[0]?.path).not.toContain("project");
    expect(wire.requests[0]?.headers).not.toHaveProperty("openai-organization");
    for (const body of states)
      expect((await send(JSON.stringify({ model: "m", ...body }), {})).status).toBe(200);
    const own = await proxied("responses", () => ({ text: "Fine." }), { api_key: "" });
    const theirs = { ...mallory, authorization: "Bearer sk-mine" };
    expect((await own.send(JSON.stringify({ model: "m", input: file }), theirs)).status).toBe(200);
  });

  it.each(["status", "stream", "body"] as const)(
    "sees nothing of the account in an error (%s)",
    async (where) => {
      const message = "Incorrect API key provided: sk-OWNER****EF42 of org-abc123";
      const error = { error: { message, type: "invalid_request_error", code: "invalid_api_key" } };
      const isStream = where === "stream";
      const server = await rawServer((response) => {
        const limits = { "x-ratelimit-limit-requests": "9", "x-request-id": "req_vendor" };
        const account = { "openai-organization": "org-abc123", ...limits };
        if (where === "status") return json(response, error, 401, { ...account, "retry-after": "7" });
        const type = { "content-type": isStream ? "text/event-stream" : "application/json" };
        response.writeHead(200, { ...account, ...type });
        response.end(isStream ? `data: ${JSON.stringify(error)}\n\n` : JSON.stringify(error));
      });
      const model = { ...modelOn(server.url), api_key: "sk-ours" };
      for (const tools of ["on", "off"]) {
        const gateway = { proxy_tools: tools, recall: false };
        const { call, logged } = await runningGateway({ config: JSON.stringify({ model, gateway }) });
        const ask = async (who: Record<string, string>) => {
          const messages = [{ role: "user", content: "Hi" }];
          const body = JSON.stringify({ model: "m", stream: isStream, messages });
          const headers = { "content-type": "application/json", ...who };
          const answer = await call("/proxy/v1/chat/completions", { method: "POST", headers, body });
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

  it("learns nothing about the model's server when it fails; the owner does", async () => {
    const { gateway } = await proxied("chat", () => ({ status: 401 }));
    const { home } = gateway;
    const [token, owner] = [await newToken(home, USER), await newToken(home, { kind: "owner" })];
    const ask = async (key: string, stream: boolean): Promise<string> => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
      const body = JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "Hello" }] });
      return (await gateway.call("/agent/v1/chat/completions", { method: "POST", headers, body })).text();
    };
    for (const stream of [false, true]) {
      const shown = await ask(token, stream);
      expect(shown).toContain("The model could not answer this request.");
      expect(shown).not.toMatch(/127\.0\.0\.1|config\.yaml|hermes /);
    }
    expect(await ask(owner, false)).not.toContain("Whoever runs this server");
    expect(JSON.stringify(gateway.logged)).toContain("model-auth");
  });
});

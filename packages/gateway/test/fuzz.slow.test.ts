// Requests that no client sends, over every route: each gets an HTTP answer in the shape of its route, and the server goes on. Then thousands
// of conversations of thousands of users. Seeded and bounded; loopback only.
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import type { Route } from "../src/types.ts";
import { allRoutes, modelOn, newToken, runningGateway, type TestGateway } from "./running-gateway.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 7391);
const REQUESTS = 10_000;

/** Mulberry32: the same requests for the same seed. */
class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
  below(most: number): number {
    return Math.floor(this.next() * most);
  }
  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
  chance(share: number): boolean {
    return this.next() < share;
  }
}

const TEXTS = [
  "",
  " ",
  "hello",
  "\u0000",
  "\ud800",
  "😀".repeat(50),
  "../../etc/passwd",
  "%00%2e%2e",
  "<memory-context>",
  "'; DROP TABLE sessions; --",
  "{{USER_ID}}",
  "a".repeat(5_000),
  "__proto__",
  "constructor",
  "null",
  "/new",
  "-1",
  "1e999",
  "web:alice",
  "\r\nX-Evil: 1",
  "Ⅷ‮",
] as const;
const KEYS = [
  ..."model messages input stream tools tool_choice system instructions max_tokens metadata user conversation".split(
    " ",
  ),
  ..."previous_response_id litellm_session_id role content type text tool_calls id name arguments function".split(
    " ",
  ),
  ..."target change confirm dry_run provider title jsonrpc method params n temperature stop response_format".split(
    " ",
  ),
  "__proto__",
  "constructor",
  "",
] as const;
const HEADERS = [
  ..."x-hermes-user-id x-openwebui-user-id x-openwebui-user-jwt x-sm-user-id x-hermes-session-id".split(" "),
  ..."x-hermes-session-key x-claude-code-session-id x-claude-code-agent-id session-id thread-id".split(" "),
  ..."x-opencode-session x-openwebui-chat-id idempotency-key x-stainless-retry-count anthropic-version".split(
    " ",
  ),
  ..."content-encoding accept user-agent origin traceparent x-request-id authorization x-api-key range".split(
    " ",
  ),
  ..."x-forwarded-for if-none-match expect mcp-session-id mcp-protocol-version last-event-id te".split(" "),
] as const;
const MODEL_BODIES = [
  { model: "m", messages: [{ role: "user", content: "Hi" }] },
  { model: "m", input: "Hi" },
  { model: "m", max_tokens: 5, messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
  { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "session_search", arguments: {} } },
  { text: "An entry" },
  { change: "x" },
  { dry_run: true },
] as const;

function value(dice: Dice, depth = 0): unknown {
  const kind = dice.below(depth > 4 ? 6 : 9);
  if (kind < 3) return dice.one(TEXTS);
  if (kind === 3) return dice.one([0, -1, 1.5, 2 ** 53, 1e308, -0]);
  if (kind === 4) return dice.one([true, false, null]);
  if (kind === 5) return dice.below(1_000);
  if (kind === 6) return Array.from({ length: dice.below(4) }, () => value(dice, depth + 1));
  return Object.fromEntries(
    Array.from({ length: dice.below(5) }, () => [dice.one(KEYS), value(dice, depth + 1)]),
  );
}

/** A body that is nearly right, with one or two places changed. */
function nearly(dice: Dice): unknown {
  const body = structuredClone(dice.one(MODEL_BODIES)) as Record<string, unknown>;
  for (let n = dice.below(3); n > 0; n -= 1) body[dice.one(KEYS)] = value(dice);
  if (Array.isArray(body.messages) && dice.chance(0.5)) {
    const roles = ["user", "assistant", "tool", "system", "developer", "x", 1];
    body.messages = Array.from({ length: dice.below(6) }, () =>
      dice.chance(0.8)
        ? { role: dice.one(roles), content: value(dice), [dice.one(KEYS)]: value(dice) }
        : value(dice),
    );
  }
  return body;
}

function bodyText(dice: Dice): string {
  const text = JSON.stringify(dice.chance(0.7) ? nearly(dice) : value(dice));
  const kind = dice.below(20);
  if (kind === 0) return text.slice(0, dice.below(text.length + 1));
  if (kind === 1) return text + dice.one(TEXTS);
  if (kind === 2) return "[".repeat(dice.below(5_000));
  if (kind === 3) return "";
  return text;
}

function request(
  dice: Dice,
  routes: readonly Route[],
  host: string,
  token: string,
): { text: string; route: Route } {
  const route = dice.one(routes);
  const id = encodeURIComponent(dice.one(TEXTS).toWellFormed()) || "x";
  const path = route.path.replace(/:id(?:\{\.\+\})?/, id);
  const fields = ["limit", "offset", "q", "text", "user", "target", "source", "before", "session_id", "in"];
  const query = dice.chance(0.4)
    ? `?${dice.one(fields)}=${encodeURIComponent(dice.one(TEXTS).toWellFormed())}${dice.chance(0.2) ? "&limit=1&limit=2" : ""}`
    : "";
  const method = dice.chance(0.85)
    ? route.method
    : dice.one(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PURGE"]);
  const lines = [
    `Host: ${dice.chance(0.97) ? host : dice.one(["evil.example", "localhost:99999", "", "["])}`,
  ];
  if (dice.chance(0.9)) lines.push(`X-Hermes-Token: ${token}`);
  for (let n = dice.below(4); n > 0; n -= 1) {
    const sent = Buffer.from(dice.one(TEXTS).toWellFormed(), "utf8")
      .toString("latin1")
      .replace(/[\r\n\0]/g, "");
    lines.push(`${dice.one(HEADERS)}: ${sent}`);
  }
  const body = method === "GET" || method === "HEAD" ? "" : bodyText(dice);
  const bytes = Buffer.from(body, "utf8");
  if (body !== "") lines.push(`Content-Type: ${dice.chance(0.95) ? "application/json" : "text/html"}`);
  const isChunked = body !== "" && dice.chance(0.1);
  lines.push(
    isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes.length}`,
    "Connection: close",
  );
  const sent = isChunked
    ? `${bytes.length.toString(16)}\r\n${bytes.toString("latin1")}\r\n0\r\n\r\n`
    : bytes.toString("latin1");
  return { route, text: `${method} ${path}${query} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${sent}` };
}

function exchange(port: number, text: string, mostMs: number): Promise<{ answer: string; isEnded: boolean }> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text, "latin1"));
    const timer = setTimeout(() => {
      socket.destroy();
      resolve({ answer, isEnded: false });
    }, mostMs);
    socket.on("data", (bytes) => {
      answer += bytes.toString("latin1");
      if (/^HTTP\/1\.1 200[\s\S]*: hello\n/.test(answer)) socket.destroy(); // the stream of events does not end
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve({ answer, isEnded: true });
    });
  });
}

/** What is wrong with an answer; undefined if it is a valid one in the shape of its route. */
function problemOf(answer: string, isEnded: boolean, sent: string): string | undefined {
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  if (!isEnded) return "no end";
  if (Number.isNaN(status)) return "no HTTP";
  if (/^x-evil/im.test(head)) return "a header was made of a value";
  if (sent.startsWith("HEAD")) return undefined;
  if (status < 400) return undefined;
  if (/^content-type: text\/plain/im.test(head)) return rest.join("") === "" ? "no text" : undefined;
  const raw = rest.join("\r\n\r\n");
  const body = /^transfer-encoding: chunked/im.test(head)
    ? raw.replace(/^[0-9a-f]+\r\n/i, "").replace(/\r\n0\r\n(?:\r\n)?$/, "")
    : raw;
  if (status === 500 && !/"code":"?(?:internal)/.test(body)) return `500: ${body.slice(0, 200)}`;
  if (status === 500) return `internal: ${body.slice(0, 200)}`;
  try {
    const parsed = JSON.parse(Buffer.from(body, "latin1").toString("utf8")) as Record<string, unknown>;
    return "error" in parsed ? undefined : `no error in ${body.slice(0, 100)}`;
  } catch {
    return body === "" && [405, 408, 417, 431].includes(status)
      ? undefined
      : `not JSON: ${status} ${body.slice(0, 100)}`;
  }
}

function uncaught(): readonly unknown[] {
  const caught: unknown[] = [];
  const keep = (cause: unknown): void => void caught.push(cause);
  process.on("uncaughtException", keep).on("unhandledRejection", keep);
  onTestFinished(() => void process.off("uncaughtException", keep).off("unhandledRejection", keep));
  return caught;
}

async function served(config: object = {}): Promise<{ gateway: TestGateway; token: string }> {
  const wire = await startWire("chat", ({ index }) => ({ text: `Reply ${index}` }));
  const home = tempDirectory();
  const token = await newToken(home, { kind: "admin" });
  const gateway = await runningGateway({
    home,
    config: JSON.stringify({
      model: modelOn(wire.url),
      ...config,
      gateway: { requests_per_minute: 0, concurrent_requests: 1_000, max_live_agents: 16 },
    }),
  });
  return { gateway, token };
}

describe("a server that is sent anything", () => {
  it(`answers ${REQUESTS} fuzzed requests in HTTP and in the shape of the route, and lives on`, async () => {
    const caught = uncaught();
    const { gateway, token } = await served();
    // Choosing a provider or erasing everything would leave less to try.
    const routes = (await allRoutes(gateway)).filter(({ path }) => path !== "/api/memory/provider");
    const dice = new Dice(SEED);
    const host = `localhost:${gateway.port}`;
    const wrong = new Map<string, string>();
    const statuses: Record<string, number> = {};
    const worker = async (): Promise<void> => {
      for (;;) {
        if (sentCount >= REQUESTS) return;
        sentCount += 1;
        const { text, route } = request(dice, routes, host, token);
        const { answer, isEnded } = await exchange(gateway.port, text, 20_000);
        const status = answer.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        const problem = problemOf(answer, isEnded, text);
        if (problem !== undefined && wrong.size < 20)
          wrong.set(
            `${route.method} ${route.path}: ${problem.slice(0, 60)}`,
            `${problem}\n${text.slice(0, 700)}`,
          );
      }
    };
    let sentCount = 0;
    await Promise.all(Array.from({ length: 16 }, worker));
    console.log(`seed ${SEED}:`, statuses);
    expect([...wrong.values()]).toEqual([]);
    expect(caught).toEqual([]);
    expect((await gateway.call("/healthz")).status).toBe(200);
    const failed = gateway.logged.filter(({ message }) => message === "A request failed");
    expect(failed.slice(0, 3)).toEqual([]);
  }, 300_000);
});

describe("thousands of conversations", () => {
  it("of thousands of users leave a bounded number of agents and all rows where they belong", async () => {
    const { gateway, token } = await served({ memory: { provider: "" } });
    const before = process.memoryUsage().heapUsed;
    const count = 2_000;
    let next = 0;
    const worker = async (): Promise<void> => {
      for (;;) {
        const n = next;
        next += 1;
        if (n >= count) return;
        const mode = n % 8 === 0 ? "/agent" : "/proxy";
        const answer = await gateway.call(`${mode}/v1/chat/completions`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-hermes-token": token,
            "x-hermes-user-id": `user-${n % 1_000}`,
            "x-hermes-session-id": `chat-${n}`,
          },
          body: JSON.stringify({
            model: "m",
            messages: [{ role: "user", content: `marker-${n % 1_000}-end` }],
          }),
        });
        expect(answer.status, await answer.text()).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 12 }, worker));
    const headers = { "x-hermes-token": token };
    const metrics = await (await gateway.call("/metrics", { headers })).text();
    expect(Number(/hermes_live_agents (\d+)/.exec(metrics)?.[1])).toBeLessThanOrEqual(16);
    for (const n of [0, 1, 500, 999]) {
      const own = { ...headers, "x-hermes-user-id": `user-${n}` };
      const listed = (await (await gateway.call("/api/sessions", { headers: own })).json()) as {
        total: number;
      };
      expect(listed.total).toBe(2);
      const found = await (await gateway.call("/api/search?q=marker&limit=50", { headers: own })).text();
      expect(new Set([...found.matchAll(/marker-(\d+)-end/g)].map(([, id]) => id))).toEqual(
        new Set([String(n)]),
      );
    }
    globalThis.gc?.();
    expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(400);
  }, 300_000);
});

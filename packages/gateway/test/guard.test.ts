import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as guard from "../src/guard.ts";
import {
  answerHeaders,
  createLimits,
  type GuardRequest,
  limitKey,
  preflight,
  readBody,
} from "../src/guard.ts";
import { ProblemError } from "../src/types.ts";
import { attempt } from "./attempt.ts";

const refusal = (work: () => unknown) => {
  const done = attempt(work);
  return done.ok ? undefined : done.error;
};
const checkForm = (request: GuardRequest) => refusal(() => guard.checkForm(request));
const checkHost = (...args: Parameters<typeof guard.checkHost>) => refusal(() => guard.checkHost(...args));
const checkLength = (...args: Parameters<typeof guard.checkLength>) =>
  refusal(() => guard.checkLength(...args));
const checkOrigin = (...args: Parameters<typeof guard.checkOrigin>) =>
  attempt(() => guard.checkOrigin(...args));

const SETTINGS = {
  allowedHosts: ["host.docker.internal", "Box.LAN:9000", "not a host"],
  corsOrigins: ["https://chat.example.org", "app://obsidian.md", "http://localhost:3000/", "*", "null"],
};
const LIMIT = { bytes: 2_048, key: "gateway.max_body_bytes" };

function requestOf(
  given: Partial<GuardRequest> & { readonly headers?: readonly (readonly [string, string])[] },
): GuardRequest {
  const { headers = [["Host", "127.0.0.1:8642"]], ...more } = given;
  return {
    method: "GET",
    url: "/v1/models",
    rawHeaders: headers.flat(),
    remoteAddress: "127.0.0.1",
    boundHost: "127.0.0.1",
    port: 8642,
    ...more,
  };
}

function host(name: string, more: Partial<GuardRequest> = {}): string {
  return checkHost(requestOf({ headers: [["Host", name]], ...more }), SETTINGS)?.code ?? "ok";
}

describe("the name that a request calls the server by", () => {
  it.each([
    "127.0.0.1:8642",
    "localhost:8642",
    "LOCALHOST:8642",
    "localhost.:8642",
    "127.8.8.8:8642",
    "[::1]:8642",
  ])("may be loopback with the server's port: %s", (name) => expect(host(name)).toBe("ok"));

  it.each([
    ...[
      "evil.example",
      "evil.example:8642",
      "localhost",
      "localhost:80",
      "127.0.0.1",
      "127.0.0.1.evil.example:8642",
    ],
    ...[
      "localhost.evil.example:8642",
      "192.168.1.5:8642",
      "[::2]:8642",
      "0.0.0.0:8642",
      "128.0.0.1:8642",
      "sub.localhost:8642",
    ],
    ...["box.lan:8642", "docker.internal", "2130706433:8642", "0x7f.1:8642", "127.1:8642"],
  ])("may not be another: %s", (name) => expect(host(name)).toBe("host-not-allowed"));

  it.each([
    ...[
      "",
      "a b",
      "user@localhost:8642",
      "localhost:8642/x",
      "localhost:99999",
      "localhost:",
      "[::1",
      "[zz]:8642",
      "a\\b",
      "http://localhost:8642",
    ],
    ...["localhost:8642,evil.example", "lo\u0000calhost", "%6cocalhost:8642", "-x", "é.example"],
  ])("must be a name: %j", (name) => expect(host(name)).toBe("bad-host"));

  it("may be one that config allows, with its port if it has one", () => {
    expect(host("host.docker.internal:8642")).toBe("ok");
    expect(host("host.docker.internal")).toBe("ok");
    expect(host("box.lan:9000")).toBe("ok");
  });

  it("may be the address that the server is bound to, or any address when it is bound to all", () => {
    expect(host("192.168.1.5:8642", { boundHost: "192.168.1.5" })).toBe("ok");
    expect(host("192.168.1.6:8642", { boundHost: "192.168.1.5" })).toBe("host-not-allowed");
    expect(host("[fe80::1]:8642", { boundHost: "fe80::1" })).toBe("ok");
    expect(host("192.168.1.6:8642", { boundHost: "0.0.0.0" })).toBe("ok");
    expect(host("evil.example:8642", { boundHost: "0.0.0.0" })).toBe("host-not-allowed");
  });

  it("is told how to be allowed", () => {
    expect(checkHost(requestOf({ headers: [["Host", "box.lan"]] }), SETTINGS)).toMatchObject({
      status: 403,
      hint: expect.stringContaining(`hermes config set gateway.allowed_hosts '["box.lan"]'`),
    });
  });
});

describe("the page that sent a request", () => {
  const origin = (...headers: [string, string][]) => {
    const found = checkOrigin(requestOf({ headers: [["Host", "localhost:8642"], ...headers] }), SETTINGS);
    return found.ok ? found.value.kind : found.error.code;
  };

  it("may be none, ours, or one that config allows", () => {
    expect(origin()).toBe("none");
    expect(origin(["Origin", "http://localhost:8642"])).toBe("own");
    expect(origin(["Origin", "https://localhost:8642"])).toBe("own");
    expect(origin(["Sec-Fetch-Site", "same-origin"])).toBe("none");
    expect(origin(["Sec-Fetch-Site", "none"])).toBe("none");
    for (const allowed of ["https://chat.example.org", "app://obsidian.md", "http://localhost:3000"])
      expect(origin(["Origin", allowed], ["Sec-Fetch-Site", "cross-site"])).toBe("cors");
  });

  it.each([
    ...[
      "https://evil.example",
      "null",
      "*",
      "http://localhost",
      "http://localhost:8643",
      "http://127.0.0.1:8642",
    ],
    ...[
      "http://chat.example.org",
      "https://chat.example.org.evil.example",
      "https://chat.example.org:444",
      "file://",
    ],
    ...["http://localhost:8642.evil.example", "https://chat.example.org, https://evil.example", "x\u001b[2J"],
  ])("may not be another: %s", (page) => expect(origin(["Origin", page])).toBe("origin-not-allowed"));

  it("may not hide behind a request without Origin", () => {
    for (const site of ["cross-site", "same-site", "CROSS-SITE"])
      expect(origin(["Sec-Fetch-Site", site])).toBe("origin-not-allowed");
  });

  it("gets its own origin back, never a star and never credentials", () => {
    const headers = answerHeaders({ kind: "cors", origin: "https://chat.example.org" });
    expect(headers).toMatchObject({
      "access-control-allow-origin": "https://chat.example.org",
      vary: "Origin",
    });
    expect(Object.keys(headers)).not.toContain("access-control-allow-credentials");
    for (const kind of ["none", "own"] as const)
      expect(
        Object.keys(answerHeaders({ kind })).filter((name) => name.startsWith("access-control")),
      ).toEqual([]);
  });

  it("may ask first, without a token", () => {
    const asking = (page: string, wanted = "authorization, x-stainless-os") => {
      const request = requestOf({
        method: "OPTIONS",
        headers: [
          ["Host", "localhost:8642"],
          ["Origin", page],
          ["Access-Control-Request-Method", "POST"],
          ["Access-Control-Request-Headers", wanted],
          ["Access-Control-Request-Private-Network", "true"],
        ],
      });
      const found = checkOrigin(request, SETTINGS);
      return found.ok ? preflight(request, found.value) : found.error;
    };
    expect(asking("https://chat.example.org")).toMatchObject({
      status: 204,
      headers: {
        "access-control-allow-origin": "https://chat.example.org",
        "access-control-allow-headers": "authorization, x-stainless-os",
        "access-control-allow-private-network": "true",
      },
    });
    expect(asking("https://evil.example")).toMatchObject({ status: 403 });
    const tricked = asking("https://chat.example.org", "a\r\nset-cookie: x");
    expect(JSON.stringify(tricked)).not.toContain("set-cookie");
    expect(preflight(requestOf({ method: "OPTIONS" }), { kind: "none" })).toBeUndefined();
  });
});

describe("an answer", () => {
  it("allows a browser nothing", () => {
    expect(answerHeaders({ kind: "none" })).toMatchObject({
      "content-security-policy": expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
  });
});

describe("the path of a request", () => {
  const form = (url: string) => checkForm(requestOf({ url }))?.code ?? "ok";

  it.each([
    ...[
      "/",
      "/v1/models?limit=1",
      "/api/sessions/chat.a",
      "/api/x?next=../../etc&p=%2e%2e%2f",
      "/api/..x/a..b/...",
    ],
    ...[
      "/api/sessions/chat.a%2540b%252Eorg",
      "/api/sessions/J%C3%BCrgen%20x",
      "/api/sessions/100%25",
      "/v1//models",
    ],
  ])("is read: %s", (url) => expect(form(url)).toBe("ok"));

  it.each([
    ...[
      "",
      "*",
      "v1",
      "//evil.example/x",
      "http://evil.example/",
      "/a/../b",
      "/..",
      "/.",
      "/a/./b",
      "/a\\b",
      "/a%5cb",
      "/a%2fb",
    ],
    ...[
      "/a%2Fb",
      "/%2e%2e/x",
      "/%2E/x",
      "/a%00",
      "/a\u0000",
      "/a%0d%0ax",
      "/a b",
      "/a#b",
      "/%",
      "/%zz",
      "/%c3",
      "/é",
      "/a%7f",
    ],
    ...[
      "/%252e%252e/x",
      "/%25252e%25252e",
      "/%252e%252e%252fetc",
      "/a%2500",
      "/..%252f..%252fetc",
      "/%255c..%255c",
    ],
  ])("is refused: %j", (url) => expect(form(url)).toBe("bad-path"));

  it("never leads upwards, however often it is decoded", () => {
    const bit = fc.constantFrom(
      "a",
      "/",
      ".",
      "..",
      "%2e",
      "%2f",
      "%25",
      "2e",
      "2f",
      "%5c",
      "\\",
      "%00",
      "%",
    );
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 8 }), (bits) => {
        const url = `/${bits.join("")}`;
        if (form(url) !== "ok") return;
        let text = url;
        for (let round = 0; round < 6; round += 1) {
          expect(text.split(/[/\\]/)).not.toContain("..");
          expect(text).not.toContain("\0");
          try {
            text = decodeURIComponent(text);
          } catch {
            return;
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the form of a request", () => {
  const form = (headers: [string, string][], more: Partial<GuardRequest> = {}) =>
    checkForm(requestOf({ headers: [["Host", "localhost:8642"], ...headers], ...more }))?.code ?? "ok";

  it.each([
    "Host",
    "Authorization",
    "X-Api-Key",
    "X-Hermes-Token",
    "Content-Type",
    "Origin",
    "Content-Length",
  ])("has %s once", (name) => {
    const [once, twice] = name === "Host" ? [[], 1] : [[[name, "1"]], 2];
    expect(form(once as [string, string][])).toBe("ok");
    expect(form(Array.from({ length: twice as number }, () => [name.toLowerCase(), "1"]))).toBe(
      "repeated-header",
    );
  });

  it("has one length, a known method and no broken lines", () => {
    expect(
      form([
        ["Content-Length", "1"],
        ["Transfer-Encoding", "chunked"],
      ]),
    ).toBe("two-lengths");
    for (const encoding of ["gzip", "chunked, gzip", "identity", "xchunked"])
      expect(form([["Transfer-Encoding", encoding]])).toBe("bad-encoding");
    for (const length of ["-1", "+1", "1e3", "0x10", "1,1", " ", "9".repeat(16)])
      expect(form([["Content-Length", length]]), length).toBe("bad-length");
    expect(form([["x", "a\r\nb"]])).toBe("bad-header");
    for (const method of ["TRACE", "CONNECT", "get", "PROPFIND"])
      expect(form([], { method })).toBe("bad-method");
    expect(checkForm(requestOf({ headers: [] }))?.code).toBe("no-host");
  });
});

describe("any request", () => {
  it("is answered without an exception, and no answer has a header that another page could choose", () => {
    const text = fc.string({ unit: "binary", maxLength: 30 });
    const names = [
      "host",
      "origin",
      "sec-fetch-site",
      "access-control-request-method",
      "access-control-request-headers",
    ];
    const header = fc.tuple(fc.oneof(fc.constantFrom(...names, "content-length"), text), text);
    fc.assert(
      fc.property(
        fc.array(header, { maxLength: 6 }),
        text,
        fc.constantFrom("GET", "OPTIONS"),
        (headers, url, method) => {
          const request = requestOf({ headers, url, method });
          checkForm(request);
          checkHost(request, SETTINGS);
          checkLength(request, LIMIT);
          const origin = checkOrigin(request, SETTINGS);
          if (!origin.ok) return;
          const answer = { ...answerHeaders(origin.value), ...preflight(request, origin.value)?.headers };
          for (const value of Object.values(answer)) expect(value).toMatch(/^[\x20-\x7e]*$/);
          if (origin.value.kind === "cors")
            expect(SETTINGS.corsOrigins.join()).toContain(origin.value.origin);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe("a body", () => {
  const read = async (
    chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    more: { timeoutMs?: number; signal?: AbortSignal } = {},
  ) => {
    const body = Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array>;
    try {
      return (await readBody(body, { limit: { ...LIMIT, bytes: 10 }, timeoutMs: 5_000, ...more })).byteLength;
    } catch (cause) {
      if (cause instanceof ProblemError) return cause.problem.code;
      throw cause;
    }
  };
  const bytes = (length: number) => new Uint8Array(length).fill(97);

  it("is as long as config allows, by what it says and by what it is", async () => {
    const length = (value: string) =>
      checkLength(requestOf({ headers: [["content-length", value]] }), LIMIT)?.status;
    expect([length("2048"), length("2049"), length("99999999999999")]).toEqual([undefined, 413, 413]);
    expect(await read([bytes(4), bytes(6)])).toBe(10);
    expect(await read([bytes(4), bytes(7)])).toBe("body-too-large");
    expect(await readBody(null, { limit: LIMIT, timeoutMs: 1 })).toHaveLength(0);
  });

  it("arrives in time", async () => {
    const drip = async function* () {
      for (;;) {
        yield bytes(0);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    expect(await read(drip(), { timeoutMs: 30 })).toBe("body-too-slow");
    expect(await read(drip(), { signal: AbortSignal.timeout(20) })).toBe("body-incomplete");
    expect(await read(drip(), { signal: AbortSignal.abort() })).toBe("body-incomplete");
  });

  it("that breaks off is a problem of the sender", async () => {
    const broken = async function* () {
      yield bytes(1);
      throw new Error("ECONNRESET");
    };
    expect(await read(broken())).toBe("body-incomplete");
  });
});

describe("how often somebody may call", () => {
  const NONE = {
    requestsPerMinute: 0,
    megabytesPerMinute: 0,
    messagesPerMinute: 0,
    concurrentRequests: 1_000,
    tokenShare: 10,
    maxHeldBytes: 1e9,
  };
  const newLimits = () => {
    let now = 0;
    const limits = createLimits({ clock: { now: () => new Date(now) } });
    const wait = (ms: number) => {
      now += ms;
    };
    const enter = (user: string, settings: Partial<typeof NONE>, token = user) =>
      attempt(() => {
        const entered = limits.enter({ user, token }, { ...NONE, ...settings });
        return {
          ...entered,
          spend: (...args: Parameters<typeof entered.spend>) => refusal(() => entered.spend(...args)),
          hold: (bytes: number) => refusal(() => entered.hold(bytes)),
        };
      });
    return { failed: (address: string) => refusal(() => limits.failed(address)), enter, wait };
  };
  const ALICE = limitKey({ platform: "api", id: "alice" }, undefined);
  const BOB = limitKey({ platform: "api", id: "bob" }, undefined);

  it("is counted for each user, and comes back with time", () => {
    const { enter: enterWith, wait } = newLimits();
    const enter = (user: string) => {
      const entered = enterWith(user, { requestsPerMinute: 60 });
      return entered.ok ? "ok" : entered.error;
    };
    for (let at = 0; at < 60; at += 1) expect(enter(ALICE)).toBe("ok");
    expect(enter(ALICE)).toMatchObject({ status: 429, code: "too-many-requests", retryAfterSeconds: 1 });
    expect(enter(BOB)).toBe("ok");
    wait(1_000);
    expect([enter(ALICE), typeof enter(ALICE)]).toEqual(["ok", "object"]);
    wait(600_000);
    for (let at = 0; at < 60; at += 1) expect(enter(ALICE)).toBe("ok");
    expect(enter(ALICE)).not.toBe("ok");
  });

  it("has no limit at 0, and one again when config sets it", () => {
    const { enter, wait } = newLimits();
    for (let at = 0; at < 1_000; at += 1)
      expect(enter(ALICE, { requestsPerMinute: 0, concurrentRequests: 2_000 }).ok).toBe(true);
    wait(60_000);
    expect(enter(ALICE, { requestsPerMinute: 1, concurrentRequests: 2_000 }).ok).toBe(true);
    expect(enter(ALICE, { requestsPerMinute: 1, concurrentRequests: 2_000 }).ok).toBe(false);
  });

  it("is limited at one time, and a request ends once", () => {
    const { enter } = newLimits();
    const settings = { concurrentRequests: 2 };
    const [first] = [enter(ALICE, settings), enter(ALICE, settings)];
    expect(enter(ALICE, settings)).toMatchObject({ error: { status: 429, code: "too-many-at-once" } });
    expect(enter(BOB, settings).ok).toBe(true);
    if (first?.ok) for (const _ of [1, 2, 3]) first.value.leave();
    expect(enter(ALICE, settings).ok).toBe(true);
    expect(enter(ALICE, settings).ok).toBe(false);
  });

  it("slows an address down that tries wrong tokens", () => {
    const { failed, wait } = newLimits();
    const failures = Array.from({ length: 25 }, () => failed("10.0.0.1")?.status);
    expect(failures.filter((status) => status === 429)).toHaveLength(5);
    expect(failed("10.0.0.2")).toBeUndefined();
    wait(3_000);
    expect(failed("10.0.0.1")).toBeUndefined();
    expect(failed("10.0.0.1")?.retryAfterSeconds).toBe(3);
  });

  it("keeps those who are running when there are too many to count", () => {
    const { failed, enter } = newLimits();
    const settings = { requestsPerMinute: 60, concurrentRequests: 1 };
    const others = Array.from({ length: 30_000 }, (_, at) =>
      limitKey({ platform: "api", id: `${at}` }, undefined),
    );
    expect(enter(ALICE, settings).ok).toBe(true);
    for (const [at, other] of others.entries()) {
      const entered = enter(other, settings);
      if (entered.ok && at > 20) entered.value.leave();
      failed(`10.0.0.${at}`);
    }
    expect(enter(ALICE, settings).ok).toBe(false);
    for (const other of others.slice(0, 20)) expect(enter(other, settings).ok).toBe(false);
    expect(failed("10.0.0.0")).toBeUndefined();
  });

  it("is counted for a token too, whose users share a multiple of the limits of one", () => {
    const { enter, wait } = newLimits();
    const settings = { requestsPerMinute: 60, concurrentRequests: 100, tokenShare: 2 };
    const named = (id: number) => enter(`user ${id}`, settings, "webui");
    for (let id = 0; id < 120; id += 1) expect(named(id).ok).toBe(true);
    expect(named(120)).toMatchObject({
      error: { code: "too-many-requests", message: expect.stringContaining("all users of this token") },
    });
    expect(enter("user 121", settings, "another").ok).toBe(true);
    wait(1_000);
    expect(named(122).ok).toBe(true);
  });

  it("is counted in bytes and messages: the request that takes the last of them is answered, the next one waits", () => {
    const { enter, wait } = newLimits();
    const settings = { megabytesPerMinute: 6, messagesPerMinute: 600 };
    const entered = enter(ALICE, settings);
    if (!entered.ok) throw new Error("a first request was refused");
    const { spend } = entered.value;
    expect([spend("bytes", 2e6), spend("bytes", 5e6)]).toEqual([undefined, undefined]);
    expect(spend("bytes", 1)).toMatchObject({
      status: 429,
      code: "too-many-bytes",
      retryAfterSeconds: 41,
      hint: expect.stringContaining("gateway.megabytes_per_minute"),
    });
    const bob = enter(BOB, settings);
    expect(bob.ok && bob.value.spend("bytes", 1)).toBeUndefined();
    wait(41_000);
    expect(spend("bytes", 1)).toBeUndefined();
    expect([spend("messages", 10_000), spend("messages", 1)?.code]).toEqual([undefined, "too-many-messages"]);
  });

  it("never refuses a coding agent that sends 3 MB and 1,500 messages every two seconds", () => {
    const { enter, wait } = newLimits();
    const defaults = { requestsPerMinute: 600, megabytesPerMinute: 120, messagesPerMinute: 60_000 };
    for (let turn = 0; turn < 300; turn += 1) {
      const entered = enter(ALICE, defaults);
      if (!entered.ok) throw new Error(entered.error.message);
      expect(entered.value.spend("bytes", 3e6) ?? entered.value.spend("messages", 1_500)).toBeUndefined();
      entered.value.leave();
      wait(2_000);
    }
  });

  it("is worked on four requests at a time, in their order, also when a client leaves", async () => {
    const { enter } = newLimits();
    const begun: number[] = [];
    const [first, second, ...others] = Array.from({ length: 7 }, (_, at) => {
      const entered = enter(ALICE, {});
      if (!entered.ok) throw new Error("a request was refused");
      const working = entered.value.work().then((prepared) => {
        begun.push(at);
        return prepared;
      });
      return { ...entered.value, working };
    });
    const bob = enter(BOB, {});
    if (bob.ok) await bob.value.work(); // waits for nobody else
    expect(begun).toEqual([0, 1, 2, 3]);
    others[2]?.leave(); // while it waits: its turn goes to the next one
    const prepared = await first?.working;
    for (const _ of [1, 2]) prepared?.();
    await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4, 5]);
    second?.leave();
    await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it("leaves room for small requests when large ones fill the memory", () => {
    const { enter } = newLimits();
    const settings = { maxHeldBytes: 3_200 };
    const [large, more, small] = [enter(ALICE, settings), enter(ALICE, settings), enter(BOB, settings)];
    if (!large.ok || !more.ok || !small.ok) throw new Error("a request was refused");
    expect(large.value.hold(3_200)).toBeUndefined();
    expect(more.value.hold(1)).toMatchObject({ status: 503, code: "server-full", retryAfterSeconds: 2 });
    expect([small.value.hold(100), small.value.hold(1)?.status]).toEqual([undefined, 503]);
    for (const each of [large, more, small]) each.value.leave();
    expect(more.value.hold(3_200)).toBeUndefined();
  });

  it("is counted by profile, platform and id, whatever they contain", () => {
    const keys = [
      limitKey(undefined, undefined),
      limitKey({ platform: "a", id: "b" }, undefined),
      limitKey({ platform: "a", id: "b" }, "c"),
    ];
    expect(new Set([...keys, limitKey({ platform: 'a","b', id: "" }, undefined)]).size).toBe(4);
  });
});

describe("a server behind the guard, over raw sockets", () => {
  let port = 0;
  const reached: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const request = requestOf({
      method: incoming.method ?? "",
      url: incoming.url ?? "",
      rawHeaders: incoming.rawHeaders,
      remoteAddress: incoming.socket.remoteAddress,
      port,
    });
    const origin = checkOrigin(request, SETTINGS);
    const problem =
      checkForm(request) ??
      checkHost(request, SETTINGS) ??
      (origin.ok ? undefined : origin.error) ??
      checkLength(request, LIMIT);
    if (problem === undefined) reached.push(`${request.method} ${request.url}`);
    outgoing.writeHead(problem?.status ?? 200, { ...answerHeaders({ kind: "none" }), connection: "close" });
    outgoing.end(problem?.code ?? "reached");
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  /** The status of each answer on one connection. */
  function send(text: string): Promise<{ statuses: number[]; text: string }> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => socket.end(Buffer.from(text, "latin1")));
      const chunks: Buffer[] = [];
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.on("error", reject);
      socket.on("close", () => {
        const answer = Buffer.concat(chunks).toString("latin1");
        resolve({
          statuses: [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1])),
          text: answer,
        });
      });
    });
  }

  const own = () => `Host: 127.0.0.1:${port}`;

  it("answers a plain request", async () => {
    const { statuses, text } = await send(`GET /v1/models HTTP/1.1\r\n${own()}\r\n\r\n`);
    expect(statuses).toEqual([200]);
    expect(text.toLowerCase()).toContain("content-security-policy: default-src 'none'");
    expect(text.toLowerCase()).not.toContain("set-cookie");
  });

  it.each<[string, (host: string) => string]>([
    ["no Host", () => "GET /secret HTTP/1.1\r\n\r\n"],
    ["two Hosts", (host) => `GET /secret HTTP/1.1\r\n${host}\r\nHost: evil.example\r\n\r\n`],
    ["another Host", () => "GET /secret HTTP/1.1\r\nHost: evil.example\r\n\r\n"],
    [
      "the address of another Host in the target",
      (host) => `GET http://evil.example/secret HTTP/1.1\r\n${host}\r\n\r\n`,
    ],
    [
      "two tokens",
      (host) =>
        `GET /secret HTTP/1.1\r\n${host}\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`,
    ],
    [
      "a page of another origin",
      (host) => `GET /secret HTTP/1.1\r\n${host}\r\nOrigin: https://evil.example\r\n\r\n`,
    ],
    [
      "an image of another page",
      (host) => `GET /secret HTTP/1.1\r\n${host}\r\nSec-Fetch-Site: cross-site\r\n\r\n`,
    ],
    [
      "both lengths",
      (host) =>
        `POST /secret HTTP/1.1\r\n${host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      "two lengths",
      (host) => `POST /secret HTTP/1.1\r\n${host}\r\nContent-Length: 4\r\nContent-Length: 0\r\n\r\nabcd`,
    ],
    [
      "a disguised encoding",
      (host) => `POST /secret HTTP/1.1\r\n${host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      "two encodings",
      (host) =>
        `POST /secret HTTP/1.1\r\n${host}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    ],
    [
      "a space before the colon",
      (host) => `POST /secret HTTP/1.1\r\n${host}\r\nContent-Length : 4\r\n\r\nabcd`,
    ],
    [
      "a line break alone",
      (host) => `GET /secret HTTP/1.1\r\n${host}\r\nx: a\nAuthorization: Bearer b\r\n\r\n`,
    ],
    ["a folded line", (host) => `GET /secret HTTP/1.1\r\n${host}\r\nX-Hermes-User-Id: alice\r\n bob\r\n\r\n`],
    ["a carriage return in a value", (host) => `GET /secret HTTP/1.1\r\n${host}\r\nx: a\rb: c\r\n\r\n`],
    ["U+0000 in a value", (host) => `GET /secret HTTP/1.1\r\n${host}\r\nx: a\0b\r\n\r\n`],
    ["a path that leads upwards", (host) => `GET /a/../secret HTTP/1.1\r\n${host}\r\n\r\n`],
    ["an encoded path that leads upwards", (host) => `GET /%2e%2e/secret HTTP/1.1\r\n${host}\r\n\r\n`],
    ["a backslash", (host) => `GET /..\\secret HTTP/1.1\r\n${host}\r\n\r\n`],
    ["bytes in the path", (host) => `GET /secret\u00ff HTTP/1.1\r\n${host}\r\n\r\n`],
    ["a body that is too long", (host) => `POST /secret HTTP/1.1\r\n${host}\r\nContent-Length: 4096\r\n\r\n`],
    ["an unknown method", (host) => `TRACE /secret HTTP/1.1\r\n${host}\r\n\r\n`],
    ["no HTTP", () => "\u0016\u0003\u0001\u0002\u0000\u0001"],
  ])("lets nothing through with %s", async (_how, text) => {
    reached.length = 0;
    const { statuses } = await send(text(own()));
    expect(statuses.filter((status) => status < 400)).toEqual([]);
    expect(reached).toEqual([]);
  });

  it("does not answer a second request hidden in the body of the first", async () => {
    reached.length = 0;
    const inner = `GET /hidden HTTP/1.1\r\n${own()}\r\n\r\n`;
    await send(`POST /outer HTTP/1.1\r\n${own()}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`);
    await send(
      `POST /outer HTTP/1.1\r\n${own()}\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n${inner}`,
    );
    expect(reached).toEqual(["POST /outer"]);
  });
});

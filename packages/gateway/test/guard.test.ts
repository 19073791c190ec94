// What is checked before any route sees a request. The server as somebody outside sees it: outsider.test.ts.
import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
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
const codeOf = (work: () => unknown): string => refusal(work)?.code ?? "ok";

const SETTINGS = {
  allowedHosts: ["host.docker.internal", "Box.LAN:9000", "not a host"],
  corsOrigins: ["https://chat.example.org", "app://obsidian.md", "http://localhost:3000/", "*", "null"],
};
const LIMIT = { bytes: 2_048, key: "gateway.max_body_bytes" };

/** `headers`: lines such as `Host: localhost`. */
function requestOf(headers: readonly string[], more: Partial<GuardRequest> = {}): GuardRequest {
  const rawHeaders = headers.flatMap((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  const where = { boundHost: "127.0.0.1", port: 8642 };
  return { method: "GET", url: "/v1/models", rawHeaders, ...where, ...more };
}

const host = (name: string, boundHost = "127.0.0.1") =>
  codeOf(() => guard.checkHost(requestOf([`Host: ${name}`], { boundHost }), SETTINGS));

describe("the name that a request calls the server by", () => {
  it.each([
    ["ok", "127.0.0.1:8642 localhost:8642 LOCALHOST:8642 localhost.:8642 127.8.8.8:8642 [::1]:8642"],
    ["ok", "host.docker.internal:8642 host.docker.internal box.lan:9000"],
    [
      "host-not-allowed",
      "evil.example evil.example:8642 localhost localhost:80 127.0.0.1 sub.localhost:8642",
    ],
    [
      "host-not-allowed",
      "127.0.0.1.evil.example:8642 localhost.evil.example:8642 192.168.1.5:8642 [::2]:8642",
    ],
    [
      "host-not-allowed",
      "0.0.0.0:8642 128.0.0.1:8642 box.lan:8642 docker.internal 2130706433:8642 127.1:8642",
    ],
    [
      "bad-host",
      "user@localhost:8642 localhost:8642/x localhost:99999 localhost: [::1 [zz]:8642 a\\b -x é.example",
    ],
    ["bad-host", "http://localhost:8642 localhost:8642,evil.example lo\u0000calhost %6cocalhost:8642"],
  ])("is %s: %s", (expected, names) => {
    for (const name of names.split(" ")) expect(host(name), name).toBe(expected);
  });

  it("is one name", () => {
    for (const name of ["", "a b"]) expect(host(name)).toBe("bad-host");
  });

  it("may be the address that the server is bound to, or any address when it is bound to all", () => {
    for (const [name, bound, expected] of [
      ["192.168.1.5:8642", "192.168.1.5", "ok"],
      ["192.168.1.6:8642", "192.168.1.5", "host-not-allowed"],
      ["[fe80::1]:8642", "fe80::1", "ok"],
      ["192.168.1.6:8642", "0.0.0.0", "ok"],
      ["evil.example:8642", "0.0.0.0", "host-not-allowed"],
    ] as const)
      expect(host(name, bound), `${name} at ${bound}`).toBe(expected);
  });
});

describe("the page that sent a request", () => {
  const origin = (...headers: string[]) => {
    const found = attempt(() => guard.checkOrigin(requestOf(["Host: localhost:8642", ...headers]), SETTINGS));
    return found.ok ? found.value.kind : found.error.code;
  };

  it("may be none, ours, or one that config allows, and no other", () => {
    expect(origin()).toBe("none");
    for (const site of ["same-origin", "none"]) expect(origin(`Sec-Fetch-Site: ${site}`)).toBe("none");
    for (const site of ["cross-site", "same-site", "CROSS-SITE"])
      expect(origin(`Sec-Fetch-Site: ${site}`)).toBe("origin-not-allowed");
    for (const own of ["http", "https"]) expect(origin(`Origin: ${own}://localhost:8642`)).toBe("own");
    for (const allowed of ["https://chat.example.org", "app://obsidian.md", "http://localhost:3000"])
      expect(origin(`Origin: ${allowed}`, "Sec-Fetch-Site: cross-site")).toBe("cors");
  });

  it.each([
    ...["https://evil.example", "null", "*", "http://localhost", "http://localhost:8643", "file://"],
    ...["http://127.0.0.1:8642", "http://chat.example.org", "https://chat.example.org.evil.example"],
    ...["https://chat.example.org:444", "http://localhost:8642.evil.example", "x\u001b[2J"],
    "https://chat.example.org, https://evil.example",
  ])("may not be another: %s", (page) => expect(origin(`Origin: ${page}`)).toBe("origin-not-allowed"));

  it("gets its own origin back, never a star and never credentials", () => {
    const headers = answerHeaders({ kind: "cors", origin: "https://chat.example.org" });
    const own = { "access-control-allow-origin": "https://chat.example.org", vary: "Origin" };
    expect(headers).toMatchObject(own);
    expect(Object.keys(headers)).not.toContain("access-control-allow-credentials");
    for (const kind of ["none", "own"] as const)
      expect(Object.keys(answerHeaders({ kind })).join()).not.toContain("access-control");
  });

  it("may ask first, without a token", () => {
    const asking = (page: string, wanted = "authorization, x-stainless-os") => {
      const lines = ["Host: localhost:8642", `Origin: ${page}`, "Access-Control-Request-Method: POST"];
      const more = ["Access-Control-Request-Private-Network: true"];
      const asked = [...lines, ...more, `Access-Control-Request-Headers: ${wanted}`];
      const request = requestOf(asked, { method: "OPTIONS" });
      const found = attempt(() => guard.checkOrigin(request, SETTINGS));
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
    expect(preflight(requestOf([], { method: "OPTIONS" }), { kind: "none" })).toBeUndefined();
  });
});

const form = (headers: readonly string[], more: Partial<GuardRequest> = {}) =>
  codeOf(() => guard.checkForm(requestOf(["Host: localhost:8642", ...headers], more)));

describe("the path of a request", () => {
  it.each([
    ["ok", "/ /v1/models?limit=1 /api/sessions/chat.a /api/x?next=../../etc&p=%2e%2e%2f /api/..x/a..b/..."],
    [
      "ok",
      "/api/sessions/chat.a%2540b%252Eorg /api/sessions/J%C3%BCrgen%20x /api/sessions/100%25 /v1//models",
    ],
    [
      "bad-path",
      "* v1 //evil.example/x http://evil.example/ /a/../b /.. /. /a/./b /a\\b /a%5cb /a%2fb /a%2Fb",
    ],
    ["bad-path", "/%2e%2e/x /%2E/x /a%00 /a\u0000 /a%0d%0ax /a#b /% /%zz /%c3 /é /a%7f /%252e%252e/x"],
    ["bad-path", "/%25252e%25252e /%252e%252e%252fetc /a%2500 /..%252f..%252fetc /%255c..%255c"],
  ])("is %s: %s", (expected, urls) => {
    for (const url of urls.split(" ")) expect(form([], { url }), url).toBe(expected);
    for (const url of ["", "/a b"]) expect(form([], { url })).toBe("bad-path");
  });

  it("never leads upwards, however often it is decoded", () => {
    const bit = fc.constantFrom(..."a / . .. %2e %2f %25 2e 2f %5c \\ %00 %".split(" "));
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 8 }), (bits) => {
        const url = `/${bits.join("")}`;
        if (form([], { url }) !== "ok") return;
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
  it("has each of these headers once", () => {
    for (const name of "Authorization X-Api-Key X-Hermes-Token Content-Type Origin Content-Length".split(
      " ",
    )) {
      expect(form([`${name}: 1`])).toBe("ok");
      expect(form([`${name}: 1`, `${name.toLowerCase()}: 1`]), name).toBe("repeated-header");
    }
    expect(form(["host: evil.example"])).toBe("repeated-header");
  });

  it("has a known encoding and method", () => {
    for (const encoding of ["gzip", "chunked, gzip", "identity", "xchunked"])
      expect(form([`Transfer-Encoding: ${encoding}`])).toBe("bad-encoding");
    for (const method of ["TRACE", "CONNECT", "get", "PROPFIND"])
      expect(form([], { method })).toBe("bad-method");
  });
});

describe("any request", () => {
  it("is answered without an exception, and no answer has a header that another page could choose", () => {
    const text = fc.string({ unit: "binary", maxLength: 30 });
    const names = "host origin sec-fetch-site access-control-request-method access-control-request-headers";
    const name = fc.oneof(fc.constantFrom(...names.split(" "), "content-length"), text);
    const headers = fc.array(fc.tuple(name, text), { maxLength: 6 });
    fc.assert(
      fc.property(headers, text, fc.constantFrom("GET", "OPTIONS"), (given, url, method) => {
        const request = { ...requestOf([], { url, method }), rawHeaders: given.flat() };
        refusal(() => guard.checkForm(request));
        refusal(() => guard.checkHost(request, SETTINGS));
        refusal(() => guard.checkLength(request, LIMIT));
        const origin = attempt(() => guard.checkOrigin(request, SETTINGS));
        if (!origin.ok) return;
        const answer = { ...answerHeaders(origin.value), ...preflight(request, origin.value)?.headers };
        for (const value of Object.values(answer)) expect(value).toMatch(/^[\x20-\x7e]*$/);
        if (origin.value.kind === "cors") expect(SETTINGS.corsOrigins.join()).toContain(origin.value.origin);
      }),
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
      refusal(() => guard.checkLength(requestOf([`content-length: ${value}`]), LIMIT))?.status;
    expect([length("2048"), length("2049"), length("99999999999999")]).toEqual([undefined, 413, 413]);
    expect(await read([bytes(4), bytes(6)])).toBe(10);
    expect(await read([bytes(4), bytes(7)])).toBe("body-too-large");
    expect(await readBody(null, { limit: LIMIT, timeoutMs: 1 })).toHaveLength(0);
  });

  it("arrives whole and in time", async () => {
    const drip = async function* () {
      for (;;) {
        yield bytes(0);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const broken = async function* () {
      yield bytes(1);
      throw new Error("ECONNRESET");
    };
    expect(await read(drip(), { timeoutMs: 30 })).toBe("body-too-slow");
    expect(await read(drip(), { signal: AbortSignal.timeout(20) })).toBe("body-incomplete");
    expect(await read(drip(), { signal: AbortSignal.abort() })).toBe("body-incomplete");
    expect(await read(broken())).toBe("body-incomplete");
  });
});

describe("how often somebody may call", () => {
  const NONE = {
    ...{ requestsPerMinute: 0, megabytesPerMinute: 0, messagesPerMinute: 0 },
    ...{ concurrentRequests: 1_000, tokenShare: 10, maxHeldBytes: 1e9 },
  };
  const newLimits = () => {
    let now = 0;
    const limits = createLimits({ clock: { now: () => new Date(now) } });
    const wait = (ms: number) => {
      now += ms;
    };
    const enter = (user: string, settings: Partial<typeof NONE> = {}, token = user) =>
      attempt(() => {
        const entered = limits.enter({ user, token }, { ...NONE, ...settings });
        return {
          ...entered,
          spend: (...args: Parameters<typeof entered.spend>) => refusal(() => entered.spend(...args)),
          hold: (bytes: number) => refusal(() => entered.hold(bytes)),
        };
      });
    const entered = (...args: Parameters<typeof enter>) => {
      const done = enter(...args);
      if (!done.ok) throw new Error(done.error.message);
      return done.value;
    };
    return { failed: (address: string) => refusal(() => limits.failed(address)), enter, entered, wait };
  };
  const ALICE = limitKey({ platform: "api", id: "alice" }, undefined);
  const BOB = limitKey({ platform: "api", id: "bob" }, undefined);

  it("is counted for each user, and comes back with time; 0 is no limit", () => {
    const { enter, wait } = newLimits();
    const settings = { requestsPerMinute: 60 };
    for (let at = 0; at < 60; at += 1) expect(enter(ALICE, settings).ok).toBe(true);
    const problem = { status: 429, code: "too-many-requests", retryAfterSeconds: 1 };
    expect(enter(ALICE, settings)).toMatchObject({ error: problem });
    expect(enter(BOB, settings).ok).toBe(true);
    wait(1_000);
    expect([enter(ALICE, settings).ok, enter(ALICE, settings).ok]).toEqual([true, false]);
    wait(600_000);
    for (let at = 0; at < 60; at += 1) expect(enter(ALICE, settings).ok).toBe(true);
    expect(enter(ALICE, settings).ok).toBe(false);
    for (let at = 0; at < 500; at += 1) expect(enter(ALICE, {}).ok).toBe(true);
  });

  it("is limited at one time, and a request ends once", () => {
    const { enter } = newLimits();
    const settings = { concurrentRequests: 2 };
    const [first] = [enter(ALICE, settings), enter(ALICE, settings)];
    expect(enter(ALICE, settings)).toMatchObject({ error: { status: 429, code: "too-many-at-once" } });
    expect(enter(BOB, settings).ok).toBe(true);
    if (first?.ok) for (const _ of [1, 2, 3]) first.value.leave();
    expect([enter(ALICE, settings).ok, enter(ALICE, settings).ok]).toEqual([true, false]);
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
    expect(enter(ALICE, settings).ok).toBe(true);
    for (let at = 0; at < 30_000; at += 1) {
      const entered = enter(`user ${at}`, settings);
      if (entered.ok && at > 20) entered.value.leave();
      failed(`10.0.0.${at}`);
    }
    for (const user of [ALICE, ...Array.from({ length: 20 }, (_, at) => `user ${at}`)])
      expect(enter(user, settings).ok).toBe(false);
    expect(failed("10.0.0.0")).toBeUndefined();
  });

  it("is counted for a token too, whose users share a multiple of the limits of one", () => {
    const { enter, wait } = newLimits();
    const settings = { requestsPerMinute: 60, concurrentRequests: 100, tokenShare: 2 };
    const named = (id: number) => enter(`user ${id}`, settings, "webui");
    for (let id = 0; id < 120; id += 1) expect(named(id).ok).toBe(true);
    const message = expect.stringContaining("all users of this token");
    expect(named(120)).toMatchObject({ error: { code: "too-many-requests", message } });
    expect(enter("user 121", settings, "another").ok).toBe(true);
    wait(1_000);
    expect(named(122).ok).toBe(true);
  });

  it("is counted in bytes and messages: the request that takes the last of them is answered, the next one waits", () => {
    const { entered, wait } = newLimits();
    const settings = { megabytesPerMinute: 6, messagesPerMinute: 600 };
    const { spend } = entered(ALICE, settings);
    expect([spend("bytes", 2e6), spend("bytes", 5e6)]).toEqual([undefined, undefined]);
    const hint = expect.stringContaining("gateway.megabytes_per_minute");
    const problem = { status: 429, code: "too-many-bytes", retryAfterSeconds: 41, hint };
    expect(spend("bytes", 1)).toMatchObject(problem);
    expect(entered(BOB, settings).spend("bytes", 1)).toBeUndefined();
    wait(41_000);
    expect(spend("bytes", 1)).toBeUndefined();
    expect([spend("messages", 10_000), spend("messages", 1)?.code]).toEqual([undefined, "too-many-messages"]);
  });

  it("is worked on four requests at a time, in their order, also when a client leaves", async () => {
    const { entered } = newLimits();
    const begun: number[] = [];
    const [first, second, ...others] = Array.from({ length: 7 }, (_, at) => {
      const request = entered(ALICE);
      const working = request.work().then((prepared) => {
        begun.push(at);
        return prepared;
      });
      return { ...request, working };
    });
    await entered(BOB).work(); // waits for nobody else
    expect(begun).toEqual([0, 1, 2, 3]);
    others[2]?.leave(); // while it waits: its turn goes to the next one
    const prepared = await first?.working;
    for (const _ of [1, 2]) prepared?.();
    await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4, 5]);
    second?.leave();
    await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it("leaves room for small requests when large ones fill the memory", () => {
    const { entered } = newLimits();
    const settings = { maxHeldBytes: 3_200 };
    const [large, more, small] = [ALICE, ALICE, BOB].map((user) => entered(user, settings));
    expect(large?.hold(3_200)).toBeUndefined();
    expect(more?.hold(1)).toMatchObject({ status: 503, code: "server-full", retryAfterSeconds: 2 });
    expect([small?.hold(100), small?.hold(1)?.status]).toEqual([undefined, 503]);
    for (const each of [large, more, small]) each?.leave();
    expect(more?.hold(3_200)).toBeUndefined();
  });

  it("is counted by profile, platform and id, whatever they contain", () => {
    const user = { platform: "a", id: "b" };
    const keys = [limitKey(undefined, undefined), limitKey(user, undefined), limitKey(user, "c")];
    expect(new Set([...keys, limitKey({ platform: 'a","b', id: "" }, undefined)]).size).toBe(4);
  });
});

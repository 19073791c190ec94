import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { VERSION } from "../../../core/src/version.ts";
import {
  createHttpClient,
  type HttpCall,
  type HttpClientOptions,
  type HttpFailure,
  ServiceError,
} from "../../src/kit/http.ts";

const KEY = "kX9-plain-looking-key-7";
const GET: HttpCall = { method: "GET", path: "/things" };
const POST: HttpCall = { method: "POST", path: "/things", json: { a: 1 } };
const NO_PAUSE = { "retry-after-ms": "1" };

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A real server on loopback; `seen` has every request. */
async function serve(listener: RequestListener) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    response.on("error", () => {});
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  cleanups.push(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, stop };
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body));
}

/** Answers one request after the other with these, the last one again and again. */
function answers(...list: readonly (readonly [number, unknown, Record<string, string>?])[]): RequestListener {
  let at = 0;
  return (request, response) => {
    request.resume();
    const [status, body, headers] = list[Math.min(at, list.length - 1)] ?? [500, ""];
    at += 1;
    reply(response, status, body, headers);
  };
}

function clientFor(baseUrl: string, options: Partial<HttpClientOptions> = {}) {
  const closing = new AbortController();
  const breaker = options.breaker ?? new Breaker({ failures: 5, openMs: 120_000 });
  const client = createHttpClient({
    service: "Mem0",
    baseUrl,
    headers: () => ({ authorization: `Bearer ${KEY}` }),
    timeoutMs: 5_000,
    closing: closing.signal,
    ...options,
    breaker,
  });
  const fail = async (call: HttpCall): Promise<HttpFailure> => {
    const outcome = await client.request(call);
    if (outcome.ok) throw new Error(`It worked: ${JSON.stringify(outcome.value)}`);
    expect(JSON.stringify({ ...outcome.error, body: undefined })).not.toContain(KEY);
    expect(outcome.error.message).not.toMatch(/\n/);
    return outcome.error;
  };
  return { client, closing, breaker, fail };
}

describe("a call that works", () => {
  it("sends method, address, headers and JSON, and returns the parsed answer", async () => {
    let body = "";
    const { url, seen } = await serve((request, response) => {
      request.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      request.on("end", () => reply(response, 200, { ok: [1] }));
    });
    const { client } = clientFor(`${url}/base/path//`);
    const query = { page: 2, is: true, tag: ["a b", "c&d"], none: undefined };
    const value = await client.send({
      ...POST,
      path: "/v1/é/",
      query,
      json: { text: "ü" },
      headers: { "x-id": "7" },
    });
    expect(value).toEqual({ ok: [1] });
    expect(seen[0]?.method).toBe("POST");
    expect(seen[0]?.url).toBe("/base/path/v1/%C3%A9/?page=2&is=true&tag=a+b&tag=c%26d");
    expect(seen[0]?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": `hermes-memory/${VERSION}`,
      "x-id": "7",
    });
    expect(JSON.parse(body)).toEqual({ text: "ü" });
    expect(client.baseUrl).toBe(`${url}/base/path`);
  });

  it("sends texts that a database can store: no half characters, no NUL", async () => {
    const bodies: string[] = [];
    const server = await serve(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      bodies.push(body);
      reply(response, 200, {});
    });
    const json = { text: "half \ud83d and NUL \0 and \u{1f600}", list: ["\0", 1, null] };
    await clientFor(server.url).client.send({ method: "POST", path: "/things", json });
    expect(JSON.parse(bodies[0] ?? "")).toEqual({
      text: "half \ufffd and NUL  and \u{1f600}",
      list: ["", 1, null],
    });
  });

  it("asks for the headers before every attempt", async () => {
    let key = "old-key-1";
    const { url, seen } = await serve((request, response) => {
      const isNew = request.headers["x-api-key"] === "new-key-2";
      key = "new-key-2";
      reply(response, isNew ? 200 : 503, {}, NO_PAUSE);
    });
    const { client } = clientFor(url, { headers: () => ({ "X-Api-Key": key }) });
    await client.send(GET);
    expect(seen).toHaveLength(2);
  });

  it("takes an empty body where none is needed", async () => {
    const { url } = await serve(answers([204, ""], [200, ""], [200, ""], [200, "<html>"], [200, { a: 1 }]));
    const { client } = clientFor(url);
    expect(await client.send({ method: "DELETE", path: "/x" })).toBeUndefined();
    expect(await client.send({ ...POST, expects: "json-or-nothing" })).toBeUndefined();
    expect(await client.send({ ...POST, expects: "nothing" })).toBeUndefined();
    expect(await client.send({ ...POST, expects: "nothing" })).toBeUndefined();
    expect(await client.send({ ...POST, expects: "json-or-nothing" })).toEqual({ a: 1 });
  });

  it("returns bytes, and unpacks compressed JSON", async () => {
    const bytes = Uint8Array.from([0, 255, 10, 13]);
    const { url } = await serve(
      answers(
        [200, bytes],
        [200, gzipSync('{"a":"é"}'), { "content-encoding": "gzip" }],
        [200, '\ufeff{"a":2}'],
      ),
    );
    const { client } = clientFor(url);
    expect(Uint8Array.from((await client.send({ ...GET, expects: "bytes" })) as Uint8Array)).toEqual(bytes);
    expect(await client.send(GET)).toEqual({ a: "é" });
    expect(await client.send(GET)).toEqual({ a: 2 });
  });
});

describe("statuses", () => {
  it.each([
    [400, "refused", false],
    [401, "unauthorised", false],
    [408, "server", true],
    [429, "throttled", false],
    [500, "server", true],
    [503, "server", false],
    [504, "server", true],
  ])("%i is %s", async (status, kind, mayHaveHappened) => {
    const { url, seen } = await serve(answers([status, { detail: `because of ${KEY}`, code: 7 }]));
    const failure = await clientFor(url).fail(POST);
    expect(failure).toMatchObject({ kind, status, detail: "because of ***", mayHaveHappened });
    expect(failure.body).toMatchObject({ code: 7 });
    expect(failure.message).toContain(`Mem0 answered POST /things with ${status}: because of ***.`);
    expect(seen).toHaveLength(1);
  });

  it("prefers the words that the service's own function finds", async () => {
    const { url } = await serve(answers([400, { fault: "ours", detail: "usual" }]));
    const own = clientFor(url, { messageOf: (body) => (body as { fault: string }).fault });
    expect((await own.fail(GET)).detail).toBe("ours");
  });

  it("masks every form of the credentials in the server's words", async () => {
    const echo: RequestListener = ({ headers }, response) =>
      reply(response, 400, { detail: `${headers.authorization} | ${headers["x-key"]} | opaque pass word` });
    const { url } = await serve(echo);
    const basic = Buffer.from("ada:opaque pass word").toString("base64");
    const { fail } = clientFor(url, {
      headers: () => ({ authorization: `Basic ${basic}`, "x-key": "under the radar" }),
    });
    const { detail } = await fail(GET);
    expect(detail).not.toContain(basic);
    expect(detail).not.toContain("radar");
    expect(detail).not.toContain("opaque");
  });
});

describe("repetitions", () => {
  it.each([408, 429, 502, 503, 504])("repeat a safe call twice after %i", async (status) => {
    const { url, seen } = await serve(answers([status, {}, NO_PAUSE]));
    const { fail } = clientFor(url);
    expect(await fail(GET)).toMatchObject({ status, retryAfterMs: 1 });
    expect(seen).toHaveLength(3);
  });

  it("end with the first good answer", async () => {
    const { url, seen } = await serve(answers([503, {}, NO_PAUSE], [429, {}, NO_PAUSE], [200, { a: 1 }]));
    expect(await clientFor(url).client.send({ ...POST, isRepeatable: true })).toEqual({ a: 1 });
    expect(seen).toHaveLength(3);
  });

  it.each([
    ["a POST", POST, 503, {}, 1],
    ["a GET that says so", { ...GET, isRepeatable: false }, 503, {}, 1],
    ["500", GET, 500, {}, 1],
    ["422", GET, 422, {}, 1],
    ["what the server asks to repeat", GET, 500, { "x-should-retry": "true" }, 3],
    ["what the server asks not to repeat", GET, 503, { "x-should-retry": "false" }, 1],
    ["a POST although the server asks for it", POST, 500, { "x-should-retry": "true" }, 1],
  ] as const)("count for %s", async (_what, call, status, headers, requests) => {
    const { url, seen } = await serve(answers([status, {}, { ...NO_PAUSE, ...headers }]));
    await clientFor(url).fail(call);
    expect(seen).toHaveLength(requests);
  });

  it("wait longer each time, unless the server says how long", async () => {
    const times: number[] = [];
    const { url } = await serve((_request, response) => {
      times.push(performance.now());
      reply(response, 503, {});
    });
    await clientFor(url).fail(GET);
    const [first = 0, second = 0, third = 0] = times;
    expect(second - first).toBeGreaterThan(480);
    expect(third - second).toBeGreaterThan(960);
  });

  it("give up at once when the wait would pass the deadline, and report the server's wish", async () => {
    const { url, seen } = await serve(answers([429, {}, { "retry-after": "90" }]));
    const began = performance.now();
    const failure = await clientFor(url).fail({ ...GET, timeoutMs: 4_000 });
    expect(failure).toMatchObject({ kind: "throttled", retryAfterMs: 90_000 });
    expect(seen).toHaveLength(1);
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  it("remember that an earlier attempt may have been carried out", async () => {
    let count = 0;
    const { url } = await serve((request, response) => {
      count += 1;
      if (count === 1) request.socket.destroy();
      else reply(response, 400, {});
    });
    const failure = await clientFor(url).fail({ ...POST, isRepeatable: true });
    expect(failure).toMatchObject({ kind: "refused", status: 400, mayHaveHappened: true });
  });

  it("leave a long pause that the server asks for to the outbox", async () => {
    const { url, seen } = await serve(answers([503, {}, { "retry-after": "6" }], [200, {}]));
    expect(await clientFor(url).fail(GET)).toMatchObject({ kind: "server", retryAfterMs: 6_000 });
    expect(seen).toHaveLength(1);
  });

  it("end when the caller leaves during the pause", async () => {
    const { url, seen } = await serve(answers([503, {}, { "retry-after": "4" }]));
    const caller = new AbortController();
    const failing = clientFor(url).fail({ ...GET, signal: caller.signal, timeoutMs: 60_000 });
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    setTimeout(() => caller.abort(), 50);
    expect(await failing).toMatchObject({ kind: "aborted" });
    expect(seen).toHaveLength(1);
  });
});

describe("connections", () => {
  it("repeats a failed connection, and finds the server again", async () => {
    let count = 0;
    const { url } = await serve((request, response) => {
      count += 1;
      if (count === 1) request.socket.destroy();
      else reply(response, 200, { count });
    });
    expect(await clientFor(url).client.send(GET)).toEqual({ count: 2 });
  });

  it("knows that a write may have arrived before the connection was cut", async () => {
    const { url, seen } = await serve((request) => {
      request.socket.destroy();
    });
    expect(await clientFor(url).fail(POST)).toMatchObject({ kind: "unreachable", mayHaveHappened: true });
    expect(seen).toHaveLength(1);
  });

  it.each(["", "nonsense", "localhost:8000", "ftp://x.test", "http://", "https://x.test/?key=1"])(
    "refuses the base URL %j without a request",
    async (baseUrl) => {
      const failure = await clientFor(baseUrl).fail(GET);
      expect(failure).toMatchObject({ kind: "refused", mayHaveHappened: false });
      expect(failure.message).toContain("hermes memory setup mem0");
      expect(failure.status).toBeUndefined();
    },
  );

  it("sends credentials of the base URL as a header and never prints them", async () => {
    const { url, seen } = await serve(answers([401, { detail: "wrong: hunter%402secret, hunter@2secret" }]));
    const withUser = url.replace("http://", "http://ada:hunter%402secret@");
    const { client, fail } = clientFor(withUser, { headers: () => ({}) });
    const failure = await fail(GET);
    const basic = Buffer.from("ada:hunter@2secret").toString("base64");
    expect(seen[0]?.headers.authorization).toBe(`Basic ${basic}`);
    expect(JSON.stringify([client.baseUrl, failure.message, failure.detail])).not.toContain("hunter");
    const invalid = clientFor("htp://ada:hunter2secret@x.test");
    expect((await invalid.fail(GET)).message).not.toContain("hunter2");
    expect(invalid.client.baseUrl).not.toContain("hunter2");
  });

  it("does not quote a key that no header can carry", async () => {
    const { url, seen } = await serve(answers([200, {}]));
    const failure = await clientFor(url, { headers: () => ({ "x-key": `${KEY}\nx` }) }).fail(GET);
    expect(failure).toMatchObject({ kind: "unauthorised", mayHaveHappened: false });
    expect(failure.message).toContain("x-key");
    expect(seen).toEqual([]);
  });

  it("never rejects for a body that cannot be JSON", async () => {
    const { url, seen } = await serve(answers([200, {}]));
    expect(await clientFor(url).fail({ ...POST, json: { big: 1n } })).toMatchObject({ kind: "refused" });
    expect(seen).toEqual([]);
  });
});

describe("deadlines", () => {
  it.each<[string, RequestListener]>([
    ["before the answer", () => {}],
    ["in the body", (_request, response) => void response.writeHead(200).write('{"a":')],
    [
      "in a body that drips",
      (_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(timer));
      },
    ],
  ])("end a call that stalls %s", async (_what, listener) => {
    const { url, seen } = await serve(listener);
    const began = performance.now();
    const failure = await clientFor(url).fail({ ...GET, timeoutMs: 300 });
    expect(failure).toMatchObject({ kind: "timeout", mayHaveHappened: true });
    expect(failure.message).toContain("within 0.3 s");
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(seen).toHaveLength(1);
  });

  it("tell the caller's abort and the shutdown from a time limit of the caller", async () => {
    const { url } = await serve(() => {});
    const { fail, closing, breaker } = clientFor(url, { breaker: new Breaker({ failures: 1 }) });
    const caller = new AbortController();
    setTimeout(() => caller.abort(), 50);
    expect(await fail({ ...GET, signal: caller.signal })).toMatchObject({
      kind: "aborted",
      mayHaveHappened: true,
    });
    setTimeout(() => closing.abort(), 50);
    expect(await fail(GET)).toMatchObject({ kind: "aborted" });
    expect(await fail(GET)).toMatchObject({ kind: "aborted", mayHaveHappened: false });
    expect(breaker.state).toBe("closed");
    const limited = clientFor(url, { breaker });
    expect(await limited.fail({ ...GET, signal: AbortSignal.timeout(50) })).toMatchObject({
      kind: "timeout",
    });
    expect(breaker.state).toBe("open");
  });
});

describe("answers that the service does not send", () => {
  it.each([
    ["a login page", "<html>Please sign in</html>", "text/html; charset=utf-8"],
    ["a login page without a type", "<html>Please sign in</html>", "application/octet-stream"],
    ["a text", "OK", "text/plain"],
    ["nothing", "", "application/json"],
    ["half an object", '{"a": [1, 2', "application/json"],
    ["JSON that calls itself a page", "{}", "text/html"],
    ["101 levels", `${"[".repeat(101)}${"]".repeat(101)}`, "application/json"],
  ])("are bad answers: %s", async (_what, body, type) => {
    const { url, seen } = await serve(answers([200, body, { "content-type": type }]));
    const failure = await clientFor(url).fail(GET);
    expect(failure).toMatchObject({ kind: "bad-answer", status: 200, mayHaveHappened: true });
    expect(failure.message).toContain("proxy or login page may be in between");
    expect(failure.message).not.toContain("sign in");
    expect(seen).toHaveLength(1);
  });

  it("are bad when the connection breaks in the body, and a safe call is repeated", async () => {
    const half: RequestListener = (_request, response) => {
      response.writeHead(200, { "content-length": "100" }).write('{"a":1}');
      setTimeout(() => response.socket?.destroy(), 20);
    };
    const { url, seen } = await serve(half);
    const { fail } = clientFor(url);
    expect(await fail(POST)).toMatchObject({ kind: "bad-answer", mayHaveHappened: true });
    expect(seen).toHaveLength(1);
    expect(await fail(GET)).toMatchObject({ kind: "bad-answer" });
    expect(seen).toHaveLength(4);
  });

  it("are not read further than allowed: 50 MB", async () => {
    const chunk = Buffer.alloc(64 * 1024, "1");
    let written = 0;
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (): void => {
        while (written < 50 * 2 ** 20) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
    const failure = await clientFor(url).fail({ ...GET, maxBytes: 2 ** 20, timeoutMs: 30_000 });
    expect(failure.kind).toBe("bad-answer");
    expect(failure.message).toContain("1,048,576 bytes");
    expect(written).toBeLessThan(25 * 2 ** 20); // the rest waited in vain for a reader
  });

  it("are not unpacked further than allowed: 50 MB in 50 kB", async () => {
    const plain = Buffer.alloc(50 * 2 ** 20, "1"); // lives to the end of the test, so that it does not change the difference
    const packed = gzipSync(plain);
    const { url } = await serve(answers([200, packed, { "content-encoding": "gzip" }]));
    const { fail } = clientFor(url);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }, 1);
    const { kind, message } = await fail({ ...GET, maxBytes: 2 ** 20 });
    clearInterval(timer);
    most = Math.max(most, process.memoryUsage().arrayBuffers);
    expect(kind).toBe("bad-answer");
    expect(message).toContain("longer than 1,048,576 bytes");
    expect(most - before).toBeLessThan(plain.length / 2);
  });
});

it("of another shape than the service gives is bad, and what does not exist is null for `find`", async () => {
  const { url } = await serve(answers([200, { hello: 1 }], [404, {}], [403, {}]));
  const { client, fail } = clientFor(url);
  const shape = (answer: unknown) => Array.isArray(answer);
  expect(await fail({ ...GET, shape })).toMatchObject({
    kind: "bad-answer",
    message: expect.stringContaining("is not one that Mem0 gives"),
  });
  expect(await client.find(GET)).toBeNull();
  await expect(client.find(GET)).rejects.toBeInstanceOf(ServiceError);
});

describe("redirects", () => {
  it("are followed within the origin, with method, body and headers", async () => {
    const bodies: string[] = [];
    const { url, seen } = await serve((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      request.on("end", () => {
        bodies.push(body);
        if (request.url === "/things") reply(response, 307, "", { location: "/things/" });
        else reply(response, 200, { moved: true });
      });
    });
    expect(await clientFor(url).client.send(POST)).toEqual({ moved: true });
    expect(seen.map(({ method, headers }) => [method, headers.authorization])).toEqual([
      ["POST", `Bearer ${KEY}`],
      ["POST", `Bearer ${KEY}`],
    ]);
    expect(bodies).toEqual(['{"a":1}', '{"a":1}']);
  });

  it("do not carry anything to another origin", async () => {
    const other = await serve(answers([200, { stolen: true }]));
    const { url } = await serve(answers([307, "", { location: `${other.url}/login?back=${KEY}` }]));
    const { fail, breaker } = clientFor(url, { breaker: new Breaker({ failures: 1 }) });
    const failure = await fail(POST);
    expect(failure).toMatchObject({ kind: "bad-answer", status: 307, mayHaveHappened: false });
    expect(failure.message).toContain(`${other.url}/login`);
    expect(await fail(GET)).toMatchObject({ kind: "bad-answer" });
    expect(other.seen).toEqual([]);
    expect(breaker.state).toBe("closed");
  });

  it("to a file store are followed for bytes, without our headers", async () => {
    const store = await serve(answers([302, "", { location: "/again" }], [200, "content"]));
    const { url } = await serve(answers([302, "", { location: `${store.url}/file?signature=x` }]));
    const { client } = clientFor(url);
    const call: HttpCall = { ...GET, expects: "bytes", headers: { "x-account": "account-1", cookie: "a=b" } };
    expect(Buffer.from((await client.send(call)) as Uint8Array).toString()).toBe("content");
    expect(store.seen).toHaveLength(2);
    for (const { headers } of store.seen)
      expect([headers.authorization, headers.cookie, headers["x-account"]]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
  });

  it("do not turn a POST into a GET, and end", async () => {
    const { url, seen } = await serve(answers([302, "", { location: "/things/" }]));
    expect(await clientFor(url).fail(POST)).toMatchObject({ kind: "bad-answer", status: 302 });
    expect(seen).toHaveLength(1);
    expect(await clientFor(url).fail(GET)).toMatchObject({ kind: "bad-answer" });
    expect(seen.length).toBeLessThan(10);
  });
});

describe("the breaker", () => {
  const never = { failures: 5, openMs: 1e9 };

  it.each([401, 403, 408, 429, 500, 503])(
    "opens after five answers with %i, and the sixth call asks nobody",
    async (status) => {
      const { url, seen } = await serve(answers([status, {}]));
      const { fail, breaker } = clientFor(url, { breaker: new Breaker(never) });
      for (let each = 0; each < 5; each += 1) expect((await fail(POST)).status).toBe(status);
      expect(breaker.state).toBe("open");
      expect(await fail(POST)).toMatchObject({ kind: "paused", mayHaveHappened: false });
      expect(seen).toHaveLength(5);
    },
  );

  it.each([400, 402, 404, 409, 422])("counts %i as a working service", async (status) => {
    const { url } = await serve(answers([status, {}]));
    let successes = 0;
    const breaker = new Breaker({ failures: 2 });
    breaker.failed();
    const { fail } = clientFor(url, { breaker, onSuccess: () => (successes += 1) });
    await fail(POST);
    breaker.failed(); // the first failure does not count any more
    expect([breaker.state, successes]).toEqual(["closed", 1]);
  });

  it("lets one probe through after the pause; its success closes it", async () => {
    let now = 0;
    const { url, seen } = await serve(answers([500, {}], [200, {}]));
    const breaker = new Breaker({ failures: 1, openMs: 100, now: () => now });
    const { fail, client } = clientFor(url, { breaker });
    await fail(POST);
    expect((await fail(POST)).kind).toBe("paused");
    now = 200;
    const both = await Promise.all([client.request(POST), client.request(POST)]);
    expect(both.map(({ ok }) => ok)).toEqual([true, false]);
    expect(seen).toHaveLength(2);
    expect(breaker.state).toBe("closed");
  });

  it("is not asked and not told by checks", async () => {
    const { url } = await serve(answers([500, {}], [200, { a: 1 }]));
    const breaker = new Breaker({ failures: 1 });
    const { fail, client } = clientFor(url, { breaker });
    await fail({ ...POST, ignoresBreaker: true });
    expect(breaker.state).toBe("closed");
    breaker.failed();
    expect(await client.send({ ...GET, ignoresBreaker: true })).toEqual({ a: 1 });
    expect(breaker.state).toBe("open");
  });
});

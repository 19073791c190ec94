import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../core/src/security/index.ts";
import { segment } from "../../src/kit/http.ts";
import {
  classify,
  connectionFailure,
  deliveryOf,
  errorText,
  type HttpFailureKind,
  pauseBefore,
  retryAfterMs,
  shortLine,
  statusMessage,
} from "../../src/kit/http-failure.ts";

const ASKED = { service: "Mem0", origin: "https://mem0.test", what: "POST /v3/memories/" };

describe("the server's own words", () => {
  it.each<[string, unknown, string]>([
    ["a text", "no", "no"],
    ["detail", { detail: "Not allowed" }, "Not allowed"],
    [
      "a list of FastAPI, the first three",
      {
        detail: [
          { loc: ["body", "messages", 0, "content"], msg: "field required", type: "missing" },
          { loc: ["query", "page"], msg: "too small" },
          { msg: "third" },
          { msg: "fourth" },
        ],
      },
      "body.messages.0.content: field required; query.page: too small; third",
    ],
    ["error", { error: "Bad key" }, "Bad key"],
    ["a code beside a sentence", { error: "bad_request", message: "q is missing" }, "q is missing"],
    [
      "error with issues",
      { error: { message: "Invalid input", issues: [{ path: ["q"], message: "Required" }] } },
      "Invalid input: q: Required",
    ],
    [
      "zod's error with the issues as text too",
      { name: "ZodError", message: '[ { "code": "x" } ]', issues: [{ path: ["a", 1], message: "Required" }] },
      "a.1: Required",
    ],
    ["message", { message: "Gone" }, "Gone"],
    ["message inside details", { details: { message: "Too many" } }, "Too many"],
    ["an envelope", { status: "error", error: { code: "X", message: "Bad uri" } }, "Bad uri"],
    ["a list of texts", { errors: ["one", "two"] }, "one; two"],
    ["nothing in an empty object", {}, ""],
    ["nothing in null", null, ""],
    ["nothing in a number", 7, ""],
    ["nothing in fields of other types", { detail: 1, error: true, message: null }, ""],
  ])("finds %s", (_what, body, words) => {
    expect(errorText(body)).toBe(words);
  });

  it("is one line of at most 300 characters without the key, whatever the server sends", () => {
    const key = "kX9-very$secret key\\1";
    const redact = createRedactor([key]);
    const leaf = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        key,
        `Bearer ${key}`,
        `${key}${key}`,
        `a\n${key}\u2028b`,
        encodeURIComponent(key),
        "x".repeat(900),
      ),
      fc.tuple(fc.nat(400), fc.constant(key)).map(([count, text]) => `${"word ".repeat(count)}${text}`),
    );
    const name = fc.constantFrom(
      "detail",
      "error",
      "message",
      "msg",
      "loc",
      "path",
      "issues",
      "errors",
      "details",
      key,
    );
    const { tree: body } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.jsonValue(),
        fc.array(tie("tree"), { maxLength: 5 }),
        fc.dictionary(name, tie("tree"), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(body, (value) => {
        const line = shortLine(errorText(value), redact);
        expect(line).not.toContain(key);
        expect(line).not.toContain(encodeURIComponent(key));
        expect([...line].length).toBeLessThanOrEqual(300);
        expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
        expect(line.isWellFormed()).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("does not overflow the stack on deep bodies", () => {
    let deep: unknown = "bottom";
    for (let level = 0; level < 50_000; level += 1) deep = { detail: [deep] };
    expect(errorText(deep)).toBe("");
  });
});

describe("kinds of failure", () => {
  const BY_STATUS: Readonly<Record<number, HttpFailureKind>> = {
    302: "bad-answer",
    400: "refused",
    401: "unauthorised",
    402: "unpaid",
    403: "unauthorised",
    404: "not-found",
    405: "refused",
    408: "server",
    409: "conflict",
    410: "not-found",
    413: "refused",
    422: "refused",
    429: "throttled",
    500: "server",
    503: "server",
    599: "server",
  };

  it("come from the status", () => {
    const statuses = Object.keys(BY_STATUS).map(Number);
    expect(Object.fromEntries(statuses.map((status) => [status, classify(status)]))).toEqual(BY_STATUS);
  });

  it.each<[HttpFailureKind, number | undefined, string]>([
    ["paused", undefined, "later"],
    ["unreachable", undefined, "later"],
    ["timeout", undefined, "later"],
    ["aborted", undefined, "later"],
    ["throttled", 429, "later"],
    ["server", 500, "later"],
    ["bad-answer", 200, "later"],
    ["unauthorised", 401, "blocked"],
    ["unpaid", 402, "blocked"],
    ["refused", 422, "refused"],
    ["not-found", 404, "refused"],
    ["conflict", 409, "refused"],
    ["refused", undefined, "blocked"], // the base URL: no server has seen the write
  ])("%s (%s) makes a write %s", (kind, status, delivery) => {
    const failure = { kind, status, message: "why", detail: "", mayHaveHappened: false };
    expect(deliveryOf(failure)).toEqual({ kind: delivery, reason: "why" });
  });

  it.each([
    [401, "bad key", ["401: bad key.", "hermes memory setup mem0"]],
    [403, "", ["with 403. Check the API key"]],
    [402, "Quota used up!", ["402: Quota used up! The plan"]],
    [404, "", ["base URL https://mem0.test", "older"]],
    [404, "Not Found", ["base URL https://mem0.test"]],
    [404, "Cannot POST /v3/memories/", ["base URL https://mem0.test"]],
    [500, "boom", ["500: boom. The fault is at the server"]],
    [422, "q is missing", ["Mem0 answered POST /v3/memories/ with 422: q is missing."]],
  ])("says what to do about %i %s", (status, detail, parts) => {
    const message = statusMessage(ASKED, status, detail);
    for (const part of parts) expect(message).toContain(part);
  });

  it.each([
    ["ECONNREFUSED", false, "https://mem0.test: the connection was refused. Start the server"],
    ["ENOTFOUND", false, "host name was not found"],
    ["UND_ERR_CONNECT_TIMEOUT", false, "there is no connection"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", false, "certificate"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", false, "certificate"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", false, "certificate"],
    ["ECONNRESET", true, "was cut during POST"],
    ["UND_ERR_SOCKET", true, "was cut during POST"],
  ])("reads %s in the error of fetch", (code, wasSent, words) => {
    const socket = Object.assign(new Error("never shown"), { code });
    const wrapped = new TypeError("fetch failed", { cause: new AggregateError([socket]) });
    const failure = connectionFailure(ASKED, wrapped);
    expect(failure.wasSent).toBe(wasSent);
    expect(failure.message).toContain(words);
    expect(failure.message).not.toContain("never shown");
  });
});

describe("how long to wait", () => {
  const NOW = Date.parse("2026-01-01T00:00:00Z");
  it.each<[Record<string, string>, number | undefined]>([
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "3" }, 250],
    [{ "retry-after-ms": "soon", "retry-after": "3" }, 3_000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, 7_000],
    // A server whose clock is a day ahead
    [{ "retry-after": "Fri, 02 Jan 2026 00:00:07 GMT", date: "Fri, 02 Jan 2026 00:00:00 GMT" }, 7_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "999999999999" }, 3_600_000],
    [{ "retry-after": "-3" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("%j is %s ms", (headers, ms) => {
    expect(retryAfterMs(new Headers(headers), NOW)).toBe(ms);
  });
});

describe("pauses before repetitions", () => {
  it("double from 500 ms, with up to a fifth more, unless the server says how long", () => {
    const pauses = (random: number) =>
      [1, 2, 3].map((repetition) => pauseBefore(repetition, undefined, random));
    expect(pauses(0)).toEqual([500, 1_000, 2_000]);
    expect(pauses(1)).toEqual([600, 1_200, 2_400]);
    expect(pauseBefore(1, 70, 1)).toBe(70);
  });
});

describe("segments of a path", () => {
  it("hold any text without leaving their place", () => {
    const odd = fc.constantFrom(
      "",
      ".",
      "..",
      "%2e%2e",
      "../../../core/test",
      "a/b",
      "a?b#c",
      "\\",
      "\ud800",
      "é ü",
      ".%2E",
    );
    fc.assert(
      fc.property(fc.oneof(odd, fc.string({ unit: "binary" })), (text) => {
        const { pathname, search, hash } = new URL(`https://mem0.test/api/v1/${segment(text)}/end`);
        const [, api, version, id = "", end, ...more] = pathname.split("/");
        expect([api, version, end, more, search, hash]).toEqual(["api", "v1", "end", [], "", ""]);
        expect(id).not.toBe("");
        if (!["", ".", ".."].includes(text)) expect(decodeURIComponent(id)).toBe(text.toWellFormed());
      }),
    );
  });
});

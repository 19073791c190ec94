// Errors of the usual servers, and how they are classified and described.
import { describe, expect, it } from "vitest";
import { retryAfter } from "../../../src/models/access/failures.ts";
import { classifyFailure, type ModelFailureKind, type ModelIdentity } from "../../../src/models/index.ts";

type Answer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** An error as the SDK throws it. */
function apiError({ status, body, headers = {} }: Answer): Error {
  const responseBody = typeof body === "string" ? body : JSON.stringify(body);
  const error = new Error("Bad Request");
  return Object.assign(error, {
    name: "AI_APICallError",
    statusCode: status,
    responseBody,
    responseHeaders: headers,
  });
}

function kindOf(status: number, body: unknown, headers?: Readonly<Record<string, string>>): ModelFailureKind {
  return classifyFailure(apiError({ status, body, headers }), "").kind;
}

const message = (text: string, more: object = {}) => ({ error: { message: text, ...more } });

describe("a request that does not fit", () => {
  it.each([
    ["Anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum", 200_000],
    [
      "Anthropic, with output",
      400,
      "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
      200_000,
    ],
    [
      "OpenAI",
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      128_000,
    ],
    [
      "Google",
      400,
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      1_048_576,
    ],
    [
      "vLLM",
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
      4096,
    ],
    ["Ollama", 500, "input length exceeds the context length", undefined],
    ["LM Studio", 400, "Trying to keep the first 9000 tokens when context the overflows.", undefined],
  ])("at %s", (_, status, text, limit) => {
    const failure = classifyFailure(apiError({ status, body: message(text) }), "");
    expect(failure).toMatchObject({ kind: "overflow", isRetryable: false });
    expect(failure.limitTokens).toBe(limit);
  });

  it("at llama.cpp", () => {
    const text = "the request exceeds the available context size, try increasing it";
    const body = message(text, {
      code: 400,
      type: "exceed_context_size_error",
      n_prompt_tokens: 5000,
      n_ctx: 4096,
    });
    expect(classifyFailure(apiError({ status: 400, body }), "")).toMatchObject({
      kind: "overflow",
      limitTokens: 4096,
    });
  });

  it("is known by its code alone", () => {
    expect(kindOf(400, message("Too big.", { code: "context_length_exceeded" }))).toBe("overflow");
  });

  it("is not a limit of output or rate", () => {
    expect(
      kindOf(400, message("max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens")),
    ).toBe("bad_request");
    expect(kindOf(429, message("Request too large: limit 30000 tokens per min, requested 40000."))).toBe(
      "rate_limit",
    );
  });
});

describe("other refusals", () => {
  const cases: readonly (readonly [ModelFailureKind, number, unknown])[] = [
    ["auth", 401, message("invalid x-api-key")],
    ["auth", 403, message("Permission denied")],
    [
      "auth",
      400,
      [
        {
          error: {
            code: 400,
            message: "API key not valid. Please pass a valid API key.",
            status: "INVALID_ARGUMENT",
          },
        },
      ],
    ],
    ["billing", 402, message("This request requires more credits")],
    ["billing", 429, message("You exceeded your current quota", { code: "insufficient_quota" })],
    ["billing", 400, message("Your credit balance is too low to access the Anthropic API.")],
    ["billing", 403, message("Key limit exceeded (total limit)")],
    ["rate_limit", 429, message("Rate limit reached")],
    ["payload_too_large", 413, "<html>too large</html>"],
    ["bad_signature", 400, message("messages.1.content.0: Invalid `signature` in `thinking` block")],
    [
      "bad_signature",
      400,
      message("The encrypted content could not be verified.", { code: "invalid_encrypted_content" }),
    ],
    ["bad_signature", 400, message("Thought signature is not valid.")],
    ["content_policy", 400, message("Rejected.", { code: "content_policy_violation" })],
    ["content_policy", 403, message("Your input was flagged by moderation")],
    ["not_found", 404, message("model: claude-x")],
    ["not_found", 400, message("The model `gpt-x` does not exist", { code: "model_not_found" })],
    ["bad_request", 400, message("temperature: must be at most 1")],
    ["bad_request", 422, { detail: [{ msg: "Field required", input: "whole request" }] }],
    [
      "bad_request",
      422,
      {
        detail: [{ msg: "Field required", input: { messages: [{ content: "What is a content policy?" }] } }],
      },
    ],
    ["bad_request", 400, message("`max_tokens` must be greater than `thinking.budget_tokens`")],
    ["server", 500, "<html>oops</html>"],
    ["server", 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
    ["server", 503, message("no healthy upstream")],
    ["invalid_response", 200, "not what was asked for"],
  ];

  it.each(cases)("%s from HTTP %i", (kind, status, body) => {
    expect(kindOf(status, body)).toBe(kind);
  });

  it("of Google's limit per minute is a rate, not a bill", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }];
    const body = {
      error: { code: 429, message: "You exceeded your current quota", status: "RESOURCE_EXHAUSTED", details },
    };
    expect(classifyFailure(apiError({ status: 429, body }), "")).toMatchObject({
      kind: "rate_limit",
      retryAfterMs: 34_000,
    });
  });

  it("that may be asked again are those that pass by themselves", () => {
    const retryable = cases.filter(
      ([, status, body]) => classifyFailure(apiError({ status, body }), "").isRetryable,
    );
    const kinds = new Set(retryable.map(([kind]) => kind));
    expect([...kinds].sort()).toEqual(["invalid_response", "rate_limit", "server"]);
  });
});

describe("errors without a status", () => {
  it.each([
    ["connection", Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } })],
    ["connection", Object.assign(new TypeError("terminated"), { cause: { code: "UND_ERR_SOCKET" } })],
    ["connection", Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })],
    ["invalid_response", Object.assign(new Error("JSON parsing failed"), { name: "AI_JSONParseError" })],
    ["bad_request", Object.assign(new Error("no audio"), { name: "AI_UnsupportedFunctionalityError" })],
    ["server", { message: "Overloaded", type: "overloaded_error", data: {} }],
    ["rate_limit", { message: "slow down", type: "rate_limit_error" }],
    ["rate_limit", { message: "slow down", code: 429 }],
    ["overflow", { type: "error", error: { code: "context_length_exceeded", message: "too long" } }],
    ["invalid_response", undefined],
    ["invalid_response", "what?"],
  ] as const)("%s", (kind, cause) => {
    expect(classifyFailure(cause, "").kind).toBe(kind);
  });

  it("of a certificate do not go away by asking again", () => {
    const cause = Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(classifyFailure(cause, "")).toMatchObject({ kind: "connection", isRetryable: false });
  });
});

it("the wait is read as seconds, milliseconds or a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(retryAfter({ "Retry-After": "12" }, now)).toBe(12_000);
  expect(retryAfter({ "retry-after": "1.5" }, now)).toBe(1500);
  expect(retryAfter({ "retry-after-ms": "250", "retry-after": "9" }, now)).toBe(250);
  expect(retryAfter({ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, now)).toBe(30_000);
  expect(retryAfter({ "retry-after": "soon" }, now)).toBeUndefined();
  expect(retryAfter({}, now)).toBeUndefined();
});

describe("the message", () => {
  const identity: ModelIdentity = {
    model: "claude-x",
    provider: "anthropic",
    apiMode: "anthropic_messages",
    baseUrl: "",
  };
  const apiKey = "0123456789-secret-key";

  it("says what happened in the server's words, and what to do", () => {
    const cause = apiError({ status: 401, body: message("invalid x-api-key") });
    const { message: text } = classifyFailure(cause, "", { identity, keySource: "ANTHROPIC_API_KEY" });
    expect(text).toBe(
      "Anthropic refused the key (HTTP 401): invalid x-api-key. Check ANTHROPIC_API_KEY, or run 'hermes setup'.",
    );
  });

  it("is one short line without keys, also where it is cut", () => {
    const vendorKey = `sk-ant-${"a1b2".repeat(6)}`;
    for (const filler of ["", "blah ".repeat(57)]) {
      const long = `Bad ${filler}${apiKey} and ${vendorKey}\n${"blah ".repeat(200)}`;
      const cause = apiError({ status: 400, body: message(long) });
      const { message: text } = classifyFailure(cause, "", { identity, apiKey });
      expect(text).not.toContain(apiKey.slice(0, 8));
      expect(text).not.toContain("a1b2");
      expect(text).not.toContain("\n");
      expect(text.length).toBeLessThan(500);
    }
  });
});

import { describe, expect, it } from "vitest";
import { limitFromError } from "../../../src/models/index.ts";

describe("the limit in an error", () => {
  it.each([
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 10240 tokens.",
      8192,
    ],
    ["This model's maximum context length is 128,000 tokens, you requested 140,212", 128_000],
    ["prompt is too long: 210000 tokens > 200000 maximum", 200_000],
    [
      "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
      200_000,
    ],
    ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576],
    ["the request exceeds the available context size (4096 tokens), try increasing it", 4096],
    ["request (9000 tokens) exceeds the available context size (4096 tokens)", 4096],
    ['{"error":{"n_prompt_tokens":9000,"n_ctx":4096}}', 4096],
    ["Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000.", 272_000],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072],
    ["prompt token count of 130000 exceeds the limit of 128000", 128_000],
    ["Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768],
    ["(n_keep: 5000 >= n_ctx: 4096)", 4096],
    ["Range of input length should be [1, 30720]", 30_720],
    ["context_length_exceeded: 131072", 131_072],
    ["model has a context window of 16384", 16_384],
    ["8192-token context window exceeded", 8192],
  ])("%s", (text, limit) => {
    expect(limitFromError(text)).toBe(limit);
  });

  it.each([
    ["invalid params, context window exceeds limit (2013)"],
    ["Request too large on tokens per min (TPM): Limit 30000, Requested 45000"],
    ["Rate limit reached: maximum of 100000 tokens per day"],
    ["This request would exceed your rate limit of 30,000 input tokens per minute"],
    ["max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens"],
    ["Request 20260611 failed: internal error 50012"],
    ["maximum context length is 512 tokens"],
    ["maximum context length is 99999999 tokens"],
    [""],
  ])("is not in: %s", (text) => {
    expect(limitFromError(text)).toBeUndefined();
  });

  it("counts only when it is less than the window that is assumed", () => {
    const text = "maximum context length is 128000 tokens";
    expect(limitFromError(text, 200_000)).toBe(128_000);
    expect(limitFromError(text, 128_000)).toBeUndefined();
    expect(limitFromError(text, 64_000)).toBeUndefined();
  });

  it("is found quickly in a text of any size", () => {
    const text = `maximum context ${"maximum context length ".repeat(50_000)}`;
    expect(limitFromError(text)).toBeUndefined();
    expect(limitFromError(`context length is 32768 ${text}`)).toBe(32_768);
  });
});

import { describe, expect, it } from "vitest";
import { countsFromError } from "../../../src/models/context-window/error-limit.ts";
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
    ["your prompt is 71234 tokens, maximum is 65536", 65_536],
    ["The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096],
    [
      "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`",
      4096,
    ],
    ["`inputs` must have less than 4095 tokens. Given: 5000", 4095],
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

describe("the size of the request in an error", () => {
  const LIMIT = "This model's maximum context length is 65536 tokens. However, ";
  it.each([
    ["your prompt is 71234 tokens, maximum is 65536", 71_234, undefined],
    [`${LIMIT}your messages resulted in 71234 tokens. Please reduce the length.`, 71_234, undefined],
    [`${LIMIT}you requested 71234 tokens (69234 in the messages, 2000 in the completion).`, 69_234, 2_000],
    [
      `${LIMIT}you requested 71,234 tokens (60,000 in the messages, 9,234 in the functions, and 2,000 in the completion).`,
      69_234,
      2_000,
    ],
    [
      `${LIMIT}you requested about 71234 tokens (65234 of text input, 4000 of tool input, 2000 in the output).`,
      69_234,
      2_000,
    ],
    [`${LIMIT}you requested 71234 tokens.`, 71_234, undefined],
    ["maximum context length is 65536 tokens and your request has 70000 input tokens", 70_000, undefined],
    ["prompt is too long: 210000 tokens > 200000 maximum", 210_000, undefined],
    [
      "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input",
      188_240,
      21_333,
    ],
    [
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      1_200_000,
      undefined,
    ],
    ["request (9000 tokens) exceeds the available context size (4096 tokens)", 9_000, undefined],
    ['{"error":{"n_prompt_tokens":9000,"n_ctx":4096}}', 9_000, undefined],
    [
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      537_812,
      undefined,
    ],
    [
      "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
      40_000,
      undefined,
    ],
    ["prompt token count of 130000 exceeds the limit of 128000", 130_000, undefined],
    ["The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 5_000, undefined],
    [
      "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`",
      5_000,
      512,
    ],
    [
      "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
      5_000,
      undefined,
    ],
    ["context length is 8192 tokens; size limit exceeded by 1234 tokens", 9_426, undefined],
  ])("%s", (text, promptTokens, outputTokens) => {
    expect(countsFromError(text)).toEqual({ promptTokens, outputTokens });
  });

  it.each([
    ["Input is too long for requested model."],
    ["Please reduce the length of the messages or completion."],
    ["context_length_exceeded"],
    ["Range of input length should be [1, 30720]"],
    ["Request too large on tokens per min (TPM): Limit 30000, Requested 45000"],
    [""],
  ])("is not in: %s", (text) => {
    expect(countsFromError(text)).toEqual({});
  });

  it("is not believed when the stated limit would have allowed it", () => {
    expect(countsFromError("maximum context length is 65536 tokens, your messages resulted in 1200")).toEqual(
      {},
    );
  });
});

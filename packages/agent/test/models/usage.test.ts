import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addUsage, NO_USAGE, normalizeUsage, promptTokens, totalTokens } from "../../src/models/index.ts";

describe("usage in disjoint buckets", () => {
  it("Anthropic reports them disjoint", () => {
    const raw = {
      input_tokens: 12,
      cache_read_input_tokens: 9000,
      cache_creation_input_tokens: 300,
      output_tokens: 42,
    };
    const usage = normalizeUsage(raw, "anthropic");
    expect(usage).toEqual({ input: 12, cacheRead: 9000, cacheWrite: 300, output: 42, reasoning: 0 });
    expect([promptTokens(usage), totalTokens(usage)]).toEqual([9312, 9354]);
  });

  it("chat completions count cached tokens into the prompt", () => {
    const raw = {
      prompt_tokens: 10_000,
      completion_tokens: 500,
      total_tokens: 10_500,
      prompt_tokens_details: { cached_tokens: 8000, cache_write_tokens: 1000 },
      completion_tokens_details: { reasoning_tokens: 300 },
    };
    expect(normalizeUsage(raw, "chat")).toEqual({
      input: 1000,
      cacheRead: 8000,
      cacheWrite: 1000,
      output: 500,
      reasoning: 300,
    });
  });

  it("chat endpoints in front of Anthropic may use its names", () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 1,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
    };
    expect(normalizeUsage(raw, "chat")).toMatchObject({ input: 10, cacheRead: 60, cacheWrite: 30 });
  });

  it("the Responses wire counts cached tokens into the input", () => {
    const raw = {
      input_tokens: 5000,
      input_tokens_details: { cached_tokens: 4096 },
      output_tokens: 77,
      output_tokens_details: { reasoning_tokens: 64 },
      total_tokens: 5077,
    };
    expect(normalizeUsage(raw)).toEqual({
      input: 904,
      cacheRead: 4096,
      cacheWrite: 0,
      output: 77,
      reasoning: 64,
    });
  });

  it("tells the wire from the keys when it is not given", () => {
    expect(normalizeUsage({ prompt_tokens: 3, completion_tokens: 4 })).toMatchObject({ input: 3, output: 4 });
    expect(normalizeUsage({ input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 1 })).toMatchObject({
      input: 3,
      cacheRead: 5,
    });
  });

  it("is never negative and never NaN, whatever a vendor sends", () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom("anthropic", "chat", "responses"), (raw, wire) => {
        const values = Object.values(normalizeUsage(raw, wire as "chat"));
        expect(values.every((value) => (Number.isSafeInteger(value) ? value >= 0 : value > 0))).toBe(true);
      }),
    );
    const odd = {
      prompt_tokens: "100",
      completion_tokens: null,
      prompt_tokens_details: { cached_tokens: 900 },
    };
    expect(normalizeUsage(odd, "chat")).toEqual({ ...NO_USAGE, cacheRead: 900 });
  });

  it("adds up", () => {
    const a = normalizeUsage({ input_tokens: 1, output_tokens: 2 }, "anthropic");
    expect(addUsage(a, addUsage(a, NO_USAGE))).toEqual({ ...NO_USAGE, input: 2, output: 4 });
  });

  it("keeps the vendor's prompt total wherever that is possible", () => {
    const amount = fc.nat(1_000_000);
    fc.assert(
      fc.property(amount, amount, amount, (input, read, write) => {
        const details = { cached_tokens: read, cache_write_tokens: write };
        const raw = {
          prompt_tokens: input + read + write,
          completion_tokens: 0,
          prompt_tokens_details: details,
        };
        expect(promptTokens(normalizeUsage(raw, "chat"))).toBe(input + read + write);
      }),
    );
  });
});

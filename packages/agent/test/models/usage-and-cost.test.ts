import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cacheSavings,
  costOf,
  findPrices,
  frozenSnapshotSavings,
  type ModelPrices,
} from "../../src/models/cost.ts";
import { NO_USAGE, normalizeUsage, promptTokens, totalTokens } from "../../src/models/usage.ts";

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
});

const prices: ModelPrices = {
  source: "config",
  at: () => ({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, cacheWrite1h: 6 }),
};

describe("prices", () => {
  it("come from the catalogue, with steps for long prompts", async () => {
    const found = await findPrices({ model: "gemini-2.5-pro", provider: "google" });
    expect(found?.source).toBe("catalogue");
    const short = found?.at(10_000);
    const long = found?.at(300_000);
    expect(short?.input).toBeGreaterThan(0);
    expect(long?.input).toBeGreaterThan(short?.input ?? 0);
    expect(short?.cacheRead).toBeLessThan(short?.input ?? 0);
  });

  it("are what config says, before anything else", async () => {
    const overrides = { "claude-sonnet-4-5": { input: 1, output: 2 } };
    const found = await findPrices({ model: "claude-sonnet-4-5", provider: "anthropic", overrides });
    expect(found?.source).toBe("config");
    expect(found?.at(1)).toEqual({ input: 1, output: 2, cacheRead: 1, cacheWrite: 1, cacheWrite1h: 1 });
  });

  it("are not made up for an unknown model", async () => {
    expect(await findPrices({ model: "my-own-finetune", provider: "ollama" })).toBeUndefined();
    expect(await findPrices({ model: "constructor", overrides: {} })).toBeUndefined();
  });

  it("make a cost", () => {
    const usage = {
      input: 1_000_000,
      cacheRead: 1_000_000,
      cacheWrite: 1_000_000,
      output: 1_000_000,
      reasoning: 0,
    };
    expect(costOf(usage, prices.at(0))).toBeCloseTo(3 + 0.3 + 3.75 + 15, 10);
    expect(costOf(usage, prices.at(0), "1h")).toBeCloseTo(3 + 0.3 + 6 + 15, 10);
  });
});

describe("what caching saved", () => {
  const write = { ...NO_USAGE, input: 100, cacheWrite: 20_000 };
  const read = { ...NO_USAGE, input: 100, cacheRead: 20_000, cacheWrite: 500 };

  it("is reads at the difference of prices, less what writing cost more", () => {
    // 2 x 20,000 x (3 - 0.3) - (20,000 + 2 x 500) x (3.75 - 3), in millionths
    const { saved, hitRate } = cacheSavings([write, read, read], prices);
    expect(saved).toBeCloseTo((108_000 - 15_750) / 1e6, 12);
    expect(hitRate).toBeCloseTo(40_000 / 61_300, 12);
  });

  it("is negative when nothing was ever read", () => {
    expect(cacheSavings([write], prices).saved).toBeLessThan(0);
    expect(cacheSavings([], prices)).toEqual({ hitRate: 0, saved: 0 });
  });

  it("a memory write without the frozen snapshot writes the prefix again", () => {
    // After the write, call 1 would have written its 20,000 tokens at 3.75 instead of reading them at 0.3.
    const saved = (after: readonly number[]) => frozenSnapshotSavings([write, read, read], after, prices);
    expect(saved([1])).toBeCloseTo((20_000 * 3.45) / 1e6, 12);
    expect(saved([1, 1, 2, 9])).toBeCloseTo((40_000 * 3.45) / 1e6, 12);
  });
});

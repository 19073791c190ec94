// At the end: what prompt caching was worth in the three sessions, in tokens the server reported and at an example price.

import { addUsage, NO_USAGE, promptTokens, type Usage } from "@hermes-memory/agent/models";
import { groupThousands, percentOf } from "@hermes-memory/core/lib";
import { EXAMPLE_PRICE } from "./home.ts";
import type { Scene } from "./scene.ts";

/** The agent adds up in another order. */
const ROUNDING_USD = 1e-9;

export async function cacheSavingsStep(scene: Scene): Promise<void> {
  await scene.step(
    {
      id: "savings",
      session: 3,
      layer: "prompt caching",
      title: "Prompts that stay the same to the byte are read from the server's cache.",
    },
    () => savings(scene),
  );
}

async function savings({ spent, conversation }: Scene) {
  const total = usageOf(spent.flatMap(({ calls }) => calls));
  const prompt = promptTokens(total);
  const saved = sum(spent.map(({ savings: each }) => each?.saved ?? 0));
  const cost = sum(spent.map(({ costUsd }) => costUsd ?? 0));
  const { input, cache_read: read } = EXAMPLE_PRICE;
  const reported = sum(conversation.map(({ cachedTokens }) => cachedTokens));
  const expected = (total.cacheRead * (input - read)) / 1e6;
  return {
    checks: {
      "all three sessions were counted": spent.length === 3 && spent.every((each) => each.savings !== null),
      "the agent counted the cached tokens that the server reported": total.cacheRead === reported,
      "something was read from the cache": total.cacheRead > 0,
      "saved is cached tokens times the difference of the prices": Math.abs(saved - expected) < ROUNDING_USD,
    },
    facts: {
      example_price: EXAMPLE_PRICE,
      prompt_tokens: prompt,
      cache_read_tokens: total.cacheRead,
      cache_write_tokens: total.cacheWrite,
      reported_cached_tokens: reported,
      cost_usd: cost,
      saved_usd: saved,
      sessions: spent.map(({ session, calls, costUsd, savings: each }) => {
        const usage = usageOf(calls);
        return {
          session,
          calls: calls.length,
          prompt_tokens: promptTokens(usage),
          cache_read_tokens: usage.cacheRead,
          cost_usd: costUsd,
          saved_usd: each?.saved ?? null,
          hit_rate: each?.hitRate ?? null,
        };
      }),
    },
    lines: [
      `${groupThousands(total.cacheRead)} of ${groupThousands(prompt)} prompt tokens (${percentOf(total.cacheRead, prompt)} %) in ${sum(spent.map(({ calls }) => calls.length))} calls`,
      `${dollars(cost)} instead of ${dollars(cost + saved)}: ${dollars(saved)} saved`,
      `(cached: what a request shares with earlier ones; example price: $${input} a million, $${read.toFixed(2)} cached)`,
    ],
  };
}

function usageOf(calls: readonly Usage[]): Usage {
  return calls.reduce(addUsage, NO_USAGE);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function dollars(value: number): string {
  return `$${value.toFixed(4)}`;
}

// What prompt caching was worth, and what a frozen memory snapshot adds to it.
import { type ModelPrices, writePrice } from "./pricing.ts";
import { promptTokens, type Usage } from "./usage.ts";

export type CacheSavings = {
  /** Of all prompt tokens, how many came from the cache: 0 to 1. */
  readonly hitRate: number;
  /** US dollars less than the same calls without a cache. Negative when more was written than ever read. */
  readonly saved: number;
};

type Ttl = "5m" | "1h";

/** Reading is cheaper than sending, writing is dearer; the sum over all calls is what caching saved. */
export function cacheSavings(calls: readonly Usage[], prices: ModelPrices, ttl: Ttl = "5m"): CacheSavings {
  let prompt = 0;
  let read = 0;
  let millionths = 0;
  for (const call of calls) {
    const price = prices.at(promptTokens(call));
    prompt += promptTokens(call);
    read += call.cacheRead;
    millionths += call.cacheRead * (price.input - price.cacheRead);
    millionths -= call.cacheWrite * (writePrice(price, ttl) - price.input);
  }
  return { hitRate: prompt === 0 ? 0 : read / prompt, saved: millionths / 1e6 };
}

/**
 * What memory writes would have cost if the system prompt had followed them. The prompt is where the prefix begins, so after a
 * change nothing behind it is found in the cache: the next call would have written again what it read. `callsAfterWrites` are the
 * indices of the calls that came next after a write; two writes before the same call cost once. US dollars.
 */
export function frozenSnapshotSavings(
  calls: readonly Usage[],
  callsAfterWrites: readonly number[],
  prices: ModelPrices,
  ttl: Ttl = "5m",
): number {
  let millionths = 0;
  for (const index of new Set(callsAfterWrites)) {
    const call = calls[index];
    if (!call) continue; // the session ended with the write
    const price = prices.at(promptTokens(call));
    millionths += call.cacheRead * (writePrice(price, ttl) - price.cacheRead);
  }
  return millionths / 1e6;
}

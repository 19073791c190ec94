// Prices of models, the cost of calls, and what prompt caching saved. Prices are in US dollars per million tokens: from config when
// it names the model, else from the catalogue that comes with the package. Nothing is fetched.
import { promptTokens, type Usage } from "./usage.ts";

/** US dollars for one million tokens of each kind. */
export type Prices = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** For prefixes that are kept for an hour. */
  readonly cacheWrite1h: number;
};

/** Prices of a model, where they depend on the length of the prompt. */
export type ModelPrices = {
  readonly source: "config" | "catalogue";
  /** Some vendors charge more for long prompts. */
  at(promptTokens: number): Prices;
};

type Ttl = "5m" | "1h";

/** Config `models.prices.<model>`, per million tokens. */
export type PriceOverride = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

/** The model whose prices are wanted. */
export type PriceQuestion = {
  readonly model: string;
  /** `anthropic`, `openai`, ...; without it the catalogue is searched by the model's name alone. */
  readonly provider?: string;
  readonly overrides?: Readonly<Record<string, PriceOverride>>;
};

/** Undefined for an unknown model: a local one, or one newer than the catalogue. */
export async function findPrices({
  model,
  provider,
  overrides = {},
}: PriceQuestion): Promise<ModelPrices | undefined> {
  const override = Object.hasOwn(overrides, model) ? overrides[model] : undefined;
  if (override) {
    const prices = withDefaults(override);
    return { source: "config", at: () => prices };
  }
  const price: CataloguePrice | undefined = (await findInCatalogue(model, provider))?.model_price;
  if (!price) return undefined;
  return { source: "catalogue", at: (promptTokens) => pricesOf(price, promptTokens) };
}

/** In US dollars. */
export function costOf(usage: Usage, prices: Prices, ttl: Ttl = "5m"): number {
  const write = writePrice(prices, ttl);
  const millionths =
    usage.input * prices.input +
    usage.cacheRead * prices.cacheRead +
    usage.cacheWrite * write +
    usage.output * prices.output;
  return millionths / 1e6;
}

function writePrice(prices: Prices, ttl: Ttl): number {
  return ttl === "1h" ? prices.cacheWrite1h : prices.cacheWrite;
}

type CataloguePrice = Readonly<Record<string, unknown>>;

/** The model in the catalogue that comes with the package. Null when it is not there. */
export async function findInCatalogue(model: string, provider = "") {
  const { calcPrice } = await import("@pydantic/genai-prices"); // 800 kB, so loaded only when needed
  const usage = { input_tokens: 1 };
  // A gateway sells other vendors' models: its own prices first, then the vendor's.
  const named = provider === "" ? null : calcPrice(usage, model, { providerId: provider });
  return named ?? calcPrice(usage, model) ?? calcPrice(usage, model.slice(model.lastIndexOf("/") + 1));
}

function pricesOf(price: CataloguePrice, promptTokens: number): Prices {
  const at = (key: string): number | undefined => priceAt(price[key], promptTokens);
  return withDefaults({
    input: at("input_mtok") ?? 0,
    output: at("output_mtok") ?? 0,
    cacheRead: at("cache_read_mtok"),
    cacheWrite: at("cache_write_mtok"),
    cacheWrite1h: at("cache_write_1h_mtok"),
  });
}

/** Without a price for cached tokens, they cost as much as others. */
function withDefaults(given: Partial<Prices> & Pick<Prices, "input" | "output">): Prices {
  const cacheWrite = given.cacheWrite ?? given.input;
  return {
    input: given.input,
    output: given.output,
    cacheRead: given.cacheRead ?? given.input,
    cacheWrite,
    cacheWrite1h: given.cacheWrite1h ?? cacheWrite,
  };
}

/** `value` is a number, or a base price with steps by the size of the prompt. */
function priceAt(value: unknown, promptTokens: number): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "object" || value === null || !("base" in value)) return undefined;
  const { base, tiers } = value as { base: unknown; tiers?: unknown };
  let price = typeof base === "number" ? base : undefined;
  for (const tier of Array.isArray(tiers) ? (tiers as { start?: unknown; price?: unknown }[]) : [])
    if (typeof tier.start === "number" && typeof tier.price === "number" && promptTokens > tier.start)
      price = tier.price;
  return price;
}

// Savings of prompt caching, and of a memory snapshot that stays frozen.

/** What prompt caching saved. */
export type CacheSavings = {
  /** The part of all prompt tokens that came from the cache: 0 to 1. */
  readonly hitRate: number;
  /** In US dollars, compared with the same calls without a cache. Negative when writing cost more than reading saved. */
  readonly saved: number;
};

/** Tokens read from the cache are cheaper than others, tokens written to it are dearer; `saved` is the sum over all calls. */
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
 * The cost of memory writes, in US dollars, if each had changed the system prompt. The prompt is the beginning of the
 * cached prefix, so after a change nothing is found in the cache: the next call would have written what it has read.
 * `callsAfterWrites` are the indexes of the calls that followed a write; two writes before the same call cost once.
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
    if (!call) continue; // the session ended after the write
    const price = prices.at(promptTokens(call));
    millionths += call.cacheRead * (writePrice(price, ttl) - price.cacheRead);
  }
  return millionths / 1e6;
}

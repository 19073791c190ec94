// Usage and cost of model calls: token counts in buckets that do not overlap, prices, cost, and what prompt caching saved.
import { asRecord } from "./json-fields.ts";

/** The protocol a usage was reported in. */
export type Wire = "anthropic" | "chat" | "responses";

/** Tokens. `input` counts those neither read from a cache nor written to one; `reasoning` is a part of `output`. */
export type Usage = {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
};

export const NO_USAGE: Usage = Object.freeze({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
});

/** From a vendor's usage object. Missing fields and non-numbers count as 0. Without `wire` the shape is recognised by its keys. */
export function normalizeUsage(raw: unknown, wire: Wire = wireOf(raw)): Usage {
  const usage = asRecord(raw);
  if (wire === "anthropic")
    return {
      input: count(usage.input_tokens),
      cacheRead: count(usage.cache_read_input_tokens),
      cacheWrite: count(usage.cache_creation_input_tokens),
      output: count(usage.output_tokens),
      reasoning: count(asRecord(usage.output_tokens_details).thinking_tokens),
    };
  // The other wires count cached tokens as part of the prompt.
  const isChat = wire === "chat";
  const details = asRecord(isChat ? usage.prompt_tokens_details : usage.input_tokens_details);
  const outputDetails = asRecord(isChat ? usage.completion_tokens_details : usage.output_tokens_details);
  const cacheRead = first(details.cached_tokens, usage.cache_read_input_tokens);
  const cacheWrite = first(
    ...[details.cache_write_tokens, details.cache_creation_tokens, usage.cache_creation_input_tokens],
  );
  const prompt = count(isChat ? usage.prompt_tokens : usage.input_tokens);
  return {
    input: Math.max(0, prompt - cacheRead - cacheWrite), // more tokens may be cached than sent
    cacheRead,
    cacheWrite,
    output: count(isChat ? usage.completion_tokens : usage.output_tokens),
    reasoning: count(outputDetails.reasoning_tokens),
  };
}

/** All tokens of a prompt: new, read from the cache, written to it. */
export function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return input + cacheRead + cacheWrite;
}

/** All tokens of a call. */
export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output;
}

/** Adds two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

function wireOf(raw: unknown): Wire {
  const usage = asRecord(raw);
  if ("prompt_tokens" in usage || "completion_tokens" in usage) return "chat";
  return "input_tokens_details" in usage || "total_tokens" in usage ? "responses" : "anthropic";
}

function first(...values: readonly unknown[]): number {
  return values.map(count).find((value) => value > 0) ?? 0;
}

function count(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number > 0 ? Math.trunc(number) : 0;
}

// Prices, in US dollars per million tokens: from config when it names the model, else from the catalogue that comes with the
// package. Nothing is fetched.

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

// ----
// What a model call used, in buckets that do not overlap, whatever shape the vendor reports it in.

export type Wire = "anthropic" | "chat" | "responses";

/** Tokens. `input` is what was neither read from a cache nor written to one; `reasoning` is a part of `output`. */
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

/** From a vendor's usage object. What is missing or no number counts as 0. Without `wire` the shape is told from its keys. */
export function normalizeUsage(raw: unknown, wire: Wire = wireOf(raw)): Usage {
  const usage = record(raw);
  switch (wire) {
    case "anthropic":
      return {
        input: count(usage.input_tokens),
        cacheRead: count(usage.cache_read_input_tokens),
        cacheWrite: count(usage.cache_creation_input_tokens),
        output: count(usage.output_tokens),
        reasoning: count(record(usage.output_tokens_details).thinking_tokens),
      };
    case "responses": {
      const details = record(usage.input_tokens_details);
      const cached = {
        read: count(details.cached_tokens),
        write: first(details.cache_write_tokens, details.cache_creation_tokens),
      };
      const reasoning = count(record(usage.output_tokens_details).reasoning_tokens);
      return disjoint(count(usage.input_tokens), cached, count(usage.output_tokens), reasoning);
    }
    case "chat": {
      const details = record(usage.prompt_tokens_details);
      const cached = {
        read: first(details.cached_tokens, usage.cache_read_input_tokens),
        write: first(details.cache_write_tokens, usage.cache_creation_input_tokens),
      };
      const reasoning = count(record(usage.completion_tokens_details).reasoning_tokens);
      return disjoint(count(usage.prompt_tokens), cached, count(usage.completion_tokens), reasoning);
    }
    default:
      return wire satisfies never;
  }
}

export function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return input + cacheRead + cacheWrite;
}

export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output;
}

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
  const usage = record(raw);
  if ("prompt_tokens" in usage || "completion_tokens" in usage) return "chat";
  return "input_tokens_details" in usage || "total_tokens" in usage ? "responses" : "anthropic";
}

/** Wires that count cached tokens as part of the prompt. A vendor that reports more of them than prompt gets 0, never less. */
function disjoint(
  prompt: number,
  cached: { readonly read: number; readonly write: number },
  output: number,
  reasoning: number,
): Usage {
  const input = Math.max(0, prompt - cached.read - cached.write);
  return { input, cacheRead: cached.read, cacheWrite: cached.write, output, reasoning };
}

function first(...values: readonly unknown[]): number {
  return values.map(count).find((value) => value > 0) ?? 0;
}

function count(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number > 0 ? Math.trunc(number) : 0;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

// ----
// What tokens cost, in US dollars per million. From config where it names the model, else from a catalogue that comes with
// the package; nothing is fetched.

export type Prices = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** For prefixes kept an hour. */
  readonly cacheWrite1h: number;
};

export type ModelPrices = {
  readonly source: "config" | "catalogue";
  /** Some vendors charge more for long prompts. */
  at(promptTokens: number): Prices;
};

/** Config `models.prices.<model>`, per million tokens. */
export type PriceOverride = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

export type PriceQuestion = {
  readonly model: string;
  /** `anthropic`, `openai`, ...; without it the model's name has to be enough. */
  readonly provider?: string;
  readonly overrides?: Readonly<Record<string, PriceOverride>>;
};

/** Undefined for a model nobody knows: a local one, or one that is too new. */
export async function findPrices(question: PriceQuestion): Promise<ModelPrices | undefined> {
  const { model, overrides = {} } = question;
  const override = Object.hasOwn(overrides, model) ? overrides[model] : undefined;
  if (override) {
    const prices = withDefaults(override);
    return { source: "config", at: () => prices };
  }
  const price = await lookUp(question);
  if (!price) return undefined;
  return { source: "catalogue", at: (promptTokens) => pricesOf(price, promptTokens) };
}

/** In US dollars. */
export function costOf(usage: Usage, prices: Prices, ttl: "5m" | "1h" = "5m"): number {
  const write = writePrice(prices, ttl);
  const millionths =
    usage.input * prices.input +
    usage.cacheRead * prices.cacheRead +
    usage.cacheWrite * write +
    usage.output * prices.output;
  return millionths / 1e6;
}

function writePrice(prices: Prices, ttl: "5m" | "1h"): number {
  return ttl === "1h" ? prices.cacheWrite1h : prices.cacheWrite;
}

type CataloguePrice = Readonly<Record<string, unknown>>;

async function lookUp({ model, provider }: PriceQuestion): Promise<CataloguePrice | undefined> {
  const { calcPrice } = await import("@pydantic/genai-prices"); // 800 kB, so only for whoever asks
  const usage = { input_tokens: 1 };
  // A gateway sells other vendors' models: its own price list first, then whoever makes the model.
  const named = provider ? calcPrice(usage, model, { providerId: provider }) : null;
  const found = named ?? calcPrice(usage, model) ?? calcPrice(usage, model.slice(model.lastIndexOf("/") + 1));
  return found?.model_price;
}

function pricesOf(price: CataloguePrice, promptTokens: number): Prices {
  const at = (key: string): number | undefined => priceAt(price[key], promptTokens);
  const input = at("input_mtok") ?? 0;
  const known: { -readonly [K in keyof Prices]?: number } = { input, output: at("output_mtok") ?? 0 };
  const [read, write, write1h] = [at("cache_read_mtok"), at("cache_write_mtok"), at("cache_write_1h_mtok")];
  if (read !== undefined) known.cacheRead = read;
  if (write !== undefined) known.cacheWrite = write;
  if (write1h !== undefined) known.cacheWrite1h = write1h;
  return withDefaults({ ...known, input, output: known.output ?? 0 });
}

/** Who names no price for cached tokens charges them like others. */
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

/** A plain number, or one with steps by the size of the prompt. */
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

// ----
// What prompt caching was worth, and what a frozen memory snapshot adds to it.

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

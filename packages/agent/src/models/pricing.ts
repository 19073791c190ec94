// What tokens cost, in US dollars per million. From config where it names the model, else from a catalogue that comes with
// the package; nothing is fetched.
import type { Usage } from "./usage.ts";

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

export function writePrice(prices: Prices, ttl: "5m" | "1h"): number {
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

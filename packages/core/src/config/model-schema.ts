// The sections about language models: `model`, `models.prices` and `custom_providers`.
import * as z from "zod";
import { countOrNothing } from "./lenient-values.ts";
import { boolean, SECTION, secret, text } from "./schema-parts.ts";

/** The model conversations use. */
export type ModelConfig = {
  /** Its name; "" when none is set. */
  readonly default: string;
  readonly provider: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** `anthropic_messages`, `chat_completions`, ...; "" leaves it to the provider. */
  readonly apiMode: string;
  /** Tokens. */
  readonly contextLength?: number;
  /** Whether a server beyond this machine may be asked how much its model takes. */
  readonly probeRemote: boolean;
};

/** US dollars per million tokens. */
export type ConfiguredPrice = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
};

/** An endpoint of the user's own, as other programs write it down: whatever cannot be used is left out. */
export type CustomProvider = {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly apiMode: string;
  readonly models: Readonly<Record<string, { readonly contextLength?: number }>>;
};

const MODEL = "must be a model's name, or a section with keys of its own";
const PRICE = "must be a number of at least 0, in US dollars per million tokens";
const PROVIDERS = "must be a list of providers";

export const modelSection = z.preprocess(
  (value) => (typeof value === "string" ? { default: value } : value), // the short form
  z
    .looseObject(
      {
        default: text(""),
        provider: text(""),
        base_url: text(""),
        api_key: secret,
        api_mode: text(""),
        context_length: z.unknown().optional(),
        probe_remote: boolean(false),
      },
      MODEL,
    )
    .transform((section): ModelConfig => {
      const contextLength = countOrNothing(section.context_length);
      return {
        default: section.default.trim(),
        provider: section.provider.trim(),
        baseUrl: section.base_url.trim(),
        apiKey: section.api_key,
        apiMode: section.api_mode.trim(),
        ...(contextLength === undefined ? {} : { contextLength }),
        probeRemote: section.probe_remote,
      };
    }),
);

const amount = z.number(PRICE).min(0, PRICE);

const price = z
  .looseObject(
    { input: amount, output: amount, cache_read: amount.nullish(), cache_write: amount.nullish() },
    SECTION,
  )
  .transform(
    ({ input, output, cache_read, cache_write }): ConfiguredPrice => ({
      input,
      output,
      ...(cache_read == null ? {} : { cacheRead: cache_read }),
      ...(cache_write == null ? {} : { cacheWrite: cache_write }),
    }),
  );

export const modelsSection = z.preprocess(
  (value) => (isRecord(value) ? value : {}), // another program's key of that name is none of our business
  z
    .looseObject({ prices: z.record(z.string(), price, SECTION).nullish() })
    .transform((section) => ({ prices: section.prices ?? {} })),
);

export const customProvidersSection = z
  .array(z.unknown(), PROVIDERS)
  .nullish()
  .transform((list): readonly CustomProvider[] => (list ?? []).filter(isRecord).map(toProvider));

function toProvider(entry: Readonly<Record<string, unknown>>): CustomProvider {
  const models = isRecord(entry.models) ? entry.models : {};
  return {
    name: asText(entry.name),
    baseUrl: asText(entry.base_url),
    apiKey: asText(entry.api_key),
    apiMode: asText(entry.api_mode),
    models: Object.fromEntries(
      Object.entries(models).map(([model, about]) => {
        const contextLength = isRecord(about) ? countOrNothing(about.context_length) : undefined;
        return [model, contextLength === undefined ? {} : { contextLength }];
      }),
    ),
  };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

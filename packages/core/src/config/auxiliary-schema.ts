// Models for small pieces of work beside the conversation: recaps of past sessions, summaries of compacted turns, titles.
import * as z from "zod";
import { countOrNothing } from "./lenient-values.ts";
import { AT_LEAST_1, SECTION, seconds, secret, text, wholeNumber } from "./schema-parts.ts";

/** Which model does the work, and how long it may take. */
export type AuxiliaryModel = {
  readonly provider: string;
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Seconds, for one call. */
  readonly timeout: number;
  readonly extraBody: Readonly<Record<string, unknown>>;
};

export type AuxiliaryModelConfig = AuxiliaryModel & { readonly maxConcurrency: number };

export type CompressionModelConfig = AuxiliaryModel & {
  readonly apiMode: string;
  /** Of the summary model, in tokens. */
  readonly contextLength?: number;
};

export type AuxiliaryConfig = {
  readonly sessionSearch: AuxiliaryModelConfig;
  readonly compression: CompressionModelConfig;
  readonly titleGeneration: AuxiliaryModel;
  readonly curator: AuxiliaryModel;
};

// More calls at once are what a model's server takes for abuse.
const MAX_CONCURRENCY = 5;

const sessionSearchModel = z
  .looseObject(
    {
      ...modelKeys(30),
      max_concurrency: wholeNumber(AT_LEAST_1, 3),
    },
    SECTION,
  )
  .transform(
    (section): AuxiliaryModelConfig => ({
      ...toModel(section),
      maxConcurrency: Math.min(section.max_concurrency, MAX_CONCURRENCY),
    }),
  );

const compressionModel = z
  .looseObject({ ...modelKeys(120), api_mode: text(""), context_length: z.unknown().optional() }, SECTION)
  .transform((section): CompressionModelConfig => {
    const contextLength = countOrNothing(section.context_length);
    return {
      ...toModel(section),
      apiMode: section.api_mode,
      ...(contextLength === undefined ? {} : { contextLength }),
    };
  });

const curatorModel = z.looseObject(modelKeys(120), SECTION).transform(toModel);
const titleModel = z.looseObject(modelKeys(30), SECTION).transform(toModel);

export const auxiliarySection = z
  .looseObject(
    {
      session_search: z.preprocess((value) => value ?? {}, sessionSearchModel),
      compression: z.preprocess((value) => value ?? {}, compressionModel),
      title_generation: z.preprocess((value) => value ?? {}, titleModel),
      curator: z.preprocess((value) => value ?? {}, curatorModel),
    },
    SECTION,
  )
  .transform(
    (section): AuxiliaryConfig => ({
      sessionSearch: section.session_search,
      compression: section.compression,
      titleGeneration: section.title_generation,
      curator: section.curator,
    }),
  );

/** Under their old names, `compression.summary_*`, the summary model's settings still count where the new ones say nothing. */
export function withOldNames(auxiliary: AuxiliaryConfig, compression: unknown): AuxiliaryConfig {
  const old = typeof compression === "object" && compression !== null ? compression : {};
  const named = auxiliary.compression;
  const provider = isUnset(named.provider) ? oldText(old, "summary_provider") : undefined;
  const model = named.model === "" ? oldText(old, "summary_model") : undefined;
  const baseUrl = named.baseUrl === "" ? oldText(old, "summary_base_url") : undefined;
  return {
    ...auxiliary,
    compression: {
      ...named,
      ...(provider === undefined || isUnset(provider) ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
    },
  };
}

function modelKeys(timeoutSeconds: number) {
  return {
    provider: text("auto"),
    model: text(""),
    base_url: text(""),
    api_key: secret,
    timeout: seconds(timeoutSeconds),
    extra_body: z.record(z.string(), z.unknown(), SECTION).nullish(),
  };
}

type ModelKeys = {
  readonly provider: string;
  readonly model: string;
  readonly base_url: string;
  readonly api_key: string;
  readonly timeout: number;
  readonly extra_body?: Record<string, unknown> | null | undefined;
};

function toModel(section: ModelKeys): AuxiliaryModel {
  return {
    provider: section.provider,
    model: section.model,
    baseUrl: section.base_url,
    apiKey: section.api_key,
    timeout: section.timeout,
    extraBody: section.extra_body ?? {},
  };
}

function isUnset(provider: string): boolean {
  return ["", "auto"].includes(provider.trim().toLowerCase());
}

function oldText(section: object, key: string): string | undefined {
  const value: unknown = Object.hasOwn(section, key) ? (section as Record<string, unknown>)[key] : undefined;
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

// The sections about keeping a conversation within the model's window: `context`, `compression` and `prompt_caching`.
import * as z from "zod";
import { CACHE_TTLS, type CacheTtl, countOrNothing } from "./lenient-values.ts";
import { AT_LEAST_0, AT_LEAST_1, boolean, SECTION, text, wholeNumber } from "./schema-parts.ts";

export type ContextConfig = { readonly engine: string; readonly lcm: LosslessConfig };

/** Settings of the engine `lcm`, in tokens where not said otherwise. */
export type LosslessConfig = {
  /** Share of the threshold; absent: `compression.target_ratio`. */
  readonly freshTailRatio?: number;
  readonly leafTokens: number;
  readonly leafSummaryTokens: number;
  /** Neighbouring summaries that become one of the next depth. */
  readonly fanout: number;
  readonly maxDepth: number;
};

export type CompressionConfig = {
  /** False: nothing is compacted unless somebody asks for it. */
  readonly enabled: boolean;
  /** Share of the window. */
  readonly threshold: number;
  /** Share of the threshold that the fresh tail may take. */
  readonly targetRatio: number;
  readonly protectFirstN: number;
  readonly protectLastN: number;
  readonly abortOnSummaryFailure: boolean;
  readonly hygieneHardMessageLimit: number;
  /** Share of the window. */
  readonly hygieneThreshold: number;
};

export type PromptCachingConfig = { readonly cacheTtl: CacheTtl };

const SHARE = "must be a number above 0 and at most 1, such as 0.5";
const RATIO = "must be a number, such as 0.2";
const COUNT = "must be a whole number";
const LEAST_RATIO = 0.1;
const MOST_RATIO = 0.8;
const DEFAULT_MESSAGE_LIMIT = 400;

function share(standard: number) {
  return z
    .number(SHARE)
    .gt(0, SHARE)
    .max(1, SHARE)
    .nullish()
    .transform((value) => value ?? standard);
}

/** A number outside of the range counts as its nearer end. */
const ratio = z
  .number(RATIO)
  .nullish()
  .transform((value) => (value == null ? undefined : Math.min(MOST_RATIO, Math.max(LEAST_RATIO, value))));

/** Below 0 counts as 0. */
const headCount = z
  .int(COUNT)
  .nullish()
  .transform((value) => Math.max(0, value ?? 3));

const lcmSection = z
  .looseObject(
    {
      fresh_tail_ratio: ratio.optional(),
      leaf_tokens: wholeNumber({ min: 500, max: Number.MAX_SAFE_INTEGER }, 6_000),
      leaf_summary_tokens: wholeNumber({ min: 50, max: Number.MAX_SAFE_INTEGER }, 600),
      fanout: wholeNumber({ min: 2, max: Number.MAX_SAFE_INTEGER }, 6),
      max_depth: wholeNumber(AT_LEAST_1, 8),
    },
    SECTION,
  )
  .transform(
    (section): LosslessConfig => ({
      ...(section.fresh_tail_ratio === undefined ? {} : { freshTailRatio: section.fresh_tail_ratio }),
      leafTokens: section.leaf_tokens,
      leafSummaryTokens: section.leaf_summary_tokens,
      fanout: section.fanout,
      maxDepth: section.max_depth,
    }),
  );

const DEFAULT_ENGINE = "compressor";

export const contextSection = z
  .looseObject({ engine: text(""), lcm: z.preprocess((value) => value ?? {}, lcmSection) }, SECTION)
  .transform(
    (section): ContextConfig => ({ engine: section.engine.trim() || DEFAULT_ENGINE, lcm: section.lcm }),
  );

export const compressionSection = z
  .looseObject(
    {
      enabled: z.preprocess(fromDigit, boolean(true)),
      threshold: share(0.5),
      target_ratio: ratio.optional(),
      protect_first_n: headCount,
      protect_last_n: wholeNumber(AT_LEAST_0, 20),
      abort_on_summary_failure: boolean(false),
      hygiene_hard_message_limit: z.unknown().optional(),
      hygiene_threshold: share(0.85),
    },
    SECTION,
  )
  .transform(
    (section): CompressionConfig => ({
      enabled: section.enabled,
      threshold: section.threshold,
      targetRatio: section.target_ratio ?? 0.2,
      protectFirstN: section.protect_first_n,
      protectLastN: section.protect_last_n,
      abortOnSummaryFailure: section.abort_on_summary_failure,
      hygieneHardMessageLimit: countOrNothing(section.hygiene_hard_message_limit) ?? DEFAULT_MESSAGE_LIMIT,
      hygieneThreshold: section.hygiene_threshold,
    }),
  );

export const promptCachingSection = z.looseObject({ cache_ttl: z.unknown().optional() }, SECTION).transform(
  (section): PromptCachingConfig => ({
    cacheTtl: CACHE_TTLS.find((ttl) => ttl === section.cache_ttl) ?? "5m",
  }),
);

/** The reference takes 1 for true here. */
function fromDigit(value: unknown): unknown {
  if (value === 1 || value === "1") return true;
  return value === 0 || value === "0" ? false : value;
}

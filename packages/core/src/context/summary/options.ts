// What every engine that summarises is given: which models, how long they may take, what they may not see.
import type { Clock, TextModel } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { SummaryModels } from "./models.ts";
import type { Redact } from "./serialise.ts";

export type SummaryOptions = {
  /** Undefined: no model is configured, and everything is summarised without one. */
  readonly summarizer: TextModel | undefined;
  /** Asked when `summarizer` fails; usually the main model. */
  readonly fallbackSummarizer?: TextModel | undefined;
  /** Window of `summarizer`; the main window when it is not known. */
  readonly summaryContextLength?: number | undefined;
  /** Tokens the main model's server counts for each token we estimate; asked at every compaction. Absent: 1. */
  readonly tokenFactor?: (() => number) | undefined;
  /** The same of `summarizer`; absent: that of the main model. */
  readonly summaryTokenFactor?: (() => number) | undefined;
  /** For one call. */
  readonly summaryTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly monotonicMs?: (() => number) | undefined;
  /** What takes secrets out of everything that is summarised; the identity where that is switched off. */
  readonly redact?: Redact | undefined;
};

const SUMMARY_TIMEOUT_MS = 120_000;

export function summaryModels(options: SummaryOptions): SummaryModels {
  return new SummaryModels({
    summarizer: options.summarizer,
    fallbackSummarizer: options.fallbackSummarizer,
    timeoutMs: options.summaryTimeoutMs ?? SUMMARY_TIMEOUT_MS,
    redact: options.redact ?? redactSecrets,
    monotonicMs: options.monotonicMs ?? (() => performance.now()),
  });
}

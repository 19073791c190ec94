// How often memory and skills were looked after in this home, and how often that failed. `hermes doctor` tells.
import { preview } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";

/** Of the session store. */
export const REVIEW_COUNTS_KEY = "hermes_memory_review";

const DETAIL_CHARS = 220;

/** Snake case: it is stored so. */
export type ReviewCounts = {
  readonly runs: number;
  readonly failures: number;
  readonly last_at: string | null;
  /** The same as `last_at` when the newest one failed. */
  readonly last_failure_at: string | null;
  readonly last_error: string | null;
};

/** What is no count reads as none. */
export function readReviewCounts(text: string | null): ReviewCounts {
  const value = objectOf(text);
  return {
    runs: numberOf(value.runs),
    failures: numberOf(value.failures),
    last_at: textOf(value.last_at),
    last_failure_at: textOf(value.last_failure_at),
    last_error: textOf(value.last_error),
  };
}

/** One more; `error`: why it failed, if it did. */
export function withReview(counts: ReviewCounts, at: Date, error: string | undefined): ReviewCounts {
  const run = { ...counts, runs: counts.runs + 1, last_at: at.toISOString() };
  if (error === undefined) return run;
  return {
    ...run,
    failures: counts.failures + 1,
    last_failure_at: run.last_at,
    last_error: reviewDetail(error),
  };
}

/** Why a review failed, as it may be shown and kept. */
export function reviewDetail(error: string): string {
  return preview(redactSecrets(error).replace(/\s+/g, " "), DETAIL_CHARS);
}

function objectOf(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

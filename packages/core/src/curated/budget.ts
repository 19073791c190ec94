// Character budget of one curated file, in code points: the unit every program sharing these files agrees on.
import { codePointLength, groupThousands, percentOf } from "../lib/index.ts";
import { formatEntries } from "./format.ts";

export type Budget = { readonly used: number; readonly limit: number };

const WARN_FROM_PERCENT = 80;

export function measure(entries: readonly string[], limit: number): Budget {
  return { used: codePointLength(formatEntries(entries)), limit };
}

export function isOver(budget: Budget): boolean {
  return budget.used > budget.limit;
}

/** `41/2,200` */
export function formatFraction({ used, limit }: Budget): string {
  return `${groupThousands(used)}/${groupThousands(limit)}`;
}

/** `1% — 41/2,200 chars` */
export function formatUsage(budget: Budget): string {
  return `${percentOf(budget.used, budget.limit)}% — ${formatFraction(budget)} chars`;
}

export function usageWarning(budget: Budget): string | undefined {
  const percent = percentOf(budget.used, budget.limit);
  if (percent < WARN_FROM_PERCENT) return undefined;
  return `${percent}% of the space is used (${formatFraction(budget)} chars). Merge related entries or remove stale ones soon.`;
}

// What can be said about one target without a model. Pure: entries and what is known about them in, proposals and findings out.
import { codePointLength } from "@hermes-memory/core/lib";
import type { Finding, MemoryProposal, TargetView } from "../types.ts";
import { findRedundant } from "./duplicates.ts";
import { findOverlaps } from "./overlaps.ts";
import { findStale } from "./stale.ts";

export type MemoryReview = {
  readonly proposals: readonly MemoryProposal[];
  readonly findings: readonly Finding[];
};

/** From here on an entry is too large a part of its file. */
const LARGE_SHARE = 0.4;
const FULL_SHARE = 0.8;

export function reviewTarget(view: TargetView, now: Date): MemoryReview {
  const { target, entries } = view;
  const touchable = new Set(entries.filter((entry) => !view.isPinned(entry) && !view.isSpared(entry)));
  const redundant = findRedundant(entries, (entry) => !touchable.has(entry));
  const gone = new Set(redundant.map(({ entry }) => entry));
  const staying = entries.filter((entry) => !gone.has(entry));
  const stale = staying.flatMap((entry) => {
    const sign = findStale(entry, now, view.knownSince(entry));
    return sign ? [{ entry, ...sign }] : [];
  });
  const archivable = stale.filter(({ entry, isWhole }) => isWhole && touchable.has(entry));
  const proposals: MemoryProposal[] = [
    ...(view.copies.length === 0 ? [] : [identicalCopies(view)]),
    ...redundant.map(({ kind, entry, keeper }) => ({
      layer: "memory" as const,
      kind,
      by: "rules" as const,
      target,
      curation: { remove: [entry], keep: [keeper] },
      reason: REASONS[kind],
    })),
    ...archivable.map(({ entry, sign, day }) => ({
      layer: "memory" as const,
      kind: "stale" as const,
      by: "rules" as const,
      target,
      curation: { remove: [entry], isArchived: true },
      reason: `speaks of '${sign}', which was over on ${day}`,
    })),
  ];
  const archived = new Set(archivable.map(({ entry }) => entry));
  const overlaps = findOverlaps(staying.filter((entry) => !archived.has(entry)));
  const findings: Finding[] = [
    ...overlaps.map((group) => finding("overlap", target, group, "are about the same thing")),
    ...stale
      .filter(({ entry }) => !archived.has(entry))
      .map(({ entry, sign, day }) =>
        finding("stale", target, [entry], `a part of it speaks of '${sign}', which was over on ${day}`),
      ),
    ...sizes(view),
  ];
  return { proposals, findings };
}

const REASONS = {
  duplicate: "differs from another entry in spacing, letter case or punctuation alone",
  contained: "is a part of another entry, sentence for sentence",
  "near-duplicate": "says the same as another entry, in nearly the same words",
} as const;

/** One step for all of them: whenever the file is written, it is written without any. */
function identicalCopies({ target, copies }: TargetView): MemoryProposal {
  const reason = copies.length === 1 ? "is in the file more than once" : "are in the file more than once";
  const curation = { remove: [], keep: copies };
  return { layer: "memory", kind: "identical", by: "rules", target, curation, reason };
}

function sizes({ target, entries, used, limit }: TargetView): Finding[] {
  if (limit <= 0) return [];
  const large = entries.filter((entry) => codePointLength(entry) > limit * LARGE_SHARE);
  const percent = (part: number): string => `${Math.trunc((part / limit) * 100)} %`;
  return [
    ...large.map((entry) =>
      finding("oversize", target, [entry], `takes ${percent(codePointLength(entry))} of the limit alone`),
    ),
    ...(used > limit * FULL_SHARE
      ? [finding("nearly-full", target, [], `${percent(used)} of the limit is in use`)]
      : []),
  ];
}

function finding(
  kind: Finding["kind"],
  target: TargetView["target"],
  entries: readonly string[],
  reason: string,
): Finding {
  return { kind, target, entries, reason, by: "rules" };
}

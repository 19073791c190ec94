// The fixed rules for one target: exact duplicates, dated facts that are over, and sizes. Whatever takes a reader, such as two
// wordings of one fact, is left to the model. Pure.
import { codePointLength } from "@hermes-memory/core/internal/lib";
import type { Finding, MemoryProposal, TargetView } from "../proposals.ts";

type MemoryReview = {
  readonly proposals: readonly MemoryProposal[];
  readonly findings: readonly Finding[];
};

/** An entry above this part of its file's limit is reported as too large. */
const LARGE_SHARE = 0.4;
const FULL_SHARE = 0.8;

export function reviewTarget(view: TargetView, now: Date): MemoryReview {
  const { target, entries } = view;
  const isKept = (entry: string): boolean => view.isPinned(entry) || view.isSpared(entry);
  const duplicates = findDuplicates(entries, isKept);
  const gone = new Set(duplicates.map(({ entry }) => entry));
  const stale = entries
    .filter((entry) => !gone.has(entry))
    .flatMap((entry) => {
      const found = findStale(entry, now);
      return found ? [{ entry, isArchived: found.isWhole && !isKept(entry), ...found }] : [];
    });
  const common = { layer: "memory", by: "rules", target } as const;
  const over = (sign: string, day: string): string => `speaks of '${sign}', which was over on ${day}`;
  const proposals: MemoryProposal[] = [
    ...(view.copies.length === 0 ? [] : [{ ...common, ...identicalCopies(view) }]),
    ...duplicates.map(({ entry, keeper }) => ({
      ...common,
      kind: "duplicate" as const,
      curation: { remove: [entry], keep: [keeper] },
      reason: "differs from another entry in spacing, capitals or a full stop alone",
    })),
    ...stale
      .filter(({ isArchived }) => isArchived)
      .map(({ entry, sign, day }) => ({
        ...common,
        kind: "stale" as const,
        curation: { remove: [entry], isArchived: true },
        reason: over(sign, day),
      })),
  ];
  const findings: Finding[] = [
    ...stale
      .filter(({ isArchived }) => !isArchived)
      .map(({ entry, sign, day }) => finding("stale", target, [entry], over(sign, day))),
    ...sizes(view),
  ];
  return { proposals, findings };
}

/** One proposal for all copies: every write of the file removes them all. */
function identicalCopies({ copies }: TargetView): Pick<MemoryProposal, "kind" | "curation" | "reason"> {
  const reason = `${copies.length === 1 ? "is" : "are"} in the file more than once`;
  return { kind: "identical", curation: { remove: [], keep: copies }, reason };
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

/** Of equal entries the first that `isKept` stays, else the first. */
export function findDuplicates(
  entries: readonly string[],
  isKept: (entry: string) => boolean,
): { readonly entry: string; readonly keeper: string }[] {
  const keepers = new Map<string, string>();
  for (const entry of [...entries.filter(isKept), ...entries])
    if (!keepers.has(folded(entry))) keepers.set(folded(entry), entry);
  return entries.flatMap((entry) => {
    const keeper = keepers.get(folded(entry));
    return keeper === undefined || keeper === entry || isKept(entry) ? [] : [{ entry, keeper }];
  });
}

/** A word like `Uses`, not `US`, `userId` or a part of `/srv/Data`, where capitals have a meaning. */
const CAPITALISED = /(?<=^|[\s("'])\p{Lu}\p{Ll}+(?=[.,;:!?)"']*(?:\s|$))/gmu;

/** Texts with the same result differ only in spacing, in the capitals of ordinary words, and in full stops at ends of lines. */
function folded(text: string): string {
  return text
    .normalize("NFC")
    .split("\n")
    .map((line) => line.replace(/\s+/gu, " ").trim())
    .filter((line) => line !== "")
    .map((line) => line.replace(/(?<=[\p{L}\p{N}])\.$/u, ""))
    .join("\n")
    .replace(CAPITALISED, (word) => word.toLowerCase());
}

const DAY_MS = 86_400_000;
/** A deadline that passed recently may still matter. */
const STALE_AFTER_DAYS = 30;

const DEADLINE =
  /\b(?:until|till|through|due(?: on| by)?|deadline(?: is| on|:)?|expires?(?: on)?|expiring(?: on)?|ends?(?: on)?)\s+\d{4}-\d\d-\d\d\b/iu;

/** A statement about the past was over when it was written, and is kept on purpose: "Lived in Rome until 2019-05-01". */
const TOLD =
  /\b(?:was|were|had|did|went|ran|held|kept|led|built|wrote|spent|left|met|taught|made|sold|came|began|(?<!\b(?:is|are|be) )\p{L}{3,}ed)\b/iu;

/** Dates that only say which things are meant ("Invoices until 2019-12-31 are in the archive"), and rules. */
const LASTING =
  /\b(?:are|is|lie|lies|live|lives)\s+(?:in|on|at|under|with)\b|\b(?:always|never|every|each|whenever)\b/iu;

type Staleness = {
  /** The words with the date, such as `until 2024-03-01`. */
  readonly sign: string;
  /** The latest date, `2024-03-01`. */
  readonly day: string;
  /** The entry says nothing else. */
  readonly isWhole: boolean;
};

/** English only. All dates of the entry must be past. */
export function findStale(text: string, now: Date): Staleness | undefined {
  const sign = DEADLINE.exec(text)?.[0];
  if (sign === undefined || TOLD.test(text) || LASTING.test(text)) return undefined;
  const day =
    text
      .match(/\d{4}-\d\d-\d\d/g)
      ?.toSorted()
      .at(-1) ?? "";
  if (!(now.getTime() - Date.parse(day) >= STALE_AFTER_DAYS * DAY_MS)) return undefined; // also for 2024-13-45
  return { sign, day, isWhole: !/[.!?;]\s|\n/u.test(text.trim()) };
}

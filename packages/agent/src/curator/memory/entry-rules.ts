// The fixed rules for one target: duplicates, overlaps, stale entries and sizes, found without a model. Pure.
import { codePointLength } from "@hermes-memory/core/internal/lib";
import type { Finding, MemoryProposal, TargetView } from "../proposals.ts";
import { hardWords, lostFact } from "./hard-facts.ts";
import {
  essence,
  foldedText,
  isTurning,
  type Sentence,
  STATING,
  sentencesOf,
  significant,
  topicWords,
} from "./words.ts";

type MemoryReview = {
  readonly proposals: readonly MemoryProposal[];
  readonly findings: readonly Finding[];
};

/** An entry above this part of its file's limit is reported as too large. */
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

/** One proposal for all copies: every write of the file removes them all. */
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

// Duplicates: entries that say nothing that another entry does not say. Decided by words alone, so that it can be checked:
// every word in which the two differ is on a list of words without meaning. Any other word, of any language, may be a "not",
// and then both entries stay.

type Redundancy = {
  readonly kind: "duplicate" | "contained" | "near-duplicate";
  readonly entry: string;
  /** The entry that says the same and stays. */
  readonly keeper: string;
};

export function findRedundant(
  entries: readonly string[],
  isPinned: (entry: string) => boolean,
): Redundancy[] {
  const read = [...new Set(entries)].map((text, index) => ({
    ...reading(text),
    index,
    isPinned: isPinned(text),
  }));
  // An entry can only be dropped in favour of one that stays: pinned entries first, then the longest, then the oldest.
  const order = read.toSorted(
    (a, b) => Number(b.isPinned) - Number(a.isPinned) || b.words.length - a.words.length || a.index - b.index,
  );
  const staying: Reading[] = [];
  const found: (Redundancy & { index: number })[] = [];
  for (const each of order) {
    const hit = each.isPinned ? undefined : firstHit(each, staying);
    if (hit) found.push({ ...hit, index: each.index });
    else staying.push(each);
  }
  return found
    .toSorted((a, b) => a.index - b.index)
    .map(({ kind, entry, keeper }) => ({ kind, entry, keeper }));
}

type Reading = {
  readonly text: string;
  readonly key: string;
  readonly essence: string;
  readonly sentences: readonly Sentence[];
  readonly words: readonly string[];
};

function reading(text: string): Reading {
  return {
    text,
    key: foldedText(text),
    essence: essence(text),
    sentences: sentencesOf(text),
    words: significant(text),
  };
}

function firstHit(one: Reading, staying: readonly Reading[]): Redundancy | undefined {
  for (const other of staying) {
    const kind = relation(one, other);
    // Dropping an entry in favour of another is a merge with the other's text, so no fact may get lost either.
    if (kind !== undefined && lostFact([one.text], other.text) === undefined)
      return { kind, entry: one.text, keeper: other.text };
  }
  return undefined;
}

function relation(one: Reading, other: Reading): Redundancy["kind"] | undefined {
  if (one.words.length === 0) return undefined; // nothing but punctuation: cannot be compared
  if (one.key === other.key) return "duplicate";
  if (one.essence === other.essence) return "near-duplicate";
  return isContained(one.sentences, other.sentences) ? "contained" : undefined;
}

/** Whether `whole` contains the sentences of `part` in one piece, and every other sentence states an independent fact. */
function isContained(part: readonly Sentence[], whole: readonly Sentence[]): boolean {
  if (part.length >= whole.length) return false;
  for (let start = 0; start + part.length <= whole.length; start += 1) {
    if (!part.every(({ key }, index) => key === whole[start + index]?.key)) continue;
    return [...whole.slice(0, start), ...whole.slice(start + part.length)].every(isStatement);
  }
  return false;
}

const CAUTION =
  /\b(?:wrong|ignore|outdated|obsolete|false|instead|but|except|unless|myth|mistake|deprecated)\b/;

/**
 * "Questo è falso. Use tabs." contains "Use tabs." and says the opposite. So a sentence counts as a statement only if each of its
 * words is known, or is a number, a path, or a name after the first word. A word in capitals may mean anything.
 */
function isStatement({ words, key }: Sentence): boolean {
  if (CAUTION.test(key) || key.split(" ").some(isTurning)) return false;
  if (!STATING.has(words[0]?.folded ?? "")) return false;
  const hard = new Set(
    hardWords(words.map(({ raw }) => raw).join(" "))
      .filter(({ word, what }) => what !== "condition" && !/^\p{Lu}{2,}$/u.test(word))
      .map(({ word }) => word),
  );
  return words.every(({ raw, folded }) => STATING.has(folded) || hard.has(raw));
}

// Overlaps: entries about the same thing that do not say the same. The user, or a model, could merge them.

/** The part of the shorter entry's topic words that both share; measured together with the threshold for duplicates. */
const SHARED_TOPIC = 0.6;
const LEAST_SHARED = 3;
/** Every pair is compared, so larger files are skipped. Ordinary files have dozens of entries. */
const MOST_COMPARED = 1000;

/** Groups of two and more, in the order of the entries. */
export function findOverlaps(entries: readonly string[]): string[][] {
  if (entries.length > MOST_COMPARED) return [];
  const read = entries.map((text) => ({ text, topic: topicWords(text), hard: hardSet(text) }));
  const leader = entries.map((_, index) => index);
  const rootOf = (index: number): number => {
    const up = leader[index] ?? index;
    return up === index ? index : rootOf(up);
  };
  for (const [i, one] of read.entries()) {
    for (const [j, other] of read.entries()) {
      if (j > i && isOverlap(one, other)) leader[rootOf(j)] = rootOf(i);
    }
  }
  const groups = new Map<number, string[]>();
  for (const [index, text] of entries.entries()) {
    const root = rootOf(index);
    groups.set(root, [...(groups.get(root) ?? []), text]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

type Topic = { readonly topic: ReadonlySet<string>; readonly hard: ReadonlySet<string> };

function isOverlap(one: Topic, other: Topic): boolean {
  const shared = [...one.topic].filter((word) => other.topic.has(word)).length;
  const least = Math.min(one.topic.size, other.topic.size);
  if (shared < LEAST_SHARED || shared / least < SHARED_TOPIC) return false;
  // The same sentence about two servers, two days or two people is not an overlap.
  return !(hasOwn(one.hard, other.hard) && hasOwn(other.hard, one.hard));
}

function hasOwn(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return [...one].some((word) => !other.has(word));
}

function hardSet(text: string): Set<string> {
  const words = hardWords(text).filter(({ what }) => what !== "condition");
  return new Set(words.map(({ word }) => word.toLowerCase()));
}

// Stale entries: a date long past after a word like "until", or "this week" in an entry that is months old

const DAY_MS = 86_400_000;
/** A deadline that passed recently may still matter. */
const STALE_AFTER_DAYS = 30;

type Staleness = {
  /** The words with the date, such as `until 2024-03-01`. */
  readonly sign: string;
  /** The last day that they mean, `2024-03-01`. */
  readonly day: string;
  /** The entry says nothing else. */
  readonly isWhole: boolean;
};

/** `knownSince`: when the entry was written, if known. */
export function findStale(text: string, now: Date, knownSince: Date | undefined): Staleness | undefined {
  const due = deadline(text);
  const found = due ?? relativeTime(text, knownSince);
  if (!found) return undefined;
  if (now.getTime() - found.day.getTime() < STALE_AFTER_DAYS * DAY_MS) return undefined;
  // "Today" in an old entry may be part of a rule ("ask what was done today"), so it is only reported.
  const isWhole = due !== undefined && sentencesOf(text).length === 1;
  return { sign: found.sign, day: found.day.toISOString().slice(0, 10), isWhole };
}

type Sign = { readonly sign: string; readonly day: Date };

const MARKER =
  "until|till|through|before|by|due(?: on| by)?|deadline(?: is| on|:)?|expires?(?: on| at)?|expiring(?: on)?|ends?(?: on)?|valid (?:until|through)|scheduled for|planned for|bis(?: zum)?|jusqu'au|hasta(?: el)?";
const MONTHS =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
const DATES = [
  String.raw`(?<y1>\d{4})[-/](?<m1>\d{1,2})[-/](?<d1>\d{1,2})`,
  String.raw`(?<d2>\d{1,2})\.\s?(?<m2>\d{1,2})\.\s?(?<y2>\d{4})`,
  String.raw`(?<n3>${MONTHS})\.? (?<d3>\d{1,2})(?:st|nd|rd|th)?,? (?<y3>\d{4})`,
  String.raw`(?<d4>\d{1,2})(?:st|nd|rd|th)? (?<n4>${MONTHS})\.?,? (?<y4>\d{4})`,
  String.raw`(?<n5>${MONTHS})\.?,? (?<y5>\d{4})`,
];
const DEADLINE = new RegExp(
  String.raw`\b(?:${MARKER})\s+(?:the\s+)?(?:end of\s+)?(?:${DATES.join("|")})`,
  "giu",
);

/** A statement about the past was over when it was written, and is kept on purpose: "Lived in Rome until 2019". */
const TOLD =
  /\b(?:was|were|had|did|used to|went|ran|held|kept|taught|led|built|wrote|spent|met|left|sold|made|came|began|war|hatte|wohnte|était|fue|(?!scheduled|planned|closed|blocked|paused|disabled|delayed|postponed|expected|needed|required|allowed|reserved|booked)\p{L}{3,}ed)\b/iu;

/** Dates that only say which things are meant ("Invoices until 2019-12-31 are in the archive"), and rules. */
const LASTING =
  /\b(?:are|is|lie|lies|live|lives|kept|stored|archived|filed)\s+(?:in|on|at|under|with)\b|\b(?:always|never|every|each|whenever)\b/iu;

/** The latest of several dates: an entry is stale only when all of them are past. */
function deadline(text: string): Sign | undefined {
  if (TOLD.test(text) || LASTING.test(text)) return undefined;
  const signs = [...text.matchAll(DEADLINE)].flatMap((match): Sign[] => {
    const day = dayOf(match.groups ?? {});
    return day ? [{ sign: match[0].replace(/\s+/g, " "), day }] : [];
  });
  return signs.toSorted((a, b) => b.day.getTime() - a.day.getTime())[0];
}

function dayOf(groups: Readonly<Record<string, string | undefined>>): Date | undefined {
  const first = (letter: string): string | undefined =>
    Object.entries(groups).find(([name, value]) => name.startsWith(letter) && value !== undefined)?.[1];
  const year = Number(first("y"));
  const name = first("n")?.slice(0, 3).toLowerCase();
  const month = name === undefined ? Number(first("m")) : monthNumber(name);
  const day = first("d");
  if (month < 1 || month > 12 || year < 1990 || year > 2200) return undefined;
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const number = day === undefined ? last : Number(day);
  return number < 1 || number > last ? undefined : new Date(Date.UTC(year, month - 1, number));
}

function monthNumber(name: string): number {
  return "janfebmaraprmayjunjulaugsepoctnovdec".indexOf(name) / 3 + 1;
}

/** How many days after they were written the words can still apply. */
const SPANS: readonly (readonly [RegExp, number])[] = [
  [/\b(?:today|tonight|this (?:morning|afternoon|evening)|heute)\b/iu, 1],
  [/\b(?:tomorrow|morgen früh)\b/iu, 2],
  [/\b(?:this week|diese woche|by friday|by monday)\b/iu, 7],
  [/\b(?:next week|nächste woche|this sprint)\b/iu, 14],
  [/\bthis month\b/iu, 31],
  [/\bnext month\b/iu, 62],
  [/\bthis quarter\b/iu, 92],
];

function relativeTime(text: string, since: Date | undefined): Sign | undefined {
  if (since === undefined) return undefined;
  const found = SPANS.flatMap(([pattern, days]) => {
    const match = pattern.exec(text);
    return match ? [{ sign: match[0], day: new Date(since.getTime() + days * DAY_MS) }] : [];
  });
  return found.toSorted((a, b) => b.day.getTime() - a.day.getTime())[0];
}

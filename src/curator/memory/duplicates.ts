// Entries that say nothing another entry does not say. Decided by words alone, so that it can be checked: every word of what
// goes, fillers and plurals aside, is in what stays, in the same order.
import { allWords, foldedText, isTurning, sentencesOf, significant, stem, wordsOf } from "./fold.ts";
import { hardWords, lostFact } from "./hard-facts.ts";

export type Redundancy = {
  readonly kind: "duplicate" | "contained" | "near-duplicate";
  readonly entry: string;
  /** The entry that says it too, and stays. */
  readonly keeper: string;
};

/**
 * How much of the longer entry the shorter one has to cover. Measured on the labelled pairs in test/curator/pairs.ts: at 0.8
 * entries of different scope ("dark mode" and "dark mode editors") begin to count as the same, at 0.95 rewordings are missed.
 */
export const NEAR_SHARE = 0.85;
/** Below this a word more or less is a different statement. */
const LEAST_WORDS = 3;

export function findRedundant(
  entries: readonly string[],
  isPinned: (entry: string) => boolean,
  share = NEAR_SHARE,
): Redundancy[] {
  const read = [...new Set(entries)].map((text, index) => ({
    ...reading(text),
    index,
    isPinned: isPinned(text),
  }));
  // Only what stays can vouch for what goes: the pinned first, then the fullest, then the oldest.
  const order = read.toSorted(
    (a, b) => Number(b.isPinned) - Number(a.isPinned) || b.words.length - a.words.length || a.index - b.index,
  );
  const staying: Reading[] = [];
  const found: (Redundancy & { index: number })[] = [];
  for (const each of order) {
    const hit = each.isPinned ? undefined : firstHit(each, staying, share);
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
  readonly sentences: ReadonlySet<string>;
  readonly words: readonly string[];
  readonly hard: readonly string[];
  readonly spoken: ReadonlySet<string>;
  readonly all: readonly string[];
};

function reading(text: string): Reading {
  const sentences = new Set(sentencesOf(text).map(({ key }) => key));
  const hard = hardWords(text).map(({ word }) => stem(word.toLowerCase()));
  const spoken = new Set(wordsOf(text).map(({ raw }) => stem(raw.toLowerCase())));
  return {
    text,
    key: foldedText(text),
    sentences,
    words: significant(text),
    hard,
    spoken,
    all: allWords(text),
  };
}

function firstHit(one: Reading, staying: readonly Reading[], share: number): Redundancy | undefined {
  for (const other of staying) {
    const kind = relation(one, other, share);
    // Dropping an entry for another is a merge too, with that other as its text.
    if (kind !== undefined && lostFact([one.text], other.text) === undefined)
      return { kind, entry: one.text, keeper: other.text };
  }
  return undefined;
}

function relation(one: Reading, other: Reading, share: number): Redundancy["kind"] | undefined {
  if (one.words.length === 0) return undefined; // nothing but punctuation: not ours to judge
  if (one.key === other.key) return "duplicate";
  if ([...one.sentences].every((sentence) => other.sentences.has(sentence)))
    return isTurnedRound(one, other) ? undefined : "contained";
  if (!isNear(one.words, other.words, share)) return undefined;
  // As many words that count: the small ones may be more or fewer, but not others.
  if (
    one.words.length === other.words.length &&
    !isWithin(one.all, other.all) &&
    !isWithin(other.all, one.all)
  )
    return undefined;
  // A number, name or path more says which one is meant: then the shorter entry says more, not less.
  return other.hard.some((word) => !one.spoken.has(word)) ? undefined : "near-duplicate";
}

const CAUTION =
  /\b(?:wrong|ignore|outdated|obsolete|false|instead|but|except|unless|myth|mistake|deprecated)\b/;

/** "The following is wrong. Use tabs." holds "Use tabs." and says the opposite. */
function isTurnedRound(one: Reading, other: Reading): boolean {
  const rest = [...other.sentences].filter((sentence) => !one.sentences.has(sentence));
  return rest.some((sentence) => CAUTION.test(sentence) || sentence.split(" ").some(isTurning));
}

/** In order, with others in between. */
function isWithin(short: readonly string[], long: readonly string[]): boolean {
  let next = 0;
  for (const word of long) if (word === short[next]) next += 1;
  return next === short.length;
}

/** `short` is in `long`, word for word and in order, and what is more in `long` turns nothing round. */
function isNear(short: readonly string[], long: readonly string[], share: number): boolean {
  if (short.length === long.length) return short.every((word, index) => word === long[index]);
  if (short.length < LEAST_WORDS || short.length > long.length) return false;
  if (short.length / long.length < share) return false;
  let next = 0;
  for (const word of long) {
    if (word === short[next]) next += 1;
    else if (isTurning(word)) return false;
  }
  return next === short.length;
}

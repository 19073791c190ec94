// Entries that say nothing another entry does not say. Decided by words alone, so that it can be checked: every word in which
// the two differ is on a list of words that change nothing. Any other word, of any language, may be a "not": then both stay.
import { essence, foldedText, isTurning, type Sentence, sentencesOf, significant } from "./fold.ts";
import { hardWords, lostFact } from "./hard-facts.ts";
import { STATING } from "./words.ts";

export type Redundancy = {
  readonly kind: "duplicate" | "contained" | "near-duplicate";
  readonly entry: string;
  /** The entry that says it too, and stays. */
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
  // Only what stays can vouch for what goes: the pinned first, then the fullest, then the oldest.
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
    // Dropping an entry for another is a merge too, with that other as its text.
    if (kind !== undefined && lostFact([one.text], other.text) === undefined)
      return { kind, entry: one.text, keeper: other.text };
  }
  return undefined;
}

function relation(one: Reading, other: Reading): Redundancy["kind"] | undefined {
  if (one.words.length === 0) return undefined; // nothing but punctuation: not ours to judge
  if (one.key === other.key) return "duplicate";
  if (one.essence === other.essence) return "near-duplicate";
  return isContained(one.sentences, other.sentences) ? "contained" : undefined;
}

/** `part` is in `whole` in one piece, and each sentence around it states something of its own. */
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
 * "Questo è falso. Use tabs." holds "Use tabs." and says the opposite: a sentence counts only when all its words are known, or names
 * behind the first word, numbers and paths. A word in capitals may be anything.
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

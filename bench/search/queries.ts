// Queries of every kind that match messages of a database. The same database gives the same queries.
import { DatabaseSync } from "node:sqlite";
import { type Random, randomNumbers } from "../../packages/core/test/fakes/random.ts";
import type { Queries } from "./query-file.ts";
import { type Sample, sampleMessages } from "./sample.ts";
import { adjacentPairs, emails, hanPieces, paths, questions } from "./text-queries.ts";
import { nearest, type Vocabulary, vocabularyOf } from "./vocabulary.ts";

const PER_KIND = 30;

/** Leaves out kinds for which no message has text. */
export function deriveQueries(path: string): Queries {
  using db = new DatabaseSync(path, { readOnly: true });
  const random = randomNumbers(7);
  const all = { ...wordQueries(vocabularyOf(db), random), ...textQueries(sampleMessages(db), random) };
  return Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0));
}

function wordQueries({ words, messages }: Vocabulary, random: Random): Queries {
  const rare = words.filter(({ term, holders }) => holders <= 5 && term.length >= 6).map(({ term }) => term);
  const common = nearest(words, messages * 0.04, PER_KIND);
  const uncommon = shuffled(nearest(words, messages * 0.01, 3 * PER_KIND), random);
  const frequent = words.slice(0, PER_KIND).map(({ term }) => term);
  return {
    rare: some(rare, random),
    or3: inThrees(uncommon),
    common,
    very_common: frequent,
    prefix: some(frequentBeginnings(words), random).map((beginning) => `${beginning}*`),
  };
}

function textQueries(sample: Sample, random: Random): Queries {
  return {
    phrase: adjacentPairs(sample)
      .slice(0, PER_KIND)
      .map((pair) => `"${pair}"`),
    question: some(questions(sample, random), random),
    cjk3: some(hanPieces(sample, 3, random), random),
    cjk2: some(hanPieces(sample, 2, random), random),
    cjk1: some(hanPieces(sample, 1, random), random),
    path: some(paths(sample), random),
    email: some(emails(sample), random),
  };
}

/** The hundred most frequent three-letter beginnings of words, by number of messages. */
function frequentBeginnings(words: Vocabulary["words"]): string[] {
  const holders = new Map<string, number>();
  for (const word of words) {
    const beginning = word.term.slice(0, 3);
    holders.set(beginning, (holders.get(beginning) ?? 0) + word.holders);
  }
  return [...holders]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 100)
    .map(([beginning]) => beginning);
}

function inThrees(words: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 3 <= words.length; i += 3) out.push(words.slice(i, i + 3).join(" OR "));
  return out;
}

/** A random choice of distinct items, at most `PER_KIND`. */
function some(items: readonly string[], random: Random): string[] {
  return shuffled([...new Set(items)], random).slice(0, PER_KIND);
}

function shuffled(items: readonly string[], random: Random): string[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

// Queries copied from message texts: pairs of words, questions, Chinese, paths, addresses.
import { pick, type Random } from "../../packages/core/test/fakes/random.ts";
import type { Sample } from "./sample.ts";

/** Adjacent words; pairs that occur in the most messages come first. */
export function adjacentPairs(sample: Sample): string[] {
  const counts = new Map<string, number>();
  for (const { text } of sample) {
    const pairs = new Set([...text.matchAll(PAIR)].map(([, a = "", b = ""]) => `${a} ${b}`.toLowerCase()));
    for (const pair of pairs) counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([pair]) => pair);
}

/** Six to ten consecutive words of a user's message. */
export function questions(sample: Sample, random: Random): string[] {
  return sample.flatMap(({ role, text }) => {
    const words = role === "user" ? [...text.matchAll(WORD)].map(([word]) => word) : [];
    const length = 6 + Math.floor(random() * 5);
    if (words.length < length) return [];
    const start = Math.floor(random() * (words.length - length + 1));
    return [`${words.slice(start, start + length).join(" ")}?`];
  });
}

/** `length` Chinese characters in a row. */
export function hanPieces(sample: Sample, length: number, random: Random): string[] {
  return sample.flatMap(({ text }) => {
    const runs = (text.match(HAN) ?? []).filter((run) => run.length >= length);
    if (runs.length === 0) return [];
    const run = pick(runs, random);
    const start = Math.floor(random() * (run.length - length + 1));
    return [run.slice(start, start + length)];
  });
}

export function paths(sample: Sample): string[] {
  return sample.flatMap(({ text }) => text.match(PATH) ?? []);
}

/** Without any address in the messages, one is made from a file name: it searches for the same adjacent words. */
export function emails(sample: Sample): string[] {
  const found = sample.flatMap(({ text }) => text.match(EMAIL) ?? []);
  if (found.length > 0) return found;
  return sample.flatMap(({ text }) =>
    [...text.matchAll(FILE)].map(([, name = "", host = "", ending = ""]) => `${name}@${host}.${ending}`),
  );
}

/** The second word is matched by a lookahead, so that it is also the first word of the next pair. */
const PAIR = /\b([a-z]{2,})(?= ([a-z]{2,})\b)/gi;
const WORD = /(?<![\w/.-])[a-z]{2,20}(?![\w/-])/gi;
const HAN = /[\u4e00-\u9fff]+/g;
const PATH = /(?<![\w/])[~.]{0,2}\/?(?:[a-z][\w-]*\/){2,}[\w-]+\.[a-z]{1,5}\b/gi;
const EMAIL = /\b[\w.+-]+@[\w-]+\.[a-z]{2,}\b/gi;
const FILE = /\b([a-z]{2,})_([a-z]{2,})\.([a-z]{2,4})\b/g;

// Entries that are about the same thing without saying the same: what a person, or a model, could make one entry of.
import { topicWords } from "./fold.ts";
import { hardWords } from "./hard-facts.ts";

/** Of the topic words of the shorter entry; measured together with the threshold for duplicates. */
const SHARE = 0.6;
const LEAST_SHARED = 3;
/** Every pair is looked at. Ordinary files hold dozens of entries. */
const MOST_ENTRIES = 1000;

/** Groups of two and more, in the order of the entries. */
export function findOverlaps(entries: readonly string[]): string[][] {
  if (entries.length > MOST_ENTRIES) return [];
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
  if (shared < LEAST_SHARED || shared / least < SHARE) return false;
  // Two servers, two days, two people: the same sentence about different things is no overlap.
  return !(hasOwn(one.hard, other.hard) && hasOwn(other.hard, one.hard));
}

function hasOwn(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return [...one].some((word) => !other.has(word));
}

function hardSet(text: string): Set<string> {
  const words = hardWords(text).filter(({ what }) => what !== "condition");
  return new Set(words.map(({ word }) => word.toLowerCase()));
}

// The labelled set: 200 facts that one person might store, and 100 questions with the facts that answer them. It was written before
// any scoring was tried. Do not change a line to suit a scoring: the set would then prove nothing.
import { readFileSync } from "node:fs";

export type LabelledFact = {
  readonly id: string;
  readonly category: string;
  /** Separated by commas. */
  readonly tags: string;
  readonly content: string;
};

/**
 * How it is asked: `plain` as a sentence, `probe` by one name, `reason` by two names, `contradiction` by asking for all contradictions and
 * looking for the pair.
 */
type Kind = (typeof KINDS)[number];

export type LabelledQuestion = {
  readonly id: string;
  readonly kind: Kind;
  readonly question: string;
  /** Only for `probe` and `reason`. */
  readonly entities?: readonly string[];
  /** Every fact that answers it. */
  readonly relevant: readonly string[];
};

export const KINDS = ["plain", "probe", "reason", "contradiction"] as const;

export function labelledFacts(): LabelledFact[] {
  return readLines("facts.jsonl") as LabelledFact[];
}

export function labelledQuestions(): LabelledQuestion[] {
  return readLines("questions.jsonl") as LabelledQuestion[];
}

function readLines(name: string): unknown[] {
  return readFileSync(new URL(name, import.meta.url), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

// Recall: the share of what should be found that is among the first k, as a mean over all questions.
import { round } from "../statistics.ts";

export type Found<T> = {
  /** Best first. */
  readonly answers: readonly T[];
  readonly wanted: ReadonlySet<T>;
};

export function recallAt<T>(
  cuts: readonly number[],
  questions: readonly Found<T>[],
): Readonly<Record<string, number>> {
  const at = (k: number) =>
    questions.reduce((sum, question) => sum + shareIn(question, k), 0) / questions.length;
  return Object.fromEntries(cuts.map((k) => [String(k), round(at(k), 4)]));
}

function shareIn<T>({ answers, wanted }: Found<T>, k: number): number {
  const first = new Set(answers.slice(0, k));
  return [...wanted].filter((each) => first.has(each)).length / wanted.size;
}

// Recall: the share of the wanted items among the first k, averaged over all questions. Confidence: how many questions without an
// answer are recognised, and how much recall that costs.
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
  return meansAt(cuts, questions, shareIn);
}

/** The share of questions with at least one wanted item among the first k. */
export function hitsAt<T>(
  cuts: readonly number[],
  questions: readonly Found<T>[],
): Readonly<Record<string, number>> {
  return meansAt(cuts, questions, (question, k) => (shareIn(question, k) > 0 ? 1 : 0));
}

function meansAt<T>(
  cuts: readonly number[],
  questions: readonly Found<T>[],
  valueAt: (question: Found<T>, k: number) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    cuts.map((k) => [String(k), round(mean(questions.map((question) => valueAt(question, k))), 4)]),
  );
}

export function shareIn<T>({ answers, wanted }: Found<T>, k: number): number {
  const first = new Set(answers.slice(0, k));
  return [...wanted].filter((each) => first.has(each)).length / wanted.size;
}

/** Answers with their recall, and the scores of answers to questions that have no answer. */
export type Scores = {
  readonly answerable: readonly { readonly score: number; readonly recall: number }[];
  readonly unanswerable: readonly number[];
  readonly foreign: readonly number[];
};

export type Flagged = {
  /** Answers with a lower score are weak. */
  readonly threshold: number;
  readonly unanswerable: number | null;
  readonly foreign: number | null;
};

/** The highest threshold at which dropping the weak answers costs at most `points` percentage points of recall. */
export function flaggedAt(points: number, { answerable, unanswerable, foreign }: Scores): Flagged {
  const allowed = (points / 100) * answerable.length;
  const sorted = [...answerable].sort((a, b) => a.score - b.score);
  let lost = 0;
  let threshold = 1;
  for (const { score, recall } of sorted) {
    lost += recall;
    if (lost > allowed + 1e-9) {
      threshold = score;
      break;
    }
  }
  const share = (scores: readonly number[]) =>
    scores.length === 0 ? null : round(scores.filter((score) => score < threshold).length / scores.length, 4);
  return { threshold: round(threshold, 4), unanswerable: share(unanswerable), foreign: share(foreign) };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

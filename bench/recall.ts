// Recall on two published sets, LoCoMo conversations and LongMemEval haystacks, each in its own database: how much of the answer a
// search for the unchanged question finds, and how many questions without an answer are recognised.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HermesError } from "@hermes-memory/core/internal/lib";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { type Answers, ask, type Sureness } from "./recall/ask.ts";
import { fillStore, padStore } from "./recall/fill.ts";
import { readQuestionSet } from "./recall/question-set.ts";
import type { QuestionSet } from "./recall/question-types.ts";
import { flaggedAt, hitsAt, mean, recallAt, shareIn } from "./recall/share.ts";
import { quantile, round } from "./statistics.ts";
import { progress } from "./store/progress.ts";

/** The cost of a confidence threshold is measured as message recall among this many hits. */
const CONFIDENCE_CUT = 10;

/** `--padding N`: N more messages in each database, so that the row limits of large databases apply. */
export async function run(
  flags: Readonly<Record<string, string>>,
  _lists: Readonly<Record<string, readonly string[]>>,
  files: readonly string[],
): Promise<Record<string, unknown>> {
  if (files.length === 0)
    throw new HermesError("usage", "The recall benchmark takes one or more files.", {
      hint: "Name LoCoMo or LongMemEval files: npm run -s bench -- recall locomo10.json longmemeval_s.json",
    });
  const padding = Number(flags.padding ?? 0);
  if (!Number.isSafeInteger(padding) || padding < 0)
    throw new HermesError("usage", `--padding takes a number of messages, not '${flags.padding}'.`);
  const sets = [];
  for (const file of files) {
    const set = readQuestionSet(file);
    const answers = await askAll(set, padding);
    if (answers.outcomes.length === 0)
      throw new HermesError("usage", `No question of ${file} names what answers it.`);
    sets.push({ set: set.name, ...figures(answers) });
  }
  return { bench: "recall", ...(padding === 0 ? {} : { padding }), sets };
}

async function askAll({ databases }: QuestionSet, padding: number): Promise<Answers> {
  const root = mkdtempSync(join(tmpdir(), "hermes-bench-"));
  try {
    const all: Answers[] = [];
    for (const [at, database] of databases.entries()) {
      await using store = await openSessionStore({ path: join(root, `${at}.db`) });
      await padStore(store, padding);
      all.push(await ask(store, database, await fillStore(store, database.meetings)));
      const asked = all.reduce((sum, { outcomes }) => sum + outcomes.length, 0);
      progress(`${at + 1} of ${databases.length} databases, ${asked} questions`);
    }
    return {
      outcomes: all.flatMap(({ outcomes }) => outcomes),
      unanswerable: all.flatMap(({ unanswerable }) => unanswerable),
      foreign: all.flatMap(({ foreign }) => foreign),
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function figures({ outcomes, unanswerable, foreign }: Answers): Record<string, unknown> {
  const sessions = outcomes.map((outcome) => outcome.sessions);
  const inTurns = outcomes.filter(({ messages }) => messages.wanted.size > 0);
  const messages = inTurns.map((outcome) => outcome.messages);
  const answerable = inTurns.map(({ confidence, messages: found }) => ({
    score: confidence.score,
    recall: shareIn(found, CONFIDENCE_CUT),
    isWeak: confidence.isWeak,
  }));
  const scores = {
    answerable,
    unanswerable: unanswerable.map(({ score }) => score),
    foreign: foreign.map(({ score }) => score),
  };
  const ms = outcomes.flatMap((outcome) => outcome.ms);
  return {
    questions: outcomes.length,
    session_recall: recallAt([1, 3, 5, 10], sessions),
    session_hit: hitsAt([1, 3, 5, 10], sessions),
    message_recall: recallAt([5, 10, 20], messages),
    confidence: {
      questions: { unanswerable: unanswerable.length, foreign: foreign.length },
      flagged_at_1_point: flaggedAt(1, scores),
      flagged_at_3_points: flaggedAt(3, scores),
      flagged_by_default: {
        points_lost: round(100 * mean(answerable.map(({ isWeak, recall }) => (isWeak ? recall : 0))), 2),
        unanswerable: weakShare(unanswerable),
        foreign: weakShare(foreign),
      },
    },
    ms: { p50: round(quantile(ms, 0.5), 3), p95: round(quantile(ms, 0.95), 3) },
  };
}

function weakShare(answers: readonly Sureness[]): number | null {
  return answers.length === 0 ? null : round(mean(answers.map(({ isWeak }) => (isWeak ? 1 : 0))), 4);
}

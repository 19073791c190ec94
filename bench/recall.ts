// Recall on two published sets, LoCoMo conversations and LongMemEval haystacks, each in its own database: how much of the answer a
// search for the unchanged question finds, and how many questions without an answer are recognised.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import {
  openSessionStore,
  type SessionStore,
  sessionSearchTool,
} from "@hermes-memory/core/internal/sessions";
import { isLocomo, locomoDatabases } from "./recall/locomo.ts";
import { isLongMemEval, longMemEvalDatabases } from "./recall/long-mem-eval.ts";
import type { Database, Meeting, QuestionSet } from "./recall/question-types.ts";
import { type Found, flaggedAt, hitsAt, mean, recallAt, shareIn } from "./recall/share.ts";
import { foundSessions } from "./search/measure.ts";
import { progress, quantile, round } from "./statistics.ts";

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

// Fills a store with conversations: one session per meeting, one message per turn.

const PADDING_PER_SESSION = 500;

/** Turn ids by the ids of their messages. */
async function fillStore(
  store: SessionStore,
  meetings: readonly Meeting[],
): Promise<ReadonlyMap<number, string>> {
  const turnOf = new Map<number, string>();
  for (const { id, startedAt, turns } of meetings) {
    await store.createSession(id, { source: "cli", startedAt });
    const messages = turns.map(({ role, content }, at) => ({ role, content, timestamp: startedAt + at }));
    const ids = await store.appendMany(id, messages);
    for (const [at, turn] of turns.entries()) {
      const messageId = ids[at];
      if (messageId !== undefined) turnOf.set(messageId, turn.id);
    }
  }
  return turnOf;
}

/** Adds messages that no question asks for: a large store limits how many rows it ranks. */
async function padStore(store: SessionStore, messages: number): Promise<void> {
  for (let from = 0; from < messages; from += PADDING_PER_SESSION) {
    const id = `padding_${from}`;
    await store.createSession(id, { source: "cli", startedAt: from });
    const length = Math.min(PADDING_PER_SESSION, messages - from);
    await store.appendMany(
      id,
      Array.from({ length }, (_, at) => ({
        role: "user" as const,
        content: `zzpad${from + at}`,
        timestamp: from + at,
      })),
    );
  }
}

// Asks every question of a database unchanged: for sessions through the model's tool, for messages directly.

type Outcome = {
  readonly sessions: Found<string>;
  readonly messages: Found<string>;
  readonly confidence: Sureness;
  /** Of each search. */
  readonly ms: readonly number[];
};

/** How sure the store is of an answer. */
type Sureness = { readonly score: number; readonly isWeak: boolean };

type Answers = {
  readonly outcomes: readonly Outcome[];
  readonly unanswerable: readonly Sureness[];
  readonly foreign: readonly Sureness[];
};

const NOTHING_FOUND: Sureness = { score: 0, isWeak: true };

async function ask(
  store: SessionStore,
  { questions, unanswerable, foreign }: Database,
  turnOf: ReadonlyMap<number, string>,
): Promise<Answers> {
  const outcomes: Outcome[] = [];
  for (const { text, turns, meetings } of questions) {
    const calledAt = performance.now();
    const answer = await sessionSearchTool(store, { query: text, limit: 10 });
    const answeredAt = performance.now();
    const { hits, confidence } = await store.search(text, { limit: 20 });
    const ms = [answeredAt - calledAt, performance.now() - answeredAt];
    outcomes.push({
      sessions: { answers: foundSessions(answer), wanted: meetings },
      messages: { answers: hits.map(({ id }) => turnOf.get(id) ?? ""), wanted: turns },
      confidence: confidence ?? NOTHING_FOUND,
      ms,
    });
  }
  const sureOf = async (texts: readonly string[]) => {
    const found: Sureness[] = [];
    for (const text of texts)
      found.push((await store.search(text, { limit: 1 })).confidence ?? NOTHING_FOUND);
    return found;
  };
  return { outcomes, unanswerable: await sureOf(unanswerable), foreign: await sureOf(foreign) };
}

// Reads the two published sets of questions about past conversations into one form: databases with their questions.

/** Plain or gzip; a JSON array, or one JSON object per line. */
function readQuestionSet(file: string): QuestionSet {
  const content = parse(file);
  if (isLocomo(content)) return { name: "locomo", databases: locomoDatabases(file, content) };
  if (isLongMemEval(content)) return { name: "longmemeval", databases: longMemEvalDatabases(file, content) };
  throw new HermesError("bad-recall-file", `${file} is neither a LoCoMo nor a LongMemEval file.`, {
    hint: "A LoCoMo file is a JSON array of objects with `conversation` and `qa`; objects of LongMemEval have `haystack_sessions`.",
  });
}

function parse(file: string): readonly unknown[] {
  try {
    const bytes = readFileSync(file);
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const text = (isGzip ? gunzipSync(bytes) : bytes).toString("utf8");
    if (!text.trimStart().startsWith("{")) return [JSON.parse(text)].flat();
    return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line)]));
  } catch (cause) {
    throw new HermesError("bad-recall-file", `Cannot read ${file}: ${describeCause(cause)}.`, { cause });
  }
}

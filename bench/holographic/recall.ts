// How much of the labelled set is found, by kind of question.
import { recallAt } from "../recall/share.ts";
import { round } from "../statistics.ts";
import { type FactHome, openFactHome, type Row, type Settings } from "./fact-home.ts";
import { KINDS, type LabelledFact, type LabelledQuestion } from "./labelled.ts";

type Scores = {
  readonly questions: number;
  /** Share of the relevant facts among the first 1 and 5. */
  readonly recall: Readonly<Record<string, number>>;
  /** Mean of 1 / rank of the first relevant fact; 0 where none is among the first ten. */
  readonly mrr: number;
};

export type RecallFigures = {
  readonly overall: Scores;
  readonly by_kind: Readonly<Record<string, Scores>>;
  /** Every question searched for as a sentence, whatever its kind: for a model that uses only one action. */
  readonly as_sentences: Scores;
  /** Every question as a sentence, through the recall before a turn, which returns at most five facts. */
  readonly before_a_turn: Scores;
  /** Pairs reported as contradicting each other; five are planted. */
  readonly pairs_reported: number;
};

type Outcome = { readonly answers: readonly string[]; readonly wanted: ReadonlySet<string> };

const LIMIT = 10;

/** `home` must be empty. Facts are added in the order given. */
export async function measureRecall(
  home: string,
  settings: Settings,
  facts: readonly LabelledFact[],
  questions: readonly LabelledQuestion[],
): Promise<RecallFigures> {
  await using store = await openFactHome(home, settings);
  const labels = new Map<unknown, string>();
  for (const { id, content, category, tags } of facts)
    labels.set((await store.ask("add", { content, category, tags })).fact_id, id);
  const labelOf = (row: Row) => labels.get(row.fact_id) ?? "";
  const pairs = await store.rows("contradict", { limit: LIMIT });
  const pairLabels = pairs.map((row) => pairOf([labelOf(row.fact_a as Row), labelOf(row.fact_b as Row)]));

  const asked = new Map<LabelledQuestion, Outcome>();
  const sentences: Outcome[] = [];
  const recalled: Outcome[] = [];
  for (const question of questions) {
    const wanted = new Set(question.relevant);
    const sentence = (await store.rows("search", { query: question.question, limit: LIMIT })).map(labelOf);
    sentences.push({ answers: sentence, wanted });
    recalled.push({ answers: recalledFacts(await store.recall(question.question), facts), wanted });
    if (question.kind === "plain") asked.set(question, { answers: sentence, wanted });
    else if (question.kind === "contradiction")
      asked.set(question, { answers: pairLabels, wanted: new Set([pairOf(question.relevant)]) });
    else asked.set(question, { answers: (await byNames(store, question)).map(labelOf), wanted });
  }
  const ofKind = (kind: string) => [...asked].filter(([question]) => question.kind === kind);
  return {
    overall: scores([...asked.values()]),
    by_kind: Object.fromEntries(
      KINDS.map((kind) => [kind, scores(ofKind(kind).map(([, outcome]) => outcome))]),
    ),
    as_sentences: scores(sentences),
    before_a_turn: scores(recalled),
    pairs_reported: pairs.length,
  };
}

function byNames(store: FactHome, { kind, entities = [] }: LabelledQuestion): Promise<readonly Row[]> {
  return kind === "probe"
    ? store.rows("probe", { entity: entities[0], limit: LIMIT })
    : store.rows("reason", { entities, limit: LIMIT });
}

/** The facts of a recall text, which has one line `- [trust] content` for each. */
function recalledFacts(text: string, facts: readonly LabelledFact[]): string[] {
  const labels = new Map(facts.map(({ content, id }) => [content, id]));
  return text
    .split("\n")
    .filter((line) => line.startsWith("- ["))
    .map((line) => labels.get(line.slice(line.indexOf("] ") + 2)) ?? "");
}

function pairOf(ids: readonly string[]): string {
  return ids.toSorted().join("+");
}

function scores(outcomes: readonly Outcome[]): Scores {
  const reciprocals = outcomes.map(({ answers, wanted }) => {
    const rank = answers.findIndex((each) => wanted.has(each)) + 1;
    return rank === 0 ? 0 : 1 / rank;
  });
  return {
    questions: outcomes.length,
    recall: recallAt([1, 5], outcomes),
    mrr: round(reciprocals.reduce((sum, each) => sum + each, 0) / outcomes.length, 4),
  };
}

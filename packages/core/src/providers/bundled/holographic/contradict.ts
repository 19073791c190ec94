// Pairs of facts about the same entities that contradict each other.

import { categoryFilter, FACT_COLUMNS, type FactRow } from "./database.ts";
import type { FactTools } from "./facts.ts";
import { readVector, similarity, toLevels } from "./phase-vectors.ts";
import { levelSimilarity, SCAN_ERROR } from "./vector-index.ts";
import { vectorWords } from "./words-and-names.ts";

export type Contradiction = {
  readonly fact_a: ContradictingFact;
  readonly fact_b: ContradictingFact;
  readonly entity_overlap: number;
  readonly content_similarity: number;
  readonly contradiction_score: number;
  /** In lower case, sorted. */
  readonly shared_entities: readonly string[];
};

type ContradictingFact = Omit<FactRow, "retrieval_count" | "helpful_count">;

/** The number of pairs grows with the square, so only the most recently changed facts are compared. */
const MAX_FACTS = 500;
const LEAST_OVERLAP = 0.3;
const LEAST_SCORE = 0.3;
/** Similarity of two statements of the same form: above it they are the same statement, below it they have different subjects. */
const SAME_FORM = { from: 0.5, to: 0.97 };
/**
 * With a quarter of the usual length, a similarity has a standard deviation of 0.044. A pair that is four times that below the bound need not
 * be compared in full.
 */
const FIRST_LOOK = { length: 256, least: SAME_FORM.from - 4 * 0.044 };

/** Within a read transaction. */
export function findContradictions(
  tools: FactTools,
  category: string | undefined,
  limit: number,
): Contradiction[] {
  const facts = readFacts(tools, category);
  const judge = tools.scoring === "reference" ? referenceJudge(tools) : structuralJudge(tools);
  const found = pairsOf(facts).flatMap(({ one, other, shared }) => {
    const overlap = shared.length / (one.entities.length + other.entities.length - shared.length);
    const verdict = overlap < LEAST_OVERLAP ? undefined : judge(one.fact, other.fact, overlap);
    return verdict === undefined ? [] : [{ one, other, shared, overlap, verdict }];
  });
  found.sort((a, b) => b.verdict.score - a.verdict.score);
  return found.slice(0, limit).map(({ one, other, shared, overlap, verdict }) => ({
    fact_a: shown(one.fact),
    fact_b: shown(other.fact),
    entity_overlap: rounded(overlap),
    content_similarity: rounded(verdict.similar),
    contradiction_score: rounded(verdict.score),
    shared_entities: shared.toSorted(),
  }));
}

type Compared = { readonly fact: FactRow; readonly entities: readonly string[] };
type Pair = { readonly one: Compared; readonly other: Compared; readonly shared: readonly string[] };
type Verdict = { readonly similar: number; readonly score: number };
type Judge = (one: FactRow, other: FactRow, overlap: number) => Verdict | undefined;

/** Facts about the same entities with different vectors. Rarely true, because a shared entity makes the vectors similar. */
function referenceJudge({ db, encoder }: FactTools): Judge {
  const known = new Map<number, { vector: Float64Array; levels: Uint16Array }>();
  const vectorOf = (factId: number) => {
    const read = known.get(factId);
    if (read !== undefined) return read;
    const sql = "SELECT hrr_vector AS vector FROM facts WHERE fact_id = :factId";
    const row = db.get<{ vector: Uint8Array | null }>(sql, { factId });
    const vector = readVector(row?.vector, encoder.dim) ?? new Float64Array(encoder.dim);
    const levels = new Uint16Array(encoder.dim);
    toLevels(vector, levels);
    known.set(factId, { vector, levels });
    return { vector, levels };
  };
  const scoreOf = (similar: number, overlap: number) => overlap * (1 - (similar + 1) / 2);
  return (one, other, overlap) => {
    const [a, b] = [vectorOf(one.fact_id), vectorOf(other.fact_id)];
    const nearly = levelSimilarity(a.levels, b.levels, encoder.dim);
    if (scoreOf(nearly - SCAN_ERROR, overlap) < LEAST_SCORE) return undefined;
    const similar = similarity(a.vector, b.vector);
    const score = scoreOf(similar, overlap);
    return score >= LEAST_SCORE ? { similar, score } : undefined;
  };
}

/** The same statement with another value: most words are the same, and each side has words that the other lacks. */
function structuralJudge({ encoder }: FactTools): Judge {
  return (one, other, overlap) => {
    const [a, b] = [encoder.textLevels(one.content), encoder.textLevels(other.content)];
    if (encoder.dim > FIRST_LOOK.length) {
      if (levelSimilarity(a, b, FIRST_LOOK.length) < FIRST_LOOK.least) return undefined;
    }
    const similar = levelSimilarity(a, b, encoder.dim);
    if (similar < SAME_FORM.from || similar > SAME_FORM.to) return undefined;
    const [words, others] = [vectorWords(one.content), vectorWords(other.content)];
    return hasMore(words, others) && hasMore(others, words)
      ? { similar, score: overlap * similar }
      : undefined;
  };
}

/** Pairs that share an entity, in the order of the facts. */
function pairsOf(facts: readonly Compared[]): Pair[] {
  const withEntity = new Map<string, number[]>();
  const pairs: Pair[] = [];
  for (const [i, other] of facts.entries()) {
    const sharedWith = new Map<number, string[]>();
    for (const name of other.entities) {
      const earlier = withEntity.get(name) ?? [];
      for (const at of earlier) sharedWith.set(at, [...(sharedWith.get(at) ?? []), name]);
      earlier.push(i);
      withEntity.set(name, earlier);
    }
    for (const [at, shared] of sharedWith) {
      const one = facts[at];
      if (one !== undefined) pairs.push({ one, other, shared });
    }
  }
  return pairs;
}

function readFacts({ db, encoder }: FactTools, category: string | undefined): Compared[] {
  const filter = categoryFilter(category);
  const sql = `
    SELECT ${FACT_COLUMNS} FROM facts f WHERE length(f.hrr_vector) = :bytes ${filter.and}
    ORDER BY f.updated_at DESC, f.fact_id DESC LIMIT ${MAX_FACTS}
  `;
  const values = { bytes: encoder.dim * 8, ...filter.values };
  const facts = db.all<FactRow>(sql, values).sort((one, other) => one.fact_id - other.fact_id);
  const links = db.all<{ id: number; name: string }>(
    `SELECT l.fact_id AS id, e.name FROM fact_entities l JOIN entities e ON e.entity_id = l.entity_id
     WHERE l.fact_id IN (SELECT value FROM json_each(:ids))`,
    { ids: JSON.stringify(facts.map(({ fact_id }) => fact_id)) },
  );
  const names = new Map<number, Set<string>>(facts.map(({ fact_id }) => [fact_id, new Set()]));
  for (const { id, name } of links) names.get(id)?.add(name.toLowerCase());
  return facts.map((fact) => ({ fact, entities: [...(names.get(fact.fact_id) ?? [])] }));
}

function hasMore(one: readonly string[], other: readonly string[]): boolean {
  return one.some((word) => !other.includes(word));
}

function shown(fact: FactRow): ContradictingFact {
  const { fact_id, content, category, tags, trust_score, created_at, updated_at } = fact;
  return { fact_id, content, category, tags, trust_score, created_at, updated_at };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

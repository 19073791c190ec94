// Queries by vectors: facts about an entity (probe), facts that have to do with it (related), facts about several entities at once
// (reason), and facts that contradict each other. The first three measure the similarity of facts to keys. Two scorings decide the keys:
// `reference` has the formulas of the Python original, `structural` is the default.
import { categoryFilter, FACT_COLUMNS, type FactRow, type FactWithVector, toFactRow } from "./database.ts";
import type { StoreParts } from "./facts.ts";
import { bind, type Encoder, readVector, similarity, toLevels, unbind } from "./phase-vectors.ts";
import { phrase, withoutSyntaxErrors } from "./search.ts";
import {
  type IndexedFact,
  type LevelMatrix,
  levelSimilarity,
  SCAN_ERROR,
  type VectorIndex,
} from "./vector-index.ts";
import { vectorWords } from "./words-and-names.ts";

export type VectorRequest = {
  readonly category: string | undefined;
  readonly limit: number;
} & (
  | { readonly kind: "probe" | "related"; readonly entity: string }
  | { readonly kind: "reason"; readonly entities: readonly string[] }
);

export type VectorHit = FactRow & { readonly score: number };

/** How a request is answered. The similarity of a fact is the lowest over all subjects of the highest over the subject's keys. */
type Plan = {
  readonly subjects: readonly (readonly Float64Array[])[];
  /** Facts are measured with their own content unbound. */
  readonly withoutContent: boolean;
  /** Tier of each eligible fact: facts of a lower tier come first, whatever their scores. Undefined: all facts, in one tier. */
  readonly tiers: ReadonlyMap<number, number> | undefined;
};

/** Up to this many facts are computed exactly at once; more are scanned first. */
const FEW = 200;

/** Undefined when no fact has a vector; the caller then searches by words. */
export async function queryVectors(
  parts: StoreParts,
  index: VectorIndex,
  request: VectorRequest,
): Promise<VectorHit[] | undefined> {
  const { db, encoder, scoring } = parts;
  const { category } = request;
  const plan = await db.read(() => {
    if (!hasVectors(parts, category)) return undefined;
    return scoring === "reference" ? referencePlan(parts, request) : structuralPlan(parts, request);
  });
  if (plan === undefined) return undefined;
  const isFew = plan.tiers !== undefined && plan.tiers.size <= FEW;
  const contenders = isFew ? undefined : await scanFacts(index, plan, category);
  // A negative limit, which only `reference` allows, means all but the last ones.
  const limit = request.limit < 0 ? (contenders?.length ?? 0) + request.limit : request.limit;
  if (limit <= 0) return [];
  const tiers = contenders === undefined ? plan.tiers : shortlist(contenders, limit);
  const exact = (vector: Float64Array, content: string) => {
    const measured = plan.withoutContent ? unbind(vector, encoder.content(content)) : vector;
    return measure(plan, measured);
  };
  return db.read(() => computeExactly(parts, { tiers: tiers ?? new Map(), category, limit, exact }));
}

function hasVectors({ db, encoder }: StoreParts, category: string | undefined): boolean {
  const filter = categoryFilter(category);
  const sql = `SELECT 1 FROM facts f WHERE length(f.hrr_vector) = :bytes ${filter.and} LIMIT 1`;
  return db.get(sql, { bytes: encoder.dim * 8, ...filter.values }) !== undefined;
}

async function scanFacts(index: VectorIndex, plan: Plan, category: string | undefined): Promise<Contender[]> {
  const matrix = plan.withoutContent ? await index.residuals() : index.vectors;
  await index.refresh();
  return scanned(index.facts, matrix, plan, category);
}

/** Synchronous, so that rows of the matrix do not move meanwhile. */
function scanned(
  facts: readonly IndexedFact[],
  matrix: LevelMatrix,
  { subjects, tiers }: Plan,
  category: string | undefined,
): Contender[] {
  const rows: number[] = [];
  for (const [row, fact] of facts.entries()) {
    const isWanted = category === undefined || fact.category === category;
    if (isWanted && (tiers === undefined || tiers.has(fact.id))) rows.push(row);
  }
  const least = new Float64Array(rows.length).fill(1);
  for (const keys of subjects) {
    const best = new Float64Array(rows.length).fill(-1);
    for (const key of keys) keepLarger(best, matrix.scan(key, rows));
    keepSmaller(least, best);
  }
  return rows.flatMap((row, at): Contender[] => {
    const fact = facts[row];
    if (fact === undefined) return [];
    return [{ id: fact.id, trust: fact.trust, similar: least[at] ?? 0, tier: tiers?.get(fact.id) ?? 0 }];
  });
}

function keepLarger(values: Float64Array, others: Float64Array): void {
  for (let i = 0; i < values.length; i += 1) values[i] = Math.max(values[i] as number, others[i] as number);
}

function keepSmaller(values: Float64Array, others: Float64Array): void {
  for (let i = 0; i < values.length; i += 1) values[i] = Math.min(values[i] as number, others[i] as number);
}

function measure({ subjects }: Plan, vector: Float64Array): number {
  return Math.min(...subjects.map((keys) => Math.max(...keys.map((key) => similarity(vector, key)))));
}

// ---- Scoring `reference` ----
//
// The formulas of the Python original, each in the form "similarity of the fact to a key". Those of probe and reason do not measure what
// they are named after: the entity's part of a fact cancels out, and the rest is noise. They are kept for comparison.

/** Within a read transaction. Every fact is eligible. */
function referencePlan({ encoder, banks }: StoreParts, request: VectorRequest): Plan {
  switch (request.kind) {
    case "probe": {
      const key = encoder.entity(request.entity);
      const bank = request.category === undefined ? undefined : banks.vector(request.category);
      return bank === undefined
        ? { ...planOf([[key]]), withoutContent: true }
        : planOf([[unbind(bank, key)]]);
    }
    case "related":
      return planOf([relatedKeys(encoder, request.entity)]);
    case "reason":
      return planOf(request.entities.map((name) => [bind(encoder.entity(name), encoder.roleContent)]));
    default:
      return request satisfies never;
  }
}

/** The keys of a name as an entity, and as a word of the content. */
function relatedKeys(encoder: Encoder, name: string): Float64Array[] {
  const atom = encoder.atom(name.toLowerCase());
  return [bind(atom, encoder.roleEntity), bind(atom, encoder.roleContent)];
}

function planOf(subjects: Plan["subjects"]): Plan {
  return { subjects, withoutContent: false, tiers: undefined };
}

// ---- Scoring `structural` ----
//
// The similarity of a fact's vector to an entity's key. Only facts that are linked to the entity or name it are eligible. The similarity of
// all others is noise around zero, which would bring in unrelated facts among 10,000 or with short vectors.

/** Within a read transaction. */
function structuralPlan(parts: StoreParts, request: VectorRequest): Plan {
  const asked = request.kind === "reason" ? request.entities : [request.entity];
  const subjects = asked.map((name) => subjectOf(parts, name));
  const { encoder } = parts;
  const keysOf = (name: string) =>
    request.kind === "related" ? relatedKeys(encoder, name) : [encoder.entity(name)];
  return {
    subjects: subjects.map(({ names }) => [...names].flatMap(keysOf)),
    withoutContent: false,
    tiers: tiersOf(subjects),
  };
}

type Subject = {
  /** In lower case: the name in the request, and the names of all entities it may mean. */
  readonly names: ReadonlySet<string>;
  readonly linked: ReadonlySet<number>;
  /** Facts that contain one of the names in their text or tags. */
  readonly named: ReadonlySet<number>;
};

function subjectOf({ db, directory }: StoreParts, asked: string): Subject {
  directory.refresh(db);
  const entities = directory.meant(asked);
  const names = new Set([asked, ...entities.map(({ name }) => name)].map((name) => name.toLowerCase()));
  const linked = db.all<{ id: number }>(
    "SELECT fact_id AS id FROM fact_entities WHERE entity_id IN (SELECT value FROM json_each(:ids))",
    { ids: JSON.stringify(entities.map(({ id }) => id)) },
  );
  const spelled = new Set([...names, ...entities.flatMap(({ aliases }) => aliases)]);
  const match = [...spelled].map(phrase).join(" OR ");
  const sql = "SELECT rowid AS id FROM facts_fts WHERE facts_fts MATCH :match";
  const named = withoutSyntaxErrors(() => db.all<{ id: number }>(sql, { match }));
  return { names, linked: idsOf(linked), named: idsOf(named) };
}

/** Facts about every subject: tier 0 if linked to all of them, tier 1 if a subject is only named. */
function tiersOf(subjects: readonly Subject[]): Map<number, number> {
  const [first, ...others] = subjects;
  const tiers = new Map<number, number>();
  for (const id of first === undefined ? [] : new Set([...first.linked, ...first.named])) {
    if (!others.every(({ linked, named }) => linked.has(id) || named.has(id))) continue;
    tiers.set(id, subjects.every(({ linked }) => linked.has(id)) ? 0 : 1);
  }
  return tiers;
}

function idsOf(rows: readonly { readonly id: number }[]): Set<number> {
  return new Set(rows.map(({ id }) => id));
}

// ---- Ranking ----
// A scan gives every fact an approximate score; facts that could be among the best are computed exactly.

/** An eligible fact with its scanned similarity. */
type Contender = {
  readonly id: number;
  readonly trust: number;
  readonly similar: number;
  readonly tier: number;
};

/**
 * Thousands of facts can have the same score (under `reference`, facts without entities in a probe). Of these the oldest are computed, which
 * come first in a stable order.
 */
const MAX_COMPUTED = 400;

function scoreOf(similar: number, trust: number): number {
  return ((similar + 1) / 2) * trust;
}

/** The facts that can be among the first `limit`, given the error of a scan, with their tiers. */
export function shortlist(contenders: readonly Contender[], limit: number): Map<number, number> {
  const scored = contenders.map(({ id, trust, similar, tier }) => ({
    id,
    tier,
    score: scoreOf(similar, trust),
  }));
  const last = lastPlace(scored, limit);
  // A score is half a similarity, and two scores may be wrong in opposite directions.
  const near = scored.filter(
    ({ tier, score }) => tier < last.tier || (tier === last.tier && score >= last.score - SCAN_ERROR),
  );
  near.sort((a, b) => a.tier - b.tier || b.score - a.score || a.id - b.id);
  return new Map(near.slice(0, Math.max(MAX_COMPUTED, limit)).map(({ id, tier }) => [id, tier]));
}

type Finalists = {
  readonly tiers: ReadonlyMap<number, number>;
  readonly category: string | undefined;
  readonly limit: number;
  readonly exact: (vector: Float64Array, content: string) => number;
};

/** Within a read transaction. Facts that were removed meanwhile are left out. */
function computeExactly({ db, encoder }: StoreParts, finalists: Finalists): VectorHit[] {
  const { tiers, category, limit, exact } = finalists;
  const filter = categoryFilter(category);
  const sql = `
    SELECT ${FACT_COLUMNS}, f.hrr_vector FROM facts f
    WHERE f.fact_id IN (SELECT value FROM json_each(:ids)) ${filter.and} ORDER BY f.fact_id
  `;
  const ids = JSON.stringify([...tiers.keys()]);
  const rows = db.all<FactWithVector>(sql, { ids, ...filter.values });
  const hits = rows.flatMap((row) => {
    const vector = readVector(row.hrr_vector, encoder.dim);
    if (vector === undefined) return [];
    const score = scoreOf(exact(vector, row.content), row.trust_score);
    return [{ tier: tiers.get(row.fact_id) ?? 0, hit: { ...toFactRow(row), score } }];
  });
  hits.sort((a, b) => a.tier - b.tier || b.hit.score - a.hit.score);
  return hits.slice(0, limit).map(({ hit }) => hit);
}

type Place = { readonly tier: number; readonly score: number };

/** Tier and score of the fact at rank `limit`. */
function lastPlace(scored: readonly Place[], limit: number): Place {
  let wanted = limit;
  for (const tier of [...new Set(scored.map((each) => each.tier))].sort((a, b) => a - b)) {
    const scores = Float64Array.from(
      scored.filter((each) => each.tier === tier),
      ({ score }) => score,
    ).sort();
    if (wanted <= scores.length) return { tier, score: scores[scores.length - wanted] ?? 0 };
    wanted -= scores.length;
  }
  return { tier: Number.POSITIVE_INFINITY, score: 0 };
}

// ---- Contradictions: pairs of facts about the same entities that disagree ----

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
const MIN_OVERLAP = 0.3;
const MIN_SCORE = 0.3;
/** Similarity of two statements of the same form: above it they are the same statement, below it they have different subjects. */
const SAME_FORM = { from: 0.5, to: 0.97 };
/**
 * With a quarter of the usual length, a similarity has a standard deviation of 0.044. A pair that is four times that below the bound need not
 * be compared in full.
 */
const FIRST_LOOK = { length: 256, least: SAME_FORM.from - 4 * 0.044 };

/** Within a read transaction. */
export function findContradictions(
  parts: StoreParts,
  category: string | undefined,
  limit: number,
): Contradiction[] {
  const facts = readFacts(parts, category);
  const judge = parts.scoring === "reference" ? referenceJudge(parts) : structuralJudge(parts);
  const found = pairsOf(facts).flatMap(({ one, other, shared }) => {
    const overlap = shared.length / (one.entities.length + other.entities.length - shared.length);
    const verdict = overlap < MIN_OVERLAP ? undefined : judge(one.fact, other.fact, overlap);
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
function referenceJudge({ db, encoder }: StoreParts): Judge {
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
    if (scoreOf(nearly - SCAN_ERROR, overlap) < MIN_SCORE) return undefined;
    const similar = similarity(a.vector, b.vector);
    const score = scoreOf(similar, overlap);
    return score >= MIN_SCORE ? { similar, score } : undefined;
  };
}

/** The same statement with another value: most words are the same, and each side has words that the other lacks. */
function structuralJudge({ encoder }: StoreParts): Judge {
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

function readFacts({ db, encoder }: StoreParts, category: string | undefined): Compared[] {
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

function shown({ retrieval_count: _, helpful_count: __, ...fact }: FactRow): ContradictingFact {
  return fact;
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

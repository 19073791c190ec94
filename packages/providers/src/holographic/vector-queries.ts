// Queries by vectors: facts about an entity (probe), facts that have to do with it (related), facts about several entities at once
// (reason), and facts that contradict each other. The first three measure the similarity of facts to keys. Two scorings decide the keys:
// `reference` has the formulas of the Python original, `structural` is the default.
import { categoryFilter, FACT_COLUMNS, type FactRow, type FactWithVector, toFactRow } from "./database.ts";
import type { StoreParts } from "./facts.ts";
import { bind, type Encoder, readVector, similarity, unbind } from "./phase-vectors.ts";
import { phrase, withoutSyntaxErrors } from "./search.ts";
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

/** Rows that are read and measured at once: some milliseconds. */
const FACTS_PER_STEP = 256;

/** Undefined when no fact has a vector; the caller then searches by words. */
export async function queryVectors(
  parts: StoreParts,
  request: VectorRequest,
): Promise<VectorHit[] | undefined> {
  const { db, encoder, scoring } = parts;
  const { category } = request;
  const filter = categoryFilter(category);
  const withVector = `SELECT f.fact_id AS id FROM facts f WHERE length(f.hrr_vector) = :bytes ${filter.and}`;
  const values = { bytes: encoder.dim * 8, ...filter.values };
  if ((await db.read(() => db.get(`${withVector} LIMIT 1`, values))) === undefined) return undefined;
  const planned = () =>
    scoring === "reference" ? referencePlan(parts, request) : structuralPlan(parts, request);
  const needsBank = scoring === "reference" && request.kind === "probe" && category !== undefined; // a missing one is made
  const { tiers, ...plan } = await (needsBank ? db.write(planned) : db.read(planned));
  const eligible =
    tiers === undefined
      ? (await db.read(() => db.all<{ id: number }>(`${withVector} ORDER BY f.fact_id`, values))).map(
          ({ id }) => id,
        )
      : [...tiers.keys()].sort((a, b) => a - b);
  const hits: { readonly tier: number; readonly hit: VectorHit }[] = [];
  for (let start = 0; start < eligible.length; start += FACTS_PER_STEP) {
    const some = JSON.stringify(eligible.slice(start, start + FACTS_PER_STEP));
    const rows = await db.read(() =>
      db.all<FactWithVector>(
        `SELECT ${FACT_COLUMNS}, f.hrr_vector FROM facts f
         WHERE f.fact_id IN (SELECT value FROM json_each(:some)) ${filter.and} ORDER BY f.fact_id`,
        { some, ...filter.values },
      ),
    );
    for (const row of rows) {
      const vector = readVector(row.hrr_vector, encoder.dim);
      if (vector === undefined) continue; // changed meanwhile
      const measured = plan.withoutContent ? unbind(vector, encoder.content(row.content)) : vector;
      const score = ((measure(plan.subjects, measured) + 1) / 2) * row.trust_score;
      hits.push({ tier: tiers?.get(row.fact_id) ?? 0, hit: { ...toFactRow(row), score } });
    }
  }
  hits.sort((a, b) => a.tier - b.tier || b.hit.score - a.hit.score);
  // A negative limit, which only `reference` allows, means all but the last ones.
  return hits.slice(0, request.limit).map(({ hit }) => hit);
}

function measure(subjects: Plan["subjects"], vector: Float64Array): number {
  return Math.min(...subjects.map((keys) => Math.max(...keys.map((key) => similarity(vector, key)))));
}

// ---- Scoring `reference` ----
//
// The formulas of the Python original, each in the form "similarity of the fact to a key". Those of probe and reason do not measure what
// they are named after: the entity's part of a fact cancels out, and the rest is noise. They are kept for comparison.

/** Within a transaction. Every fact is eligible. */
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
/** Of all words. With less in common the similarity is far below `SAME_FORM` and need not be computed. */
const LEAST_SHARED = 0.35;
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
  const vectorOf = remembered(({ fact_id }: FactRow) => {
    const sql = "SELECT hrr_vector AS vector FROM facts WHERE fact_id = :fact_id";
    const row = db.get<{ vector: Uint8Array | null }>(sql, { fact_id });
    return readVector(row?.vector, encoder.dim) ?? new Float64Array(encoder.dim);
  });
  return (one, other, overlap) => {
    const similar = similarity(vectorOf(one), vectorOf(other));
    const score = overlap * (1 - (similar + 1) / 2);
    return score >= MIN_SCORE ? { similar, score } : undefined;
  };
}

/** The same statement with another value: most words are the same, and each side has words that the other lacks. */
function structuralJudge({ encoder }: StoreParts): Judge {
  const vectorOf = remembered(({ content }: FactRow) => encoder.text(content));
  const wordsOf = remembered(({ content }: FactRow) => new Set(vectorWords(content)));
  return (one, other, overlap) => {
    const [words, others] = [wordsOf(one), wordsOf(other)];
    let shared = 0;
    for (const word of words) if (others.has(word)) shared += 1;
    if (shared === words.size || shared === others.size) return undefined;
    if (shared < LEAST_SHARED * Math.sqrt(words.size * others.size)) return undefined;
    const similar = similarity(vectorOf(one), vectorOf(other));
    const isSameForm = similar >= SAME_FORM.from && similar <= SAME_FORM.to;
    return isSameForm ? { similar, score: overlap * similar } : undefined;
  };
}

/** `make` of a fact, once. */
function remembered<T>(make: (fact: FactRow) => T): (fact: FactRow) => T {
  const made = new Map<FactRow, T>();
  return (fact) => {
    const value = made.get(fact) ?? make(fact);
    made.set(fact, value);
    return value;
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

function shown({ retrieval_count: _, helpful_count: __, ...fact }: FactRow): ContradictingFact {
  return fact;
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

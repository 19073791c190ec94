// Questions to the vectors: what is about an entity (probe), what has to do with it (related), what is about several at
// once (reason). Each asks how much a fact has of some keys.
import type { FactTools } from "./facts.ts";
import type { LevelMatrix } from "./matrix.ts";
import { similarity, unbind } from "./phases.ts";
import type { Plan, VectorRequest } from "./plan.ts";
import { type Contender, computeExactly, shortlist, type VectorHit } from "./ranking.ts";
import { referencePlan } from "./reference-plan.ts";
import { structuralPlan } from "./structural-plan.ts";
import type { IndexedFact, VectorIndex } from "./vector-index.ts";

/** So few are computed at once; more are scanned first. */
const FEW = 200;

/** Undefined when no fact has a vector: then only a search can tell. */
export async function queryVectors(
  tools: FactTools,
  index: VectorIndex,
  request: VectorRequest,
): Promise<VectorHit[] | undefined> {
  const { db, encoder, scoring } = tools;
  const { category } = request;
  const plan = await db.read(() => {
    if (!hasVectors(tools, category)) return undefined;
    return scoring === "reference" ? referencePlan(tools, request) : structuralPlan(tools, request);
  });
  if (plan === undefined) return undefined;
  const isFew = plan.tiers !== undefined && plan.tiers.size <= FEW;
  const contenders = isFew ? undefined : await scanFacts(index, plan, category);
  // Below zero, which only the original allows: all but so many of the last.
  const limit = request.limit < 0 ? (contenders?.length ?? 0) + request.limit : request.limit;
  if (limit <= 0) return [];
  const tiers = contenders === undefined ? plan.tiers : shortlist(contenders, limit);
  const exact = (vector: Float64Array, content: string) => {
    const measured = plan.withoutContent ? unbind(vector, encoder.content(content)) : vector;
    return measure(plan, measured);
  };
  return db.read(() => computeExactly(tools, { tiers: tiers ?? new Map(), category, limit, exact }));
}

function hasVectors({ db, encoder }: FactTools, category: string | undefined): boolean {
  const inCategory = category === undefined ? "" : "AND category = :category";
  const sql = `SELECT 1 FROM facts WHERE length(hrr_vector) = :bytes ${inCategory} LIMIT 1`;
  const values = { bytes: encoder.dim * 8, ...(category === undefined ? {} : { category }) };
  return db.get(sql, values) !== undefined;
}

async function scanFacts(index: VectorIndex, plan: Plan, category: string | undefined): Promise<Contender[]> {
  const matrix = plan.withoutContent ? await index.residuals() : index.vectors;
  await index.refresh();
  return scanned(index.facts, matrix, plan, category);
}

/** Nothing is awaited in here: rows of the matrix do not move meanwhile. */
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

// The best of many: a scan gives every fact a score that is nearly right, and those that could be among the best are
// computed exactly from the stored vectors.
import type { FactTools } from "./facts.ts";
import { SCAN_ERROR } from "./matrix.ts";
import { FACT_COLUMNS, type FactRow, type FactWithVector, readVector, toFactRow } from "./rows.ts";

export type VectorHit = FactRow & { readonly score: number };

/** A fact in the running, with its similarity as scanned. Lower tiers come first, whatever the scores. */
export type Contender = {
  readonly id: number;
  readonly trust: number;
  readonly similar: number;
  readonly tier: number;
};

/**
 * Facts can have the same score by the thousand (those without entities, by the original's probe). Of them the oldest are
 * computed, which are the ones a stable order shows.
 */
const MOST_COMPUTED = 400;

function scoreOf(similar: number, trust: number): number {
  return ((similar + 1) / 2) * trust;
}

/** Those that can be among the first `limit`, given how far a scan can be off, with their tiers. */
export function shortlist(contenders: readonly Contender[], limit: number): Map<number, number> {
  const scored = contenders.map(({ id, trust, similar, tier }) => ({
    id,
    tier,
    score: scoreOf(similar, trust),
  }));
  const last = lastPlace(scored, limit);
  // A score is half a similarity, and two of them may be off in opposite directions.
  const near = scored.filter(
    ({ tier, score }) => tier < last.tier || (tier === last.tier && score >= last.score - SCAN_ERROR),
  );
  near.sort((a, b) => a.tier - b.tier || b.score - a.score || a.id - b.id);
  return new Map(near.slice(0, Math.max(MOST_COMPUTED, limit)).map(({ id, tier }) => [id, tier]));
}

export type Finalists = {
  readonly tiers: ReadonlyMap<number, number>;
  readonly category: string | undefined;
  readonly limit: number;
  readonly exact: (vector: Float64Array, content: string) => number;
};

/** Within a read transaction. Facts that are gone by now are left out. */
export function computeExactly({ db, encoder }: FactTools, finalists: Finalists): VectorHit[] {
  const { tiers, category, limit, exact } = finalists;
  const inCategory = category === undefined ? "" : "AND f.category = :category";
  const sql = `
    SELECT ${FACT_COLUMNS}, f.hrr_vector FROM facts f
    WHERE f.fact_id IN (SELECT value FROM json_each(:ids)) ${inCategory} ORDER BY f.fact_id
  `;
  const ids = JSON.stringify([...tiers.keys()]);
  const rows = db.all<FactWithVector>(sql, { ids, ...(category === undefined ? {} : { category }) });
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

/** Tier and score of the fact that is in place `limit`. */
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

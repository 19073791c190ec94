// Search by words: full text finds the candidates, and words shared, vectors, trust and age decide their order.

import type { FactTools } from "./facts.ts";
import { anyTellingWord, anyWord, questionIn } from "./fts-query.ts";
import { similarity } from "./phases.ts";
import { FACT_COLUMNS, type FactRow, type FactWithVector, readVector, toFactRow } from "./rows.ts";
import type { HolographicSettings } from "./settings.ts";
import { jaccard, matchWords } from "./words.ts";

export type SearchRequest = {
  readonly query: string;
  readonly category: string | undefined;
  readonly minTrust: number;
  readonly limit: number;
  /** Ask for the words alone when the query finds nothing as FTS5 syntax. */
  readonly isSafe: boolean;
};

export type SearchHit = FactRow & { readonly fts_rank: number; readonly score: number };

export type SearchSettings = Pick<HolographicSettings, "scoring" | "vectorWeight" | "halfLifeDays">;

const RANK_WEIGHT = 0.4;
const WORDS_WEIGHT = 0.3;
const CANDIDATES_PER_RESULT = 3;
const LEAST_TOP_RANK = 1e-6;
const MS_PER_DAY = 86_400_000;

/** Within a read transaction. */
export function searchFacts(
  tools: FactTools,
  settings: SearchSettings,
  asked: SearchRequest,
  now: Date,
): SearchHit[] {
  const request = { ...asked, query: questionIn(asked.query) };
  const candidates = findCandidates(tools, settings, request);
  if (candidates.length === 0) return [];
  const top = Math.max(...candidates.map(({ rank }) => Math.abs(rank)), LEAST_TOP_RANK);
  const queryWords = new Set(matchWords(request.query));
  const queryVector = settings.vectorWeight > 0 ? encodeQuery(tools, settings, request.query) : undefined;

  const scored = candidates.map(({ rank, fact }): SearchHit => {
    const fts_rank = Math.abs(rank) / top;
    const words = new Set([...matchWords(fact.content), ...matchWords(fact.tags)]);
    const vector = queryVector && readVector(fact.hrr_vector, tools.encoder.dim);
    const likeness = queryVector && vector ? (similarity(queryVector, vector) + 1) / 2 : 0.5;
    const relevance =
      RANK_WEIGHT * fts_rank + WORDS_WEIGHT * jaccard(queryWords, words) + settings.vectorWeight * likeness;
    const age = ageFactor(fact.updated_at || fact.created_at, settings.halfLifeDays, now);
    return { ...toFactRow(fact), fts_rank, score: relevance * fact.trust_score * age };
  });
  return scored.sort((one, other) => other.score - one.score).slice(0, request.limit);
}

/** Half after each half-life. Times that lie ahead or cannot be read do not count. */
export function ageFactor(time: string, halfLifeDays: number, now: Date): number {
  if (halfLifeDays <= 0) return 1;
  const iso = time.replace(" ", "T");
  const then = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`);
  const days = (now.getTime() - then) / MS_PER_DAY;
  return Number.isNaN(days) || days < 0 ? 1 : 0.5 ** (days / halfLifeDays);
}

// The original compares the bare query with facts that keep their text bound to a role, which gives about 0.5 for all.
function encodeQuery({ encoder }: FactTools, { scoring }: SearchSettings, query: string): Float64Array {
  return scoring === "reference" ? encoder.text(query) : encoder.content(query);
}

type Candidate = { readonly rank: number; readonly fact: FactWithVector };

function findCandidates(tools: FactTools, { scoring }: SearchSettings, request: SearchRequest): Candidate[] {
  const asTyped = matching(tools, request, request.query);
  if (asTyped.length > 0 || !request.isSafe) return asTyped;
  const words = scoring === "structural" ? anyTellingWord(request.query) : anyWord(request.query);
  return words === "" ? [] : matching(tools, request, words);
}

function matching({ db }: FactTools, request: SearchRequest, match: string): Candidate[] {
  // Ranks first, facts afterwards: with the columns in one statement SQLite would carry every vector through its sorter.
  const sql = `
    SELECT facts_fts.rowid AS id, facts_fts.rank AS rank
    FROM facts_fts JOIN facts f ON f.fact_id = facts_fts.rowid
    WHERE facts_fts MATCH :match AND f.trust_score >= :minTrust AND (:category IS NULL OR f.category = :category)
    ORDER BY facts_fts.rank LIMIT :limit
  `;
  const { minTrust, category = null, limit } = request;
  const values = { match, minTrust, category, limit: limit * CANDIDATES_PER_RESULT };
  const ranks = withoutSyntaxErrors(() => db.all<{ id: number; rank: number }>(sql, values));
  if (ranks.length === 0) return [];
  const facts = db.all<FactWithVector>(
    `SELECT ${FACT_COLUMNS}, f.hrr_vector FROM facts f WHERE f.fact_id IN (SELECT value FROM json_each(:ids))`,
    { ids: JSON.stringify(ranks.map(({ id }) => id)) },
  );
  const byId = new Map(facts.map((fact) => [fact.fact_id, fact]));
  return ranks.flatMap(({ id, rank }) => {
    const fact = byId.get(id);
    return fact === undefined ? [] : [{ rank, fact }];
  });
}

const SYNTAX_ERROR = 1;

/** A query that is no FTS5 syntax finds nothing; a database that is busy or broken is another matter. */
export function withoutSyntaxErrors<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch (cause) {
    if (typeof cause === "object" && cause !== null && "errcode" in cause && cause.errcode === SYNTAX_ERROR)
      return [];
    throw cause;
  }
}

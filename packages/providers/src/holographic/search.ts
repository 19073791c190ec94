// Search by words: full text search finds the candidates; shared words, vectors, trust and age decide their order.
import { FACT_COLUMNS, type FactRow, type FactWithVector, toFactRow } from "./database.ts";
import type { StoreParts } from "./facts.ts";
import { readVector, similarity } from "./phase-vectors.ts";
import type { HolographicSettings } from "./settings.ts";
import { jaccard, matchWords } from "./words-and-names.ts";

export type SearchRequest = {
  readonly query: string;
  readonly category: string | undefined;
  readonly minTrust: number;
  readonly limit: number;
  /** Search for the words alone when the query as FTS5 syntax finds nothing. */
  readonly isSafe: boolean;
};

export type SearchHit = FactRow & { readonly fts_rank: number; readonly score: number };

type SearchSettings = Pick<HolographicSettings, "scoring" | "vectorWeight" | "halfLifeDays">;

const RANK_WEIGHT = 0.4;
const WORDS_WEIGHT = 0.3;
const CANDIDATES_PER_RESULT = 3;
const MIN_TOP_RANK = 1e-6;
const MS_PER_DAY = 86_400_000;

/** Within a read transaction. */
export function searchFacts(
  parts: StoreParts,
  settings: SearchSettings,
  asked: SearchRequest,
  now: Date,
): SearchHit[] {
  const request = { ...asked, query: questionIn(asked.query) };
  const candidates = findCandidates(parts, settings, request);
  if (candidates.length === 0) return [];
  const top = Math.max(...candidates.map(({ rank }) => Math.abs(rank)), MIN_TOP_RANK);
  const queryWords = new Set(matchWords(request.query));
  const queryVector = settings.vectorWeight > 0 ? encodeQuery(parts, settings, request.query) : undefined;

  const scored = candidates.map(({ rank, fact }): SearchHit => {
    const fts_rank = Math.abs(rank) / top;
    const words = new Set([...matchWords(fact.content), ...matchWords(fact.tags)]);
    const vector = queryVector && readVector(fact.hrr_vector, parts.encoder.dim);
    const likeness = queryVector && vector ? (similarity(queryVector, vector) + 1) / 2 : 0.5;
    const relevance =
      RANK_WEIGHT * fts_rank + WORDS_WEIGHT * jaccard(queryWords, words) + settings.vectorWeight * likeness;
    const age = ageFactor(fact.updated_at || fact.created_at, settings.halfLifeDays, now);
    return { ...toFactRow(fact), fts_rank, score: relevance * fact.trust_score * age };
  });
  return scored.sort((one, other) => other.score - one.score).slice(0, request.limit);
}

/** 1, halved for each half-life of age. 1 for a time in the future or one that cannot be parsed. */
export function ageFactor(time: string, halfLifeDays: number, now: Date): number {
  if (halfLifeDays <= 0) return 1;
  const iso = time.replace(" ", "T");
  const then = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`);
  const days = (now.getTime() - then) / MS_PER_DAY;
  return Number.isNaN(days) || days < 0 ? 1 : 0.5 ** (days / halfLifeDays);
}

// The Python original compares the unbound query with facts whose text is bound to a role, which gives about 0.5 for every fact.
function encodeQuery({ encoder }: StoreParts, { scoring }: SearchSettings, query: string): Float64Array {
  return scoring === "reference" ? encoder.text(query) : encoder.content(query);
}

type Candidate = { readonly rank: number; readonly fact: FactWithVector };

function findCandidates(parts: StoreParts, { scoring }: SearchSettings, request: SearchRequest): Candidate[] {
  const asTyped = matching(parts, request, request.query);
  if (asTyped.length > 0 || !request.isSafe) return asTyped;
  const words = scoring === "structural" ? anyTellingWord(request.query) : anyWord(request.query);
  return words === "" ? [] : matching(parts, request, words);
}

function matching({ db }: StoreParts, request: SearchRequest, match: string): Candidate[] {
  // First the ranks, then the facts: in one statement SQLite would move every vector through its sorter.
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

/** A query that is not valid FTS5 syntax finds nothing. Other errors of the database are thrown. */
export function withoutSyntaxErrors<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch (cause) {
    if (typeof cause === "object" && cause !== null && "errcode" in cause && cause.errcode === SYNTAX_ERROR)
      return [];
    throw cause;
  }
}

// ---- FTS5 queries from a user's text ----
// A sentence taken as FTS5 syntax rarely matches: punctuation is an error, and all words are required.

/** Every word costs time, and in a long text the question is at the beginning or the end. */
const MAX_WORDS = 32;
const MAX_CHARS = 2000;

const STOP_WORDS = new Set(
  `a about an and any are as at be been but by can could did do does for from had has have he her his how i if in is it
   its just me my no not of on or our please she should so tell than that the their them there these they this those to
   us was we were what when where which who whom whose why will with would you your`.split(/\s+/),
);

/** Endings of English words. The rest has to be long enough to identify the word. */
const ENDING = /(?:ings?|ed|es|ers?|s|e|y|ies|ied)$/;
const MIN_STEM = 4;

/** The text, or the beginning and the end of a long one. */
function questionIn(text: string): string {
  const half = MAX_CHARS / 2;
  return text.length <= MAX_CHARS ? text : `${text.slice(0, half)} ${text.slice(-half)}`.toWellFormed();
}

/** Any of the words. "" for a text without words. */
function anyWord(text: string): string {
  return firstAndLast(wordsOf(text)).map(quoted).join(" OR ");
}

/** Any of the words that are not stop words, also with other endings. A word in the given form counts twice. */
function anyTellingWord(text: string): string {
  const words = wordsOf(text);
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  const asked = firstAndLast(telling.length > 0 ? telling : words);
  return asked.flatMap((word) => [quoted(word), ...otherForms(word)]).join(" OR ");
}

/** The words of a name in this order. */
export function phrase(name: string): string {
  return quoted(name.replaceAll("\0", " "));
}

function wordsOf(text: string): string[] {
  return [...new Set(matchWords(text.replaceAll("\0", " ")))];
}

function firstAndLast(words: readonly string[]): readonly string[] {
  const half = MAX_WORDS / 2;
  return words.length <= MAX_WORDS ? words : [...words.slice(0, half), ...words.slice(-half)];
}

function otherForms(word: string): string[] {
  const stem = word.replace(ENDING, "");
  return /^\p{L}+$/u.test(stem) && stem.length >= MIN_STEM ? [`${quoted(stem)}*`] : [];
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

// Search over messages. A query with quotes, operators or stars means what it says; a plain one is tried word for word
// and widened to the forms of its words, any of which counts.

import { readScope } from "../../scope.ts";
import { namedTimes } from "../../search/named-times.ts";
import {
  containsUnspaced,
  type Expression,
  type PlainTerm,
  parseQuery,
  toMatch,
} from "../../search/query.ts";
import { type Ranking, type RankRow, rank, rarity } from "../../search/ranking.ts";
import { makeSnippet } from "../../search/snippet.ts";
import type { SearchAnswer, SearchOptions, SearchStage } from "../../search/types.ts";
import type { SessionStore } from "../../store.ts";
import type { StoreContext } from "../context.ts";
import { type Illustrate, pageOf, type Scored, toHits } from "./answer.ts";
import { whyEmpty } from "./empty.ts";
import { toConditions } from "./filters.ts";
import { neighboursOf } from "./neighbours.ts";
import { spellOut } from "./prefixes.ts";
import { directionOf, type FoundRow, findRows, highestId, isInOrderOfTime, matchesAnything } from "./rows.ts";
import {
  exactly,
  inAnyForm,
  phrasesBeginning,
  type Term,
  telling,
  termCounter,
  termsOf,
  withForms,
} from "./terms.ts";
import { searchUnspaced } from "./unspaced.ts";
import { openVocabulary } from "./vocabulary.ts";

/** How many of the newest rows are ranked, shared among the terms. Whoever holds all terms is ranked in any case. */
const ROWS_RANKED = 480;
const MOST_PER_TERM = 130;
const LEAST_PER_TERM = 60;
const ROWS_WITH_ALL = 80;
/** Small enough to rank every message. */
const SMALL_DATABASE = 5000;

const HAS_INDEX = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = :name";

export type SearchOperations = Pick<SessionStore, "search" | "searchMessages">;

export function searchOperations(context: StoreContext): SearchOperations {
  const { connection } = context;
  const search = (query: string, options: SearchOptions = {}) =>
    connection.read((): SearchAnswer => answer(context, String(query ?? ""), options));
  return {
    search,
    async searchMessages(query, options) {
      const { hits } = await search(query, options);
      return hits.map(({ score: _score, matched: _matched, lineage_root: _root, ...row }) => row);
    },
  };
}

function answer(context: StoreContext, query: string, options: SearchOptions): SearchAnswer {
  const { connection } = context;
  readScope(options); // refuses a lost user also where nothing is searched
  const parsed = parseQuery(query);
  if (parsed.kind === "blank") return { hits: [], stage: "none", empty: "blank" };
  openVocabulary(connection);
  // What is excluded counts too: `docker NOT 通信` cannot be asked of the word index.
  const isUnspaced =
    parsed.kind === "plain"
      ? parsed.terms.some(({ text }) => containsUnspaced(text))
      : containsUnspaced(toMatch(parsed.expression));
  // Read-only files of old versions lack one or both of the indexes.
  const index = isUnspaced ? "messages_fts_trigram" : "messages_fts";
  if (connection.get(HAS_INDEX, { name: index }) === undefined)
    return { hits: [], stage: "none", empty: "no-match" };
  if (isUnspaced) return searchUnspaced(context, parsed, options);
  if (parsed.kind === "plain") return searchTerms(context, query, parsed.terms, options);
  const exact = searchExpression(context, parsed.expression, options);
  if (exact.empty !== "no-match") return exact;
  const words = wordsOfQuestion(query, parsed.expression);
  return words === undefined ? exact : searchTerms(context, query, words, options);
}

/** `When did Ana read "The Waves"?` is a question with a title in it, not an expression. */
function wordsOfQuestion(query: string, expression: Expression): PlainTerm[] | undefined {
  if (expression.op !== "and" || expression.parts.length < 3) return undefined;
  const outside = query.replace(/"[^"]*"/g, " ").split(/\s+/);
  const isMeantLiterally = outside.some((word) => word === "AND") || outside.join("") === "";
  if (isMeantLiterally) return undefined;
  const phrases = expression.parts.flatMap((part) => (part.op === "phrase" && !part.isPrefix ? [part] : []));
  if (phrases.length < expression.parts.length) return undefined;
  return phrases.map(({ words }) => ({ words, text: words.join(" ") }));
}

function searchTerms(
  context: StoreContext,
  query: string,
  asked: readonly PlainTerm[],
  options: SearchOptions,
): SearchAnswer {
  const terms = telling(asked).map((term) => withForms(context.connection, term));
  return searchWords(context, { query, asked, terms }, options);
}

type Words = {
  readonly query: string;
  readonly asked: readonly PlainTerm[];
  readonly terms: readonly Term[];
};

function searchExpression(
  context: StoreContext,
  expression: Expression,
  options: SearchOptions,
): SearchAnswer {
  const { connection } = context;
  const conditions = toConditions(options);
  const terms = termsOf(expression);
  const match = toMatch(expression);
  const limit = rowsWanted(options, 1, highestId(connection));
  const direction = directionOf(options);
  const find = (wanted: string) =>
    findRows(connection, "messages_fts", wanted, conditions, { limit, direction });
  const spelled = spellOut(connection, expression);
  const some = find(toMatch(spelled.expression));
  // In order of time, some of the words would not do: the newest message may hold another one.
  const isEnough = spelled.isComplete || (some.length === limit && !isInOrderOfTime(options));
  const rows = isEnough ? some : find(match);
  const { scored } = score(context, rows, {
    query: "",
    terms,
    holders: terms.map(() => rows.length),
    spans: [],
  });
  return toAnswer(context, scored, (text) => illustrate(text, terms), "exact", options, match);
}

function searchWords(
  context: StoreContext,
  { query, asked, terms }: Words,
  options: SearchOptions,
): SearchAnswer {
  const { connection } = context;
  const conditions = toConditions(options);
  const direction = directionOf(options);
  const last = highestId(connection);
  const limit = rowsWanted(options, terms.length, last);
  const find = (expression: Expression, most: number) =>
    findRows(connection, "messages_fts", toMatch(expression), conditions, { limit: most, direction });
  const all = (parts: readonly Expression[]): Expression => ({ op: "and", parts });

  const rows = new Map<number, FoundRow>();
  const keep = (found: readonly FoundRow[]) => {
    for (const row of found) rows.set(row.id, row);
    return found;
  };
  const exact = keep(
    find(all(terms.map(exactly)), terms.length === 1 ? limit : Math.max(ROWS_WITH_ALL, limit)),
  );
  // In order of time, what was asked for must not drown in what was not.
  const isEnough = isInOrderOfTime(options) && exact.length > 0;
  if (!isEnough && terms.length > 1) keep(find(all(terms.map(inAnyForm)), ROWS_WITH_ALL));
  const holders = isEnough
    ? terms.map(() => exact.length)
    : terms.map((term) => {
        if (terms.length === 1 && term.forms.length === 0) return estimate(exact, limit, last);
        return estimate(keep(find(inAnyForm(term), limit)), limit, last);
      });
  const years = yearsAround([...rows.values()]);
  const spans = namedTimes(query, years);
  const { scored, confidence } = score(context, [...rows.values()], { query, terms, holders, spans });
  const stage = scored.some(({ isExact }) => isExact) ? "strict" : "widened";
  const any = toMatch({ op: "or", parts: terms.map(inAnyForm) });
  // Where the query stands word for word, its little words are marked too.
  const whole = asked.map(({ words }): Term => ({ words, isPrefix: false, forms: [], kin: [] }));
  const countWhole = termCounter(whole);
  const shown = (text: string) => illustrate(text, countWhole(text).isExact ? [...whole, ...terms] : terms);
  const answered = toAnswer(context, scored, shown, stage, options, any);
  return scored.length === 0 ? answered : { ...answered, confidence };
}

function score(
  { connection }: StoreContext,
  rows: readonly FoundRow[],
  { query, terms, holders, spans }: Asked,
): { readonly scored: Scored[]; readonly confidence: Ranking["confidence"] } {
  const countTerms = termCounter(terms);
  const neighbours = neighboursOf(connection, rows);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const sessionCounts = new Map<string, number[]>();
  for (const { session_id, text } of rows) {
    const totals = sessionCounts.get(session_id) ?? terms.map(() => 0);
    countTerms(text).counts.forEach((count, at) => {
      if (count > 0) totals[at] = (totals[at] ?? 0) + 1;
    });
    sessionCounts.set(session_id, totals);
  }
  const all = highestId(connection);
  const {
    rows: ranked,
    confidence,
    kind,
  } = rank({
    query,
    terms: terms.map(({ words, isPrefix, forms }, at) => {
      const number = holders[at] ?? 0;
      return { words, isPrefix, forms, weight: rarity(number, Math.max(all, number)) };
    }),
    rows: rows.map((row): RankRow => {
      const { isFirst = false, before = [], after = [] } = neighbours.get(row.id) ?? {};
      const { id, session_id: session, timestamp, role } = row;
      return { id, session, timestamp, role, ...rankedText(row), isFirst, before, after };
    }),
    sessionCounts,
    spans,
  });
  const scored = ranked.flatMap(({ row: { id }, score: points, group, matched, isFull }) => {
    const row = byId.get(id);
    const found = matched.map((at) => terms[at]?.words.join(" ") ?? "");
    return row === undefined ? [] : [{ row, score: points, group, kind, isExact: isFull, matched: found }];
  });
  return { scored, confidence };
}

type Asked = {
  readonly query: string;
  readonly terms: readonly Term[];
  readonly holders: readonly number[];
  readonly spans: ReturnType<typeof namedTimes>;
};

export function rankedText(row: FoundRow): Pick<RankRow, "said" | "did" | "isRecall"> {
  const isRecall = row.role === "tool" && row.tool_name === "session_search";
  if (row.said === null) return { said: row.text, did: "", isRecall };
  return { said: row.said, did: row.text.slice(row.said.length), isRecall };
}

function toAnswer(
  context: StoreContext,
  scored: readonly Scored[],
  shown: Illustrate,
  stage: SearchStage,
  options: SearchOptions,
  match: string,
): SearchAnswer {
  const hits = toHits(context, scored, options, shown);
  if (scored.length > 0) return { hits, stage };
  const finds = (others: SearchOptions) =>
    matchesAnything(context.connection, "messages_fts", match, toConditions(others));
  return { hits: [], stage: "none", empty: whyEmpty(options, finds) };
}

function illustrate(text: string, terms: readonly Term[]): string {
  const single = terms.filter(({ words }) => words.length === 1);
  const words = new Set(
    single.flatMap(({ words: own, forms, isPrefix }) => (isPrefix ? [] : [...own, ...forms])),
  );
  const beginnings = single.flatMap(({ words: own, isPrefix }) => (isPrefix ? own : []));
  const phrases = terms.flatMap((term) =>
    term.words.length < 2 ? [] : term.isPrefix ? phrasesBeginning(text, term.words) : [term.words],
  );
  const isMatch = (term: string) =>
    words.has(term) || beginnings.some((beginning) => term.startsWith(beginning));
  return makeSnippet(text, isMatch, phrases);
}

/** Of a term that fills its share of rows, the density of those rows tells how many there are in all. */
function estimate(rows: readonly FoundRow[], limit: number, last: number): number {
  if (rows.length < limit) return rows.length;
  const ids = rows.map(({ id }) => id);
  const width = Math.max(1, Math.max(...ids) - Math.min(...ids) + 1);
  return Math.min(last, Math.round((rows.length / width) * last));
}

/**
 * In few steps: which rows are ranked decides on their order, and the next page should go on where the last one ended.
 */
function rowsWanted(options: SearchOptions, terms: number, last: number): number {
  if (last <= SMALL_DATABASE) return SMALL_DATABASE;
  const share = Math.min(
    MOST_PER_TERM,
    Math.max(LEAST_PER_TERM, Math.round(ROWS_RANKED / Math.max(1, terms))),
  );
  const { offset, limit } = pageOf(options);
  return [share, 640, 2500].find((step) => step >= 2 * (offset + limit)) ?? SMALL_DATABASE;
}

/** The years the found messages are from: a month without a year means one of these. */
function yearsAround(rows: readonly FoundRow[]): number[] {
  return [...new Set(rows.map(({ timestamp }) => new Date(timestamp * 1000).getFullYear()))].sort(
    (a, b) => b - a,
  );
}

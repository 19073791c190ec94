// Search over messages, from the query to the hits. A query with quotes, operators or stars is taken literally; a plain one is
// tried word for word and widened to other forms of its words, any of which counts. The index returns keys, the tables decide
// which messages may be shown, and ranking orders them.
import { takeCodePoints } from "../../../lib/index.ts";
import { contentText, decodeContent } from "../../../message/index.ts";
import { readScope } from "../../identity.ts";
import {
  atEndOfRun,
  type Expression,
  exactly,
  exactTerm,
  inAnyForm,
  MOST_CHARACTERS,
  namedTimes,
  nameFound,
  type PlainTerm,
  pairsOf,
  parseQuery,
  type Term,
  termsLeftOut,
  termsOf,
  toMatch,
  withoutStopWords,
} from "../../search/query.ts";
import { groupScore, isRecallTool, rank } from "../../search/ranking.ts";
import type { ConversationKind } from "../../search/ranking-reading.ts";
import { shortener, snippetMaker } from "../../search/snippet.ts";
import type { EmptyReason, SearchAnswer, SearchHit, SearchOptions, SearchStage } from "../../search/types.ts";
import { isUnspacedTerm } from "../../search/words.ts";
import type { SessionSearch } from "../../store.ts";
import { count } from "../connection.ts";
import type { StoreContext } from "../context.ts";
import type { IndexReader } from "../index/reader.ts";
import { isHidden, messageColumns } from "../index/tables.ts";
import { BOUNDS, type Bounds } from "../options.ts";
import {
  type Candidates,
  highestId,
  holdersOfAny,
  matchesOf,
  toRankTerm,
  type WordScope,
  weightOf,
  withForms,
} from "./candidates.ts";
import {
  type FoundRow,
  keysOf,
  lineageRoots,
  matchesAnything,
  neighboursOf,
  type Order,
  type ReadRow,
  readTexts,
  type Search,
  sessionKeys,
  toConditions,
  walkMatches,
} from "./matches.ts";

/** At least this many messages, or lineages, are ranked, whatever the page. */
const RANKED_PAGE = 20;

/** `bounds`: for tests, to search a small database like a large one. */
export function searchOperations(context: StoreContext, bounds: Partial<Bounds> = {}) {
  const all = { ...BOUNDS, ...bounds };
  const search = async (query: string, options: SearchOptions = {}): Promise<SearchAnswer> => {
    readScope(options); // checks the scope even if nothing is searched
    const text = String(query ?? "").slice(0, MOST_CHARACTERS);
    if (parseQuery(text).kind === "blank") return { hits: [], stage: "none", empty: "blank" };
    const leftOut = termsLeftOut(String(query));
    const request = { query: text, options, bounds: all };
    const found = await context.index.read((reader) => answer(context, reader, request));
    return leftOut === 0 ? found : { ...found, termsLeftOut: leftOut };
  };
  return {
    search,
    async searchMessages(query, options) {
      const { hits } = await search(query, options);
      return hits.map(({ score: _score, matched: _matched, lineage_root: _root, ...row }) => row);
    },
  } satisfies Partial<SessionSearch>;
}

type Request = { readonly query: string; readonly options: SearchOptions; readonly bounds: Bounds };

function answer(
  context: StoreContext,
  reader: IndexReader,
  { query, options, bounds }: Request,
): SearchAnswer {
  const { connection } = context;
  const columns = messageColumns(connection);
  const rootOf = lineageRoots(connection, readScope(options));
  const keysOfSession = sessionKeys(reader);
  const under = (filters: SearchOptions): Search => ({
    connection,
    reader,
    columns,
    conditions: toConditions(filters, reader, columns, bounds),
    bounds,
    rootOf,
    keysOfSession,
  });
  const search = under(options);
  const finish = (found: Answered): SearchAnswer => {
    const notSearched =
      reader.notSearched === 0
        ? undefined
        : { messages: reader.notSearched, reason: "the search index does not hold them yet" };
    if (found.scored.length > 0 || lastOfPage(options) === 0) {
      const { offset, limit } = pageOf(options);
      const page = found.scored.slice(offset, offset + limit);
      const hits = toHits(context, search, page, snippetMaker(found.shown, found.whole));
      const { confidence, isPartial } = found;
      return {
        hits,
        stage: found.stage,
        confidence,
        isPartlyRanked: isPartial ? true : undefined,
        notSearched,
      };
    }
    const finds = (others: SearchOptions) => matchesAnything(under(others), found.match);
    return { hits: [], stage: "none", empty: whyEmpty(options, finds), notSearched };
  };

  const parsed = parseQuery(query);
  if (parsed.kind === "blank") return { hits: [], stage: "none", empty: "blank" };
  if (parsed.kind === "plain") return finish(findTerms(search, query, parsed.terms, options));
  const exact = finish(findExpression(search, parsed.expression, options));
  if (exact.empty !== "no-match") return exact;
  const words = wordsOfQuestion(query, parsed.expression);
  return words === undefined ? exact : finish(findTerms(search, query, words, options));
}

/** The matches in order, before the page is cut. */
type Answered = {
  readonly scored: readonly Scored[];
  readonly stage: SearchStage;
  /** Everything that could match; used to explain an empty answer. */
  readonly match: string;
  readonly shown: readonly Term[];
  /** The words of a plain query, including function words. */
  readonly whole?: readonly Term[];
  readonly confidence?: SearchAnswer["confidence"];
  readonly isPartial?: boolean;
};

type Scored = {
  readonly row: ReadRow;
  readonly score: number;
  /** Its contribution to the score of its lineage. */
  readonly group: number;
  /** Sorted before all others, whatever their score. */
  readonly isFirst: boolean;
  readonly matched: readonly string[];
};

/** `When did Ana read "The Waves"?` is a question that contains a title, not an expression. */
function wordsOfQuestion(query: string, expression: Expression): PlainTerm[] | undefined {
  if (expression.op !== "and" || expression.parts.length < 3) return undefined;
  const outside = query.replace(/"[^"]*"/g, " ").split(/\s+/);
  const isMeantLiterally = outside.some((word) => word === "AND") || outside.join("") === "";
  if (isMeantLiterally) return undefined;
  const phrases = expression.parts.flatMap((part) => (part.op === "phrase" && !part.isPrefix ? [part] : []));
  if (phrases.length < expression.parts.length) return undefined;
  return phrases.map(({ words }) => ({ words, text: words.join(" ") }));
}

function findExpression(search: Search, expression: Expression, options: SearchOptions): Answered {
  const match = toMatch(expression);
  const terms = termsOf(expression);
  const order = timeOrder(options);
  if (order !== undefined) {
    const rows = inOrderOfTime(search, match, order, options);
    const { scored } = scoreInOrder(search, "", terms, rows);
    return { scored, stage: "exact", match, shown: terms };
  }
  const wanted = { count: RANKED_PAGE, perLineage: options.perLineage === true };
  // Alternatives that are single phrases are weighted by how rare each is.
  const ranked = rarest(search, terms);
  const isList =
    expression.op === "or" &&
    expression.parts.length === ranked.length &&
    expression.parts.every(({ op }) => op === "phrase");
  const found = isList
    ? holdersOfAny(search, ranked, undefined, wanted)
    : matchesOf(search, match, ranked, wanted);
  const best = scoreByRelevance(search, "", ranked, found, options);
  const isAll = found.isAll && ranked.length === terms.length;
  const scored = isAll ? best.scored : withFurther(search, "", found, best.scored, [match], options);
  return { scored, isPartial: best.isPartial, stage: "exact", match, shown: terms };
}

/** If there are more terms, only the rarest that occur are compared: each costs a list of messages. */
const MOST_COMPARED = 100;

function rarest<T extends Pick<Term, "words">>(search: Search, terms: readonly T[]): readonly T[] {
  if (terms.length <= MOST_COMPARED) return terms;
  const counted = terms.map((term) => {
    const { length } = keysOf(search, toMatch(exactly(exactTerm(term.words))), MOST_COMPARED);
    return { term, holders: length === 0 ? Number.POSITIVE_INFINITY : length };
  });
  // Not a plain difference: Infinity - Infinity is NaN.
  counted.sort((a, b) => (a.holders === b.holders ? 0 : a.holders - b.holders));
  return counted.slice(0, MOST_COMPARED).map(({ term }) => term);
}

function findTerms(
  search: Search,
  query: string,
  asked: readonly PlainTerm[],
  options: SearchOptions,
): Answered {
  const { connection, reader } = search;
  const wished = withoutStopWords(asked);
  const wordScope = wordScopeOf(search, options);
  const single = rarest(search, wished).map((term) => withForms(connection, reader, term, wordScope));
  const isCut = single.length < wished.length;
  const all = wished.map(({ words }) => exactly(exactTerm(words)));
  const strict = toMatch({ op: "and", parts: all });
  const whole = asked.map(({ words }) => exactTerm(words));
  const order = timeOrder(options);
  const wanted = { count: RANKED_PAGE, perLineage: options.perLineage === true };
  const isUnspaced = single.some(({ words }) => words.some(isUnspacedTerm));
  if (isUnspaced && order === undefined && lastOfPage(options) > 0) {
    // Adjacent parts mean AND. Any of them counts only if that finds nothing, because a single character is in very many texts.
    const ends = single.map((term) => `(${atEndOfRun(term)})`).join(" AND ");
    const found = matchesOf(search, strict, single, wanted, ends);
    if (found.rows.length > 0) {
      const ranked = scoreByRelevance(search, query, single, found, options);
      const scored = found.isAll
        ? ranked.scored
        : withFurther(search, query, found, ranked.scored, [strict], options);
      const { isPartial, confidence } = ranked;
      return { scored, isPartial, stage: "strict", match: strict, shown: single, whole, confidence };
    }
  }
  // A run that does not occur as a whole is searched by its parts.
  const terms = single.flatMap((term) => {
    const pairs = pairsOf(term);
    return pairs.length === 0 || matchesAnything(search, toMatch(exactly(term))) ? [term] : pairs;
  });
  const any = toMatch({ op: "or", parts: [...terms.map(inAnyForm), ...(isCut ? all : [])] });
  if (order !== undefined) {
    // In order of time, exact matches must not be buried under widened ones.
    const isStrict = matchesAnything(search, strict);
    const rows = inOrderOfTime(search, isStrict ? strict : any, order, options);
    const found = scoreInOrder(search, query, terms, rows);
    return { ...found, stage: isStrict ? "strict" : "widened", match: any, shown: terms, whole };
  }
  const isShortened = asked.length > wished.length;
  const full = isShortened ? toMatch({ op: "and", parts: whole.map(exactly) }) : undefined;
  const [only] = terms;
  const found =
    terms.length === 1 && only !== undefined
      ? matchesOf(search, any, terms, wanted, full ?? exactForm(only))
      : holdersOfAny(search, terms, full, wanted);
  const areKeywords = !isShortened && !query.includes("?");
  const ranked = scoreByRelevance(search, query, terms, found, options, areKeywords);
  const { isFull, confidence } = ranked;
  const isPartial = ranked.isPartial || isCut;
  const further = areKeywords && strict !== any ? [strict, any] : [any];
  const isAll = found.isAll && !isCut;
  const scored = isAll ? ranked.scored : withFurther(search, query, found, ranked.scored, further, options);
  const stage = isFull && !isCut && terms.length === single.length ? "strict" : "widened";
  return { scored, isPartial, stage, match: any, shown: terms, whole, confidence };
}

/** Undefined when there are no other forms, because then the exact form is the query itself. */
function exactForm(term: Term): string | undefined {
  return term.forms.length + term.kin.length === 0 ? undefined : toMatch(exactly(term));
}

/** With a person, only words from that person's messages are known. */
function wordScopeOf(search: Search, options: SearchOptions): WordScope | undefined {
  const scope = readScope(options);
  if (scope.userId === undefined && scope.withoutUser === undefined) return undefined;
  const own = { ...search, conditions: toConditions(scope, search.reader, search.columns, search.bounds) };
  return {
    name: JSON.stringify(scope),
    occurs: (word) => keysOf(own, toMatch(exactly(exactTerm([word]))), 1).length > 0,
  };
}

function timeOrder({ sort }: SearchOptions): Order | undefined {
  const wish = typeof sort === "string" ? sort.trim().toLowerCase() : "";
  return wish === "newest" || wish === "oldest" ? wish : undefined;
}

/** The first messages, or the first of each lineage, up to the end of the page. */
function inOrderOfTime(search: Search, match: string, order: Order, options: SearchOptions): FoundRow[] {
  const perLineage = options.perLineage === true;
  const count = lastOfPage(options);
  const rows = walkMatches(search, match, { order, count, perLineage, isExact: true });
  const sign = order === "newest" ? -1 : 1;
  rows.sort((a, b) => sign * (a.timestamp - b.timestamp || a.id - b.id));
  const unique = withoutCopies(rows);
  return (perLineage ? firstOfLineages(unique, search.rootOf) : unique).slice(0, count);
}

/** Only for display: the order is fixed. */
function scoreInOrder(
  search: Search,
  query: string,
  terms: readonly Term[],
  rows: readonly FoundRow[],
): Pick<Answered, "scored" | "confidence"> {
  const all = highestId(search.connection);
  const weighted = terms.map((term) => {
    const holders = keysOf(search, toMatch(inAnyForm(term)), search.bounds.matchesRead).length;
    return toRankTerm(term, weightOf(search, holders, all));
  });
  const found = {
    rows,
    terms: weighted,
    sessionCounts: new Map<string, number[]>(),
    isPartial: false,
    isAll: false,
  };
  const { ranked, confidence } = rankRows(search, query, terms, found);
  const byId = new Map(ranked.map((each) => [each.row.id, each]));
  return { scored: rows.flatMap(({ id }) => byId.get(id) ?? []), confidence };
}

function scoreByRelevance(
  search: Search,
  query: string,
  terms: readonly Term[],
  found: Candidates,
  options: SearchOptions,
  areKeywords = false,
) {
  const { ranked, kind, confidence, isFull } = rankRows(search, query, terms, found, areKeywords);
  const best = new Map(ranked.map((each) => [each.row.id, each]));
  const unique = withoutCopies(ranked.map(({ row }) => row)).flatMap(({ id }) => best.get(id) ?? []);
  const scored = options.perLineage === true ? bestOfLineages(unique, search.rootOf, kind) : unique;
  return { scored, confidence, isFull, isPartial: found.isPartial };
}

/**
 * Which messages are ranked does not depend on the page, so that pages neither repeat nor skip. After them come all other
 * matches, newest first, or the newest of each lineage: first those of the first expression, then those of the next.
 */
function withFurther(
  search: Search,
  query: string,
  found: Candidates,
  ranked: readonly Scored[],
  expressions: readonly string[],
  options: SearchOptions,
): readonly Scored[] {
  const end = lastOfPage(options);
  if (ranked.length >= end) return ranked;
  const perLineage = options.perLineage === true;
  const further: FoundRow[] = [];
  for (const match of expressions) {
    const known = [...found.rows, ...further];
    const missing = end - ranked.length - further.length;
    if (missing <= 0) break;
    const count = perLineage ? missing : missing + known.length;
    const rows = walkMatches(search, match, {
      order: "newest",
      count,
      perLineage,
      isExact: false,
      known: perLineage ? known : undefined,
    });
    further.push(
      ...withoutCopies([...known, ...rows])
        .slice(withoutCopies(known).length)
        .slice(0, missing),
    );
  }
  const { offset } = pageOf(options);
  const shown = further.slice(Math.max(0, offset - ranked.length));
  const candidates = { ...found, rows: shown, sessionCounts: new Map<string, number[]>() };
  const terms = found.terms.map(({ words }) => exactTerm(words));
  const read = new Map(
    rankRows(search, query, terms, candidates).ranked.map((each) => [each.row.id, each] as const),
  );
  const lowest = ranked.at(-1)?.score ?? Number.POSITIVE_INFINITY;
  return [
    ...ranked,
    ...further.map((row): Scored => {
      const each = read.get(row.id);
      if (each !== undefined) return { ...each, isFirst: false, score: Math.min(each.score, lowest) };
      return { row: { ...row, role: "", tool_name: null, said: "", did: "" }, ...NOT_SHOWN };
    }),
  ];
}

/** A row of an earlier page, which is not shown. */
const NOT_SHOWN = { score: 0, group: 0, isFirst: false, matched: [] } as const;

function rankRows(
  search: Search,
  query: string,
  terms: readonly Term[],
  found: Candidates,
  areKeywords = false,
) {
  const rows = readTexts(search.connection, found.rows, shortener(found.terms));
  const neighbours = neighboursOf(search, rows);
  const years = [...new Set(rows.map(({ timestamp }) => new Date(timestamp * 1000).getFullYear()))];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const ranking = rank({
    query,
    terms: found.terms,
    rows: rows.map((row) => {
      const { before = [], after = [], isFirst = false } = neighbours.get(row.id) ?? {};
      const { id, session_id: session, timestamp, role, said, did } = row;
      return { id, session, timestamp, role, said, did, isRecall: isRecall(row), before, after, isFirst };
    }),
    sessionCounts: found.sessionCounts,
    // A month without a year means one of the years of the found messages.
    spans:
      terms.length === 0
        ? []
        : namedTimes(
            query,
            years.sort((a, b) => b - a),
          ),
  });
  // For keywords, as opposed to a question, messages with all of them exactly as typed come first.
  const ranked = ranking.rows.flatMap(({ row: { id }, score, group, matched, isFull }): Scored[] => {
    const row = byId.get(id);
    if (row === undefined) return [];
    const names = matched
      .flatMap((at) => terms[at] ?? [])
      .map((term) => nameFound(term, `${row.said} ${row.did}`));
    const isFirst = isFull && areKeywords && (row.role === "user" || row.role === "assistant");
    return [{ row, score, group, isFirst, matched: names }];
  });
  ranked.sort((a, b) => Number(b.isFirst) - Number(a.isFirst));
  const isFull = ranking.rows.some((row) => row.isFull);
  return { ranked, kind: ranking.kind, confidence: ranking.confidence, isFull };
}

function isRecall({ role, tool_name }: ReadRow): boolean {
  return role === "tool" && tool_name !== null && isRecallTool(tool_name);
}

/** Matches may exist outside the filters. `finds`: whether the same query has an answer with other options. */
function whyEmpty(options: SearchOptions, finds: (options: SearchOptions) => boolean): EmptyReason {
  if (!isFiltered(options)) return "no-match";
  const { includeInactive } = options;
  // Sessions of other users and rewound messages never count.
  const bare: SearchOptions = { ...readScope(options), includeInactive };
  if (!finds(bare)) return "no-match";
  if (options.excludeSessionIds?.length && finds({ ...options, excludeSessionIds: [] }))
    return "excluded-sessions";
  if (options.excludeSources?.length && finds({ ...options, excludeSources: [] })) return "hidden-sources";
  return "filtered";
}

function isFiltered(options: SearchOptions): boolean {
  const { sourceFilter, sessionIds, after, before } = options;
  const { excludeSources, excludeSessionIds, excludeMessageIds, roleFilter } = options;
  return (
    [sourceFilter, sessionIds, after, before].some((filter) => filter !== undefined) ||
    [excludeSources, excludeSessionIds, excludeMessageIds, roleFilter].some((list) => (list?.length ?? 0) > 0)
  );
}

// ---- From ranked messages to hits: pages, one hit per lineage if wanted, copies once, snippets, context ----

/** A snippet of a text, and whether anything in it is marked. */
type MakeSnippet = (text: string) => { readonly snippet: string; readonly isMarked: boolean };

const CONTEXT_CHARS = 200;

const HIT = `
  SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, m.content, s.source, s.model, s.started_at AS session_started
  FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = :id
`;

type StoredHit = Omit<SearchHit, "snippet" | "context" | "score" | "matched" | "lineage_root"> & {
  readonly content: string | Uint8Array | null;
};

/** A negative limit means no limit, as in Hermes Agent. */
function pageOf(options: SearchOptions): { readonly offset: number; readonly limit: number } {
  const { limit = 20 } = options;
  return { offset: count(options.offset, 0), limit: limit < 0 ? Number.MAX_SAFE_INTEGER : count(limit, 20) };
}

/** How many messages, or lineages, fill the page. */
function lastOfPage(options: SearchOptions): number {
  const { offset, limit } = pageOf(options);
  return limit === 0 ? 0 : Math.min(Number.MAX_SAFE_INTEGER, offset + limit);
}

/** A copied message is shown once, at its best position. */
function withoutCopies<Row extends FoundRow>(rows: readonly Row[]): Row[] {
  const shown = new Set<number>();
  return rows.filter((row) => {
    const original = row.origin_id ?? row.id;
    if (shown.has(original)) return false;
    shown.add(original);
    return true;
  });
}

/** The first message of each lineage. */
function firstOfLineages<Row extends FoundRow>(
  rows: readonly Row[],
  rootOf: (row: FoundRow) => string,
): Row[] {
  const shown = new Set<string>();
  return rows.filter((row) => {
    const root = rootOf(row);
    if (shown.has(root)) return false;
    shown.add(root);
    return true;
  });
}

/** The best message of each lineage with the lineage's score, best first. The input is sorted best first. */
function bestOfLineages(
  scored: readonly Scored[],
  rootOf: (row: FoundRow) => string,
  kind: ConversationKind,
): Scored[] {
  const lineages = [...Map.groupBy(scored, ({ row }) => rootOf(row)).values()];
  const best = lineages.flatMap((members) => {
    const [first] = members;
    const score = groupScore(
      members.map(({ group }) => group),
      kind,
    );
    return first === undefined ? [] : [{ ...first, score }];
  });
  return best.sort(
    (a, b) => Number(b.isFirst) - Number(a.isFirst) || b.score - a.score || a.row.id - b.row.id,
  );
}

function toHits(
  { connection, warn }: StoreContext,
  { rootOf, columns }: Search,
  page: readonly Scored[],
  makeSnippet: MakeSnippet,
): SearchHit[] {
  const isShown = `NOT ${isHidden("m", columns)}`;
  const beside = (sign: "<" | ">", direction: "ASC" | "DESC") => `
    SELECT m.role, m.content FROM messages m WHERE m.session_id = :session AND ${isShown}
      AND (m.timestamp, m.id) ${sign} (:timestamp, :id) AND m.timestamp ${sign}= :timestamp
    ORDER BY m.timestamp ${direction}, m.id ${direction} LIMIT 1
  `;
  const neighbour = (sql: string, { id, session_id: session, timestamp }: StoredHit) =>
    connection
      .all<Pick<StoredHit, "role" | "content">>(sql, { session, timestamp, id })
      .map(({ role, content }) => ({ role, content: shortText(decodeContent(content)) }));
  return page.flatMap(({ row, score, matched }) => {
    const found = connection.get<StoredHit>(HIT, { id: row.id });
    if (found === undefined) return [];
    const { content, ...shown } = found;
    const own = { role: found.role, content: shortText(decodeContent(content, warn)) };
    return [
      {
        ...shown,
        snippet: snippetOf(row, makeSnippet),
        context: [...neighbour(beside("<", "DESC"), found), own, ...neighbour(beside(">", "ASC"), found)],
        score,
        matched,
        lineage_root: rootOf(row),
      },
    ];
  });
}

function shortText(content: unknown): string {
  return takeCodePoints(contentText(content), CONTEXT_CHARS);
}

/** From the content if it contains the match, otherwise from the tool call. The blanks match Hermes Agent's indexed text. */
function snippetOf({ said, did, tool_name }: ReadRow, makeSnippet: MakeSnippet): string {
  const isCall = did !== (tool_name ?? "");
  const first = makeSnippet(`${said} ${isCall ? "" : (tool_name ?? "")} `);
  if (first.isMarked || did === "") return first.snippet;
  const second = makeSnippet(did);
  return second.isMarked || said === "" ? second.snippet : first.snippet;
}

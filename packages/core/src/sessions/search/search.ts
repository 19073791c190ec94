// Search over messages, from the query to the hits. A query with quotes, operators or stars is taken literally; a plain one is
// tried word for word and widened to other forms of its words, any of which counts. The index returns keys, the tables decide
// which messages may be shown, and ranking orders them.
import { takeCodePoints } from "../../lib/index.ts";
import { contentText, decodeContent } from "../../message/index.ts";
import {
  BOUNDS,
  type Bounds,
  type Candidates,
  holdersOfAny,
  keysOf,
  learnRoots,
  MOST_OF_SESSION,
  matchesAnything,
  matchesOf,
  placeIn,
  rootOf,
  type Search,
  sessionKeys,
  toRankTerm,
  walkMatches,
  weightOf,
} from "./candidates.ts";
import { textsOf } from "./document.ts";
import {
  exactly,
  exactTerm,
  inAnyForm,
  MOST_CHARACTERS,
  namedTimes,
  nameFound,
  type ParsedQuery,
  type PlainTerm,
  pairsOf,
  parseQuery,
  type Term,
  termsLeftOut,
  termsOf,
  withForms,
  withoutStopWords,
} from "./query.ts";
import { groupScore, isRecallTool, kindOf, rank } from "./ranking.ts";
import type { ConversationKind } from "./ranking-reading.ts";
import { ask, type Expression, type FoundRow, type Steps } from "./reads.ts";
import { shortener, snippetMaker } from "./snippet.ts";
import type { EmptyReason, SearchAnswer, SearchHit, SearchOptions, SearchStage } from "./types.ts";
import { isUnspacedTerm } from "./words.ts";

/** At least this many messages, or lineages, are ranked, whatever the page. */
const RANKED_PAGE = 20;

/** The whole search. `bounds`: for tests, to search a small database like a large one. */
export function* search(
  query: string,
  options: SearchOptions = {},
  bounds: Partial<Bounds> = {},
): Steps<SearchAnswer> {
  const text = String(query ?? "").slice(0, MOST_CHARACTERS);
  const parsed = parseQuery(text);
  if (parsed.kind === "blank") return { hits: [], stage: "none", empty: "blank" };
  const counts = yield* ask("counts", undefined);
  const here = {
    filters: options,
    bounds: { ...BOUNDS, ...bounds },
    counts,
    roots: new Map(),
    sessionKeys: new Map(),
  };
  const { answer } = yield* withLastSources(here, text, parsed, options);
  const leftOut = termsLeftOut(String(query));
  const notSearched = { messages: counts.notSearched, reason: "the search index does not hold them yet" };
  return {
    ...answer,
    ...(counts.notSearched > 0 ? { notSearched } : {}),
    ...(leftOut > 0 ? { termsLeftOut: leftOut } : {}),
  };
}

type Outcome = {
  readonly answer: SearchAnswer;
  /** Everything that could match. */
  readonly match: Expression;
};

/** By relevance, hits from `lastSources` come after all others. In order of time they are not moved. */
function* withLastSources(
  here: Search,
  query: string,
  parsed: ParsedQuery,
  options: SearchOptions,
): Steps<Outcome> {
  const { lastSources = [], excludeSources = [] } = options;
  const { limit } = pageOf(options);
  const run = (own: SearchOptions) => searchOnce({ ...here, filters: own }, query, parsed, own);
  if (lastSources.length === 0 || timeOrder(options) !== undefined) return yield* run(options);
  const found = yield* run({ ...options, excludeSources: [...excludeSources, ...lastSources] });
  const first = found.answer;
  const isFull = first.hits.length >= limit;
  if (isFull && first.stage !== "widened") return found;
  // None of those matches either: even without filters on sources nothing was found.
  if (first.empty === "no-match" || first.empty === "filtered") return found;
  const alone = { ...here, filters: { ...options, sourceFilter: lastSources } };
  if (first.hits.length > 0 && !(yield* matchesAnything(alone, found.match))) return found;
  const together = yield* run(options);
  const { answer } = together;
  const isLast = ({ source }: SearchHit) => lastSources.includes(source);
  // If only they contain every word, messages with some of the words must not displace them.
  const hasOnlyLast = first.hits.length === 0 || (first.stage === "widened" && answer.stage !== "widened");
  if (hasOnlyLast) {
    const hits = [...answer.hits.filter((hit) => !isLast(hit)), ...answer.hits.filter(isLast)];
    return { ...together, answer: { ...answer, hits } };
  }
  if (isFull) return found;
  const known = new Set(first.hits.map((hit) => hit.lineage_root));
  const last = answer.hits.filter((hit) => isLast(hit) && !known.has(hit.lineage_root));
  const isSurer = (answer.confidence?.score ?? 0) > (first.confidence?.score ?? 0);
  const { confidence } = isSurer ? answer : first;
  return { ...found, answer: { ...first, hits: [...first.hits, ...last].slice(0, limit), confidence } };
}

function* searchOnce(
  search: Search,
  query: string,
  parsed: ParsedQuery,
  options: SearchOptions,
): Steps<Outcome> {
  if (parsed.kind !== "explicit")
    return yield* outcomeOf(
      search,
      options,
      yield* findTerms(search, query, parsed.kind === "plain" ? parsed.terms : [], options),
    );
  const exact = yield* outcomeOf(search, options, yield* findExpression(search, parsed.expression, options));
  const words = exact.answer.empty === "no-match" ? wordsOfQuestion(query, parsed.expression) : undefined;
  return words === undefined
    ? exact
    : yield* outcomeOf(search, options, yield* findTerms(search, query, words, options));
}

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

/** The matches in order, before the page is cut. */
type Found = {
  readonly scored: readonly Scored[];
  readonly stage: SearchStage;
  /** Everything that could match; used to explain an empty answer. */
  readonly match: Expression;
  readonly shown: readonly Term[];
  /** The words of a plain query, including function words. */
  readonly whole?: readonly Term[];
  readonly confidence?: SearchAnswer["confidence"];
  readonly isPartial?: boolean;
};

type ReadRow = FoundRow & {
  readonly role: string;
  readonly tool_name: string | null;
  readonly said: string;
  readonly did: string;
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

function* findExpression(search: Search, match: Expression, options: SearchOptions): Steps<Found> {
  const terms = termsOf(match);
  if (timeOrder(options) !== undefined) {
    const rows = yield* inOrderOfTime(search, match, options);
    const { scored } = yield* scoreInOrder(search, "", terms, rows);
    return { scored, stage: "exact", match, shown: terms };
  }
  const wanted = wantedBy(options);
  // Alternatives that are single phrases are weighted by how rare each is.
  const ranked = yield* rarest(search, terms);
  const isList =
    match.op === "or" &&
    match.parts.length === ranked.length &&
    match.parts.every(({ op }) => op === "phrase");
  const found = isList
    ? yield* holdersOfAny(search, ranked, undefined, wanted)
    : yield* matchesOf(search, match, ranked, wanted);
  const { scored, isPartial } = yield* scoreByRelevance(search, "", ranked, found, options);
  const isAll = found.isAll && ranked.length === terms.length;
  const all = isAll ? scored : yield* withFurther(search, "", found, scored, [match], options);
  return { scored: all, isPartial, stage: "exact", match, shown: terms };
}

function wantedBy({ perLineage = false }: SearchOptions) {
  return { count: RANKED_PAGE, perLineage };
}

/** If there are more terms, only the rarest that occur are compared: each costs a list of messages. */
const MOST_COMPARED = 100;

function* rarest<T extends Pick<Term, "words">>(search: Search, terms: readonly T[]): Steps<readonly T[]> {
  if (terms.length <= MOST_COMPARED) return terms;
  const counted: { term: T; holders: number }[] = [];
  for (const term of terms) {
    const { length } = yield* keysOf(search, exactly(exactTerm(term.words)), MOST_COMPARED);
    counted.push({ term, holders: length === 0 ? Number.POSITIVE_INFINITY : length });
  }
  // Not a plain difference: Infinity - Infinity is NaN.
  counted.sort((a, b) => (a.holders === b.holders ? 0 : a.holders - b.holders));
  return counted.slice(0, MOST_COMPARED).map(({ term }) => term);
}

function* findTerms(
  search: Search,
  query: string,
  asked: readonly PlainTerm[],
  options: SearchOptions,
): Steps<Found> {
  const wished = withoutStopWords(asked);
  const single: Term[] = [];
  for (const term of yield* rarest(search, wished)) single.push(yield* withForms(term));
  const isCut = single.length < wished.length;
  const all = wished.map(({ words }) => exactly(exactTerm(words)));
  const strict: Expression = { op: "and", parts: all };
  const whole = asked.map(({ words }) => exactTerm(words));
  const inOrder = timeOrder(options) !== undefined;
  const wanted = wantedBy(options);
  const isUnspaced = single.some(({ words }) => words.some(isUnspacedTerm));
  if (isUnspaced && !inOrder && lastOfPage(options) > 0) {
    // Adjacent parts mean AND. Any of them counts only if that finds nothing, because a single character is in very many texts.
    const ends: Expression = {
      op: "and",
      parts: single.map((term) => ({ ...exactly(term), endsRun: true })),
    };
    const found = yield* matchesOf(search, strict, single, wanted, ends);
    if (found.rows.length > 0) {
      const ranked = yield* scoreByRelevance(search, query, single, found, options);
      const scored = found.isAll
        ? ranked.scored
        : yield* withFurther(search, query, found, ranked.scored, [strict], options);
      return { ...ranked, scored, stage: "strict", match: strict, shown: single, whole };
    }
  }
  // A run that does not occur as a whole is searched by its parts.
  const terms: Term[] = [];
  for (const term of single) {
    const pairs = pairsOf(term);
    const isWhole = pairs.length === 0 || (yield* matchesAnything(search, exactly(term)));
    terms.push(...(isWhole ? [term] : pairs));
  }
  const match: Expression = { op: "or", parts: [...terms.map(inAnyForm), ...(isCut ? all : [])] };
  const told = { match, shown: terms, whole };
  if (inOrder) {
    // In order of time, exact matches must not be buried under widened ones.
    const isStrict = yield* matchesAnything(search, strict);
    const rows = yield* inOrderOfTime(search, isStrict ? strict : match, options);
    const found = yield* scoreInOrder(search, query, terms, rows);
    return { ...found, ...told, stage: isStrict ? "strict" : "widened" };
  }
  const isShortened = asked.length > wished.length;
  const full: Expression | undefined = isShortened ? { op: "and", parts: whole.map(exactly) } : undefined;
  const [only] = terms;
  const found =
    terms.length === 1 && only !== undefined
      ? yield* matchesOf(search, match, terms, wanted, full ?? exactForm(only))
      : yield* holdersOfAny(search, terms, full, wanted);
  const areKeywords = !isShortened && !query.includes("?");
  const ranked = yield* scoreByRelevance(search, query, terms, found, options, areKeywords);
  const isAll = found.isAll && !isCut;
  const further = areKeywords ? [strict, match] : [match];
  const scored = isAll
    ? ranked.scored
    : yield* withFurther(search, query, found, ranked.scored, further, options);
  const stage = ranked.isFull && !isCut && terms.length === single.length ? "strict" : "widened";
  const { confidence, isPartial } = ranked;
  return { ...told, scored, isPartial: isPartial || isCut, stage, confidence };
}

/** Undefined when there are no other forms, because then the exact form is the query itself. */
function exactForm(term: Term): Expression | undefined {
  return term.forms.length + term.kin.length === 0 ? undefined : exactly(term);
}

function timeOrder({ sort }: SearchOptions): "newest" | "oldest" | undefined {
  const wish = typeof sort === "string" ? sort.trim().toLowerCase() : "";
  return wish === "newest" || wish === "oldest" ? wish : undefined;
}

/** The first messages, or the first of each lineage, up to the end of the page. */
function* inOrderOfTime(search: Search, match: Expression, options: SearchOptions): Steps<FoundRow[]> {
  const order = timeOrder(options) ?? "newest";
  const perLineage = options.perLineage === true;
  const count = lastOfPage(options);
  const rows = yield* walkMatches(search, match, { order, count, perLineage, isExact: true });
  const sign = order === "newest" ? -1 : 1;
  rows.sort((a, b) => sign * (a.timestamp - b.timestamp || a.id - b.id));
  const unique = withoutCopies(rows);
  return (perLineage ? firstBy(unique, (row) => rootOf(search, row)) : unique).slice(0, count);
}

/** Only for display: the order is fixed. */
function* scoreInOrder(
  search: Search,
  query: string,
  terms: readonly Term[],
  rows: readonly FoundRow[],
): Steps<Pick<Found, "scored" | "confidence">> {
  const weighted: Candidates["terms"][number][] = [];
  for (const term of terms) {
    const { length } = yield* keysOf(search, inAnyForm(term), search.bounds.matchesRead);
    weighted.push(toRankTerm(term, weightOf(search, length)));
  }
  const found = { rows, terms: weighted, sessionCounts: new Map(), isPartial: false, isAll: false };
  const { ranked, confidence } = yield* rankRows(search, query, terms, found);
  const byId = new Map(ranked.map((each) => [each.row.id, each]));
  return { scored: rows.flatMap(({ id }) => byId.get(id) ?? []), confidence };
}

function* scoreByRelevance(
  search: Search,
  query: string,
  terms: readonly Term[],
  found: Candidates,
  options: SearchOptions,
  areKeywords = false,
) {
  const { ranked, kind, ...sure } = yield* rankRows(search, query, terms, found, areKeywords);
  const best = new Map(ranked.map((each) => [each.row.id, each]));
  const unique = withoutCopies(ranked.map(({ row }) => row)).flatMap(({ id }) => best.get(id) ?? []);
  const scored = options.perLineage === true ? bestOfLineages(search, unique, kind) : unique;
  return { ...sure, scored, isPartial: found.isPartial };
}

/**
 * Which messages are ranked does not depend on the page, so that pages neither repeat nor skip. After them come all other
 * matches, newest first, or the newest of each lineage: first those of the first expression, then those of the next.
 */
function* withFurther(
  search: Search,
  query: string,
  found: Candidates,
  ranked: readonly Scored[],
  expressions: readonly Expression[],
  options: SearchOptions,
): Steps<readonly Scored[]> {
  const end = lastOfPage(options);
  const perLineage = options.perLineage === true;
  const further: FoundRow[] = [];
  for (const match of expressions) {
    const known = [...found.rows, ...further];
    const missing = end - ranked.length - further.length;
    if (missing <= 0) break;
    const count = perLineage ? missing : missing + known.length;
    const walk = { order: "newest", count, perLineage, isExact: false } as const;
    const rows = yield* walkMatches(search, match, { ...walk, known: perLineage ? known : undefined });
    const unique = withoutCopies([...known, ...rows]).slice(withoutCopies(known).length);
    further.push(...unique.slice(0, missing));
  }
  if (further.length === 0) return ranked;
  const { offset } = pageOf(options);
  const shown = further.slice(Math.max(0, offset - ranked.length));
  const candidates = { ...found, rows: shown, sessionCounts: new Map() };
  const terms = found.terms.map(({ words }) => exactTerm(words));
  const { ranked: read } = yield* rankRows(search, query, terms, candidates);
  const byId = new Map(read.map((each) => [each.row.id, each] as const));
  const lowest = ranked.at(-1)?.score ?? Number.POSITIVE_INFINITY;
  return [
    ...ranked,
    ...further.map((row): Scored => {
      const each = byId.get(row.id);
      if (each !== undefined) return { ...each, isFirst: false, score: Math.min(each.score, lowest) };
      return { row: { ...row, role: "", tool_name: null, said: "", did: "" }, ...NOT_SHOWN };
    }),
  ];
}

/** A row of an earlier page, which is not shown. */
const NOT_SHOWN = { score: 0, group: 0, isFirst: false, matched: [] } as const;

function* rankRows(
  search: Search,
  query: string,
  terms: readonly Term[],
  found: Candidates,
  areKeywords = false,
) {
  const rows = yield* readTexts(found.rows, shortener(found.terms));
  const kind = kindOf(rows);
  const neighbours = yield* neighboursOf(search, rows, kind);
  const years = [...new Set(rows.map(({ timestamp }) => new Date(timestamp * 1000).getFullYear()))];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const ranking = rank({
    query,
    terms: found.terms,
    rows: rows.map((row) => ({ ...row, ...(neighbours.get(row.id) ?? ALONE), session: row.session_id })),
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
  return { ranked, kind, confidence: ranking.confidence, isFull };
}

/** `shorten` is applied to each text, so that very long ones are not kept whole. */
function* readTexts(
  found: readonly FoundRow[],
  shorten: (text: string) => string,
): Steps<(ReadRow & { readonly isRecall: boolean })[]> {
  if (found.length === 0) return [];
  const texts = yield* ask(
    "texts",
    found.map(({ id }) => id),
  );
  const byId = new Map(texts.map((text) => [text.id, text]));
  return found.flatMap((row) => {
    const stored = byId.get(row.id);
    if (stored === undefined) return [];
    const { role, tool_name } = stored;
    const { said, did } = textsOf(stored);
    const isRecall = role === "tool" && tool_name !== null && isRecallTool(tool_name);
    return [{ ...row, role, tool_name, said: shorten(said), did: shorten(did), isRecall }];
  });
}

type Neighbours = {
  /** Nearest first; undefined if the message is not ranked. */
  readonly before: readonly (number | undefined)[];
  readonly after: readonly (number | undefined)[];
  readonly isFirst: boolean;
};
const ALONE: Neighbours = { before: [], after: [], isFirst: false };

/** The messages before and after each of these in its session: by day, then in stored order. */
function* neighboursOf(
  search: Search,
  rows: readonly ReadRow[],
  kind: ConversationKind,
): Steps<Map<number, Neighbours>> {
  const sessions = [...Map.groupBy(rows, (row) => row.session_id)];
  // If no other message of the session is compared, the neighbours do not matter.
  const single = sessions.flatMap(([, members]) => (members.length === 1 ? members : []));
  const several = sessions.filter(([, members]) => members.length > 1);
  const keysOfSession = yield* sessionKeys(search, several);
  const idOf = new Map(rows.map(({ key, id }) => [key, id]));
  const found = new Map<number, Neighbours>();
  const elsewhere: FoundRow[] = [];
  for (const [session, members] of several) {
    const keys = keysOfSession.get(session) ?? [];
    const isWhole = keys.length < MOST_OF_SESSION;
    const idAt = (at: number) => idOf.get(keys[at] ?? -1);
    for (const row of members) {
      const at = placeIn(keys, row.key);
      const before = [idAt(at + 1), idAt(at + 2), idAt(at + 3)];
      if (at < 0 || !(isWhole || at + 3 < keys.length)) elsewhere.push(row);
      else
        found.set(row.id, { before, after: [idAt(at - 1), idAt(at - 2)], isFirst: at === keys.length - 1 });
    }
  }
  const sides = elsewhere.length === 0 ? [] : yield* ask("beside", { rows: elsewhere, before: 3, after: 2 });
  for (const [at, side] of sides.entries())
    found.set(elsewhere[at]?.id ?? 0, { ...side, isFirst: side.before.length === 0 });
  // Being the first one counts only among speakers.
  if (kind === "agent" || single.length === 0) return found;
  const starts = yield* ask("beside", { rows: single, before: 1, after: 0 });
  for (const [at, { before }] of starts.entries())
    found.set(single[at]?.id ?? 0, { ...ALONE, isFirst: before.length === 0 });
  return found;
}

// ---- From ranked messages to the answer: pages, one hit per lineage if wanted, copies once, snippets, context ----

function* outcomeOf(search: Search, options: SearchOptions, found: Found): Steps<Outcome> {
  const { match, stage, confidence, isPartial } = found;
  if (found.scored.length === 0 && lastOfPage(options) > 0) {
    const empty = yield* whyEmpty(search, match, options);
    return { answer: { hits: [], stage: "none", empty }, match };
  }
  const { offset, limit } = pageOf(options);
  const hits = yield* toHits(search, found.scored.slice(offset, offset + limit), found);
  const isPartlyRanked = isPartial ? true : undefined;
  return { answer: { hits, stage, confidence, isPartlyRanked }, match };
}

/** Matches may exist outside the filters. */
function* whyEmpty(search: Search, match: Expression, options: SearchOptions): Steps<EmptyReason> {
  const finds = (filters: SearchOptions) => matchesAnything({ ...search, filters }, match);
  // Sessions of other users and rewound messages never count.
  if (!(yield* finds({ includeInactive: options.includeInactive }))) return "no-match";
  if (options.excludeSessionIds?.length && (yield* finds({ ...options, excludeSessionIds: [] })))
    return "excluded-sessions";
  if (options.excludeSources?.length && (yield* finds({ ...options, excludeSources: [] })))
    return "hidden-sources";
  return "filtered";
}

const CONTEXT_CHARS = 200;

/** A negative limit means no limit, as in Hermes Agent. */
function pageOf({ offset = 0, limit = 20 }: SearchOptions): {
  readonly offset: number;
  readonly limit: number;
} {
  return { offset: count(offset, 0), limit: limit < 0 ? Number.MAX_SAFE_INTEGER : count(limit, 20) };
}

/** A count from outside as a whole number of at least 0. */
function count(value: number | null, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(Math.max(0, Math.trunc(value)), Number.MAX_SAFE_INTEGER);
}

/** How many messages, or lineages, fill the page. */
function lastOfPage(options: SearchOptions): number {
  const { offset, limit } = pageOf(options);
  return limit === 0 ? 0 : Math.min(Number.MAX_SAFE_INTEGER, offset + limit);
}

/** A copied message is shown once, at its best position. */
function withoutCopies<Row extends FoundRow>(rows: readonly Row[]): Row[] {
  return firstBy(rows, (row) => row.origin_id ?? row.id);
}

function firstBy<Row>(rows: readonly Row[], keyOf: (row: Row) => unknown): Row[] {
  const seen = new Set<unknown>();
  return rows.filter((row) => seen.size < seen.add(keyOf(row)).size);
}

/** The best message of each lineage with the lineage's score, best first. The input is sorted best first. */
function bestOfLineages(search: Search, scored: readonly Scored[], kind: ConversationKind): Scored[] {
  const lineages = [...Map.groupBy(scored, ({ row }) => rootOf(search, row)).values()];
  const best = lineages.flatMap((members) => {
    const groups = members.map(({ group }) => group);
    return members.slice(0, 1).map((first) => ({ ...first, score: groupScore(groups, kind) }));
  });
  return best.sort(
    (a, b) => Number(b.isFirst) - Number(a.isFirst) || b.score - a.score || a.row.id - b.row.id,
  );
}

function* toHits(search: Search, page: readonly Scored[], { shown, whole }: Found): Steps<SearchHit[]> {
  if (page.length === 0) return [];
  yield* learnRoots(
    search,
    page.map(({ row }) => row),
  );
  const makeSnippet = snippetMaker(shown, whole);
  const stored = yield* ask(
    "hits",
    page.map(({ row }) => row.id),
  );
  const byId = new Map(stored.map((hit) => [hit.id, hit]));
  return page.flatMap(({ row, score, matched }) => {
    const found = byId.get(row.id);
    if (found === undefined) return [];
    const { content: _content, before, after, ...hit } = found;
    const context = [before, found, after].flatMap((each) =>
      each === undefined ? [] : [{ role: each.role, content: shortText(each.content) }],
    );
    const snippet = snippetOf(row, makeSnippet);
    return [{ ...hit, snippet, context, score, matched, lineage_root: rootOf(search, row) }];
  });
}

function shortText(stored: string | Uint8Array | null): string {
  return takeCodePoints(contentText(decodeContent(stored)), CONTEXT_CHARS);
}

/** From the content if it contains the match, otherwise from the tool call. The blanks match Hermes Agent's indexed text. */
function snippetOf({ said, did, tool_name }: ReadRow, makeSnippet: ReturnType<typeof snippetMaker>): string {
  const isCall = did !== (tool_name ?? "");
  const first = makeSnippet(`${said} ${isCall ? "" : (tool_name ?? "")} `);
  if (first.isMarked || did === "") return first.snippet;
  const second = makeSnippet(did);
  return second.isMarked || said === "" ? second.snippet : first.snippet;
}

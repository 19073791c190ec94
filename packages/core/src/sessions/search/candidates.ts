// Decides which messages a search by relevance reads, from the terms of a query and their forms in the index. First only keys are
// compared, by how rare the terms are that a message and its neighbours contain. Then the best are checked against the tables
// until there are enough messages, and enough lineages. Below: walking the matches in order of time.
import { exactly, inAnyForm, type Term } from "./query.ts";
import { rarity } from "./ranking.ts";
import type { RankTerm } from "./ranking-reading.ts";
import {
  ask,
  type Counts,
  dayOfKey,
  type Expression,
  type FoundRow,
  idInKey,
  keyOf,
  LAST_ID,
  type Steps,
} from "./reads.ts";
import type { SearchFilters } from "./types.ts";
import { isUnspacedTerm } from "./words.ts";

/** One search with its filters, and what was read for it so far. */
export type Search = {
  readonly filters: SearchFilters;
  readonly bounds: Bounds;
  readonly counts: Counts;
  /** Of sessions with a parent. */
  readonly roots: Map<string, string>;
  readonly sessionKeys: Map<string, { readonly keys: readonly number[]; readonly limit: number }>;
};

// ---- Limits of a search ----
// They limit how many messages are compared by their text before the best are shown. No limit prevents a match from being found.

export type Bounds = {
  /** Up to this many matches of a single word (half as many of an expression) are all considered; of more, the newest. */
  readonly matchesRanked: number;
  /** How many of them are read and ranked: the newest and the shortest. */
  readonly matchesRead: number;
  /** For a term in more messages than this, the newest are considered first; the others only if rarer terms do not decide. */
  readonly probeRows: number;
  /** The longest list of keys that is read for one term. */
  readonly listRows: number;
  /** Messages that are read and ranked regardless of their length; more for later pages. */
  readonly rowsRead: number;
  /** Messages that are read as long as their texts have at most `textRead` bytes in total. */
  readonly shortRowsRead: number;
  readonly textRead: number;
  /** Up to this many candidates, all are read. */
  readonly readAll: number;
  /** Messages with all words of the question that are always read. */
  readonly fullMatches: number;
  /** Longer lists of sessions are filtered row by row. */
  readonly sessionTokens: number;
  /** Rows in the first step of a walk; each further step takes twice as many. */
  readonly firstStep: number;
};

export const BOUNDS: Bounds = {
  matchesRanked: 2000,
  matchesRead: 160,
  probeRows: 2000,
  listRows: 60_000,
  rowsRead: 80,
  shortRowsRead: 400,
  textRead: 100_000,
  readAll: 160,
  fullMatches: 80,
  sessionTokens: 100,
  firstStep: 64,
};

export type Candidates = {
  readonly rows: readonly FoundRow[];
  readonly terms: readonly RankTerm[];
  readonly sessionCounts: ReadonlyMap<string, readonly number[]>;
  /** More messages match than were compared. */
  readonly isPartial: boolean;
  /** Every match that the filters allow is among the rows. */
  readonly isAll: boolean;
};

type Wanted = {
  /** Messages, or lineages, up to the end of the page. */
  readonly count: number;
  readonly perLineage: boolean;
};

/** Keys of messages that contain a term, newest first. */
type Holders = {
  readonly keys: readonly number[];
  readonly weight: number;
  /** True when there are no others. */
  readonly isWhole: boolean;
};

const BESIDE_SHARE = 0.35;
/** How many of the best keys are sorted. Others are read only if the filters reject all of these. */
const MOST_ORDERED = 1000;
/** For this many sessions, messages with each term are counted. */
const SESSIONS_COUNTED = 32;

/** Messages that contain any of several terms; those with the whole question first. `whole`: an expression for all its words. */
export function* holdersOfAny(
  search: Search,
  terms: readonly Term[],
  whole: Expression | undefined,
  wanted: Wanted,
): Steps<Candidates> {
  const { bounds } = search;
  const lists = yield* findHolders(search, terms);
  const candidates = merge(lists);
  const isWhole = lists.every((list) => list.isWhole);
  const kept = new ChosenRows(search, wanted);
  const full = yield* fullMatches(search, terms, lists, whole);
  yield* kept.addAll(full);
  const isSmall = isWhole && candidates.keys.length <= bounds.readAll;
  const least = bounds.rowsRead;
  const most = Math.max(least, bounds.shortRowsRead);
  const ordered = isSmall ? [...candidates.keys] : bestKeys(candidates, Math.max(MOST_ORDERED, 2 * most));
  const hasRoom = (rows: number, size: number) =>
    isSmall || rows < least || (rows < most && size < bounds.textRead);
  yield* kept.addWhile(ordered, hasRoom);
  const isExhausted = isWhole && ordered.length === candidates.keys.length;
  if (!isExhausted && !kept.isEnough)
    yield* addFurther(search, { op: "or", parts: terms.map(inAnyForm) }, wanted, kept);
  const found = [...kept.rows.values()];
  return {
    rows: found,
    terms: terms.map((term, at) => toRankTerm(term, lists[at]?.weight ?? 0)),
    sessionCounts: yield* countBySession(search, found, lists),
    // Messages with all terms cannot be told apart by keys; no other message weighs more than those that were read.
    isPartial: !isWhole || (full.length >= bounds.fullMatches && found.length < candidates.keys.length),
    isAll: isSmall,
  };
}

/** Keys of messages with all terms in their exact form, those with the function words of the question first. */
function* fullMatches(
  search: Search,
  terms: readonly Term[],
  lists: readonly Holders[],
  whole: Expression | undefined,
): Steps<readonly number[]> {
  const [rarest, ...others] = lists
    .filter(({ isWhole }) => isWhole)
    .sort((a, b) => a.keys.length - b.keys.length);
  const isHeldByAll = (key: number) => others.every(({ keys }) => placeIn(keys, key) >= 0);
  if (rarest !== undefined && !rarest.keys.some(isHeldByAll)) return [];
  const most = search.bounds.fullMatches;
  const found = yield* keysOf(search, { op: "and", parts: terms.map(exactly) }, most);
  // If there are fewer, they include all messages with the function words.
  if (whole === undefined || found.length < most) return found;
  return [...new Set([...(yield* keysOf(search, whole, most)), ...found])];
}

/** Messages that match one word or an expression. `preferred`: an expression for messages that are always read. */
export function* matchesOf(
  search: Search,
  expression: Expression,
  terms: readonly Term[],
  wanted: Wanted,
  preferred?: Expression,
): Steps<Candidates> {
  const { bounds } = search;
  // A match of several words costs as much as ten of a single word.
  const isWord = terms.length === 1 && terms.every(({ words }) => words.length === 1);
  const limit = Math.max(bounds.matchesRanked / (isWord ? 1 : 2), bounds.readAll);
  const keys = yield* keysOf(search, expression, limit + 1);
  const isWhole = keys.length <= limit;
  const isSmall = keys.length <= bounds.readAll;
  const kept = new ChosenRows(search, wanted);
  if (preferred !== undefined && !isSmall)
    yield* kept.addAll(yield* keysOf(search, preferred, bounds.fullMatches));
  const least = bounds.rowsRead;
  const most = Math.max(least, bounds.matchesRead);
  const hasRoom = (rows: number, size: number) =>
    isSmall || rows < least || (rows < most && size < bounds.textRead);
  yield* kept.addWhile(isSmall || !isWhole ? keys : yield* newestAndShortest(keys, most), hasRoom);
  // Of the matches that are not read, one of each further lineage is added.
  const isDone = () => kept.isEnough && (!wanted.perLineage || kept.lineages >= bounds.matchesRead);
  for (let at = 0; !isSmall && at < keys.length && !isDone(); at += bounds.matchesRead)
    for (const row of yield* kept.read(keys.slice(at, at + bounds.matchesRead)))
      if (!isDone() && (!wanted.perLineage || kept.isNewLineage(row))) kept.add(row);
  if (!isWhole && !kept.isEnough) yield* addFurther(search, expression, wanted, kept);
  const lists: Holders[] = [];
  for (const term of terms)
    lists.push(
      terms.length > 1
        ? yield* holdersOf(search, exactly(term), bounds.matchesRanked)
        : toHolders(search, keys, limit),
    );
  const found = [...kept.rows.values()];
  return {
    rows: found,
    terms: terms.map((term, place) => toRankTerm(term, lists[place]?.weight ?? 0)),
    sessionCounts: yield* countBySession(search, found, lists),
    isPartial: !isSmall,
    isAll: isSmall,
  };
}

/** Alternating. A short message with the term is about it; a long one may only mention it. */
function* newestAndShortest(keys: readonly number[], limit: number): Steps<number[]> {
  const shortest = yield* ask("shortest", { keys, limit });
  return [...new Set(keys.slice(0, limit).flatMap((key, at) => [key, shortest[at] ?? key]))];
}

function* addFurther(
  search: Search,
  expression: Expression,
  { count, perLineage }: Wanted,
  kept: ChosenRows,
): Steps<void> {
  const further = yield* walkMatches(search, expression, {
    order: "newest",
    count: perLineage ? count - kept.lineages : count,
    perLineage,
    isExact: false,
    known: perLineage ? [...kept.rows.values()] : undefined,
  });
  for (const row of further) kept.add(row);
}

/** The messages that will be read, and whether they fill the page. */
class ChosenRows {
  readonly rows = new Map<number, FoundRow>();
  readonly #lineages = new Set<string>();
  /** Copies of a message are shown once. */
  readonly #originals = new Set<number>();
  readonly #search: Search;
  readonly #wanted: Wanted;
  #size = 0;

  constructor(search: Search, wanted: Wanted) {
    this.#search = search;
    this.#wanted = wanted;
  }

  add(row: FoundRow): void {
    if (this.rows.has(row.id)) return;
    this.rows.set(row.id, row);
    this.#lineages.add(rootOf(this.#search, row));
    this.#originals.add(row.origin_id ?? row.id);
    this.#size += row.size;
  }

  *read(keys: readonly number[]): Steps<readonly FoundRow[]> {
    return yield* passingRows(this.#search, keys, this.#wanted.perLineage);
  }

  *addAll(keys: readonly number[]): Steps<void> {
    for (const row of yield* this.read(keys)) this.add(row);
  }

  /** Adds rows in order while there is room, then only what the page still lacks. */
  *addWhile(keys: readonly number[], hasRoom: (rows: number, size: number) => boolean): Steps<void> {
    const { rowsRead } = this.#search.bounds;
    const isWanted = () => !this.isEnough || hasRoom(this.rows.size, this.#size);
    for (let at = 0; at < keys.length && isWanted(); at += rowsRead)
      for (const row of yield* this.read(keys.slice(at, at + rowsRead))) {
        if (hasRoom(this.rows.size, this.#size)) this.add(row);
        else if (this.isEnough) break;
        else if (!this.#wanted.perLineage || this.isNewLineage(row)) this.add(row);
      }
  }

  isNewLineage(row: FoundRow): boolean {
    return !this.#lineages.has(rootOf(this.#search, row));
  }

  get lineages(): number {
    return this.#lineages.size;
  }

  get isEnough(): boolean {
    return (this.#wanted.perLineage ? this.#lineages : this.#originals).size >= this.#wanted.count;
  }
}

/** Ranking compares scripts without blanks as text. Of a phrase, it uses the longest run. */
export function toRankTerm({ words, isPrefix, forms, isGuess = false }: Term, weight: number): RankTerm {
  const runs = words.length > 1 ? words.filter(isUnspacedTerm).sort((a, b) => b.length - a.length) : [];
  return { words: runs.length > 0 ? runs.slice(0, 1) : words, isPrefix, forms, isGuess, weight };
}

/** The keys of all terms. A long list is read to its end only if the rarer terms do not decide which messages are best. */
function* findHolders(search: Search, terms: readonly Term[]): Steps<Holders[]> {
  const { bounds } = search;
  const matches = terms.map(inAnyForm);
  const lists: Holders[] = [];
  for (const match of matches) lists.push(yield* holdersOf(search, match, bounds.probeRows));
  const order = lists.map((_, at) => at).sort((a, b) => (lists[b]?.weight ?? 0) - (lists[a]?.weight ?? 0));
  const rarer: number[] = [];
  for (const at of order) {
    const list = lists[at];
    const match = matches[at];
    if (list === undefined || match === undefined) continue;
    if (!list.isWhole) {
      // The highest score, including neighbours, of a message without any of the rarer terms.
      const rest = order.filter((other) => !rarer.includes(other)).map((other) => lists[other]?.weight ?? 0);
      const most = rest.reduce((sum, weight) => sum + weight, 0) * (1 + 2 * BESIDE_SHARE);
      const soFar = merge(rarer.flatMap((other) => lists[other] ?? []));
      const better = soFar.scores.reduce((count, score) => count + (score > most ? 1 : 0), 0);
      const isDecided = better >= bounds.rowsRead;
      lists[at] = isDecided
        ? // Only messages that also contain a rarer term; no other can be among the best.
          {
            ...list,
            keys: yield* heldBeside(
              search,
              match,
              rarer.flatMap((other) => matches[other] ?? []),
            ),
          }
        : yield* readOn(search, match, list);
    }
    rarer.push(at);
  }
  return lists;
}

function heldBeside(
  search: Search,
  match: Expression,
  rarer: readonly Expression[],
): Steps<readonly number[]> {
  const both: Expression = { op: "and", parts: [match, { op: "or", parts: rarer }] };
  return keysOf(search, both, search.bounds.listRows);
}

function* holdersOf(search: Search, match: Expression, limit: number): Steps<Holders> {
  return toHolders(search, yield* keysOf(search, match, limit + 1), limit);
}

/** Continues a list to its end, or to the length limit. */
function* readOn(search: Search, match: Expression, { keys: known }: Holders): Steps<Holders> {
  const limit = search.bounds.listRows;
  const more = yield* keysOf(search, match, limit + 1 - known.length, (known.at(-1) ?? 0) - 1);
  return toHolders(search, [...known, ...more], limit);
}

/** More keys than `limit` mean that there are others. */
function toHolders(search: Search, keys: readonly number[], limit: number): Holders {
  const isWhole = keys.length <= limit;
  const holders = isWhole ? keys.length : estimate(keys, search.counts.all);
  return { keys, weight: weightOf(search, holders), isWhole };
}

/** How rare a term is among the messages the user may see. */
export function weightOf({ counts }: Search, holders: number): number {
  return rarity(holders, Math.max(Math.min(counts.own, counts.all), holders));
}

/** Estimates the total number of messages with the term from the density of the newest ones. */
function estimate(keys: readonly number[], all: number): number {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = 0;
  for (const key of keys) {
    const id = idInKey(key);
    if (id < lowest) lowest = id;
    if (id > highest) highest = id;
  }
  const density = keys.length / Math.max(1, highest - lowest + 1);
  return Math.min(all, Math.max(keys.length, Math.round(density * all)));
}

type Scored = { readonly keys: Float64Array; readonly scores: Float64Array };

/** All keys of the lists, newest first, each with the sum of its terms' weights and a share of its neighbours'. */
function merge(lists: readonly Holders[]): Scored {
  const total = lists.reduce((sum, { keys }) => sum + keys.length, 0);
  const keys = new Float64Array(total);
  const own = new Float64Array(total);
  const at = lists.map(() => 0);
  let length = 0;
  for (;;) {
    let next = -1;
    for (let list = 0; list < lists.length; list += 1) {
      const key = lists[list]?.keys[at[list] ?? 0] ?? -1;
      if (key > next) next = key;
    }
    if (next < 0) break;
    let score = 0;
    for (let list = 0; list < lists.length; list += 1) {
      const place = at[list] ?? 0;
      if (lists[list]?.keys[place] !== next) continue;
      score += lists[list]?.weight ?? 0;
      at[list] = place + 1;
    }
    keys[length] = next;
    own[length] = score;
    length += 1;
  }
  const scores = own.slice(0, length);
  for (let place = 0; place + 1 < length; place += 1) {
    if ((keys[place] ?? 0) - (keys[place + 1] ?? 0) !== 1) continue;
    scores[place] = (scores[place] ?? 0) + BESIDE_SHARE * (own[place + 1] ?? 0);
    scores[place + 1] = (scores[place + 1] ?? 0) + BESIDE_SHARE * (own[place] ?? 0);
  }
  return { keys: keys.subarray(0, length), scores };
}

/** The best keys in order; of equal ones the newest. */
function bestKeys({ keys, scores }: Scored, most: number): number[] {
  const least = keys.length <= most ? 0 : (scores.toSorted()[keys.length - most] ?? 0);
  const places: number[] = [];
  let equals = most;
  for (const score of scores) if (score > least) equals -= 1;
  scores.forEach((score, place) => {
    if (score > least) places.push(place);
    else if (score === least && equals > 0) {
      equals -= 1;
      places.push(place);
    }
  });
  places.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  return places.map((place) => keys[place] ?? 0);
}

/** Per session, how many of its newest messages contain each term. Uses only the index. */
function* countBySession(
  search: Search,
  rows: readonly FoundRow[],
  lists: readonly Holders[],
): Steps<Map<string, number[]>> {
  const sessions = [...Map.groupBy(rows, (row) => row.session_id)];
  const counted = yield* sessionKeys(search, sessions.slice(0, SESSIONS_COUNTED));
  return new Map(
    sessions.map(([session, members]) => {
      const keys = counted.get(session) ?? members.map(({ key }) => key);
      const holds = (list: Holders) =>
        keys.reduce((sum, key) => sum + (placeIn(list.keys, key) < 0 ? 0 : 1), 0);
      return [session, lists.map(holds)];
    }),
  );
}

/** How many of the newest messages of a session are considered. */
export const MOST_OF_SESSION = 400;
/** A lookup for one message costs as much as reading about this many keys. */
const KEYS_PER_QUESTION = 40;

/** The newest keys of each session, from the index alone; more of them if many of its messages are asked about. */
export function* sessionKeys(
  { sessionKeys: known }: Search,
  sessions: readonly (readonly [session: string, members: readonly unknown[]])[],
): Steps<Map<string, readonly number[]>> {
  const missing = sessions.flatMap(([session, { length }]) => {
    const limit = Math.max(MOST_OF_SESSION, KEYS_PER_QUESTION * length);
    const found = known.get(session);
    const isEnough = found !== undefined && (found.limit >= limit || found.keys.length < found.limit);
    return isEnough ? [] : [{ session, limit }];
  });
  const lists = missing.length === 0 ? [] : yield* ask("sessionKeys", missing);
  for (const [at, { session, limit }] of missing.entries())
    known.set(session, { keys: lists[at] ?? [], limit });
  return new Map(sessions.map(([session]) => [session, known.get(session)?.keys ?? []]));
}

// ---- Matching messages ----

/** The newest keys that the index returns for an expression and the filters it knows, before the tables are checked. */
export function* keysOf(
  search: Search,
  expression: Expression,
  limit: number,
  to?: number,
): Steps<readonly number[]> {
  return yield* ask("keys", { expression, filters: search.filters, order: "newest", limit, to });
}

/** The messages of these keys that pass all filters, in the order given. `withRoots`: the roots of their lineages will be asked. */
function* passingRows(
  search: Search,
  keys: readonly number[],
  withRoots: boolean,
): Steps<readonly FoundRow[]> {
  if (keys.length === 0) return [];
  const rows = yield* ask("rows", { keys, filters: search.filters });
  if (withRoots) yield* learnRoots(search, rows);
  return rows;
}

/** Reads the roots that `rootOf` then knows. */
export function* learnRoots({ roots }: Search, rows: readonly FoundRow[]): Steps<void> {
  const children = rows.filter((row) => row.parent_session_id !== null && !roots.has(row.session_id));
  const sessions = [...new Set(children.map((row) => row.session_id))];
  if (sessions.length === 0) return;
  const found = yield* ask("roots", sessions);
  for (const [at, root] of found.entries()) roots.set(sessions[at] ?? "", root);
}

/** The root of a message's lineage over all kinds of parents. */
export function rootOf({ roots }: Search, { session_id, parent_session_id }: FoundRow): string {
  return parent_session_id === null ? session_id : (roots.get(session_id) ?? session_id);
}

const MOST_PER_STEP = 8192;

type WalkOptions = {
  readonly order: "newest" | "oldest";
  /** How many messages, or lineages, are wanted; fewer are returned only when there are no more. */
  readonly count: number;
  readonly perLineage: boolean;
  /** Keys are ordered by time only to the day: if the exact order matters, every day is read to its end. */
  readonly isExact: boolean;
  /** Already found: their lineages are not searched again. */
  readonly known?: readonly FoundRow[] | undefined;
};

/**
 * Walks the matches until there are enough. Per lineage, sessions found so far are excluded from the next step, so that a session
 * with thousands of matches costs no more than one with a few.
 */
export function* walkMatches(
  search: Search,
  expression: Expression,
  { order, count, perLineage, isExact, known = [] }: WalkOptions,
): Steps<FoundRow[]> {
  const { filters, bounds } = search;
  const kept: FoundRow[] = [];
  const originals = new Set<number>();
  /** The day on which a lineage was found; its best message is from that day. */
  const metOn = new Map<string, number>(known.map((row) => [rootOf(search, row), -1]));
  /** Sessions of lineages that are already found, and how often they matched. */
  const seen = new Map<string, { day: number; times: number }>();
  for (const { session_id } of known)
    seen.set(session_id, { day: -1, times: (seen.get(session_id)?.times ?? 0) + 1 });
  let [from, to] = [0, Number.MAX_SAFE_INTEGER];
  let found = 0;
  let lastDay: number | undefined;
  for (
    let step = perLineage ? bounds.firstStep : Math.min(bounds.firstStep, 4 * count);
    (found < count || lastDay !== undefined) && from <= to;
    step = Math.min(2 * step, MOST_PER_STEP)
  ) {
    const here = dayOfKey(order === "newest" ? to : from);
    const without = perLineage ? mostMatched(seen, here, bounds.sessionTokens) : [];
    const keys = yield* ask("keys", { expression, filters, order, limit: step, without, from, to });
    const last = keys.at(-1);
    if (last === undefined) break;
    for (const row of yield* passingRows(search, keys, perLineage)) {
      const day = dayOfKey(row.key);
      if (lastDay !== undefined && day !== lastDay) break;
      const original = row.origin_id ?? row.id;
      if (perLineage) {
        const root = rootOf(search, row);
        const session = seen.get(row.session_id);
        if (session === undefined) seen.set(row.session_id, { day, times: 1 });
        else session.times += 1;
        const met = metOn.get(root);
        if (met === undefined) {
          metOn.set(root, day);
          found += 1;
          kept.push(row);
        } else if (isExact && met === day) kept.push(row);
      } else {
        kept.push(row);
        if (!originals.has(original)) found += 1;
        originals.add(original);
      }
      if (found >= count) {
        if (!isExact) return kept;
        lastDay ??= day;
      }
    }
    if (keys.length < step) break;
    if (order === "newest") to = last - 1;
    else from = last + 1;
    if (lastDay !== undefined) {
      if (dayOfKey(last) !== lastDay) break;
      if (order === "newest") from = Math.max(from, keyOf(lastDay, 0));
      else to = Math.min(to, keyOf(lastDay, LAST_ID));
    }
  }
  return kept;
}

/** Sessions that matched most often, except on the day that is being read. */
function mostMatched(
  seen: ReadonlyMap<string, { day: number; times: number }>,
  here: number,
  most: number,
): string[] {
  const past = [...seen].filter(([, { day }]) => day !== here);
  if (past.length > most) past.sort((a, b) => b[1].times - a[1].times);
  return past.slice(0, most).map(([session]) => session);
}

/** True when any message matches and passes the filters. */
export function* matchesAnything(search: Search, expression: Expression): Steps<boolean> {
  const options = { order: "newest", count: 1, perLineage: false, isExact: false } as const;
  return (yield* walkMatches(search, expression, options)).length > 0;
}

/** The position in a descending list; -1 when it is not there. */
export function placeIn(keys: readonly number[], key: number): number {
  let low = 0;
  let high = keys.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = keys[middle] ?? 0;
    if (found === key) return middle;
    if (found > key) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

// Which messages are worth reading for a search by relevance. First only keys are compared: how rare the terms are that a
// message, and those beside it, hold. Then the best are checked against the tables until there are enough of them, and
// enough lineages.

import { filterToken } from "../../search/document.ts";
import { toMatch } from "../../search/query.ts";
import type { RankTerm } from "../../search/ranking.ts";
import { rarity } from "../../search/ranking.ts";
import { isUnspacedTerm } from "../../search/tokens.ts";
import type { Connection } from "../connection.ts";
import { isVisible } from "../lineage-sql.ts";
import { checked, collect, type FoundRow, keysOf, type Search } from "./rows.ts";
import { exactly, inAnyForm, type Term } from "./terms.ts";

export type Candidates = {
  readonly rows: readonly FoundRow[];
  readonly terms: readonly RankTerm[];
  readonly sessionCounts: ReadonlyMap<string, readonly number[]>;
  /** More messages match than were compared. */
  readonly isPartial: boolean;
};

export type Wanted = {
  /** Messages, or lineages, up to the end of the page. */
  readonly count: number;
  readonly perLineage: boolean;
};

/** Keys that hold a term, newest first. */
type Holders = {
  readonly keys: readonly number[];
  readonly weight: number;
  /** There are no others. */
  readonly isWhole: boolean;
};

const BESIDE_SHARE = 0.35;
/** So many of the best keys are put in order; only where the filters turn down all of them are others walked. */
const MOST_ORDERED = 4000;
/** For so many sessions it is counted how many messages hold each term. */
const SESSIONS_COUNTED = 32;
const MOST_OF_SESSION = 400;

/** Messages that hold any of the terms, the whole of the question first. `whole`: an expression for all its words. */
export function holdersOfAny(
  search: Search,
  terms: readonly Term[],
  whole: string | undefined,
  wanted: Wanted,
): Candidates {
  const { bounds } = search;
  const any = toMatch({ op: "or", parts: terms.map(inAnyForm) });
  const all = highestId(search.connection);
  const lists = findHolders(search, terms, all);
  const candidates = merge(lists);
  const isWhole = lists.every((list) => list.isWhole);
  const rows = new Map<number, FoundRow>();
  const lineages = new Set<string>();
  const originals = new Set<number>();
  const keep = (row: FoundRow) => {
    rows.set(row.id, row);
    lineages.add(search.rootOf(row));
    originals.add(row.origin_id ?? row.id);
  };
  // Copies of a message are shown once.
  const isEnough = () => (wanted.perLineage ? lineages.size : originals.size) >= wanted.count;
  if (whole !== undefined)
    for (const row of checked(search, keysOf(search, whole, bounds.fullMatches))) keep(row);
  if (terms.length > 1) {
    const exact = toMatch({ op: "and", parts: terms.map(exactly) });
    const full = keysOf(search, exact, Math.max(bounds.fullMatches, wanted.perLineage ? 0 : wanted.count));
    for (const row of checked(search, full)) keep(row);
  }
  const isSmall = isWhole && candidates.keys.length <= bounds.readAll;
  const most = isSmall ? candidates.keys.length : rowsRead(search, wanted);
  const ordered = isSmall ? [...candidates.keys] : bestKeys(candidates, Math.max(MOST_ORDERED, 2 * most));
  let read = 0;
  for (let at = 0; at < ordered.length && (read < most || !isEnough()); at += bounds.rowsRead) {
    for (const row of checked(search, ordered.slice(at, at + bounds.rowsRead))) {
      if (read < most) keep(row);
      else if (isEnough()) break;
      else if (!wanted.perLineage || !lineages.has(search.rootOf(row))) keep(row);
      read += 1;
    }
  }
  const isExhausted = isWhole && ordered.length === candidates.keys.length;
  if (!isExhausted && !isEnough()) addFurther(search, any, wanted, rows, keep);
  const found = [...rows.values()];
  return {
    rows: found,
    terms: terms.map((term, at) => toRankTerm(term, lists[at]?.weight ?? 0)),
    sessionCounts: countBySession(search, found, lists),
    isPartial: !isWhole,
  };
}

/** Messages that match an expression which is no list of alternatives. `preferred`: those that are read in any case. */
export function matchesOf(
  search: Search,
  expression: string,
  terms: readonly Term[],
  wanted: Wanted,
  preferred?: string,
): Candidates {
  const { bounds } = search;
  // Without lineages, only the newest are read anyway.
  const limit = wanted.perLineage
    ? bounds.matchesRanked
    : Math.max(bounds.matchesRanked / 5, 2 * bounds.readAll);
  const keys = keysOf(search, expression, limit + 1);
  const isWhole = keys.length <= limit;
  const rows = new Map<number, FoundRow>();
  const lineages = new Set<string>();
  const originals = new Set<number>();
  const keep = (row: FoundRow) => {
    rows.set(row.id, row);
    lineages.add(search.rootOf(row));
    originals.add(row.origin_id ?? row.id);
  };
  // Copies of a message are shown once.
  const isEnough = () => (wanted.perLineage ? lineages.size : originals.size) >= wanted.count;
  const most =
    keys.length <= bounds.readAll ? keys.length : Math.max(bounds.newestRanked, rowsRead(search, wanted));
  if (preferred !== undefined && keys.length > bounds.readAll)
    for (const row of checked(search, keysOf(search, preferred, bounds.fullMatches))) keep(row);
  let at = 0;
  for (; at < keys.length && rows.size < most; at += bounds.newestRanked) {
    for (const row of checked(search, keys.slice(at, at + bounds.newestRanked)))
      if (rows.size < most) keep(row);
  }
  // Of the matches that are not read, one of each further lineage is.
  const isWanted = (row: FoundRow) => (wanted.perLineage ? !lineages.has(search.rootOf(row)) : !isEnough());
  const isDone = () => isEnough() && (!wanted.perLineage || lineages.size >= bounds.newestRanked);
  for (; at < keys.length && !isDone(); at += bounds.newestRanked)
    for (const row of checked(search, keys.slice(at, at + bounds.newestRanked)))
      if (!isDone() && isWanted(row)) keep(row);
  if (!isWhole && !isEnough()) addFurther(search, expression, wanted, rows, keep);
  const all = highestId(search.connection);
  const lists = terms.map((term): Holders => {
    if (terms.length === 1) return { keys, weight: weightOf(search, keys.length, all), isWhole };
    return holdersOf(search, toMatch(exactly(term)), bounds.matchesRanked, all);
  });
  const found = [...rows.values()];
  return {
    rows: found,
    terms: terms.map((term, place) => toRankTerm(term, lists[place]?.weight ?? 0)),
    sessionCounts: countBySession(search, found, lists),
    isPartial: !isWhole || keys.length > most,
  };
}

function addFurther(
  search: Search,
  expression: string,
  { count, perLineage }: Wanted,
  rows: ReadonlyMap<number, FoundRow>,
  keep: (row: FoundRow) => void,
): void {
  const known = perLineage ? { known: [...rows.values()] } : {};
  const lineages = new Set([...rows.values()].map(search.rootOf)).size;
  const missing = perLineage ? count - lineages : count;
  const further = collect(search, expression, {
    order: "newest",
    count: missing,
    perLineage,
    isExact: false,
    ...known,
  });
  for (const row of further) keep(row);
}

/** In few steps: which messages are read decides on their order, and the next page should go on where the last one ended. */
function rowsRead({ bounds }: Search, { count }: Wanted): number {
  const steps = [bounds.rowsRead, 5 * bounds.rowsRead, 20 * bounds.rowsRead];
  return steps.find((step) => step >= 2 * count) ?? Math.max(20 * bounds.rowsRead, count);
}

/** Ranking looks for text in scripts without blanks as it stands: of a phrase, its longest run. */
export function toRankTerm({ words, isPrefix, forms, isGuess = false }: Term, weight: number): RankTerm {
  const runs = words.length > 1 ? words.filter(isUnspacedTerm).sort((a, b) => b.length - a.length) : [];
  return { words: runs.length > 0 ? runs.slice(0, 1) : words, isPrefix, forms, isGuess, weight };
}

/** The lists of all terms. A long one is read on only where the rarer terms do not settle which messages are best. */
function findHolders(search: Search, terms: readonly Term[], all: number): Holders[] {
  const { bounds } = search;
  const matches = terms.map((term) => toMatch(inAnyForm(term)));
  const lists = matches.map((match) => holdersOf(search, match, bounds.probeRows, all));
  const order = lists.map((_, at) => at).sort((a, b) => (lists[b]?.weight ?? 0) - (lists[a]?.weight ?? 0));
  const rarer: number[] = [];
  for (const at of order) {
    const list = lists[at];
    const match = matches[at];
    if (list === undefined || match === undefined) continue;
    // Of a single term all holders are worth the same: the newest will do.
    if (!list.isWhole && terms.length > 1) {
      // What a message without any of the rarer terms can reach at most, its neighbours included.
      const rest = order.filter((other) => !rarer.includes(other)).map((other) => lists[other]?.weight ?? 0);
      const most = rest.reduce((sum, weight) => sum + weight, 0) * (1 + 2 * BESIDE_SHARE);
      const soFar = merge(rarer.flatMap((other) => lists[other] ?? []));
      const better = soFar.scores.reduce((count, score) => count + (score > most ? 1 : 0), 0);
      lists[at] =
        better >= bounds.rowsRead
          ? {
              ...heldBeside(
                search,
                match,
                rarer.map((other) => matches[other] ?? ""),
              ),
              weight: list.weight,
            }
          : { ...holdersOf(search, match, bounds.listRows, all) };
    }
    rarer.push(at);
  }
  return lists;
}

/** Only messages that hold a rarer term as well: no other one can become one of the best. */
function heldBeside(search: Search, match: string, rarer: readonly string[]): Omit<Holders, "weight"> {
  const both = `(${match}) AND (${rarer.map((each) => `(${each})`).join(" OR ")})`;
  return { keys: keysOf(search, both, search.bounds.listRows), isWhole: false };
}

function holdersOf(search: Search, match: string, limit: number, all: number): Holders {
  const keys = keysOf(search, match, limit + 1);
  const isWhole = keys.length <= limit;
  const holders = isWhole ? keys.length : estimate(keys, all);
  return { keys, weight: weightOf(search, holders, all), isWhole };
}

const ID_SPACE = 2 ** 32;

/** The density of the newest holders tells how many there are in all. */
function estimate(keys: readonly number[], all: number): number {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = 0;
  for (const key of keys) {
    const id = key % ID_SPACE;
    if (id < lowest) lowest = id;
    if (id > highest) highest = id;
  }
  const density = keys.length / Math.max(1, highest - lowest + 1);
  return Math.min(all, Math.max(keys.length, Math.round(density * all)));
}

type Scored = { readonly keys: Float64Array; readonly scores: Float64Array };

/** All keys of the lists, newest first, with the sum of the weights of the terms each holds, and a share of what is beside it. */
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
  const least = keys.length <= most ? 0 : ([...scores].sort((a, b) => b - a)[most - 1] ?? 0);
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

/** Per session, how many of its (newest) messages hold each term; from the index alone. */
function countBySession(
  search: Search,
  rows: readonly FoundRow[],
  lists: readonly Holders[],
): Map<string, number[]> {
  const counts = new Map<string, number[]>();
  const holders = lists.map(({ keys }) => new Set(keys.length <= MOST_ORDERED ? keys : []));
  const isHeld = (key: number, term: number): boolean => {
    const { keys = [] } = lists[term] ?? {};
    return keys.length <= MOST_ORDERED ? holders[term]?.has(key) === true : includesSorted(keys, key);
  };
  const add = (session: string, keys: readonly number[]) => {
    const own = counts.get(session) ?? lists.map(() => 0);
    counts.set(session, own);
    for (const key of keys)
      for (let term = 0; term < lists.length; term += 1)
        if (isHeld(key, term)) own[term] = (own[term] ?? 0) + 1;
  };
  const sessions = Map.groupBy(rows, (row) => row.session_id);
  let asked = 0;
  for (const [session, members] of sessions) {
    const number = search.reader.numberOfSession(session);
    asked += 1;
    const keys =
      number === undefined || asked > SESSIONS_COUNTED
        ? members.map(({ key }) => key)
        : search.reader.keys(`"${filterToken("session", number)}"`, {
            order: "newest",
            limit: MOST_OF_SESSION,
          });
    add(session, keys);
  }
  return counts;
}

/** In a list in descending order. */
function includesSorted(keys: readonly number[], key: number): boolean {
  let low = 0;
  let high = keys.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = keys[middle] ?? 0;
    if (found === key) return true;
    if (found > key) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

/** How rare a term is among the messages that may be seen: how much others write is not for a user to know. */
export function weightOf({ connection, sieve }: Search, holders: number, all: number): number {
  if (typeof sieve.values.user !== "string") return rarity(holders, Math.max(all, holders));
  let own = ownMessages.get(sieve);
  if (own === undefined) {
    const { user, platform = null } = sieve.values;
    own = Number(connection.get<{ n: number }>(OWN_MESSAGES, { user, platform })?.n ?? 0);
    ownMessages.set(sieve, own);
  }
  return rarity(holders, Math.max(Math.min(own, all), holders));
}

const OWN_MESSAGES = `SELECT TOTAL(s.message_count) AS n FROM sessions s WHERE ${isVisible("s")}`;
const ownMessages = new WeakMap<Search["sieve"], number>();

export function highestId(connection: Connection): number {
  return connection.get<{ id: number }>("SELECT COALESCE(MAX(id), 0) AS id FROM messages")?.id ?? 0;
}

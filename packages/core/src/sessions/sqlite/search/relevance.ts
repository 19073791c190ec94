// Which messages are worth reading for a search by relevance. First only keys are compared: how rare the terms are that a
// message, and those beside it, hold. Then the best are checked against the tables until there are enough of them, and
// enough lineages.

import { toMatch } from "../../search/query.ts";
import { rarity } from "../../search/ranking.ts";
import type { RankTerm } from "../../search/ranking-reading.ts";
import { isUnspacedTerm } from "../../search/words.ts";
import type { Connection } from "../connection.ts";
import { isVisible } from "../connection.ts";
import { checked, collect, type FoundRow, keysOf, placeIn, type Search } from "./rows.ts";
import { exactly, inAnyForm, type Term } from "./terms.ts";

export type Candidates = {
  readonly rows: readonly FoundRow[];
  readonly terms: readonly RankTerm[];
  readonly sessionCounts: ReadonlyMap<string, readonly number[]>;
  /** More messages match than were compared. */
  readonly isPartial: boolean;
  /** Every match that the filters allow is among the rows. */
  readonly isAll: boolean;
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
const MOST_ORDERED = 1000;
/** For so many sessions it is counted how many messages hold each term. */
const SESSIONS_COUNTED = 32;

/** The messages that are read, and whether they fill the page. */
class Kept {
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
    this.#lineages.add(this.#search.rootOf(row));
    this.#originals.add(row.origin_id ?? row.id);
    this.#size += row.size;
  }

  addAll(keys: readonly number[]): void {
    for (const row of checked(this.#search, keys)) this.add(row);
  }

  /** In order, while there is room; then only what the page still lacks. Returns whether more is wanted. */
  addWhile(keys: readonly number[], hasRoom: (rows: number, size: number) => boolean): void {
    const { rowsRead } = this.#search.bounds;
    const isWanted = () => !this.isEnough || hasRoom(this.rows.size, this.#size);
    for (let at = 0; at < keys.length && isWanted(); at += rowsRead)
      for (const row of checked(this.#search, keys.slice(at, at + rowsRead))) {
        if (hasRoom(this.rows.size, this.#size)) this.add(row);
        else if (this.isEnough) break;
        else if (!this.#wanted.perLineage || this.isNewLineage(row)) this.add(row);
      }
  }

  isNewLineage(row: FoundRow): boolean {
    return !this.#lineages.has(this.#search.rootOf(row));
  }

  get lineages(): number {
    return this.#lineages.size;
  }

  get isEnough(): boolean {
    return (this.#wanted.perLineage ? this.#lineages : this.#originals).size >= this.#wanted.count;
  }
}

/** Messages that hold any of several terms, the whole of the question first. `whole`: an expression for all its words. */
export function holdersOfAny(
  search: Search,
  terms: readonly Term[],
  whole: string | undefined,
  wanted: Wanted,
): Candidates {
  const { bounds } = search;
  const any = toMatch({ op: "or", parts: terms.map(inAnyForm) });
  const lists = findHolders(search, terms, highestId(search.connection));
  const candidates = merge(lists);
  const isWhole = lists.every((list) => list.isWhole);
  const kept = new Kept(search, wanted);
  const full = fullMatches(search, terms, lists, whole);
  kept.addAll(full);
  const isSmall = isWhole && candidates.keys.length <= bounds.readAll;
  const least = bounds.rowsRead;
  const most = Math.max(least, bounds.shortRowsRead);
  const ordered = isSmall ? [...candidates.keys] : bestKeys(candidates, Math.max(MOST_ORDERED, 2 * most));
  const hasRoom = (rows: number, size: number) =>
    isSmall || rows < least || (rows < most && size < bounds.textRead);
  kept.addWhile(ordered, hasRoom);
  const isExhausted = isWhole && ordered.length === candidates.keys.length;
  if (!isExhausted && !kept.isEnough) addFurther(search, any, wanted, kept);
  const found = [...kept.rows.values()];
  return {
    rows: found,
    terms: terms.map((term, at) => toRankTerm(term, lists[at]?.weight ?? 0)),
    sessionCounts: countBySession(search, found, lists),
    // Messages with all terms cannot be told apart by their keys; all others weigh no more than those that were read.
    isPartial: !isWhole || (full.length >= bounds.fullMatches && found.length < candidates.keys.length),
    isAll: isSmall,
  };
}

/** Keys of messages with all terms as they were asked for, those with the little words of the question first. */
function fullMatches(
  search: Search,
  terms: readonly Term[],
  lists: readonly Holders[],
  whole: string | undefined,
): readonly number[] {
  const [rarest, ...others] = lists
    .filter(({ isWhole }) => isWhole)
    .sort((a, b) => a.keys.length - b.keys.length);
  const isHeldByAll = (key: number) => others.every(({ keys }) => placeIn(keys, key) >= 0);
  if (rarest !== undefined && !rarest.keys.some(isHeldByAll)) return [];
  const exact = toMatch({ op: "and", parts: terms.map(exactly) });
  const most = search.bounds.fullMatches;
  const found = keysOf(search, exact, most);
  // With fewer than that, those with the little words are all among them.
  if (whole === undefined || found.length < most) return found;
  return [...new Set([...keysOf(search, whole, most), ...found])];
}

/** Messages that match one word or an expression. `preferred`: an expression for those that are read in any case. */
export function matchesOf(
  search: Search,
  expression: string,
  terms: readonly Term[],
  wanted: Wanted,
  preferred?: string,
): Candidates {
  const { bounds } = search;
  // A match of several words costs as much as ten of a single one.
  const isWord = terms.length === 1 && terms.every(({ words }) => words.length === 1);
  const limit = Math.max(bounds.matchesRanked / (isWord ? 1 : 2), bounds.readAll);
  const keys = keysOf(search, expression, limit + 1);
  const isWhole = keys.length <= limit;
  const isSmall = keys.length <= bounds.readAll;
  const kept = new Kept(search, wanted);
  if (preferred !== undefined && !isSmall) kept.addAll(keysOf(search, preferred, bounds.fullMatches));
  const least = bounds.rowsRead;
  const most = Math.max(least, bounds.matchesRead);
  const hasRoom = (rows: number, size: number) =>
    isSmall || rows < least || (rows < most && size < bounds.textRead);
  kept.addWhile(isSmall || !isWhole ? keys : newestAndShortest(search, keys, most), hasRoom);
  // Of the matches that are not read, one of each further lineage is.
  const isDone = () => kept.isEnough && (!wanted.perLineage || kept.lineages >= bounds.matchesRead);
  for (let at = 0; !isSmall && at < keys.length && !isDone(); at += bounds.matchesRead)
    for (const row of checked(search, keys.slice(at, at + bounds.matchesRead)))
      if (!isDone() && (!wanted.perLineage || kept.isNewLineage(row))) kept.add(row);
  if (!isWhole && !kept.isEnough) addFurther(search, expression, wanted, kept);
  const all = highestId(search.connection);
  const lists = terms.map((term): Holders => {
    if (terms.length > 1) return holdersOf(search, toMatch(exactly(term)), bounds.matchesRanked, all);
    return { keys, weight: weightOf(search, holdersIn(keys, isWhole, all), all), isWhole };
  });
  const found = [...kept.rows.values()];
  return {
    rows: found,
    terms: terms.map((term, place) => toRankTerm(term, lists[place]?.weight ?? 0)),
    sessionCounts: countBySession(search, found, lists),
    isPartial: !isSmall,
    isAll: isSmall,
  };
}

/** In turns. A short message that holds the term is about it; a long one may only mention it. */
function newestAndShortest({ reader }: Search, keys: readonly number[], most: number): number[] {
  const shortest = reader.shortest(keys, most);
  return [...new Set(keys.slice(0, most).flatMap((key, at) => [key, shortest[at] ?? key]))];
}

function addFurther(search: Search, expression: string, { count, perLineage }: Wanted, kept: Kept): void {
  const further = collect(search, expression, {
    order: "newest",
    count: perLineage ? count - kept.lineages : count,
    perLineage,
    isExact: false,
    ...(perLineage ? { known: [...kept.rows.values()] } : {}),
  });
  for (const row of further) kept.add(row);
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
    if (!list.isWhole) {
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
          : readOn(search, match, list, all);
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
  return { keys, weight: weightOf(search, holdersIn(keys, isWhole, all), all), isWhole };
}

/** The same list, to its end or to the longest that is looked at. */
function readOn(search: Search, match: string, { keys: known }: Holders, all: number): Holders {
  const limit = search.bounds.listRows;
  const more = keysOf(search, match, limit + 1 - known.length, (known.at(-1) ?? 0) - 1);
  const keys = [...known, ...more];
  const isWhole = keys.length <= limit;
  return { keys, weight: weightOf(search, holdersIn(keys, isWhole, all), all), isWhole };
}

function holdersIn(keys: readonly number[], isWhole: boolean, all: number): number {
  return isWhole ? keys.length : estimate(keys, all);
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

/** Per session, how many of its (newest) messages hold each term; from the index alone. */
function countBySession(
  search: Search,
  rows: readonly FoundRow[],
  lists: readonly Holders[],
): Map<string, number[]> {
  const counts = new Map<string, number[]>();
  for (const [session, members] of Map.groupBy(rows, (row) => row.session_id)) {
    const keys =
      counts.size < SESSIONS_COUNTED
        ? search.keysOfSession(session, members.length)
        : members.map(({ key }) => key);
    counts.set(
      session,
      lists.map((list) => keys.reduce((sum, key) => sum + (placeIn(list.keys, key) < 0 ? 0 : 1), 0)),
    );
  }
  return counts;
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

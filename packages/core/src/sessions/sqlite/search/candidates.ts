// Decides which messages a search by relevance reads, from the terms of a query and their forms in the index. First only keys are
// compared, by how rare the terms are that a message and its neighbours contain. Then the best are checked against the tables
// until there are enough messages, and enough lineages.
import { exactly, exactTerm, inAnyForm, type PlainTerm, type Term, toMatch } from "../../search/query.ts";
import { rarity } from "../../search/ranking.ts";
import type { RankTerm } from "../../search/ranking-reading.ts";
import { irregularForms, isUnspacedTerm, stem } from "../../search/words.ts";
import { type Connection, isVisible } from "../connection.ts";
import { type IndexReader, momentOf } from "../index/reader.ts";
import { idInKey } from "../index/tables.ts";
import { type FoundRow, keysOf, passingRows, placeIn, type Search, walkMatches } from "./matches.ts";

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
  const kept = new ChosenRows(search, wanted);
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
    // Messages with all terms cannot be told apart by keys; no other message weighs more than those that were read.
    isPartial: !isWhole || (full.length >= bounds.fullMatches && found.length < candidates.keys.length),
    isAll: isSmall,
  };
}

/** Keys of messages with all terms in their exact form, those with the function words of the question first. */
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
  // If there are fewer, they include all messages with the function words.
  if (whole === undefined || found.length < most) return found;
  return [...new Set([...keysOf(search, whole, most), ...found])];
}

/** Messages that match one word or an expression. `preferred`: an expression for messages that are always read. */
export function matchesOf(
  search: Search,
  expression: string,
  terms: readonly Term[],
  wanted: Wanted,
  preferred?: string,
): Candidates {
  const { bounds } = search;
  // A match of several words costs as much as ten of a single word.
  const isWord = terms.length === 1 && terms.every(({ words }) => words.length === 1);
  const limit = Math.max(bounds.matchesRanked / (isWord ? 1 : 2), bounds.readAll);
  const keys = keysOf(search, expression, limit + 1);
  const isWhole = keys.length <= limit;
  const isSmall = keys.length <= bounds.readAll;
  const kept = new ChosenRows(search, wanted);
  if (preferred !== undefined && !isSmall) kept.addAll(keysOf(search, preferred, bounds.fullMatches));
  const least = bounds.rowsRead;
  const most = Math.max(least, bounds.matchesRead);
  const hasRoom = (rows: number, size: number) =>
    isSmall || rows < least || (rows < most && size < bounds.textRead);
  kept.addWhile(isSmall || !isWhole ? keys : newestAndShortest(search, keys, most), hasRoom);
  // Of the matches that are not read, one of each further lineage is added.
  const isDone = () => kept.isEnough && (!wanted.perLineage || kept.lineages >= bounds.matchesRead);
  for (let at = 0; !isSmall && at < keys.length && !isDone(); at += bounds.matchesRead)
    for (const row of passingRows(search, keys.slice(at, at + bounds.matchesRead)))
      if (!isDone() && (!wanted.perLineage || kept.isNewLineage(row))) kept.add(row);
  if (!isWhole && !kept.isEnough) addFurther(search, expression, wanted, kept);
  const all = highestId(search.connection);
  const lists = terms.map((term): Holders => {
    if (terms.length > 1) return holdersOf(search, toMatch(exactly(term)), bounds.matchesRanked, all);
    return toHolders(search, keys, limit, all);
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

/** Alternating. A short message with the term is about it; a long one may only mention it. */
function newestAndShortest({ reader }: Search, keys: readonly number[], most: number): number[] {
  const shortest = reader.shortest(keys, most);
  return [...new Set(keys.slice(0, most).flatMap((key, at) => [key, shortest[at] ?? key]))];
}

function addFurther(
  search: Search,
  expression: string,
  { count, perLineage }: Wanted,
  kept: ChosenRows,
): void {
  const further = walkMatches(search, expression, {
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
    this.#lineages.add(this.#search.rootOf(row));
    this.#originals.add(row.origin_id ?? row.id);
    this.#size += row.size;
  }

  addAll(keys: readonly number[]): void {
    for (const row of passingRows(this.#search, keys)) this.add(row);
  }

  /** Adds rows in order while there is room, then only what the page still lacks. */
  addWhile(keys: readonly number[], hasRoom: (rows: number, size: number) => boolean): void {
    const { rowsRead } = this.#search.bounds;
    const isWanted = () => !this.isEnough || hasRoom(this.rows.size, this.#size);
    for (let at = 0; at < keys.length && isWanted(); at += rowsRead)
      for (const row of passingRows(this.#search, keys.slice(at, at + rowsRead))) {
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

/** Ranking compares scripts without blanks as text. Of a phrase, it uses the longest run. */
export function toRankTerm({ words, isPrefix, forms, isGuess = false }: Term, weight: number): RankTerm {
  const runs = words.length > 1 ? words.filter(isUnspacedTerm).sort((a, b) => b.length - a.length) : [];
  return { words: runs.length > 0 ? runs.slice(0, 1) : words, isPrefix, forms, isGuess, weight };
}

/** The keys of all terms. A long list is read to its end only if the rarer terms do not decide which messages are best. */
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
      // The highest score, including neighbours, of a message without any of the rarer terms.
      const rest = order.filter((other) => !rarer.includes(other)).map((other) => lists[other]?.weight ?? 0);
      const most = rest.reduce((sum, weight) => sum + weight, 0) * (1 + 2 * BESIDE_SHARE);
      const soFar = merge(rarer.flatMap((other) => lists[other] ?? []));
      const better = soFar.scores.reduce((count, score) => count + (score > most ? 1 : 0), 0);
      const others = rarer.map((other) => matches[other] ?? "");
      lists[at] =
        better >= bounds.rowsRead
          ? { ...list, keys: heldBeside(search, match, others) }
          : readOn(search, match, list, all);
    }
    rarer.push(at);
  }
  return lists;
}

/** Only messages that also contain a rarer term; no other can be among the best. */
function heldBeside(search: Search, match: string, rarer: readonly string[]): number[] {
  const both = `(${match}) AND (${rarer.map((each) => `(${each})`).join(" OR ")})`;
  return keysOf(search, both, search.bounds.listRows);
}

function holdersOf(search: Search, match: string, limit: number, all: number): Holders {
  return toHolders(search, keysOf(search, match, limit + 1), limit, all);
}

/** Continues a list to its end, or to the length limit. */
function readOn(search: Search, match: string, { keys: known }: Holders, all: number): Holders {
  const limit = search.bounds.listRows;
  const more = keysOf(search, match, limit + 1 - known.length, (known.at(-1) ?? 0) - 1);
  return toHolders(search, [...known, ...more], limit, all);
}

/** More keys than `limit` mean that there are others. */
function toHolders(search: Search, keys: readonly number[], limit: number, all: number): Holders {
  const isWhole = keys.length <= limit;
  return { keys, weight: weightOf(search, isWhole ? keys.length : estimate(keys, all), all), isWhole };
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

/** How rare a term is among the messages the user may see: how much other users write must not show. */
export function weightOf({ connection, conditions }: Search, holders: number, all: number): number {
  if (typeof conditions.values.user !== "string") return rarity(holders, Math.max(all, holders));
  let own = ownMessages.get(conditions);
  if (own === undefined) {
    const { user, platform = null } = conditions.values;
    own = Number(connection.get<{ n: number }>(OWN_MESSAGES, { user, platform })?.n ?? 0);
    ownMessages.set(conditions, own);
  }
  return rarity(holders, Math.max(Math.min(own, all), holders));
}

const OWN_MESSAGES = `SELECT TOTAL(s.message_count) AS n FROM sessions s WHERE ${isVisible("s")}`;
const ownMessages = new WeakMap<Search["conditions"], number>();

export function highestId(connection: Connection): number {
  return connection.get<{ id: number }>("SELECT COALESCE(MAX(id), 0) AS id FROM messages")?.id ?? 0;
}

// ---- Word forms in the index ----

/** How many words of the index are checked to find the forms of one word. */
const MOST_SEEKS = 80;
const SHORTEST_BEGINNING = 3;
/** Words of this length count a little for words with the same first letters. */
const KIN_LETTERS = 7;
const MOST_KIN = 24;

type Forms = Pick<Term, "forms" | "kin" | "isGuess">;
/** The words of the index that begin with a text, sorted. */
type Words = Pick<IndexReader, "terms">;
/** Limits known words to the messages of one user: words of other users must not show in answers. */
export type WordScope = { readonly name: string; occurs(word: string): boolean };
type Known = { moment: string; readonly byWord: Map<string, Forms> };
const MOST_REMEMBERED = 500;
const remembered = new WeakMap<Connection, Known>();

/** Finding the forms of a word takes up to 80 index lookups, so they are cached until the file changes. */
export function withForms(
  connection: Connection,
  reader: IndexReader,
  { words }: PlainTerm,
  wordScope: WordScope = { name: "", occurs: (word) => wordExists(reader, word) },
): Term {
  const [word] = words;
  if (words.length !== 1 || word === undefined || isUnspacedTerm(word)) return exactTerm(words);
  const moment = momentOf(connection);
  let known = remembered.get(connection);
  if (known === undefined || known.moment !== moment || known.byWord.size > MOST_REMEMBERED) {
    known = { moment, byWord: new Map() };
    remembered.set(connection, known);
  }
  const key = `${word} ${wordScope.name}`;
  let forms = known.byWord.get(key);
  if (forms === undefined) {
    forms = findForms(reader, word, wordScope);
    known.byWord.set(key, forms);
  }
  return { words, isPrefix: false, ...forms };
}

export function findForms(reader: Words, word: string, { occurs }: Pick<WordScope, "occurs">): Forms {
  const found = formsOf(reader, word);
  const isGuess = !occurs(word) && !found.some(occurs);
  const forms = isGuess ? similarTo(reader, word).filter(occurs) : found;
  const taken = new Set([word, ...forms]);
  const kin = isKinable(word)
    ? reader.terms(word.slice(0, KIN_LETTERS), MOST_KIN).filter((other) => !taken.has(other))
    : [];
  return isGuess && forms.length > 0 ? { forms, kin, isGuess } : { forms, kin };
}

function isKinable(word: string): boolean {
  return word.length >= KIN_LETTERS && !/\d/.test(word);
}

/** Other forms of a word in the index: words with the same stem. */
function formsOf(reader: Words, word: string): string[] {
  const root = stem(word);
  const beginnings = new Set(
    [word, root].map(beginningOf).filter((text) => text.length >= SHORTEST_BEGINNING),
  );
  const shortest = [...beginnings].filter(
    (text) => ![...beginnings].some((other) => other !== text && text.startsWith(other)),
  );
  const regular = shortest.flatMap((text) => reader.terms(text, MOST_SEEKS));
  const irregular = irregularForms(root).filter((form) => wordExists(reader, form));
  return [...new Set([...regular, ...irregular])].filter((form) => form !== word && stem(form) === root);
}

/** Words that differ by one typing error. */
function similarTo(reader: Words, word: string): string[] {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return [];
  return reader.terms(word.slice(0, 3), MOST_SEEKS).filter((other) => isOneSlipAway(word, other));
}

function wordExists(reader: Words, word: string): boolean {
  return reader.terms(word, 1)[0] === word;
}

/** The prefix that all forms of a word share: without the ending that a stemmer may have changed. */
function beginningOf(word: string): string {
  const ending = word.length >= 6 ? 2 : 1;
  return word.slice(0, Math.max(SHORTEST_BEGINNING, word.length - ending));
}

function isOneSlipAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (a.length === b.length) {
    const isSwap = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
    return isSwap || restA.slice(1) === restB.slice(1);
  }
  return a.length > b.length ? restA.slice(1) === restB : restA === restB.slice(1);
}

// What a search asks a database for. The search itself (search.ts, candidates.ts) is written once, as generators that yield these
// reads, so that every backend gives the same answers. A backend answers all reads of one search from the same state: SQLite at
// once, inside one read transaction (sqlite/search/reads.ts); a server awaits each. Reads take lists, so that a search asks some
// twenty times, however much it finds. Whose messages may be seen is not asked here: a backend answers for one scope.
import type { StoredText } from "./document.ts";
import type { SearchFilters, SearchHit } from "./types.ts";

/** The reads by name. A backend over a network has the same members, each with a promise of the same answer. */
export interface SearchReads {
  counts(): Counts;
  /** Words of the index that begin with `prefix`, in order of their bytes; at most `limit`. Words of all users. */
  terms(asked: { readonly prefix: string; readonly limit: number }): readonly string[];
  /** Those of the words that occur in a message in the scope. */
  occurring(words: readonly string[]): readonly string[];
  /**
   * Keys of indexed messages that match, in order of key. Only what the index knows is applied: the scope, whether a message is
   * hidden, sources, roles, whole days, and lists of up to `bounds.sessionTokens` sessions.
   */
  keys(asked: KeysAsked): readonly number[];
  /** The messages of these keys that pass all filters, in the order given. */
  rows(asked: { readonly keys: readonly number[]; readonly filters: SearchFilters }): readonly FoundRow[];
  /** Of these keys, those with the fewest words, shortest first. */
  shortest(asked: { readonly keys: readonly number[]; readonly limit: number }): readonly number[];
  /** Per session, the newest keys of its messages that are not hidden, newest first. */
  sessionKeys(
    asked: readonly { readonly session: string; readonly limit: number }[],
  ): readonly (readonly number[])[];
  /** Per message, the ids of the nearest shown messages of its session, nearest first. */
  beside(asked: {
    readonly rows: readonly FoundRow[];
    readonly before: number;
    readonly after: number;
  }): readonly Beside[];
  /** Per session, the root of its lineage over every kind of parent. */
  roots(sessions: readonly string[]): readonly string[];
  texts(ids: readonly number[]): readonly StoredText[];
  hits(ids: readonly number[]): readonly StoredHit[];
}

/**
 * Adjacent words, spelled as by `tokenize`. A run of a script without blanks counts as one word. `endsRun`: it must end where the run
 * in the text ends: `서울` in `서울 여행`, not in `서울역`. A backend looks up `indexPhrase` of it.
 */
export type Phrase = {
  readonly op: "phrase";
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  readonly endsRun?: boolean;
};

export type Expression =
  | Phrase
  | { readonly op: "and" | "or"; readonly parts: readonly Expression[] }
  | { readonly op: "not"; readonly left: Expression; readonly right: Expression };

export type Counts = {
  /** About as many messages are in the database; ids count up to it. */
  readonly all: number;
  /** How many of them are in the scope: how much other users write must not show in scores. */
  readonly own: number;
  /** Messages in no index yet. */
  readonly notSearched: number;
};

type KeysAsked = {
  readonly expression: Expression;
  readonly filters: SearchFilters;
  readonly order: "newest" | "oldest";
  readonly limit: number;
  /** Sessions to leave out. */
  readonly without?: readonly string[];
  /** Lowest and highest key, both inclusive. */
  readonly from?: number;
  readonly to?: number;
};

export type FoundRow = {
  readonly key: number;
  readonly id: number;
  readonly session_id: string;
  readonly timestamp: number;
  readonly parent_session_id: string | null;
  readonly origin_id: number | null;
  /** Bytes of its text, including the stored envelope. */
  readonly size: number;
};

type Beside = { readonly before: readonly number[]; readonly after: readonly number[] };

/** A message as it is shown, with the message before and the one after it. */
export type StoredHit = Omit<SearchHit, "snippet" | "context" | "score" | "matched" | "lineage_root"> & {
  readonly content: StoredText["content"];
  readonly before?: Pick<StoredText, "role" | "content"> | undefined;
  readonly after?: Pick<StoredText, "role" | "content"> | undefined;
};

/** One read: its name, and what is asked. */
type Read = {
  [Name in keyof SearchReads]: { readonly name: Name; readonly asked: Parameters<SearchReads[Name]>[0] };
}[keyof SearchReads];

/** Steps that read the database: `yield*` them. */
export type Steps<T> = Generator<Read, T, unknown>;

export function* ask<Name extends keyof SearchReads>(
  name: Name,
  asked: Parameters<SearchReads[Name]>[0],
): Steps<ReturnType<SearchReads[Name]>> {
  return (yield { name, asked } as Read) as ReturnType<SearchReads[Name]>;
}

/** Takes all steps with a backend that answers at once. */
export function take<T>(steps: Steps<T>, reads: SearchReads): T {
  let step = steps.next();
  while (step.done !== true) {
    const { name, asked } = step.value;
    step = steps.next(reads[name](asked as never));
  }
  return step.value;
}

// ---- Keys ----
// The key of a message is its day and its id, so that keys are in order of time to the day, and neighbours mostly have
// neighbouring keys.

const ID_SPACE = 2 ** 32;
export const LAST_DAY = 65_535;
export const LAST_ID = ID_SPACE - 1;

export function idInKey(key: number): number {
  return key % ID_SPACE;
}

export function dayOfKey(key: number): number {
  return Math.floor(key / ID_SPACE);
}

export function keyOf(day: number, id: number): number {
  return day * ID_SPACE + id;
}

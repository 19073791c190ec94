// How a message matches a query: how often each term occurs, where, and how close together the words of the query are.
import type { TimeSpan } from "./query.ts";
import { compose, containsUnspaced, eachWord, foldTerm, isStopWord, spell, tokenize } from "./words.ts";

// ---- Types ----

/** One term of a plain question. */
export type RankTerm = {
  /** One word, or several adjacent words. */
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  /** Other forms that count for a single word. */
  readonly forms: readonly string[];
  /** The forms are similar words, because the word itself does not occur: it may be a typing error. */
  readonly isGuess?: boolean;
  /** `rarity(holders, all)`. A term that no message contains has a weight too, and lowers the confidence. */
  readonly weight: number;
};

/** A message whose text was read. Only messages with at least one term are passed in. */
export type RankRow = {
  readonly id: number;
  readonly session: string;
  readonly timestamp: number;
  readonly role: string;
  /** The content as clean text. */
  readonly said: string;
  /** Tool name and the words of tool calls. */
  readonly did: string;
  /** Output of an earlier session search, or of another recall tool. */
  readonly isRecall: boolean;
  /** Ids of up to 3 messages before it in its session, nearest first. */
  readonly before: readonly (number | undefined)[];
  /** Ids of up to 2 messages after it. */
  readonly after: readonly (number | undefined)[];
  /** True for the first message of its session. */
  readonly isFirst: boolean;
};

export type RankInput = {
  readonly query: string;
  readonly terms: readonly RankTerm[];
  readonly rows: readonly RankRow[];
  /** Per session, how many of its messages contain each term, including messages whose text was not read. */
  readonly sessionCounts: ReadonlyMap<string, readonly number[]>;
  /** Time spans that the query names. */
  readonly spans: readonly TimeSpan[];
};

/** `speakers`: messages begin with the name of the speaker (`Ana: ...`). `agent`: a user and an assistant. */
export type ConversationKind = "speakers" | "agent";

/** How the text of a message matches the terms. */
export type Reading = {
  /** Number of words of the content; an estimate for long texts. */
  readonly length: number;
  /** Per term: how often it occurs in the content. A similar word, or part of a Korean word, counts less than 1. */
  readonly said: readonly number[];
  /** Per term: how often it occurs in the tool calls. */
  readonly did: readonly number[];
  /** Per term: the word positions in the content where it occurs. */
  readonly places: readonly (readonly number[])[];
  /** The same in the tool calls. */
  readonly didPlaces: readonly (readonly number[])[];
  /** True when every term occurs as it was asked for, not in another form. */
  readonly isFull: boolean;
  /** How close together all words of the query are, including function words: 1 when adjacent, 0 when one is missing. */
  readonly closeness: number;
};

/** Facts about the question, computed before any message is scored. */
export type Question = {
  readonly kind: ConversationKind;
  /** Weights of the terms; lower for words that frame the question or name a date. */
  readonly weights: readonly number[];
  /** Sum of the weights of all terms that are not names of speakers. */
  readonly total: number;
  readonly isName: readonly boolean[];
  /** The speaker that the question is about, if it names exactly one. */
  readonly name: number | undefined;
  readonly isFrame: readonly boolean[];
  readonly isDate: readonly boolean[];
  readonly asksWhen: boolean;
  readonly asksHowMany: boolean;
};

/** A message with all values its scores are computed from. */
export type Facts = {
  readonly row: RankRow;
  readonly reading: Reading;
  /** Less than 1 when neither a person nor the assistant said it. */
  readonly share: number;
  readonly isAuthor: boolean;
  readonly hasQuestion: boolean;
  readonly endsInQuestion: boolean;
  readonly before: readonly (number | undefined)[];
  readonly after: readonly (number | undefined)[];
  /** How close its time is to the dates named in the question, 0 to 1. */
  readonly near: number;
  readonly proximity: number;
  /** How many messages of the session contain each term. */
  readonly sessionCounts: readonly number[];
  readonly averageLength: number;
};

export type Confidence = {
  /** 0 to 1: how much of the question one message covers; rare words count more. */
  readonly score: number;
  /** True when nothing clearly answers the question. */
  readonly isWeak: boolean;
};

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A word of 7 or more letters also matches words with the same first 7 letters, counting this much. */
const KIN_LETTERS = 7;
const KIN_COUNT = 0.5;
/** The count of a guessed word, however often it occurs. */
const GUESS_COUNT = 0.5;
/** `서울` at the start of `서울역`, and inside `남서울역`: usually a different word. */
const BEGINNING_COUNT = 0.6;
const INSIDE_COUNT = 0.4;
/** More occurrences than this do not change the order. */
const MOST_PLACES = 50;
/** All words of the query, but in another order. */
const OTHER_ORDER = 0.8;
/** All words of the query, some in another form. For a single-word query the exact form comes first. */
const OTHER_FORMS = 0.9;
const OTHER_FORM_ALONE = 0.5;
/** Longer questions are never repeated word for word. */
const MOST_ASKED = 32;
/** A longer text is split into words only around the terms: splitting costs 50 times as much as searching for them. */
const LONG_TEXT_CHARS = 400;
const AROUND_CHARS = 120;
const CHARS_PER_WORD = 6;
/** For scripts without blanks. */
const UNSPACED_PER_WORD = 2;
/** Endings after an apostrophe: `Maria's`, `don't`. */
const CUT_OFF = /['\u2019](?:s|t|d|m|re|ve|ll)\b/giu;
const HANGUL = /\p{Script=Hangul}/u;
/** Particles that Korean appends to a noun without changing the word; several may follow each other. */
const PARTICLES =
  /^(?:들|께서|에서|에게|한테|께|으로|로|이라도|라도|이나|나|이랑|랑|하고|까지|부터|마다|조차|마저|밖에|처럼|만큼|보다|같이|대로|뿐|이란|란|이라는|라는|이라고|라고|이에요|예요|이야|야|입니다|이다|인데|은|는|이|가|을|를|에|의|도|와|과|만|요){0,3}$/u;
const OTHER_UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Created once per query, then called for each message. */
export function reader(query: string, terms: readonly RankTerm[]): (row: RankRow) => Reading {
  const finder = findTerms(terms);
  const closeness = closenessTo(query, terms);
  const inOtherForms = terms.length === 1 ? OTHER_FORM_ALONE : OTHER_FORMS;
  const split = splitter(terms);
  const none = terms.map(() => 0);
  return ({ said, did }) => {
    const words = split(said);
    const found = finder(words, said);
    const calls = did === "" ? undefined : finder(split(did), did);
    const isFull = terms.every((_, at) => (found.exact[at] ?? 0) + (calls?.exact[at] ?? 0) > 0);
    return {
      length: words.length,
      said: found.counts,
      did: calls?.counts ?? none,
      places: found.places,
      didPlaces: calls?.places ?? [],
      isFull,
      closeness: found.counts.every((count) => count > 0)
        ? closeness(words, said) * (isFull ? 1 : inOtherForms)
        : 0,
    };
  };
}

/** The words of a text in order. An empty word stands for a part that was skipped. */
type Words = {
  readonly terms: readonly string[];
  /** The position of each word among all words of the text. */
  readonly places: readonly number[];
  /** How many words the text has. */
  readonly length: number;
};

function splitter(terms: readonly RankTerm[]): (text: string) => Words {
  const spaced = terms.filter((term) => !isComparedAsText(term));
  if (spaced.length === 0)
    return ({ length }) => ({ terms: [], places: [], length: Math.ceil(length / UNSPACED_PER_WORD) });
  const needles = needlesOf(spaced);
  const wanted = new RegExp(
    needles.map((needle) => needle.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|"),
    "g",
  );
  const longest = Math.max(...spaced.map(({ words }) => words.join(" ").length));
  const around = Math.max(AROUND_CHARS, 2 * longest);
  return (text) => {
    if (text.length <= LONG_TEXT_CHARS) return splitWhole(text);
    const bare = foldText(text);
    const found: string[] = [];
    const places: number[] = [];
    const counts = new Map<string, number>();
    let [end, full, next] = [0, 0, 0];
    const visit = (start: number, stop: number) => {
      const piece = bare.slice(start, stop);
      if (start > end) {
        found.push("");
        places.push(next);
        next = Math.max(next + 1, Math.round(start / CHARS_PER_WORD));
      }
      eachWord(piece, (from, to, spelling) => {
        found.push(spell(piece.slice(from, to), spelling));
        places.push(next);
        next += 1;
      });
      end = stop;
    };
    wanted.lastIndex = 0;
    for (let match = wanted.exec(bare); match !== null; match = wanted.exec(bare)) {
      const { index, 0: needle } = match;
      if (isLatin(needle.charCodeAt(0)) && index > 0 && isLatin(bare.charCodeAt(index - 1))) continue;
      const count = (counts.get(needle) ?? 0) + 1;
      counts.set(needle, count);
      if (count > MOST_PLACES) continue;
      if (count === MOST_PLACES) full += 1;
      if (full === needles.length) break;
      const start = Math.max(end, beforeWord(bare, index - around));
      const stop = afterWord(bare, index + needle.length + around);
      if (stop > end) visit(start, stop);
    }
    // No match found: the text contains characters that the index leaves out.
    if (found.length === 0) return splitWhole(text);
    return { terms: found, places, length: Math.round(text.length / CHARS_PER_WORD) };
  };
}

function splitWhole(text: string): Words {
  const terms: string[] = [];
  const places: number[] = [];
  eachWord(text, (start, end, spelling) => {
    places.push(terms.length);
    terms.push(spell(text.slice(start, end), spelling));
  });
  return { terms, places, length: terms.length };
}

/**
 * Word prefixes of which at least one occurs wherever a term occurs; none is a prefix of another. For a phrase, its longest word.
 */
function needlesOf(terms: readonly RankTerm[]): string[] {
  const spellings = terms.flatMap(({ words, forms }) => {
    const longest = words.reduce((best, word) => (word.length > best.length ? word : best), "");
    return [longest, ...forms].map((word) => word.slice(0, KIN_LETTERS));
  });
  const distinct = [...new Set(spellings)].filter((word) => word !== "");
  return distinct.filter((word) => !distinct.some((other) => other !== word && word.startsWith(other)));
}

const NOT_ASCII = /[^\0-\x7f]/;

/** The text in the spelling of the index, with blanks and punctuation. */
function foldText(text: string): string {
  return NOT_ASCII.test(text) ? foldTerm(text) : text.toLowerCase();
}

function isLatin(unit: number): boolean {
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

/** Longer words are cut: they are data, not language. */
const LONGEST_WORD = 100;

function beforeWord(text: string, from: number): number {
  let at = Math.max(0, from);
  for (let most = LONGEST_WORD; at > 0 && most > 0 && text.charCodeAt(at - 1) > 0x20; most -= 1) at -= 1;
  return at;
}

function afterWord(text: string, from: number): number {
  let at = Math.min(text.length, from);
  for (let most = LONGEST_WORD; at < text.length && most > 0 && text.charCodeAt(at) > 0x20; most -= 1)
    at += 1;
  return at;
}

/** Scripts without blanks, except Korean. */
function isComparedAsText({ words }: RankTerm): boolean {
  const whole = words.join(" ");
  return containsUnspaced(whole) && (OTHER_UNSPACED.test(whole) || !HANGUL.test(whole));
}

type Found = { readonly counts: number[]; readonly exact: number[]; readonly places: number[][] };

function findTerms(terms: readonly RankTerm[]): (words: Words, text: string) => Found {
  const words = new Map<string, { readonly at: number; readonly isExact: boolean }[]>();
  const kin = new Map<string, number[]>();
  const beginnings: { readonly at: number; readonly text: string; readonly isHangul: boolean }[] = [];
  const phrases: { readonly at: number; readonly words: readonly string[]; readonly isPrefix: boolean }[] =
    [];
  const parts: { readonly at: number; readonly text: string }[] = [];
  const push = <T>(map: Map<string, T[]>, key: string, value: T) => {
    const list = map.get(key);
    if (list === undefined) map.set(key, [value]);
    else list.push(value);
  };
  terms.forEach((term, at) => {
    const [word = ""] = term.words;
    if (isComparedAsText(term)) parts.push({ at, text: term.words.join(" ").toLowerCase() });
    else if (term.words.length > 1) phrases.push({ at, words: term.words, isPrefix: term.isPrefix });
    else if (HANGUL.test(word)) beginnings.push({ at, text: word, isHangul: true });
    else if (term.isPrefix) beginnings.push({ at, text: word, isHangul: false });
    else {
      push(words, word, { at, isExact: true });
      if (word.length >= KIN_LETTERS && !/\d/.test(word)) push(kin, word.slice(0, KIN_LETTERS), at);
    }
    for (const form of term.forms) if (form !== word) push(words, form, { at, isExact: false });
  });
  return ({ terms: found, places: numbers }, text) => {
    const counts = terms.map(() => 0);
    const exact = terms.map(() => 0);
    const places = terms.map((): number[] => []);
    const count = (at: number, place: number, by: number, isExact: boolean) => {
      counts[at] = (counts[at] ?? 0) + by;
      if (isExact) exact[at] = (exact[at] ?? 0) + 1;
      const list = places[at];
      if (list !== undefined && list.length < MOST_PLACES) list.push(place);
    };
    for (let index = 0; index < found.length; index += 1) {
      const term = found[index] ?? "";
      const place = numbers[index] ?? 0;
      const hits = words.get(term);
      for (const { at, isExact } of hits ?? [])
        if (terms[at]?.isGuess !== true || isExact) count(at, place, 1, isExact);
        else if (counts[at] === 0) count(at, place, GUESS_COUNT, false);
      if (kin.size > 0 && term.length >= KIN_LETTERS)
        for (const at of kin.get(term.slice(0, KIN_LETTERS)) ?? [])
          if (hits?.some((hit) => hit.at === at) !== true) count(at, place, KIN_COUNT, false);
      for (const { at, text: beginning, isHangul } of beginnings) {
        if (term.startsWith(beginning)) {
          const isWord = !isHangul || PARTICLES.test(term.slice(beginning.length));
          count(at, place, isWord ? 1 : BEGINNING_COUNT, isWord);
        } else if (isHangul && term.includes(beginning)) count(at, place, INSIDE_COUNT, false);
      }
      for (const { at, words: phrase, isPrefix } of phrases)
        if (isPhraseAt(found, index, phrase, isPrefix)) count(at, place, 1, true);
    }
    if (parts.length > 0) {
      const lower = compose(text).toLowerCase();
      for (const { at, text: part } of parts) {
        let from = lower.indexOf(part);
        for (let most = MOST_PLACES; from >= 0 && most > 0; most -= 1) {
          count(at, Math.round(from / UNSPACED_PER_WORD), 1, true);
          from = lower.indexOf(part, from + part.length);
        }
      }
    }
    return { counts, exact, places };
  };
}

/** `isPrefix`: the last word may be the beginning of one. */
export function isPhraseAt(
  terms: readonly string[],
  index: number,
  words: readonly string[],
  isPrefix: boolean,
): boolean {
  for (let offset = 0; offset < words.length; offset += 1) {
    const term = terms[index + offset];
    const word = words[offset] ?? "";
    const isMatch = isPrefix && offset === words.length - 1 ? term?.startsWith(word) === true : term === word;
    if (!isMatch) return false;
  }
  return true;
}

/**
 * Function words, as in `turn off`, `log in` and `vitamin a`, are not terms, so they are checked here, in messages that contain
 * all terms. Scripts without blanks are compared as text.
 */
function closenessTo(query: string, terms: readonly RankTerm[]): (words: Words, text: string) => number {
  if (containsUnspaced(query)) {
    const typed = compose(query.trim()).toLowerCase();
    return (_words, text) => (compose(text).toLowerCase().includes(typed) ? 1 : 0);
  }
  const asked = tokenize(query.replace(CUT_OFF, " ")).map(({ term }) => term);
  const distinct = [...new Set(asked)];
  if (distinct.length > MOST_ASKED) return () => 0;
  const wordNumbers = new Map<string, number>();
  for (const { words, forms } of terms) {
    const number = words.length === 1 ? distinct.indexOf(words[0] ?? "") : -1;
    if (number >= 0) for (const form of forms) wordNumbers.set(form, number);
  }
  distinct.forEach((word, number) => {
    wordNumbers.set(word, number);
  });
  const order = asked.map((word) => distinct.indexOf(word));
  return ({ terms: found, places }) => {
    const numbers = found.map((term) => wordNumbers.get(term) ?? -1);
    const hits: (readonly [place: number, number: number])[] = [];
    numbers.forEach((number, index) => {
      if (number >= 0) hits.push([places[index] ?? 0, number]);
    });
    const width = narrowest(hits, distinct.length);
    if (width === undefined) return 0;
    if (width > distinct.length) return distinct.length / width;
    const isInOrder = numbers.some((_, index) =>
      order.every((number, offset) => numbers[index + offset] === number),
    );
    return isInOrder ? 1 : OTHER_ORDER;
  };
}

/** The number of words of the narrowest range that contains all `needed` words. */
function narrowest(
  hits: readonly (readonly [place: number, number: number])[],
  needed: number,
): number | undefined {
  const inside = new Array<number>(needed).fill(0);
  let missing = needed;
  let first = 0;
  let best: number | undefined;
  for (const [place, number] of hits) {
    if (inside[number] === 0) missing -= 1;
    inside[number] = (inside[number] ?? 0) + 1;
    while (missing === 0) {
      const [start, leaving] = hits[first] ?? [0, 0];
      const width = place - start + 1;
      if (best === undefined || width < best) best = width;
      inside[leaving] = (inside[leaving] ?? 0) - 1;
      if (inside[leaving] === 0) missing += 1;
      first += 1;
    }
  }
  return best;
}

/** The number of distinct words that are not stop words. */
export function tellingWords(text: string): number {
  return new Set(splitWhole(text).terms.filter((term) => !isStopWord(term))).size;
}

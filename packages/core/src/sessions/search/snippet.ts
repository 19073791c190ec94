// Chooses and marks the part of a text that shows best why it matches. For words, it picks and formats the window like FTS5's
// `snippet()`; it is implemented here because some texts that are shown were not matched by FTS5.
import { isPhraseAt } from "./ranking-reading.ts";
import { compose, eachWord, foldTerm, isUnspacedTerm, spell, type Token, tokenize } from "./words.ts";

const OPEN = ">>>";
const CLOSE = "<<<";
const CUT = "...";

const WINDOW_TOKENS = 40;
const SCORE_OF_FIRST = 1000;
const SCORE_OF_REPEAT = 1;
const SCORE_OF_TEXT_START = 120;
const SCORE_OF_SENTENCE_START = 100;

/** Marked in the text: adjacent words, the last of which may be a prefix, or any form of a single word. */
export type ShownTerm = {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  readonly forms: readonly string[];
};

export type MarkedSnippet = { readonly snippet: string; readonly isMarked: boolean };

/** Created once per query. If a text contains every word of `whole`, all of them are marked, function words included. */
export function snippetMaker(
  terms: readonly ShownTerm[],
  whole: readonly ShownTerm[] = [],
): (text: string) => MarkedSnippet {
  const isUnspaced = terms.some(({ words }) => words.some(isUnspacedTerm));
  const needles = [...new Set(terms.flatMap(({ words, forms }) => [...words, ...forms]))];
  const all = [...new Set(whole.flatMap(({ words }) => words))];
  // If the terms are already all words of the query, there is nothing more to mark.
  const little = all.every((word) => needles.includes(word)) ? [] : all;
  return (text) => {
    const draw = (shown: readonly ShownTerm[]) => drawTerms(text, shown);
    const hasWhole = () => {
      if (little.length === 0) return false;
      const found = new Set(tokenize(text).map(({ term }) => term));
      return little.every((word) => found.has(word));
    };
    const snippet = isUnspaced
      ? makeSubstringSnippet(text, needles)
      : draw(hasWhole() ? [...whole, ...terms] : terms);
    return { snippet, isMarked: snippet.includes(OPEN) };
  };
}

function drawTerms(text: string, terms: readonly ShownTerm[]): string {
  const single = terms.filter(({ words }) => words.length === 1);
  const exact = new Set(
    single.flatMap(({ words, forms, isPrefix }) => (isPrefix ? [] : [...words, ...forms])),
  );
  const beginnings = single.flatMap(({ words, isPrefix }) => (isPrefix ? words : []));
  const phrases = terms.flatMap(({ words, isPrefix }) =>
    words.length < 2 ? [] : isPrefix ? phrasesBeginning(text, words) : [words],
  );
  const isMatch = (term: string) =>
    exact.has(term) || beginnings.some((beginning) => term.startsWith(beginning));
  return makeSnippet(text, isMatch, phrases);
}

/** The phrases in a text that start with these words; the last word is a prefix. */
function phrasesBeginning(text: string, words: readonly string[]): string[][] {
  const tokens = tokenize(text).map(({ term }) => term);
  const found = new Map<string, string[]>();
  for (let place = 0; place + words.length <= tokens.length; place += 1) {
    if (!isPhraseAt(tokens, place, words, true)) continue;
    const phrase = tokens.slice(place, place + words.length);
    found.set(phrase.join(" "), phrase);
  }
  return [...found.values()];
}

/** Of longer texts, only the parts around the matches are ranked and shown. */
const LONG_TEXT = 20_000;
const AROUND = 300;
const BEGINNING = 500;
const BETWEEN = " \u2026 ";

/** Returns short texts unchanged; of a very long one, its beginning and the parts around the matches. */
export function shortener(terms: readonly ShownTerm[]): (text: string) => string {
  const words = new Map<string, ShownTerm[]>();
  const beginnings: ShownTerm[] = [];
  const runs: string[] = [];
  for (const term of terms) {
    const [first = ""] = term.words;
    if (isUnspacedTerm(first)) runs.push(first);
    else if (term.isPrefix && term.words.length === 1) beginnings.push(term);
    else words.set(first, [...(words.get(first) ?? []), term]);
    for (const form of term.forms) words.set(form, [...(words.get(form) ?? []), { ...term, words: [form] }]);
  }
  const firstUnits = new Uint8Array(128);
  for (const start of [...words.keys(), ...beginnings.map((term) => term.words[0] ?? "")]) {
    const unit = start.charCodeAt(0);
    if (unit < 0x80) {
      firstUnits[unit] = 1;
      firstUnits[start.toUpperCase().charCodeAt(0)] = 1;
    }
  }
  return (whole) => {
    if (whole.length <= LONG_TEXT) return whole;
    const text = runs.length === 0 ? whole : compose(whole);
    const places: (readonly [start: number, end: number])[] = [[0, BEGINNING]];
    let room = LONG_TEXT;
    const add = (start: number, end: number) => {
      const last = places.at(-1);
      room -= last !== undefined && start - AROUND < last[1] ? end + AROUND - last[1] : 2 * AROUND;
      places.push([start - AROUND, end + AROUND]);
    };
    for (const run of runs) {
      let at = text.indexOf(run);
      for (let most = 20; at >= 0 && most > 0; most -= 1) {
        add(at, at + run.length);
        at = text.indexOf(run, at + AROUND);
      }
    }
    if (words.size > 0 || beginnings.length > 0)
      eachWord(text, (start, end, spelling) => {
        if (room <= 0) return;
        const unit = text.charCodeAt(start);
        if (unit < 0x80 && firstUnits[unit] === 0) return;
        const term = spell(text.slice(start, end), spelling);
        const isHere =
          words.get(term)?.some((each) => isPhraseFrom(text, end, each)) === true ||
          beginnings.some((each) => term.startsWith(each.words[0] ?? ""));
        if (isHere) add(start, end);
      });
    return excerpt(text, places);
  };
}

/** True when the words after the first follow at this position. */
function isPhraseFrom(text: string, end: number, { words, isPrefix }: ShownTerm): boolean {
  if (words.length === 1) return true;
  const width = words.reduce((sum, word) => sum + 2 * word.length + 32, 0);
  const found = tokenize(text.slice(end, end + width)).map(({ term }) => term);
  return isPhraseAt(found, 0, words.slice(1), isPrefix);
}

function excerpt(text: string, places: (readonly [start: number, end: number])[]): string {
  places.sort((a, b) => a[0] - b[0]);
  const merged: { start: number; end: number }[] = [];
  for (const [start, end] of places) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  const pieces = merged.map(({ start, end }) => text.slice(wordStart(text, start), wordEnd(text, end)));
  return pieces.join(BETWEEN);
}

const LONGEST_TO_BLANK = 60;

/** The start of the next word, so that no word is cut. */
function wordStart(text: string, at: number): number {
  if (at <= 0) return 0;
  const blank = text.slice(at, at + LONGEST_TO_BLANK).search(/\s/);
  const start = blank < 0 ? at : at + blank + 1;
  return isInsidePair(text, start) ? start + 1 : start;
}

function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const blank = text.slice(at - LONGEST_TO_BLANK, at).search(/\s\S*$/);
  const end = blank < 0 ? at : at - LONGEST_TO_BLANK + blank;
  return isInsidePair(text, end) ? end - 1 : end;
}

/** `isMatch` gets folded words. `phrases` are folded words that count, and are marked, only when adjacent. */
export function makeSnippet(
  text: string,
  isMatch: (term: string) => boolean,
  phrases: readonly (readonly string[])[] = [],
): string {
  const tokens = tokenize(text);
  const matches = findMatches(tokens, isMatch, phrases);
  return drawWindow(text, tokens, matches, chooseStart(text, tokens, matches));
}

const WINDOW_CHARACTERS = 120;
const CHARACTERS_BEFORE = 40;

/** For scripts without blanks: the first window with the most needles, in any case. */
export function makeSubstringSnippet(text: string, needles: readonly string[]): string {
  const found = findSubstrings(text, needles);
  const first = found[bestSubstring(found)]?.start ?? 0;
  let start = Math.max(0, Math.min(first - CHARACTERS_BEFORE, text.length - WINDOW_CHARACTERS));
  if (isInsidePair(text, start)) start -= 1;
  let end = Math.min(text.length, start + WINDOW_CHARACTERS);
  if (isInsidePair(text, end)) end += 1;
  let drawn = start > 0 ? CUT : "";
  let at = start;
  for (const range of merge(found)) {
    const from = Math.max(range.start, start);
    const to = Math.min(range.end, end);
    if (from >= to) continue;
    drawn += `${text.slice(at, from)}${OPEN}${text.slice(from, to)}${CLOSE}`;
    at = to;
  }
  return `${drawn}${text.slice(at, end)}${end < text.length ? CUT : ""}`;
}

/** Where a match is: in tokens for words, in UTF-16 units for substrings. `end` is exclusive. */
type Match = { readonly start: number; readonly end: number; readonly asked: number };

function findMatches(
  tokens: readonly Token[],
  isMatch: (term: string) => boolean,
  phrases: readonly (readonly string[])[],
): Match[] {
  const numbers = new Map<string, number | undefined>();
  let next = phrases.length;
  const numberOf = (term: string): number | undefined => {
    if (!numbers.has(term)) {
      numbers.set(term, isMatch(term) ? next : undefined);
      next += 1;
    }
    return numbers.get(term);
  };
  const byFirstWord = Map.groupBy(phrases.entries(), ([, words]) => words[0]);
  return tokens.flatMap(({ term }, start) => {
    const matches: Match[] = [];
    for (const [asked, words] of byFirstWord.get(term) ?? []) {
      const isHere = words.every((word, index) => tokens[start + index]?.term === word);
      if (isHere) matches.push({ start, end: start + words.length, asked });
    }
    const asked = numberOf(term);
    if (asked !== undefined) matches.push({ start, end: start + 1, asked });
    return matches;
  });
}

/** The first token of the chosen window. */
function chooseStart(text: string, tokens: readonly Token[], matches: readonly Match[]): number {
  let best = 0;
  let bestScore = 0;
  let sentence = 0;
  let scanned = 0;
  let firstInSentence = 0;
  let tried = -1;
  for (let i = 0; i < matches.length; i += 1) {
    const at = matches[i]?.start ?? 0;
    const window = scoreWindow(matches, i, at);
    if (window.score > bestScore) {
      bestScore = window.score;
      best = centre(at, window.end, tokens.length);
    }
    if (tokens.length <= WINDOW_TOKENS) continue;
    for (; scanned < at; scanned += 1) if (startsSentence(text, tokens, scanned + 1)) sentence = scanned + 1;
    if (sentence >= at || sentence === tried) continue;
    tried = sentence;
    while ((matches[firstInSentence]?.start ?? at) < sentence) firstInSentence += 1;
    const bonus = sentence === 0 ? SCORE_OF_TEXT_START : SCORE_OF_SENTENCE_START;
    const score = scoreWindow(matches, firstInSentence, sentence).score + bonus;
    if (score > bestScore) {
      bestScore = score;
      best = sentence;
    }
  }
  return best;
}

/** `end`: where the last match that starts in the window ends. */
function scoreWindow(matches: readonly Match[], from: number, start: number): { score: number; end: number } {
  const seen = new Set<number>();
  let score = 0;
  let end = 0;
  for (let i = from; i < matches.length; i += 1) {
    const match = matches[i];
    if (match === undefined || match.start >= start + WINDOW_TOKENS) break;
    score += seen.has(match.asked) ? SCORE_OF_REPEAT : SCORE_OF_FIRST;
    seen.add(match.asked);
    end = match.end;
  }
  return { score, end };
}

function centre(first: number, end: number, tokenCount: number): number {
  const start = first - Math.trunc((WINDOW_TOKENS - (end - first)) / 2);
  return Math.max(0, Math.min(start, tokenCount - WINDOW_TOKENS));
}

/** True right after a full stop or a colon and white space. */
function startsSentence(text: string, tokens: readonly Token[], index: number): boolean {
  const start = tokens[index]?.start ?? 0;
  let at = start - 1;
  while (at >= 0 && isBlank(text.charCodeAt(at))) at -= 1;
  return at < start - 1 && (text[at] === "." || text[at] === ":");
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
}

function drawWindow(
  text: string,
  tokens: readonly Token[],
  matches: readonly Match[],
  start: number,
): string {
  const end = Math.min(tokens.length, start + WINDOW_TOKENS);
  let drawn = start > 0 ? CUT : "";
  let at = start > 0 ? (tokens[start]?.start ?? 0) : 0;
  for (const match of merge(matches)) {
    // A phrase that starts before the window is not marked.
    if (match.start < start || match.start >= end) continue;
    const from = tokens[match.start]?.start ?? at;
    const to = tokens[Math.min(match.end, end) - 1]?.end ?? from;
    drawn += `${text.slice(at, from)}${OPEN}${text.slice(from, to)}${CLOSE}`;
    at = to;
  }
  if (end >= tokens.length) return drawn + text.slice(at);
  return `${drawn}${text.slice(at, tokens[end - 1]?.end ?? at)}${CUT}`;
}

/** Merges matches that share a word. They are sorted by start. */
function merge(matches: readonly Match[]): { readonly start: number; readonly end: number }[] {
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of matches) {
    const last = merged.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

function findSubstrings(text: string, needles: readonly string[]): Match[] {
  const folded = foldPlaces(text);
  const found = needles.flatMap((needle, asked) => {
    const wanted = foldTerm(needle);
    const matches: Match[] = [];
    if (wanted === "") return matches;
    let at = folded.text.indexOf(wanted);
    for (; at >= 0; at = folded.text.indexOf(wanted, at + wanted.length)) {
      const last = at + wanted.length - 1;
      matches.push({ start: folded.starts[at] ?? 0, end: folded.ends[last] ?? text.length, asked });
    }
    return matches;
  });
  return found.sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Sequences that form one character when composed: a Hangul syllable in letters, a letter with its marks. */
const COMPOSABLE =
  /[\u1100-\u115f]+[\u1160-\u11a7]*[\u11a8-\u11ff]*|[\uffa0-\uffdc]+|.[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*/gsu;

/** The text as the index spells it and, for each of its units, the start and end in the original text. */
function foldPlaces(text: string): { text: string; starts: readonly number[]; ends: readonly number[] } {
  const starts: number[] = [];
  const ends: number[] = [];
  let folded = "";
  for (const { 0: written, index } of text.matchAll(COMPOSABLE)) {
    const spelled = foldTerm(written);
    for (let unit = 0; unit < spelled.length; unit += 1) {
      starts.push(index);
      ends.push(index + written.length);
    }
    folded += spelled;
  }
  return { text: folded, starts, ends };
}

/** The index of the match after which the most needles follow within the window. */
function bestSubstring(found: readonly Match[]): number {
  let best = 0;
  let most = 0;
  let until = 0;
  const inside = new Map<number, number>();
  for (let i = 0; i < found.length; i += 1) {
    const limit = (found[i]?.start ?? 0) + WINDOW_CHARACTERS - CHARACTERS_BEFORE;
    for (; (found[until]?.end ?? Number.POSITIVE_INFINITY) <= limit || until === i; until += 1) {
      const asked = found[until]?.asked ?? -1;
      inside.set(asked, (inside.get(asked) ?? 0) + 1);
    }
    if (inside.size > most) {
      most = inside.size;
      best = i;
    }
    const leaving = found[i]?.asked ?? -1;
    const left = (inside.get(leaving) ?? 1) - 1;
    if (left > 0) inside.set(leaving, left);
    else inside.delete(leaving);
  }
  return best;
}

function isInsidePair(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
}

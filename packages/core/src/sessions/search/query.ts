// Parses a query: either a literal expression (quotes, operators, stars) or plain words. Every input is valid. Below: the terms
// that a search looks up for it.
import { takeCodePoints } from "../../lib/index.ts";
import { ask, type Expression, type Phrase, type Steps } from "./reads.ts";
import {
  containsUnspaced,
  irregularForms,
  isStopWord,
  isUnspacedTerm,
  phraseTerms,
  stem,
  tokenize,
} from "./words.ts";

/** Several words are adjacent in the text; `text` is what the user typed for them. */
export type PlainTerm = { readonly words: readonly string[]; readonly text: string };

export type ParsedQuery =
  | { readonly kind: "blank" }
  | { readonly kind: "explicit"; readonly expression: Expression }
  | { readonly kind: "plain"; readonly terms: readonly PlainTerm[] };

/** Distinct terms. Further terms of a long pasted query are not searched for, and the answer says so (`termsLeftOut`). */
const MOST_TERMS = 1000;
const MOST_WORDS_IN_PHRASE = 64;
/** For a word in a script without blanks, which may be a whole page. */
const MOST_CHARACTERS_IN_WORD = 256;
/** Characters after this are ignored. */
export const MOST_CHARACTERS = 32_768;

export function parseQuery(query: string): ParsedQuery {
  const lexemes = withoutIdleOperators(lex(query.slice(0, MOST_CHARACTERS)));
  const terms = lexemes.filter((lexeme) => lexeme.kind === "term");
  if (terms.length === 0) return { kind: "blank" };
  const isExplicit = lexemes.some(
    (lexeme) => lexeme.kind === "operator" || lexeme.isQuoted || lexeme.isPrefix,
  );
  if (isExplicit) return { kind: "explicit", expression: toExpression(lexemes) };
  return { kind: "plain", terms: distinctTerms(terms).map(({ words, text }) => ({ words, text })) };
}

/** How many distinct terms of a query are not searched for because there are too many. Counted in its first 65,536 characters. */
export function termsLeftOut(query: string): number {
  // Each term takes at least two characters, so a short query has fewer than MOST_TERMS.
  if (query.length < 2 * MOST_TERMS) return 0;
  const keys = (text: string, most: number) =>
    lex(text, most).flatMap((lexeme) => (lexeme.kind === "term" ? [keyOf(lexeme)] : []));
  const searched = new Set(keys(query.slice(0, MOST_CHARACTERS), MOST_TERMS));
  const all = new Set(keys(query.slice(0, 2 * MOST_CHARACTERS), Number.POSITIVE_INFINITY));
  return [...all].filter((key) => !searched.has(key)).length;
}

/** The adjacent terms of the index that a phrase stands for; the last one may be a beginning. */
export function indexPhrase({ words, isPrefix, endsRun = false }: Phrase): {
  readonly terms: readonly string[];
  readonly isPrefix: boolean;
} {
  if (!endsRun || !isUnspacedTerm(words.at(-1) ?? "")) return phraseTerms(words, isPrefix);
  // With an empty word after it, the run must end with its last character.
  return { terms: phraseTerms([...words, ""], false).terms.slice(0, -1), isPrefix: false };
}

type Word = PlainTerm & { readonly kind: "term"; readonly isQuoted: boolean; readonly isPrefix: boolean };
type Operator = { readonly kind: "operator"; readonly name: "AND" | "OR" | "NOT" };
type Lexeme = Word | Operator;

// A phrase, a single quote, or a part without quotes. A star belongs to the text directly before it.
const PIECE = /"([^"]*)"(\*?)|"|([^"]+)/g;
const BLANKS = /[\s\x00-\x20\x85+{}():^]+/;
const STARRED = /[^*]+\**/g;

/** Up to `most` distinct terms. Repetitions of those are always kept. */
function lex(query: string, most = MOST_TERMS): Lexeme[] {
  const lexemes: Lexeme[] = [];
  const seen = new Set<string>();
  const add = (lexeme: Lexeme | undefined) => {
    if (lexeme === undefined) return;
    if (lexeme.kind === "term") {
      const key = keyOf(lexeme);
      if (seen.size >= most && !seen.has(key)) return;
      seen.add(key);
    }
    lexemes.push(lexeme);
  };
  for (const [, phrase, star, bare] of query.matchAll(PIECE)) {
    if (phrase !== undefined)
      add(toTerm(phrase.replaceAll("\0", " "), { isQuoted: true, isStarred: star === "*" }));
    for (const word of bare?.split(BLANKS) ?? []) {
      for (const lexeme of toLexemes(word)) add(lexeme);
    }
  }
  return withCjkOperators(lexemes);
}

function keyOf({
  words,
  isPrefix,
}: {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}): string {
  return `${words.join(" ")}${isPrefix ? "*" : ""}`;
}

function distinctTerms<T extends { readonly words: readonly string[]; readonly isPrefix: boolean }>(
  terms: readonly T[],
): T[] {
  const seen = new Set<string>();
  return terms.filter((term) => seen.size < seen.add(keyOf(term)).size);
}

/** A star ends a word: `de*ploy` becomes `de*` and `ploy`. A star with nothing before it is ignored. */
function toLexemes(word: string): (Lexeme | undefined)[] {
  if (word === "AND" || word === "OR" || word === "NOT") return [{ kind: "operator", name: word }];
  return Array.from(word.matchAll(STARRED), ([starred]) => {
    const text = starred.replaceAll("*", "");
    return toTerm(text, { isQuoted: false, isStarred: text.length < starred.length });
  });
}

function toTerm(
  typed: string,
  { isQuoted, isStarred }: { readonly isQuoted: boolean; readonly isStarred: boolean },
): Word | undefined {
  const tokens = tokenize(typed);
  const last = tokens.at(-1);
  if (last === undefined) return undefined;
  const words = tokens
    .slice(0, MOST_WORDS_IN_PHRASE)
    .map(({ term }) => (isUnspacedTerm(term) ? takeCodePoints(term, MOST_CHARACTERS_IN_WORD) : term));
  // `src/*` means anything below `src`, not words that begin with it. A run without blanks is found inside longer runs with or
  // without a star.
  const isPrefix =
    isStarred &&
    last.end === typed.length &&
    tokens.length <= MOST_WORDS_IN_PHRASE &&
    !isUnspacedTerm(last.term);
  return { kind: "term", words, text: typed, isQuoted, isPrefix };
}

/** Between two words of a script without blanks, `or` is an operator rather than a search word. */
function withCjkOperators(lexemes: readonly Lexeme[]): Lexeme[] {
  return lexemes.map((lexeme, index) => {
    if (lexeme.kind !== "term" || lexeme.isQuoted || lexeme.isPrefix) return lexeme;
    const isOperator = /^(?:and|or|not)$/.test(lexeme.text);
    if (!isOperator || !isUnspacedLexeme(lexemes[index - 1]) || !isUnspacedLexeme(lexemes[index + 1]))
      return lexeme;
    return { kind: "operator", name: lexeme.text.toUpperCase() as Operator["name"] };
  });
}

function isUnspacedLexeme(lexeme: Lexeme | undefined): boolean {
  return lexeme?.kind === "term" && containsUnspaced(lexeme.text);
}

/** Operators only count between terms. Of several in a row, NOT wins, because users write AND NOT; otherwise the first. */
function withoutIdleOperators(lexemes: readonly Lexeme[]): Lexeme[] {
  const kept: Lexeme[] = [];
  let waiting: Operator | undefined;
  for (const lexeme of lexemes) {
    if (lexeme.kind === "operator") {
      if (waiting === undefined || lexeme.name === "NOT") waiting = lexeme;
      continue;
    }
    if (waiting !== undefined && kept.length > 0) kept.push(waiting);
    waiting = undefined;
    kept.push(lexeme);
  }
  return kept;
}

/** FTS5's precedence, loosest first: OR, AND, NOT, adjacent words. */
function toExpression(lexemes: readonly Lexeme[]): Expression {
  const alternatives = splitAt(lexemes, "OR").map((alternative) => {
    const parts = splitAt(alternative, "AND").map((part) => {
      const [wanted = [], ...unwanted] = splitAt(part, "NOT").map(toAdjacent);
      const left = combine("and", wanted);
      if (unwanted.length === 0) return left;
      // `a NOT b NOT c` means `(a NOT b) NOT c`. This form keeps a long chain from becoming a deep tree.
      return {
        op: "not" as const,
        left,
        right: combine(
          "or",
          unwanted.map((each) => combine("and", each)),
        ),
      };
    });
    return combine("and", parts);
  });
  return combine("or", alternatives);
}

function splitAt(lexemes: readonly Lexeme[], name: Operator["name"]): Lexeme[][] {
  const parts: Lexeme[][] = [[]];
  for (const lexeme of lexemes) {
    if (lexeme.kind === "operator" && lexeme.name === name) parts.push([]);
    else parts.at(-1)?.push(lexeme);
  }
  return parts;
}

function toAdjacent(lexemes: readonly Lexeme[]): Phrase[] {
  return lexemes.flatMap((lexeme) =>
    lexeme.kind === "term" ? [{ op: "phrase", words: lexeme.words, isPrefix: lexeme.isPrefix }] : [],
  );
}

function combine(op: "and" | "or", parts: readonly Expression[]): Expression {
  const flat = parts.flatMap((part) => (part.op === op ? part.parts : [part]));
  const seen = new Set<string>();
  const distinct = flat.filter((part) => part.op !== "phrase" || seen.size < seen.add(keyOf(part)).size);
  const [only] = distinct;
  return only !== undefined && distinct.length === 1 ? only : { op, parts: distinct };
}

// ---- Dates in a question ----
// Dates such as "in June 2023" or "on 25 May" become time spans. A message from that time is a more likely answer.

const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);
/** After one of these words, "may" is a month. */
const BEFORE_MAY = new Set("in on of since until by during early mid late last this".split(" "));
const WORD = /[a-z]+|\d+/g;
const ORDINAL = /\b(\d{1,2})(?:st|nd|rd|th)\b/g;

/** In seconds since 1970; `to` itself is not part of the span. */
export type TimeSpan = { readonly from: number; readonly to: number };

/** `years`: the years that a date without a year may mean, newest first. */
export function namedTimes(query: string, years: readonly number[]): TimeSpan[] {
  const words = query.toLowerCase().replace(ORDINAL, "$1 ").match(WORD) ?? [];
  const spans = words.flatMap((word, at) => {
    const month = MONTHS.indexOf(word);
    return month < 0 || !isMonth(words, at) ? [] : monthSpans(words, at, month, years);
  });
  if (spans.length > 0) return spans;
  return words.flatMap((word) => (isYear(word) ? [span(Number(word))] : []));
}

function isMonth(words: readonly string[], at: number): boolean {
  if (words[at] !== "may" && words[at] !== "march") return true;
  const before = words[at - 1] ?? "";
  const after = words[at + 1] ?? "";
  return BEFORE_MAY.has(before) || isDay(before) || isDay(after) || isYear(after);
}

function monthSpans(
  words: readonly string[],
  at: number,
  month: number,
  years: readonly number[],
): TimeSpan[] {
  const [before = "", twoBefore = ""] = [words[at - 1], words[at - 2]];
  const after = words[at + 1] ?? "";
  const dayBefore = isDay(before) ? before : before === "of" && isDay(twoBefore) ? twoBefore : "";
  const day = dayBefore !== "" ? dayBefore : isDay(after) ? after : "";
  const year = [words[at + 1], words[at + 2], words[at + 3]].find(
    (word) => word !== undefined && isYear(word),
  );
  const meant = year === undefined ? years : [Number(year)];
  return meant.map((each) => span(each, month, day === "" ? undefined : Number(day)));
}

/** A year, a month or a day, in local time. */
function span(year: number, month?: number, day?: number): TimeSpan {
  const isDay = month !== undefined && day !== undefined;
  const end = isDay
    ? new Date(year, month, day + 1)
    : month === undefined
      ? new Date(year + 1, 0, 1)
      : new Date(year, month + 1, 1);
  return { from: new Date(year, month ?? 0, day ?? 1).getTime() / 1000, to: end.getTime() / 1000 };
}

function isDay(word: string): boolean {
  return /^\d{1,2}$/.test(word) && Number(word) >= 1 && Number(word) <= 31;
}

function isYear(word: string): boolean {
  return /^(19|20)\d\d$/.test(word);
}

// ---- Terms: the words of a query that a search looks up ----

export type Term = {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  /** Other words that count for a single word. */
  readonly forms: readonly string[];
  /** Words that look related; messages with them are found and count less. */
  readonly kin: readonly string[];
  /** The word does not occur; the forms are similar words that may have been meant. */
  readonly isGuess?: boolean;
};

/** The terms that are not stop words; all terms when there is no other. */
export function withoutStopWords(terms: readonly PlainTerm[]): readonly PlainTerm[] {
  const kept = terms
    .map(withoutEnding)
    .filter(({ words }) => words.length > 1 || !isStopWord(words[0] ?? ""));
  return kept.length === 0 ? terms : kept;
}

/** `Maria's` becomes Maria; `it's` becomes a stop word. */
function withoutEnding({ words, text }: PlainTerm): PlainTerm {
  const isContraction = words.length === 2 && /^[\p{L}]+['\u2019](s|t|d|m|re|ve|ll)[\p{P}]*$/iu.test(text);
  return isContraction ? { words: words.slice(0, 1), text } : { words, text };
}

export function exactTerm(words: readonly string[], isPrefix = false): Term {
  return { words, isPrefix, forms: [], kin: [] };
}

/** The terms that an expression asks for, without those it excludes. */
export function termsOf(expression: Expression): Term[] {
  switch (expression.op) {
    case "phrase":
      return [exactTerm(expression.words, expression.isPrefix)];
    case "and":
    case "or":
      return expression.parts.flatMap(termsOf);
    case "not":
      return termsOf(expression.left);
    default:
      return expression satisfies never;
  }
}

/** The words of a term that a message contains: the word itself, or the words it was guessed to be. */
export function nameFound({ words, forms, isGuess }: Term, text: string): string {
  if (isGuess !== true) return words.join(" ");
  const found = new Set(tokenize(text).map(({ term }) => term));
  return forms.filter((form) => found.has(form)).join(" ") || words.join(" ");
}

export function exactly({ words, isPrefix }: Term): Phrase {
  return { op: "phrase", words, isPrefix };
}

export function inAnyForm(term: Term): Expression {
  const others = [...term.forms, ...term.kin].map(
    (form): Phrase => ({ op: "phrase", words: [form], isPrefix: false }),
  );
  return others.length === 0 ? exactly(term) : { op: "or", parts: [exactly(term), ...others] };
}

/** A run of a script without blanks that does not occur as a whole is searched by its pairs of characters. */
export function pairsOf({ words }: Term): Term[] {
  const [run = ""] = words;
  if (words.length !== 1 || !isUnspacedTerm(run)) return [];
  const { terms, isPrefix } = phraseTerms([run], false);
  return isPrefix || terms.length < 2 ? [] : [...new Set(terms)].map((pair) => exactTerm([pair]));
}

// ---- Other forms of a word, among the words of the index ----

/** How many words of the index are checked to find the forms of one word. */
const MOST_SEEKS = 80;
const SHORTEST_BEGINNING = 3;
/** Words of this length count a little for words with the same first letters. */
const KIN_LETTERS = 7;
const MOST_KIN = 24;

/** The term with the other forms of its word, or with similar words if no form of it occurs: it may be mistyped. */
export function* withForms({ words }: PlainTerm): Steps<Term> {
  const [word] = words;
  if (words.length !== 1 || word === undefined || isUnspacedTerm(word)) return exactTerm(words);
  const found = yield* formsOf(word);
  const occurs = function* (words: readonly string[]) {
    return words.length > 0 && (yield* ask("occurring", words)).length > 0;
  };
  const isGuess = !(yield* occurs([word])) && !(yield* occurs(found));
  const forms = isGuess ? yield* similarTo(word) : found;
  const taken = new Set([word, ...forms]);
  const isKinable = word.length >= KIN_LETTERS && !/\d/.test(word);
  const beginning = { prefix: word.slice(0, KIN_LETTERS), limit: MOST_KIN };
  const kin = isKinable ? (yield* ask("terms", beginning)).filter((other) => !taken.has(other)) : [];
  return { words, isPrefix: false, forms, kin, ...(isGuess && forms.length > 0 ? { isGuess } : {}) };
}

/** Words with the same stem. */
function* formsOf(word: string): Steps<string[]> {
  const root = stem(word);
  const beginnings = new Set(
    [word, root].map(beginningOf).filter((text) => text.length >= SHORTEST_BEGINNING),
  );
  const shortest = [...beginnings].filter(
    (text) => ![...beginnings].some((other) => other !== text && text.startsWith(other)),
  );
  const regular: string[] = [];
  for (const prefix of shortest) regular.push(...(yield* ask("terms", { prefix, limit: MOST_SEEKS })));
  const irregular = irregularForms(root);
  if (irregular.length > 0) regular.push(...(yield* ask("occurring", irregular)));
  return [...new Set(regular)].filter((form) => form !== word && stem(form) === root);
}

/** Words that differ by one typing error. */
function* similarTo(word: string): Steps<readonly string[]> {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return [];
  const words = yield* ask("terms", { prefix: word.slice(0, 3), limit: MOST_SEEKS });
  return yield* ask(
    "occurring",
    words.filter((other) => isOneSlipAway(word, other)),
  );
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

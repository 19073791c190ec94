// The terms of a query as ranking counts them: a word with its forms, a beginning, or words side by side.
import type { Expression, Phrase, PlainTerm } from "../../search/query.ts";
import { isStopWord } from "../../search/stem.ts";
import { type Token, tokenize } from "../../search/tokens.ts";
import type { Connection } from "../connection.ts";
import { formsOf, similarTo, wordExists, wordsWithBeginning } from "./vocabulary.ts";

export type Term = {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  /** Other words that count for a single one. */
  readonly forms: readonly string[];
  /** Words with the same first letters, which count for less. */
  readonly kin: readonly string[];
};

/** Words that say something; all of them when none does. */
export function telling(terms: readonly PlainTerm[]): readonly PlainTerm[] {
  const kept = terms
    .map(withoutEnding)
    .filter(({ words }) => words.length > 1 || !isStopWord(words[0] ?? ""));
  return kept.length === 0 ? terms : kept;
}

/** `Maria's` asks for Maria, `it's` for nothing. */
function withoutEnding({ words, text }: PlainTerm): PlainTerm {
  const isContraction = words.length === 2 && /^[\p{L}]+['\u2019](s|t|d|m|re|ve|ll)[\p{P}]*$/iu.test(text);
  return isContraction ? { words: words.slice(0, 1), text } : { words, text };
}

export function withForms(connection: Connection, { words }: PlainTerm): Term {
  const [word] = words;
  if (words.length !== 1 || word === undefined) return { words, isPrefix: false, forms: [], kin: [] };
  const kin =
    word.length < KIN_LETTERS ? [] : wordsWithBeginning(connection, word.slice(0, KIN_LETTERS)).words;
  const forms = formsOf(connection, word);
  const isUnknown = forms.length === 0 && !wordExists(connection, word);
  if (!isUnknown) return { words, isPrefix: false, forms, kin };
  // To the tokenizer newer emoji are letters, so one typed right behind a word becomes part of it.
  const bare = word.replace(PICTURES, "");
  if (bare !== "" && bare !== word)
    return { words, isPrefix: false, forms: [bare, ...formsOf(connection, bare)], kin: [] };
  return { words, isPrefix: false, forms: similarTo(connection, word), kin };
}

const KIN_LETTERS = 7;
const PICTURES = /\p{Extended_Pictographic}+/gu;

/** What an expression asks for; what it excludes is not counted. */
export function termsOf(expression: Expression): Term[] {
  switch (expression.op) {
    case "phrase":
      return [{ words: expression.words, isPrefix: expression.isPrefix, forms: [], kin: [] }];
    case "and":
    case "or":
      return expression.parts.flatMap(termsOf);
    case "not":
      return termsOf(expression.left);
    default:
      return expression satisfies never;
  }
}

export function exactly({ words, isPrefix }: Term): Phrase {
  return { op: "phrase", words, isPrefix };
}

export function inAnyForm(term: Term): Expression {
  const forms = [...term.forms, ...term.kin].map(
    (form): Phrase => ({ op: "phrase", words: [form], isPrefix: false }),
  );
  return forms.length === 0 ? exactly(term) : { op: "or", parts: [exactly(term), ...forms] };
}

export type Counted = { readonly counts: number[]; readonly isExact: boolean; readonly length: number };

/** Counts terms in texts. Made once per query. */
export function termCounter(terms: readonly Term[]): (text: string) => Counted {
  const exact = new Map<string, number[]>();
  const forms = new Map<string, number[]>();
  const add = (map: Map<string, number[]>, word: string, at: number) =>
    map.set(word, [...(map.get(word) ?? []), at]);
  const phrases: { at: number; words: readonly string[]; isPrefix: boolean }[] = [];
  const prefixes: { at: number; text: string }[] = [];
  terms.forEach(({ words, isPrefix, forms: others }, at) => {
    const [first = ""] = words;
    if (words.length > 1) phrases.push({ at, words, isPrefix });
    else if (isPrefix) prefixes.push({ at, text: first });
    else add(exact, first, at);
    for (const form of others) add(forms, form, at);
  });
  return (text) => {
    const tokens = tokenize(text);
    const counts = terms.map(() => 0);
    const exactCounts = terms.map(() => 0);
    const count = (at: number, isExact: boolean) => {
      counts[at] = (counts[at] ?? 0) + 1;
      if (isExact) exactCounts[at] = (exactCounts[at] ?? 0) + 1;
    };
    tokens.forEach(({ term }, place) => {
      for (const at of exact.get(term) ?? []) count(at, true);
      for (const at of forms.get(term) ?? []) count(at, false);
      for (const { at, text: beginning } of prefixes) if (term.startsWith(beginning)) count(at, true);
      for (const { at, words, isPrefix } of phrases)
        if (isPhraseAt(tokens, place, words, isPrefix)) count(at, true);
    });
    return { counts, isExact: exactCounts.every((number) => number > 0), length: tokens.length };
  };
}

/** The phrases of a text that begin with these words, the last of which may be cut short. */
export function phrasesBeginning(text: string, words: readonly string[]): string[][] {
  const tokens = tokenize(text);
  const found = new Map<string, string[]>();
  for (let place = 0; place < tokens.length; place += 1) {
    if (!isPhraseAt(tokens, place, words, true)) continue;
    const phrase = tokens.slice(place, place + words.length).map(({ term }) => term);
    found.set(phrase.join(" "), phrase);
  }
  return [...found.values()];
}

function isPhraseAt(
  tokens: readonly Token[],
  place: number,
  words: readonly string[],
  isPrefix: boolean,
): boolean {
  return words.every((word, offset) => {
    const term = tokens[place + offset]?.term;
    return isPrefix && offset === words.length - 1 ? term?.startsWith(word) === true : term === word;
  });
}

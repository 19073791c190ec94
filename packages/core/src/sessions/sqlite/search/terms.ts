// The terms of a query as ranking counts them, and the forms of words that the index holds.
import { type Expression, type Phrase, type PlainTerm, toMatch } from "../../search/query.ts";
import {
  irregularForms,
  isStopWord,
  isUnspacedTerm,
  phraseTerms,
  stem,
  tokenize,
} from "../../search/words.ts";
import type { Connection } from "../connection.ts";
import type { IndexReader } from "../index/reader.ts";

export type Term = {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  /** Other words that count for a single one. */
  readonly forms: readonly string[];
  /** Words that look related; messages with them are found, and count for less. */
  readonly kin: readonly string[];
  /** The word itself is nowhere: the forms are words that it may have been meant to be. */
  readonly isGuess?: boolean;
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

export function exactTerm(words: readonly string[], isPrefix = false): Term {
  return { words, isPrefix, forms: [], kin: [] };
}

/** What an expression asks for; what it excludes is not counted. */
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

/** What a message holds of a term: the word that was asked for, or the words that it was guessed to be. */
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

/** A run of a script without blanks that is nowhere as a whole is looked for by its pairs of characters. */
export function pairsOf({ words }: Term): Term[] {
  const [run = ""] = words;
  if (words.length !== 1 || !isUnspacedTerm(run)) return [];
  const { terms, isPrefix } = phraseTerms([run], false);
  return isPrefix || terms.length < 2 ? [] : [...new Set(terms)].map((pair) => exactTerm([pair]));
}

/** A run of characters at the end of a longer one, or on its own: `서울` in `서울 여행`, not in `서울역`. */
export function atEndOfRun({ words, isPrefix }: Term): string {
  const last = words.at(-1) ?? "";
  if (!isUnspacedTerm(last)) return toMatch({ op: "phrase", words, isPrefix });
  // As if another word followed: the run then ends with its last character.
  const { terms } = phraseTerms([...words, ""], false);
  return terms
    .slice(0, -1)
    .map((term) => `"${term}"`)
    .join(" + ");
}

/** How many words of the index are looked at for the forms of one. */
const MOST_SEEKS = 80;
const SHORTEST_BEGINNING = 3;
/** Words of this many letters count a little for words that begin with the same ones. */
const KIN_LETTERS = 7;
const MOST_KIN = 24;

type Forms = Pick<Term, "forms" | "kin" | "isGuess">;
/** Where a word has to occur to be known: in the messages of one user. Words of others must not show in the answers. */
export type Reach = { readonly name: string; occurs(word: string): boolean };
type Known = { moment: string; readonly byWord: Map<string, Forms> };
const MOST_REMEMBERED = 500;
const remembered = new WeakMap<Connection, Known>();

/** Looking for the forms of a word takes up to 80 steps in the index, so they are kept until the file changes. */
export function withForms(
  connection: Connection,
  reader: IndexReader,
  { words }: PlainTerm,
  reach: Reach = { name: "", occurs: (word) => wordExists(reader, word) },
): Term {
  const [word] = words;
  if (words.length !== 1 || word === undefined || isUnspacedTerm(word)) return exactTerm(words);
  const moment = momentOf(connection);
  let known = remembered.get(connection);
  if (known === undefined || known.moment !== moment || known.byWord.size > MOST_REMEMBERED) {
    known = { moment, byWord: new Map() };
    remembered.set(connection, known);
  }
  const key = `${word} ${reach.name}`;
  let forms = known.byWord.get(key);
  if (forms === undefined) {
    forms = findForms(reader, word, reach);
    known.byWord.set(key, forms);
  }
  return { words, isPrefix: false, ...forms };
}

/** Changes with every commit that the connection can see, its own included. */
function momentOf(connection: Connection): string {
  const { data_version } = connection.get<{ data_version: number }>("PRAGMA data_version") ?? {};
  return `${data_version}:${connection.get<{ n: number }>("SELECT total_changes() AS n")?.n}`;
}

function findForms(reader: IndexReader, word: string, { occurs }: Reach): Forms {
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

/** Other forms of a word that occur: those with its stem. */
function formsOf(reader: IndexReader, word: string): string[] {
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

/** Words one slip of the finger away. */
function similarTo(reader: IndexReader, word: string): string[] {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return [];
  return reader.terms(word.slice(0, 3), MOST_SEEKS).filter((other) => isOneSlipAway(word, other));
}

function wordExists(reader: IndexReader, word: string): boolean {
  return reader.terms(word, 1)[0] === word;
}

/** What the forms of a word have in common: without the ending a stemmer may have changed. */
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

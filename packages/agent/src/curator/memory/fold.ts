// Texts as the curator compares them: words without the accidents of spelling, sentences with what they stand under.
import { COMMON, FILLERS, HARMLESS, isNegation, MODIFIERS } from "./words.ts";

export type Word = {
  /** As it stands in the text, without the punctuation around it. */
  readonly raw: string;
  /** Letter case aside, where that cannot matter. */
  readonly folded: string;
  readonly isFirst: boolean;
  /** A comma that may turn the sentence round: "No, deploy on Friday" and "No deploy on Friday". Else empty. */
  readonly pause: string;
};

export type Sentence = {
  readonly words: readonly Word[];
  /** The words of the line above that it stands under. */
  readonly under: readonly Word[];
  readonly key: string;
};

/**
 * The sentences of a text. What stands under a line that ends with a colon, and every point of a list, counts together with the
 * line above: "deploy on Friday" under "Things to avoid" is not advice to deploy on Friday.
 */
export function sentencesOf(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  let heading: readonly Word[] = [];
  let isUnderColon = false;
  for (const line of text.split("\n")) {
    const isPoint = /^\s*(?:[-*•+]|\d+[.)])\s/u.test(line);
    if (line.trim() === "" || (!isPoint && !isUnderColon)) heading = [];
    const parts = line.split(/(?<=[.!?])\s+/u).map(wordsOfPart);
    for (const words of parts) {
      if (words.length === 0) continue;
      const key = [...heading, ...words].map(({ folded, pause }) => folded + pause).join(" ");
      sentences.push({ words, under: heading, key });
    }
    const isColon = /:\s*$/.test(line);
    if (isColon || !(isPoint || isUnderColon)) heading = parts.flat();
    isUnderColon = isColon || (isUnderColon && line.trim() !== "");
  }
  return sentences;
}

export function wordsOf(text: string): Word[] {
  return sentencesOf(text).flatMap(({ words }) => words);
}

/** Two texts with the same key differ in spacing, letter case and punctuation that changes nothing alone. */
export function foldedText(text: string): string {
  return sentencesOf(text)
    .map(({ key }) => key)
    .join("\n");
}

/** Words that a rewording may not lose: everything but fillers, plurals and singulars alike. */
export function significant(text: string): string[] {
  return wordsOf(text)
    .filter(({ folded }) => !FILLERS.has(folded))
    .map(stemmed);
}

/**
 * Two texts with the same essence differ in words of HARMLESS, in plurals and in what `foldedText` leaves out. A word that
 * nobody listed, in whichever language, is part of the essence.
 */
export function essence(text: string): string {
  return sentencesOf(text)
    .map(({ under, words }) => [...essentialWords(under), ...essentialWords(words)].join(" "))
    .join("\n");
}

function essentialWords(words: readonly Word[]): string[] {
  return words
    .filter((word, index) => !isHarmless(word, words[index + 1]))
    .map((word) => stemmed(word) + word.pause);
}

const ADVERBS = /^(?:please|also|currently)$/;

/** A word of HARMLESS in the place where it is one: "Licht an", "vitamin A", "Is it up" and "a few" have others. */
function isHarmless({ raw, folded, isFirst }: Word, next: Word | undefined): boolean {
  if (!HARMLESS.has(folded) || (!isFirst && raw !== folded)) return false;
  if (ADVERBS.test(folded)) return true;
  if (next === undefined || /^(?:few|little)$/.test(next.folded)) return false;
  return !isFirst || !/^(?:is|are)$/.test(folded);
}

/** A name is no plural: `Peter Williams` and `Peter William` are two people. `Tuesdays` is. */
function stemmed({ raw, folded, isFirst }: Word): string {
  const isName = !isFirst && /^\p{Lu}/u.test(raw) && !/days?$/.test(folded);
  return isName ? folded : stem(folded);
}

/** Words that show what a text is about. */
export function topicWords(text: string): Set<string> {
  return new Set(significant(text).filter((word) => !COMMON.has(word) && !isTurning(word)));
}

/** A word that turns round, narrows or asks what the others say. */
export function isTurning(word: string): boolean {
  const lower = word.toLowerCase(); // `NO` keeps its letters, as `US` does
  return isNegation(lower) || MODIFIERS.has(lower) || word.endsWith("?");
}

/** Plural and singular, third and first person. No more than that: a stem that goes further makes different words alike. */
export function stem(word: string): string {
  const bare = word.replace(/'s$/, "");
  if (!/^\p{L}{4,}$/u.test(bare) || /(?:ss|us|is)$/.test(bare) || !bare.endsWith("s")) return bare;
  return bare.endsWith("oes") ? bare.slice(0, -2) : bare.slice(0, -1);
}

const OPENING_MARKS = /^[("'`“”‘’«»[{]+/u;
const CLOSING_MARKS = /[.,;:!)"'`“”‘’«»\]}…]+$/u;
const PLAIN_WORD = /^[\p{L}\p{M}]+(?:['-][\p{L}\p{M}]+)*$/u;

function wordsOfPart(part: string): Word[] {
  const words: Word[] = [];
  for (const piece of part.normalize("NFC").split(/\s+/u)) {
    const raw = bareWord(piece.replaceAll("’", "'"), words.length === 0);
    if (raw === "") continue;
    const isFirst = words.length === 0;
    const folded = withBrackets(piece, foldWord(raw));
    // The first word may be a "no" in any language; further on only the known ones are looked at.
    const pause = /[,;]$/.test(piece) && (isFirst || isNegation(folded)) ? "," : "";
    words.push({ raw, folded, isFirst, pause });
  }
  return words;
}

/** Brackets say something about a number: `(100)` is -100 to an accountant, and 5 is in `[0, 5]` but not in `[0, 5)`. */
function withBrackets(piece: string, folded: string): string {
  if (!/\p{N}/u.test(piece)) return folded;
  const opening = /^["'`*_]*([([{]+)/u.exec(piece)?.[1] ?? "";
  const closing = /([)\]}]+)[.,;:!"'`*_]*$/u.exec(piece)?.[1] ?? "";
  return `${opening}${folded}${closing}`;
}

/**
 * Without bullets, quotes, brackets, emphasis and what ends a sentence. A question mark stays: it changes what is said. So do signs within a
 * line (`make > log`, `- 5`) and dots that are a word (`cd ..`).
 */
function bareWord(piece: string, isFirst: boolean): string {
  if (isFirst && /^[-*•–—+#>]+$/u.test(piece)) return "";
  if (/^\.+$/.test(piece)) return piece;
  let word = piece.replace(OPENING_MARKS, "").replace(CLOSING_MARKS, "");
  const emphasis = /^(\*{1,3}|_{1,2})(.+?)\1$/u.exec(word);
  if (emphasis?.[2] !== undefined) word = emphasis[2].replace(CLOSING_MARKS, "");
  return word;
}

/** Names of files, commands and variables keep their letters: `Data` and `data` may be two directories. */
function foldWord(raw: string): string {
  const word = raw.replace(/\?+$/, "");
  if (!PLAIN_WORD.test(word) || /\p{Ll}\p{Lu}|^\p{Lu}{2}$/u.test(word)) return raw; // also `US` and `us`
  return raw.toLowerCase();
}

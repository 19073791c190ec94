// How a text is split into words and how a word is spelled, in the index and in queries. FTS5 gets the terms joined by
// blanks; its `ascii` tokenizer takes them as they are. Only FTS5's cut of terms longer than 32,768 bytes is not repeated
// here.
import {
  astralClass,
  compose,
  EMOJI,
  foldCharacter,
  IGNORED,
  SEPARATOR,
  UNIT_CLASSES,
  UNSPACED,
} from "./characters.ts";

/** `start` and `end` are UTF-16 offsets; accents that follow the last letter belong to the word. */
export type Token = { readonly term: string; readonly start: number; readonly end: number };

const NOT_ASCII = /[^\x00-\x7f]/;

/** The words of a text. A run of a script without blanks is one token, an emoji is one. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  eachWord(text, (start, end, spelling) => {
    tokens.push({ term: spell(text.slice(start, end), spelling), start, end });
  });
  return tokens;
}

/** `plain`: nothing but a-z and 0-9, so the term is a slice of the text. */
export type Spelling = "plain" | "ascii" | "other";

/** The places of all words, without making a string of each. */
export function eachWord(
  text: string,
  visit: (start: number, end: number, spelling: Spelling) => void,
): void {
  const length = text.length;
  let i = 0;
  while (i < length) {
    const kind = classAt(text, i);
    if (kind === SEPARATOR || kind === IGNORED) {
      i += isPairAt(text, i) ? 2 : 1;
      continue;
    }
    const start = i;
    let isPlain = true;
    let isAscii = true;
    for (; i < length; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) {
        if (UNIT_CLASSES[unit] !== kind) break;
        if (unit <= 0x5a && unit >= 0x41) isPlain = false;
        continue;
      }
      const here = classAt(text, i);
      if (here !== IGNORED && (here !== kind || (kind === EMOJI && i > start))) break;
      isAscii = false;
      if (isPairAt(text, i)) i += 1;
    }
    visit(start, i, isAscii ? (isPlain ? "plain" : "ascii") : "other");
  }
}

export function spell(word: string, spelling: Spelling): string {
  if (spelling === "plain") return word;
  return spelling === "ascii" ? word.toLowerCase() : foldTerm(word);
}

/** A word as the index spells it. */
export function foldTerm(word: string): string {
  let term = "";
  for (const character of compose(word)) term += foldCharacter(character);
  return term;
}

/** Whether some of it is in a script written without blanks, where words cannot be told apart. */
export function containsUnspaced(text: string): boolean {
  if (!NOT_ASCII.test(text)) return false;
  for (let i = 0; i < text.length; i += 1) if (classAt(text, i) === UNSPACED) return true;
  return false;
}

/** A term as `tokenize` gives it: whether it is a run of a script without blanks. */
export function isUnspacedTerm(term: string): boolean {
  return term.charCodeAt(0) >= 0x80 && classAt(term, 0) === UNSPACED;
}

/** What FTS5 is given for a text: its words; of a run without blanks every two neighbours, then the last character. */
export function indexTerms(text: string): string[] {
  const terms: string[] = [];
  for (const { term } of tokenize(text)) {
    if (isUnspacedTerm(term)) pushBigrams(terms, term, { isLast: false });
    else terms.push(term);
  }
  return terms;
}

/** `indexTerms` joined by blanks. A text in ASCII is given as it is: the tokenizer folds and splits it the same way. */
export function indexText(text: string): string {
  return NOT_ASCII.test(text) ? indexTerms(text).join(" ") : text;
}

/**
 * The terms that stand next to each other in the index where these words (as `tokenize` gives them) do in a text. A run
 * without blanks is found anywhere inside a longer run; between two words of the phrase a run has to end where its
 * characters do.
 */
export function phraseTerms(
  phrase: readonly string[],
  isPrefix: boolean,
): { readonly terms: readonly string[]; readonly isPrefix: boolean } {
  const terms: string[] = [];
  phrase.forEach((word, index) => {
    if (isUnspacedTerm(word)) pushBigrams(terms, word, { isLast: index === phrase.length - 1 });
    else terms.push(word);
  });
  const last = phrase.at(-1) ?? "";
  return { terms, isPrefix: isUnspacedTerm(last) ? isSingle(last) : isPrefix };
}

function pushBigrams(terms: string[], run: string, { isLast }: { readonly isLast: boolean }): void {
  let before = "";
  for (const character of run) {
    if (before !== "") terms.push(before + character);
    before = character;
  }
  if (!isLast || before.length === run.length) terms.push(before);
}

function isSingle(run: string): boolean {
  return run.length === (isPairAt(run, 0) ? 2 : 1);
}

function classAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  if ((unit & 0xfc00) !== 0xd800 || !isPairAt(text, index)) return UNIT_CLASSES[unit] ?? SEPARATOR;
  return astralClass(text.codePointAt(index) ?? 0);
}

function isPairAt(text: string, index: number): boolean {
  if ((text.charCodeAt(index) & 0xfc00) !== 0xd800) return false;
  return (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}

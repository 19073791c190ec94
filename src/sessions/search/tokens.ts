// Splits and folds text exactly as the word index does (FTS5, `unicode61 remove_diacritics 2`), so that what was matched
// can be found again in a text. Only FTS5's cut of words longer than 32,768 bytes is not repeated here.
import { foldCharacter, isAstralLetter, LETTER, SEPARATOR, UNIT_CLASSES } from "./characters.ts";

/** `start` and `end` are UTF-16 offsets; accents that follow the last letter belong to the word. */
export type Token = { readonly term: string; readonly start: number; readonly end: number };

export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const length = text.length;
  let i = 0;
  while (i < length) {
    if (classAt(text, i) !== LETTER) {
      i += isPairAt(text, i) ? 2 : 1;
      continue;
    }
    const start = i;
    let isPlain = true; // nothing but a-z and 0-9: the term is a slice of the text
    let isAscii = true;
    for (; i < length; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) {
        if (UNIT_CLASSES[unit] === SEPARATOR) break;
        if (unit <= 0x5a && unit >= 0x41) isPlain = false;
        continue;
      }
      if (classAt(text, i) === SEPARATOR) break;
      isAscii = false;
      if (isPairAt(text, i)) i += 1;
    }
    const word = text.slice(start, i);
    const term = isAscii ? (isPlain ? word : word.toLowerCase()) : foldTerm(word);
    tokens.push({ term, start, end: i });
  }
  return tokens;
}

/** A word as the index spells it. */
export function foldTerm(word: string): string {
  let term = "";
  for (const character of word) term += foldCharacter(character);
  return term;
}

function classAt(text: string, index: number): number {
  if (!isPairAt(text, index)) return UNIT_CLASSES[text.charCodeAt(index)] ?? SEPARATOR;
  return isAstralLetter(text.codePointAt(index) ?? 0) ? LETTER : SEPARATOR;
}

function isPairAt(text: string, index: number): boolean {
  if ((text.charCodeAt(index) & 0xfc00) !== 0xd800) return false;
  return (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}

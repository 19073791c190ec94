// The scanner's alphabet: every UTF-16 unit of a text becomes one of about fifty classes, so that a table of transitions
// stays small. Case, Python's four odd letters and Unicode are settled here, once per scan, and nowhere else.
import { isWhitespaceUnit } from "../../lib/index.ts";

/** Rows of the transition tables are this wide; a power of two, so that a row offset is a shift. */
export const CLASS_SHIFT = 6;
export const CLASS_COUNT = 1 << CLASS_SHIFT;

const OTHER = 0;
/** Second half of a surrogate pair: the pair was judged at its first half, so this one changes nothing. */
export const CONTINUATION = 1;
/** Stands behind the last unit of a text; never part of a match. */
export const END = 2;
const LINE_FEED = 3;
const SPACE = 4;
const WORD = 5; // from here to LAST_WORD: word characters
const DIGIT = 6;
const TWO = 7; // the only digit a pattern spells out ("c2")
const UNDERSCORE = 8;
const LETTER_A = 9;
const LAST_WORD = LETTER_A + 25;
const PUNCTUATION = "<!->=\"':$.{/~+";
const FIRST_PUNCTUATION = LAST_WORD + 1;

const ASCII = asciiTable();
const PAGE_BITS = 8;
const pages = new Array<Uint8Array | undefined>(0x110000 >> PAGE_BITS);

export function isWordClass(symbol: number): boolean {
  return symbol >= WORD && symbol <= LAST_WORD;
}

/** Writes the class of every unit of the text. */
export function classify(text: string, classes: Uint8Array): void {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 128) {
      classes[i] = ASCII[unit] as number;
      continue;
    }
    const codePoint = text.codePointAt(i) as number;
    classes[i] = classOf(codePoint);
    if (codePoint > 0xffff) {
      i += 1;
      classes[i] = CONTINUATION;
    }
  }
}

/** Class of a character that a pattern spells out. Throws for one that shares its class with others. */
export function literalClass(character: string): number {
  const symbol = ASCII[character.charCodeAt(0)] ?? OTHER;
  if (symbol >= TWO) return symbol;
  throw new Error(`The pattern alphabet has no class of its own for '${character}'.`);
}

export type ClassSet = Uint8Array;

const characters = (list: string): number[] => Array.from(list, literalClass);
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
const SPACES = [LINE_FEED, SPACE];
const NOT_CHARACTERS = [CONTINUATION, END];

const CLASS_SETS: Readonly<Record<string, () => ClassSet>> = {
  space: () => including(SPACES),
  word: () => including(range(WORD, LAST_WORD)),
  any: () => excluding([]),
  line: () => excluding([LINE_FEED]),
  unclosed: () => excluding(characters(">")),
  quote: () => including(characters("\"'")),
  assign: () => including(characters("=:")),
  joint: () => including(characters("_-")),
  gap: () => including([...SPACES, ...characters("-")]),
  key: () => including([...range(DIGIT, LAST_WORD), ...characters("+/=-")]),
};

const madeSets = new Map<string, ClassSet>();

/** One of the sets a pattern may name in square brackets. */
export function classSet(name: string): ClassSet {
  const made = madeSets.get(name) ?? CLASS_SETS[name]?.();
  if (made === undefined) throw new Error(`The pattern alphabet has no set named '${name}'.`);
  madeSets.set(name, made);
  return made;
}

export function including(symbols: readonly number[]): ClassSet {
  const set = new Uint8Array(CLASS_COUNT);
  for (const symbol of symbols) set[symbol] = 1;
  return set;
}

function excluding(symbols: readonly number[]): ClassSet {
  const set = new Uint8Array(CLASS_COUNT).fill(1);
  for (const symbol of [...NOT_CHARACTERS, ...symbols]) set[symbol] = 0;
  return set;
}

function asciiTable(): Uint8Array {
  const table = new Uint8Array(128);
  for (let unit = 0; unit < 128; unit += 1) if (isWhitespaceUnit(unit)) table[unit] = SPACE;
  table[0x0a] = LINE_FEED;
  table.fill(DIGIT, 0x30, 0x3a);
  table[0x32] = TWO;
  table[0x5f] = UNDERSCORE;
  for (let letter = 0; letter < 26; letter += 1) {
    table[0x41 + letter] = LETTER_A + letter;
    table[0x61 + letter] = LETTER_A + letter;
  }
  for (let i = 0; i < PUNCTUATION.length; i += 1) table[PUNCTUATION.charCodeAt(i)] = FIRST_PUNCTUATION + i;
  return table;
}

function classOf(codePoint: number): number {
  const page = pages[codePoint >> PAGE_BITS] ?? fillPage(codePoint >> PAGE_BITS);
  return page[codePoint & 0xff] as number;
}

// A page at a time and only when a text needs it: most processes never see more than two or three scripts.
function fillPage(number: number): Uint8Array {
  const isWord = /[\p{L}\p{N}]/u;
  const first = number << PAGE_BITS;
  const page = Uint8Array.from({ length: 256 }, (_, i) => {
    if (isWhitespaceUnit(first + i)) return SPACE;
    return isWord.test(String.fromCodePoint(first + i)) ? WORD : OTHER;
  });
  for (const [codePoint, letter] of ODD_LETTERS)
    if (codePoint >> PAGE_BITS === number) page[codePoint & 0xff] = literalClass(letter);
  pages[number] = page;
  return page;
}

/** What Python's case folding adds to the 26 letters: dotted and dotless i, long s, the Kelvin sign. */
const ODD_LETTERS: readonly (readonly [number, string])[] = [
  [0x130, "i"],
  [0x131, "i"],
  [0x17f, "s"],
  [0x212a, "k"],
];

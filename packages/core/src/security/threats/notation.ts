// The language of threat patterns: the notation, the parsed shape, and the alphabet that texts are reduced to. Small on purpose:
// everything that can be written in it runs in linear time.
//
//   abc        those characters, upper or lower case          blank       one or more whitespace characters
//   (a|b)      one of the alternatives                        LINE        any run of characters without a line feed
//   [name]     one character of a set, see CLASS_SETS          FILL        any number of words, each with its whitespace
//   x?  x*     optional, any number                           FILL{0,3}   at most that many words
//   x{20}      exactly that many                              {b}         word boundary
//
// FILL includes the blank after it: `ignore FILL rules` also matches `ignore rules` with a single blank.
import { isWhitespaceUnit } from "../../lib/index.ts";

// ---- Shapes ----

export type Shape =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "set"; readonly set: ClassSet }
  | { readonly kind: "boundary" }
  | { readonly kind: "sequence"; readonly parts: readonly Shape[] }
  | { readonly kind: "choice"; readonly options: readonly Shape[] }
  | { readonly kind: "repeat"; readonly part: Shape; readonly least: number; readonly most: number };

/** The same pattern read from right to left, for finding where a match starts once its end is known. */
export function reversed(shape: Shape): Shape {
  switch (shape.kind) {
    case "literal":
      return { kind: "literal", text: Array.from(shape.text).reverse().join("") };
    case "sequence":
      return { kind: "sequence", parts: shape.parts.map(reversed).reverse() };
    case "choice":
      return { kind: "choice", options: shape.options.map(reversed) };
    case "repeat":
      return { ...shape, part: reversed(shape.part) };
    case "set":
    case "boundary":
      return shape;
    default:
      return shape satisfies never;
  }
}

/** Shorter literals are in nearly every text, so requiring them saves nothing. */
const TELLING_LENGTH = 3;

/**
 * A text must contain at least one literal of every group for the pattern to match. Every match begins with a literal of the first
 * group, so the search may start at the first of those.
 */
export function requiredLiterals(
  shape: Shape,
): readonly [opening: readonly string[], ...others: (readonly string[])[]] {
  const parts = (shape.kind === "sequence" ? shape.parts : [shape]).filter(
    (part) => part.kind !== "boundary",
  );
  const [opening, ...others] = parts.map(leadingLiterals);
  if (opening === undefined || opening.length === 0)
    throw new Error("A pattern has to begin with a literal.");
  const telling = others.filter(
    (group) => group.length > 0 && group.every((literal) => literal.length >= TELLING_LENGTH),
  );
  return [opening, ...telling];
}

/** The literals a shape can begin with; empty when it can begin with anything else. */
function leadingLiterals(shape: Shape): readonly string[] {
  switch (shape.kind) {
    case "literal":
      return [shape.text];
    case "sequence":
      return shape.parts[0] === undefined ? [] : leadingLiterals(shape.parts[0]);
    case "choice": {
      const groups = shape.options.map(leadingLiterals);
      return groups.some((group) => group.length === 0) ? [] : groups.flat();
    }
    default:
      return [];
  }
}

// ---- Parsing ----

export function parseShape(source: string): Shape {
  const cursor = { source, at: 0 };
  const shape = parseChoice(cursor);
  if (cursor.at < source.length) throw new Error(`Unexpected '${source[cursor.at]}' in pattern '${source}'.`);
  return shape;
}

const MARKS = " {LF([|)?*";

type Cursor = { readonly source: string; at: number };

function parseChoice(cursor: Cursor): Shape {
  const options = [parseSequence(cursor)];
  while (take(cursor, "|")) options.push(parseSequence(cursor));
  const [only] = options;
  return only !== undefined && options.length === 1 ? only : { kind: "choice", options };
}

function parseSequence(cursor: Cursor): Shape {
  const parts: Shape[] = [];
  while (cursor.at < cursor.source.length && !"|)".includes(cursor.source.charAt(cursor.at))) {
    const part = parseCount(cursor, parseAtom(cursor));
    const last = parts.at(-1);
    if (part.kind === "literal" && last?.kind === "literal")
      parts[parts.length - 1] = { kind: "literal", text: last.text + part.text };
    else parts.push(part);
  }
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? only : { kind: "sequence", parts };
}

function parseAtom(cursor: Cursor): Shape {
  const plain = plainRun(cursor);
  if (plain !== "") return { kind: "literal", text: plain };
  if (take(cursor, " ")) return atLeastOnce(named("space"));
  if (take(cursor, "{b}")) return { kind: "boundary" };
  if (take(cursor, "LINE")) return repeat(named("line"), 0, Number.POSITIVE_INFINITY);
  if (take(cursor, "FILL")) return parseFill(cursor);
  if (take(cursor, "(")) {
    const inner = parseChoice(cursor);
    expect(cursor, ")");
    return inner;
  }
  if (take(cursor, "[")) return named(takeUntil(cursor, "]"));
  cursor.at += 1; // an L, F or { that begins none of the above
  return { kind: "literal", text: cursor.source.charAt(cursor.at - 1) };
}

/** Reads a run of plain characters, but leaves one that a count follows. Patterns consist mostly of such runs. */
function plainRun(cursor: Cursor): string {
  const from = cursor.at;
  while (cursor.at < cursor.source.length && !MARKS.includes(cursor.source.charAt(cursor.at))) cursor.at += 1;
  if (cursor.at - from > 1 && isCountAhead(cursor)) cursor.at -= 1;
  return cursor.source.slice(from, cursor.at);
}

function parseFill(cursor: Cursor): Shape {
  const most = take(cursor, "{0,") ? Number(takeUntil(cursor, "}")) : Number.POSITIVE_INFINITY;
  expect(cursor, " ");
  const group: Shape = { kind: "sequence", parts: [atLeastOnce(named("word")), atLeastOnce(named("space"))] };
  return repeat(group, 0, most);
}

function parseCount(cursor: Cursor, part: Shape): Shape {
  if (!isCountAhead(cursor)) return part;
  if (take(cursor, "?")) return repeat(part, 0, 1);
  if (take(cursor, "*")) return repeat(part, 0, Number.POSITIVE_INFINITY);
  expect(cursor, "{");
  const count = Number(takeUntil(cursor, "}"));
  return repeat(part, count, count);
}

function isCountAhead({ source, at }: Cursor): boolean {
  const mark = source.charAt(at);
  if (mark !== "{") return mark === "?" || mark === "*";
  const digit = source.charAt(at + 1); // tells a count from the boundary {b} and from a literal brace
  return digit >= "0" && digit <= "9";
}

function named(name: string): Shape {
  return { kind: "set", set: classSet(name) };
}

function repeat(part: Shape, least: number, most: number): Shape {
  return { kind: "repeat", part, least, most };
}

function atLeastOnce(part: Shape): Shape {
  return repeat(part, 1, Number.POSITIVE_INFINITY);
}

function take(cursor: Cursor, token: string): boolean {
  if (!cursor.source.startsWith(token, cursor.at)) return false;
  cursor.at += token.length;
  return true;
}

function expect(cursor: Cursor, token: string): void {
  if (!take(cursor, token))
    throw new Error(`Expected '${token}' at ${cursor.at} in pattern '${cursor.source}'.`);
}

function takeUntil(cursor: Cursor, token: string): string {
  const end = cursor.source.indexOf(token, cursor.at);
  if (end < 0) throw new Error(`Expected '${token}' after ${cursor.at} in pattern '${cursor.source}'.`);
  const taken = cursor.source.slice(cursor.at, end);
  cursor.at = end + token.length;
  return taken;
}

// ---- The alphabet ----
// Each UTF-16 unit of a text becomes one of about fifty classes, so that transition tables stay small. Case, the four extra letters
// of Python's case folding and Unicode are handled here, once per scan, and nowhere else.

/** Rows of the transition tables are this wide; a power of two, so that a row offset is a shift. */
export const CLASS_SHIFT = 6;
export const CLASS_COUNT = 1 << CLASS_SHIFT;

const OTHER = 0;
/** Second half of a surrogate pair: the first half has the pair's class, so this one changes nothing. */
export const CONTINUATION = 1;
/** Follows the last unit of a text; never part of a match. */
export const END = 2;
const LINE_FEED = 3;
const SPACE = 4;
const WORD = 5; // from here to LAST_WORD: word characters
const DIGIT = 6;
const TWO = 7; // the only digit that a pattern contains ("c2")
const UNDERSCORE = 8;
const LETTER_A = 9;
const LAST_WORD = LETTER_A + 25;
const PUNCTUATION = "<!->=\"':$.{/~+";
const FIRST_PUNCTUATION = LAST_WORD + 1;

let asciiTable: Uint8Array | undefined;
const PAGE_BITS = 8;
const pages = new Array<Uint8Array | undefined>(0x110000 >> PAGE_BITS);

export function isWordClass(symbol: number): boolean {
  return symbol >= WORD && symbol <= LAST_WORD;
}

/** The class of every unit of the text. */
export function classify(text: string): Uint8Array {
  const classes = new Uint8Array(text.length);
  const ascii = asciiClasses();
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 128) {
      classes[i] = ascii[unit] as number;
      continue;
    }
    const codePoint = text.codePointAt(i) as number;
    classes[i] = classOf(codePoint);
    if (codePoint > 0xffff) {
      i += 1;
      classes[i] = CONTINUATION;
    }
  }
  return classes;
}

/** Class of a character in a pattern. Throws for one that shares its class with other characters. */
export function literalClass(character: string): number {
  const symbol = asciiClasses()[character.charCodeAt(0)] ?? OTHER;
  if (symbol >= TWO) return symbol;
  throw new Error(`The pattern alphabet has no separate class for '${character}'.`);
}

/** 1 for every class in the set. */
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
function classSet(name: string): ClassSet {
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

// Built by the first scan, because most processes that load this file never scan.
function asciiClasses(): Uint8Array {
  if (asciiTable !== undefined) return asciiTable;
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
  asciiTable = table;
  return table;
}

function classOf(codePoint: number): number {
  const page = pages[codePoint >> PAGE_BITS] ?? fillPage(codePoint >> PAGE_BITS);
  return page[codePoint & 0xff] as number;
}

// One page at a time, when a text needs it: most processes never see more than two or three scripts.
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

/** Letters that Python's case folding adds to the 26: dotted and dotless i, long s, the Kelvin sign. */
export const ODD_LETTERS: ReadonlyMap<number, string> = new Map([
  [0x130, "i"],
  [0x131, "i"],
  [0x17f, "s"],
  [0x212a, "k"],
]);

// How far a text repeats the recall of a turn. Both are compared word by word, so line breaks, bullets and punctuation do not matter. Pure.
import { isWhitespaceUnit } from "../../lib/index.ts";
import { endOfMatch } from "./recall-fence.ts";

/** For each position in the recall that matches the last word of the text: how many words before it match too, including it. */
export type Matches = ReadonlyMap<number, number>;

export const NO_MATCHES: Matches = new Map();

/** This many matching words in a row, with this many characters, are not a coincidence. */
const MIN_WORDS = 5;
const MIN_CHARS = 16;
const MIN_NOTE_WORDS = 12;
/** Lower limits for a whole line. */
const MIN_LINE_WORDS = 2;
const MIN_LINE_CHARS = 6;
/** Lower limit for the whole content of a fence, or everything until the end of the stream. */
const MIN_CONTENT_WORDS = 3;

export class RecalledText {
  readonly #words: string[] = [];
  readonly #places = new Map<string, number[]>();
  /** For each word, the start and end of its line. */
  readonly #lines: { readonly start: number; end: number; readonly isNote: boolean }[] = [];
  /** For each word, the number of characters before it. */
  readonly #chars: number[] = [0];

  /** `block` is the recall in its fence, as injected into the request. */
  constructor(block: string) {
    for (const line of block.split("\n")) if (typeof matchTag(line, 0) !== "object") this.#addLine(line);
  }

  /** The matches after one more word. `isCut`: the text ended here, maybe in the middle of the word. */
  step(before: Matches, word: string, isCut = false): Matches {
    const after = new Map<number, number>();
    for (const at of this.#places.get(word) ?? []) after.set(at, 1 + (before.get(at - 1) ?? 0));
    if (isCut)
      for (const [at, count] of before)
        if (this.#words[at + 1]?.startsWith(word)) after.set(at + 1, count + 1);
    return after;
  }

  /** How many of the last words certainly repeat the recall: enough in a row, or a whole line. 0 for none. */
  repeated(matches: Matches): number {
    let longest = 0;
    for (const [at, count] of matches) longest = Math.max(longest, this.#repeatedAt(at, count));
    return longest;
  }

  /** Whether the last `count` words may be the beginning of a repetition. */
  canGoOn(matches: Matches, count: number): boolean {
    return [...matches.values()].some((each) => each >= count);
  }

  /** Whether a fence with only these `count` words is a repetition. Fewer words are enough than in the middle of a text. */
  isAll(matches: Matches, count: number): boolean {
    if (count === 0) return false;
    return [...matches].some(([at, each]) => {
      const line = this.#lines[at];
      if (line === undefined || each < count) return false;
      const isFromStart = at - line.start + 1 === count;
      if (line.isNote) return isFromStart && count >= MIN_CONTENT_WORDS;
      return count >= MIN_CONTENT_WORDS || (isFromStart && at === line.end);
    });
  }

  #repeatedAt(at: number, count: number): number {
    const line = this.#lines[at];
    if (line === undefined) return 0;
    const inLine = at - line.start + 1;
    // The system note is ordinary English, so a few of its words count only if they are its beginning.
    if (line.isNote && count < MIN_NOTE_WORDS) return count >= inLine && inLine >= MIN_WORDS ? inLine : 0;
    if (count >= MIN_WORDS && this.#charsOf(at, count) >= MIN_CHARS) return count;
    const isLine = at === line.end && count >= inLine && inLine >= MIN_LINE_WORDS;
    return isLine && this.#charsOf(at, inLine) >= MIN_LINE_CHARS ? inLine : 0;
  }

  #charsOf(last: number, count: number): number {
    return (this.#chars[last + 1] ?? 0) - (this.#chars[last + 1 - count] ?? 0);
  }

  #addLine(text: string): void {
    const line = {
      start: this.#words.length,
      end: this.#words.length,
      isNote: text.trimStart().startsWith("[System note:"),
    };
    for (let at = 0; at < text.length; ) {
      const token = readToken(text, at, true);
      if (token === undefined) break;
      at = token.end;
      if (token.kind === "word") this.#addWord(token.word, line);
    }
    line.end = this.#words.length - 1;
  }

  #addWord(word: string, line: { readonly start: number; end: number; readonly isNote: boolean }): void {
    const places = this.#places.get(word);
    if (places === undefined) this.#places.set(word, [this.#words.length]);
    else places.push(this.#words.length);
    this.#chars.push((this.#chars.at(-1) ?? 0) + word.length);
    this.#lines.push(line);
    this.#words.push(word);
  }
}

// ---- Text as tags and words ----
//
// A model may write a tag in many forms: any case, whitespace and attributes inside, other hyphens or none, invisible characters, other
// brackets, as an HTML comment or with entities, or with Markdown escapes.

export type Token =
  | { readonly kind: "open" | "close"; readonly end: number }
  | { readonly kind: "word"; readonly end: number; readonly word: string }
  /** Punctuation, whitespace, numbers of a list. */
  | { readonly kind: "other"; readonly end: number };

/** The token at `at`; undefined when further text could change it. `isFinal`: there is no further text. */
export function readToken(text: string, at: number, isFinal: boolean): Token | undefined {
  const code = text.codePointAt(at) ?? 0;
  if (TAG_STARTS.has(code)) {
    const tag = matchTag(text, at);
    if (tag === "partial" && !isFinal) return undefined;
    if (typeof tag === "object") return tag;
  }
  if (code === BACKSLASH) return readEscape(text, at, isFinal);
  const word = readWord(text, at, isFinal);
  if (word !== "none") return word;
  return { kind: "other", end: at + (code > 0xffff ? 2 : 1) };
}

/** Characters that can begin a tag. */
export const TAG_START = /[<&\\[＜]/g;

type Tag = { readonly kind: "open" | "close"; readonly end: number };

const LESS = 0x3c;
const AMPERSAND = 0x26;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const WIDE_LESS = 0xff1c;
const SLASH = 0x2f;
const HYPHEN = 0x2d;
const TAG_STARTS: ReadonlySet<number> = new Set([LESS, AMPERSAND, BACKSLASH, BRACKET, WIDE_LESS]);
const OPENING = ["<", "&lt;", "&#60;", "&#x3c;", "[", "＜"];
const CLOSING = [">", "&gt;", "&#62;", "&#x3e;", "＞"];
const NAME = ["memory", "context"] as const;
/** Between the two words: a hyphen, a character that looks like one, or an underscore. */
const JOINT = /[-_\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/;
const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]/;
/** Most whitespace before and after the name in a tag. */
const MAX_BLANKS = 8;
const MAX_ATTRIBUTE_CHARS = 120;

const NONE = -1;
const PARTIAL = -2;

/** The tag at `from`. `partial`: the text ends too early to decide. */
export function matchTag(text: string, from: number): Tag | "partial" | undefined {
  const start = text.charCodeAt(from) === BACKSLASH ? from + 1 : from;
  const opened = endOfAny(text, start, OPENING);
  if (opened < 0) return opened === PARTIAL ? "partial" : undefined;
  const comment = endOfAny(text, opened, ["!--"]);
  if (comment === PARTIAL) return "partial";
  let at = skipBlanks(text, comment === NONE ? opened : comment);
  const isClose = text.charCodeAt(at) === SLASH;
  if (isClose) at = skipBlanks(text, at + 1);
  const name = endOfName(text, at);
  if (name < 0) return name === PARTIAL ? "partial" : undefined;
  const isBracket = text.charCodeAt(start) === BRACKET;
  const end = isBracket ? endOfClosing(text, skipBlanks(text, name), ["]"]) : endOfTag(text, name);
  if (end < 0) return end === PARTIAL ? "partial" : undefined;
  return { kind: isClose ? "close" : "open", end };
}

function endOfName(text: string, from: number): number {
  const [first, second] = NAME;
  let at = endOfLetters(text, from, first);
  if (at < 0) return at;
  at = skipInvisible(text, at);
  if (text.charCodeAt(at) === BACKSLASH) at += 1;
  if (JOINT.test(text.charAt(at))) at += 1;
  return endOfLetters(text, at, second);
}

/** `word` in any case, with invisible characters before and between its letters. */
function endOfLetters(text: string, from: number, word: string): number {
  let at = from;
  for (let index = 0; index < word.length; index += 1) {
    at = skipInvisible(text, at);
    if (at >= text.length) return PARTIAL;
    if ((text.charCodeAt(at) | 0x20) !== word.charCodeAt(index)) return NONE;
    at += 1;
  }
  return at;
}

/** The end of a tag whose name ends at `name`. A self-closing tag counts: models have written one in front of recall. */
function endOfTag(text: string, name: number): number {
  const first = skipInvisible(text, name);
  const next = text.charCodeAt(first);
  if (next === SLASH) return endOfClosing(text, first + 1, CLOSING);
  if (next === HYPHEN) {
    const marks = endOfAny(text, first, ["--"]);
    return marks < 0 ? marks : endOfClosing(text, marks, CLOSING);
  }
  const last = Math.min(text.length, first + MAX_ATTRIBUTE_CHARS);
  for (let at = first; at <= last; at += 1) {
    const end = endOfClosing(text, at, CLOSING);
    if (end !== NONE) return end;
    const unit = text.charCodeAt(at);
    if (unit === LESS || (at === first && !isWhitespaceUnit(unit))) return NONE;
  }
  return NONE;
}

function endOfClosing(text: string, at: number, closing: readonly string[]): number {
  return endOfAny(text, text.charCodeAt(at) === BACKSLASH ? at + 1 : at, closing);
}

function endOfAny(text: string, at: number, words: readonly string[]): number {
  let result = NONE;
  for (const word of words) {
    const end = endOfMatch(text, at, word);
    if (end - at === word.length) return end;
    if (end === text.length) result = PARTIAL;
  }
  return result;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < from + MAX_BLANKS && (isWhitespaceUnit(text.charCodeAt(at)) || isInvisible(text, at))) at += 1;
  return at;
}

function skipInvisible(text: string, from: number): number {
  let at = from;
  while (at < from + MAX_BLANKS && isInvisible(text, at)) at += 1;
  return at;
}

function isInvisible(text: string, at: number): boolean {
  return INVISIBLE.test(text.charAt(at));
}

/** `\n`, `\r` and `\t`, as in JSON, are one separator; of other escapes only the backslash is one. */
function readEscape(text: string, at: number, isFinal: boolean): Token | undefined {
  if (at + 1 === text.length && !isFinal) return undefined;
  return { kind: "other", end: at + (/[nrt]/.test(text.charAt(at + 1)) ? 2 : 1) };
}

const LETTER = /[\p{L}\p{N}\p{M}]/u;
/** Scripts without blanks between words: each character counts as a word. */
const SIGN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const IGNORED = /\p{Cf}/u;
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,8}));/iy;
const MAYBE_ENTITY = /&(?:#(?:\d{0,7}|x[0-9a-f]{0,6})?|[a-z][a-z0-9]{0,8})?$/iy;
/** Longer words are cut, so that a stream is not held back until the end of one. */
const MAX_WORD_UNITS = 64;
const LIST_NUMBER = /^\d{1,3}$/;

/** `none`: no word begins at `from`. */
function readWord(text: string, from: number, isFinal: boolean): Token | undefined | "none" {
  let word = "";
  let at = from;
  while (at < text.length) {
    const next = readCharacter(text, at, isFinal);
    if (next === undefined) return undefined;
    const { character, end } = next;
    const isIgnored = IGNORED.test(character) && word !== "";
    if (!isIgnored && !LETTER.test(character)) break;
    if (SIGN.test(character)) {
      if (word !== "") break;
      return { kind: "word", word: character.normalize("NFKC"), end };
    }
    if (!isIgnored) word += character;
    at = end;
    if (at - from >= MAX_WORD_UNITS) return toWord(word, at);
  }
  if (word === "") return at === from && at < text.length ? entityOrNone(text, at) : "none";
  if (LIST_NUMBER.test(word)) {
    if (at + 1 >= text.length && !isFinal) return undefined;
    const isListed = /[.)]/.test(text.charAt(at)) && /\s/.test(text.charAt(at + 1));
    if (isListed) return { kind: "other", end: at + 1 };
  }
  return at === text.length && !isFinal ? undefined : toWord(word, at);
}

function toWord(word: string, end: number): Token {
  return { kind: "word", word: word.normalize("NFKC").toLowerCase(), end };
}

/** An entity such as `&quot;` is one separator; otherwise its name would be read as a word. */
function entityOrNone(text: string, at: number): Token | "none" {
  ENTITY.lastIndex = at;
  const end = ENTITY.test(text) ? ENTITY.lastIndex : at;
  return end > at ? { kind: "other", end } : "none";
}

function readCharacter(
  text: string,
  at: number,
  isFinal: boolean,
): { readonly character: string; readonly end: number } | undefined {
  const unit = text.charCodeAt(at);
  if (unit === AMPERSAND) {
    MAYBE_ENTITY.lastIndex = at;
    if (!isFinal && MAYBE_ENTITY.test(text)) return undefined;
    ENTITY.lastIndex = at;
    const [whole, decimal, hexadecimal] = ENTITY.exec(text) ?? [];
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hexadecimal ?? "", 16);
    if (whole !== undefined && code > 0 && code <= 0x10ffff)
      return { character: String.fromCodePoint(code), end: at + whole.length };
    return { character: "&", end: at + 1 };
  }
  const isHalf = unit >= 0xd800 && unit <= 0xdbff && at + 1 === text.length;
  if (isHalf && !isFinal) return undefined;
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return { character, end: at + character.length };
}

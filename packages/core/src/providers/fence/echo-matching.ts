// The recall of a turn as words, and how far a text repeats it. Pure.
import { isWhitespaceUnit } from "../../lib/index.ts";
import { endOfMatch } from "./block.ts";

/** For each place of the recall where the text so far ends, how many of its last words stand there too. */
export type Matches = ReadonlyMap<number, number>;

export const NO_MATCHES: Matches = new Map();

/** So many words in a row are no chance any more, when they are long enough. */
const LEAST_WORDS = 5;
const LEAST_CHARS = 16;
const LEAST_NOTE_WORDS = 12;
/** A whole line may be shorter. */
const LEAST_LINE_WORDS = 2;
const LEAST_LINE_CHARS = 6;
/** Of the whole content of a fence, or all there is before the stream ends. */
const LEAST_CONTENT_WORDS = 3;

export class RecalledText {
  readonly #words: string[] = [];
  readonly #places = new Map<string, number[]>();
  /** For each word, where its line begins and ends. */
  readonly #lines: { readonly start: number; end: number; readonly isNote: boolean }[] = [];
  /** Letters before each word. */
  readonly #chars: number[] = [0];

  /** `block`: recall in its fence, as it is injected. */
  constructor(block: string) {
    for (const line of block.split("\n")) if (typeof matchTag(line, 0) !== "object") this.#addLine(line);
  }

  /** The text goes on with one more word. `isCut`: the text ended here, maybe in the middle of the word. */
  step(before: Matches, word: string, isCut = false): Matches {
    const after = new Map<number, number>();
    for (const at of this.#places.get(word) ?? []) after.set(at, 1 + (before.get(at - 1) ?? 0));
    if (isCut)
      for (const [at, count] of before)
        if (this.#words[at + 1]?.startsWith(word)) after.set(at + 1, count + 1);
    return after;
  }

  /** How many of the last words repeat the recall beyond doubt: enough of them in a row, or a whole line. 0 for none. */
  repeated(matches: Matches): number {
    let longest = 0;
    for (const [at, count] of matches) longest = Math.max(longest, this.#repeatedAt(at, count));
    return longest;
  }

  /** May `count` words be the beginning of a repetition? */
  canGoOn(matches: Matches, count: number): boolean {
    return [...matches.values()].some((each) => each >= count);
  }

  /** Is a fence with these `count` words and nothing else a repetition? Shorter ones count than in the middle of a text. */
  isAll(matches: Matches, count: number): boolean {
    if (count === 0) return false;
    return [...matches].some(([at, each]) => {
      const line = this.#lines[at];
      if (line === undefined || each < count) return false;
      const isFromStart = at - line.start + 1 === count;
      if (line.isNote) return isFromStart && count >= LEAST_CONTENT_WORDS;
      return count >= LEAST_CONTENT_WORDS || (isFromStart && at === line.end);
    });
  }

  #repeatedAt(at: number, count: number): number {
    const line = this.#lines[at];
    if (line === undefined) return 0;
    const inLine = at - line.start + 1;
    // The note is ordinary English: a few words of it are only the note when they are its beginning.
    if (line.isNote && count < LEAST_NOTE_WORDS) return count >= inLine && inLine >= LEAST_WORDS ? inLine : 0;
    if (count >= LEAST_WORDS && this.#charsOf(at, count) >= LEAST_CHARS) return count;
    const isLine = at === line.end && count >= inLine && inLine >= LEAST_LINE_WORDS;
    return isLine && this.#charsOf(at, inLine) >= LEAST_LINE_CHARS ? inLine : 0;
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

// ----
// Reads text as tags of the fence and words, in the forms a model may give them: any case, blanks and attributes inside the tag,
// other hyphens or none, invisible characters, other brackets, HTML comments and entities, Markdown escapes. Text is compared by its words alone, so line breaks, bullets and punctuation do not matter. Pure.

export type Token =
  | { readonly kind: "open" | "close"; readonly end: number }
  | { readonly kind: "word"; readonly end: number; readonly word: string }
  /** Neither: punctuation, blanks, numbers of a list. */
  | { readonly kind: "other"; readonly end: number };

/** What stands at `at`; undefined when more text could make it something else. `isFinal`: there is no more. */
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

/** Where a tag can begin. */
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
/** Between the two: the hyphen, what looks like one, an underscore. */
const JOINT = /[-_\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/;
const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]/;
/** Inside a tag, before and behind its name. */
const MOST_BLANKS = 8;
const MOST_ATTRIBUTE_CHARS = 120;

const NONE = -1;
const PARTIAL = -2;

/** The tag at `from`. `partial`: the text ends before it can be told. */
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

/** Behind the `>` of a tag whose name ends at `name`. A tag that closes itself has been seen in front of recall. */
function endOfTag(text: string, name: number): number {
  const first = skipInvisible(text, name);
  const next = text.charCodeAt(first);
  if (next === SLASH) return endOfClosing(text, first + 1, CLOSING);
  if (next === HYPHEN) {
    const marks = endOfAny(text, first, ["--"]);
    return marks < 0 ? marks : endOfClosing(text, marks, CLOSING);
  }
  const last = Math.min(text.length, first + MOST_ATTRIBUTE_CHARS);
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
  while (at < from + MOST_BLANKS && (isWhitespaceUnit(text.charCodeAt(at)) || isInvisible(text, at))) at += 1;
  return at;
}

function skipInvisible(text: string, from: number): number {
  let at = from;
  while (at < from + MOST_BLANKS && isInvisible(text, at)) at += 1;
  return at;
}

function isInvisible(text: string, at: number): boolean {
  return INVISIBLE.test(text.charAt(at));
}

/** A line break or tab as JSON has them is one separator; other escapes are only their backslash. */
function readEscape(text: string, at: number, isFinal: boolean): Token | undefined {
  if (at + 1 === text.length && !isFinal) return undefined;
  return { kind: "other", end: at + (/[nrt]/.test(text.charAt(at + 1)) ? 2 : 1) };
}

const LETTER = /[\p{L}\p{N}\p{M}]/u;
/** Each sign of these scripts counts as a word: they have no blanks between words. */
const SIGN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const IGNORED = /\p{Cf}/u;
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,8}));/iy;
const MAYBE_ENTITY = /&(?:#(?:\d{0,7}|x[0-9a-f]{0,6})?|[a-z][a-z0-9]{0,8})?$/iy;
/** Longer ones are cut, so that a stream is never held back for the end of one. */
const MOST_WORD_UNITS = 64;
const LIST_NUMBER = /^\d{1,3}$/;

/** `none`: no word begins here. */
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
    if (at - from >= MOST_WORD_UNITS) return toWord(word, at);
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

/** `&quot;` is a separator as a whole, or its name would be a word. */
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

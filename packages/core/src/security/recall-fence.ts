// Takes recalled-memory fences out of a text: the block a program put into an earlier request must not come back as if
// somebody had written it. Case is folded for ASCII only, whitespace is Python's.
import { isWhitespaceUnit } from "../lib/index.ts";

/** The text without fences; doing it again changes nothing. Linear in the text, whatever is in it. */
export function sanitizeContext(text: string): string {
  let current = text;
  for (let round = 0; round < EXACT_ROUNDS; round += 1) {
    const next = withoutTags(withoutNotes(withoutBlocks(current)));
    if (next === current) return current;
    current = next;
  }
  return withoutNestedFences(current);
}

// What a removal joins can be a fence again, so the passes are repeated. Text that still has one after this many rounds
// was made to have one; its nesting can be thousands deep, and repeated passes would take time to the square of that.
const EXACT_ROUNDS = 6;

const BLANKS = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*";
const TAG_NAME = "memory-context";
const NOTE_START = [
  "[system note:",
  "the following is recalled memory context,",
  "not new user input.",
  "treat as ",
] as const;
const OLD_NOTE_END = "informational background data.]";
const NEW_NOTE_MIDDLE = "authoritative reference data"; // free words follow, up to `.]`

// Without the `u` flag, `i` never folds a letter outside ASCII into one of ours (long s, dotless i, the Kelvin sign).
const TAG = new RegExp(`<(/?)${BLANKS}${TAG_NAME}${BLANKS}>`, "gi");
const NOTE = new RegExp(
  `${NOTE_START.map(escaped).join(BLANKS)}(?:${escaped(OLD_NOTE_END)}|(${NEW_NOTE_MIDDLE}))`,
  "gi",
);

/** Every open tag with the nearest close tag behind it, and all between them. One search for tags, then pairing. */
function withoutBlocks(text: string): string {
  const kept = new Remainder(text);
  let openedAt = -1;
  for (const tag of text.matchAll(TAG)) {
    if (tag[1] === "") openedAt = openedAt < 0 ? tag.index : openedAt;
    else if (openedAt >= 0) {
      kept.remove(openedAt, tag.index + tag[0].length);
      openedAt = -1;
    }
  }
  return kept.text();
}

function withoutNotes(text: string): string {
  const kept = new Remainder(text);
  let bracket = 0; // the first `]` at or behind the head; it only ever moves forward
  for (const head of text.matchAll(NOTE)) {
    const headEnd = head.index + head[0].length;
    let end = headEnd;
    if (head[1] !== undefined) {
      if (bracket >= 0 && bracket < headEnd) bracket = text.indexOf("]", headEnd);
      if (bracket < 0 || text[bracket - 1] !== ".") continue;
      end = bracket + 1;
    }
    while (end < text.length && isWhitespaceUnit(text.charCodeAt(end))) end += 1;
    kept.remove(head.index, end); // a head among the free words of another note has the same end: no harm
  }
  return kept.text();
}

function withoutTags(text: string): string {
  const kept = new Remainder(text);
  for (const tag of text.matchAll(TAG)) kept.remove(tag.index, tag.index + tag[0].length);
  return kept.text();
}

/**
 * One walk that keeps what it has read on a stack and takes a tag or note off as soon as its last character arrives, so
 * what a removal joins is seen by the next character. Every look backwards either ends at a `>` or `]` that stays, or is
 * paid for by what it removes.
 */
function withoutNestedFences(text: string): string {
  const kept = new Uint16Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    kept[length] = unit;
    length += 1;
    if (unit === GREATER) length = startOfTag(kept, length);
    else if (unit === CLOSE_BRACKET) {
      const start = startOfNote(kept, length);
      if (start === length) continue;
      length = start;
      while (isWhitespaceUnit(text.charCodeAt(at + 1))) at += 1;
    }
  }
  return Buffer.from(kept.buffer, 0, length * 2).toString("utf16le"); // a decoder would replace halves of pairs
}

const GREATER = 0x3e;
const LESS = 0x3c;
const SLASH = 0x2f;
const DOT = 0x2e;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Where the tag that ends at `length` starts; `length` itself when none does. */
function startOfTag(units: Uint16Array, length: number): number {
  let at = skipBlanksBack(units, length - 2) - TAG_NAME.length + 1;
  if (!hasWordAt(units, at, length, TAG_NAME)) return length;
  at = skipBlanksBack(units, at - 1);
  if (units[at] === SLASH) at -= 1;
  return units[at] === LESS ? at : length;
}

/** Where the note that ends at `length` starts; `length` itself when none does. */
function startOfNote(units: Uint16Array, length: number): number {
  if (units[length - 2] !== DOT) return length;
  for (let at = length - 2; at >= 0 && units[at] !== CLOSE_BRACKET; at -= 1)
    if (units[at] === OPEN_BRACKET && isNote(units, at, length)) return at;
  return length;
}

function isNote(units: Uint16Array, start: number, end: number): boolean {
  let at = start;
  for (const [index, part] of NOTE_START.entries()) {
    if (index > 0) while (at < end && isWhitespaceUnit(units[at] ?? 0)) at += 1;
    if (!hasWordAt(units, at, end, part)) return false;
    at += part.length;
  }
  if (hasWordAt(units, at, end, OLD_NOTE_END)) return at + OLD_NOTE_END.length === end;
  return hasWordAt(units, at, end - 2, NEW_NOTE_MIDDLE);
}

function hasWordAt(units: Uint16Array, start: number, end: number, lowerCase: string): boolean {
  if (start < 0 || start + lowerCase.length > end) return false;
  for (let i = 0; i < lowerCase.length; i += 1) {
    const unit = units[start + i] ?? 0;
    const folded = unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
    if (folded !== lowerCase.charCodeAt(i)) return false;
  }
  return true;
}

function skipBlanksBack(units: Uint16Array, from: number): number {
  let at = from;
  while (at >= 0 && isWhitespaceUnit(units[at] ?? 0)) at -= 1;
  return at;
}

/** A text minus pieces whose ends are named from left to right. */
class Remainder {
  readonly #source: string;
  readonly #pieces: string[] = [];
  #removedTo = 0;

  constructor(source: string) {
    this.#source = source;
  }

  remove(start: number, end: number): void {
    this.#pieces.push(this.#source.slice(this.#removedTo, start));
    this.#removedTo = end;
  }

  text(): string {
    if (this.#removedTo === 0) return this.#source;
    return this.#pieces.join("") + this.#source.slice(this.#removedTo);
  }
}

function escaped(literal: string): string {
  return literal.replace(/[.[\]]/g, "\\$&");
}

// Reads a text the way a model does: look-alike letters, styled letters and hidden characters become the plain letters
// they stand for. Only scans use the result; what is stored or shown is always the original.
import { lookAlike, otherLookAlike } from "./look-alikes.ts";

/**
 * Some characters can be read in two ways: a blank letter as a blank or as nothing, a Cyrillic letter as one of two Latin ones.
 * `other` takes the second way for all of them.
 */
export type Reading = "usual" | "other";

type HiddenText = {
  /** `tags`: U+E0020 to U+E007E, which spell ASCII unseen. `selectors`: a row of variation selectors, which can carry bytes. */
  readonly kind: "tags" | "selectors";
  readonly start: number;
  readonly end: number;
};

export type FoldedText = {
  readonly text: string;
  /** For each UTF-16 unit of `text` where the character it comes from starts in the original; then the original's length. */
  readonly offsets: Uint32Array;
  readonly hidden: readonly HiddenText[];
};

/** Undefined when the text reads as it is written, which every visible ASCII text does. */
export function foldText(text: string, reading: Reading = "usual"): FoldedText | undefined {
  const first = text.search(NOT_VISIBLE_ASCII);
  if (first === -1) return undefined;
  const folded = new Folding(text);
  const hidden: HiddenText[] = [];
  const carriers: HiddenText[] = []; // one selector behind a letter that has no use for it
  for (let at = first; at < text.length; ) {
    const unit = text.charCodeAt(at);
    if (isVisibleAscii(unit) || isIdeographOrSyllable(unit)) {
      at += 1;
      continue;
    }
    const codePoint = text.codePointAt(at) ?? 0;
    const run = hiddenRun(text, at, codePoint) ?? escapeRun(text, at, unit, reading);
    const end = run?.end ?? at + (codePoint > 0xffff ? 2 : 1);
    if (run !== undefined) {
      folded.replace(at, end, ""); // what tags spell is put in character by character
      for (const [index, character] of run.spelled.entries())
        folded.insert(character, at + index * TAG_UNITS);
      if (run.kind !== undefined) hidden.push({ kind: run.kind, start: at, end });
      else if (isStraySelector(text, at, codePoint)) carriers.push({ kind: "selectors", start: at, end });
    } else {
      const plain = (reading === "other" ? otherForm(codePoint) : undefined) ?? plainForm(codePoint);
      if (plain !== undefined) folded.replace(at, end, plain);
    }
    at = end;
  }
  if (carriers.length >= FEWEST_SELECTORS) for (const each of carriers) hidden.push(each);
  return folded.isChanged ? { ...folded.finish(), hidden } : undefined;
}

/** Every way to read the text that differs from how it is written, the usual one first. */
export function readings(text: string): FoldedText[] {
  const usual = foldText(text);
  if (usual === undefined) return [];
  const other = foldText(text, "other");
  return other === undefined || other.text === usual.text ? [usual] : [usual, other];
}

/** The folded text while it grows. Unchanged stretches are copied whole. */
class Folding {
  readonly #source: string;
  #text = "";
  #offsets: Uint32Array;
  #length = 0;
  #copied = 0;
  isChanged = false;

  constructor(source: string) {
    this.#source = source;
    this.#offsets = new Uint32Array(source.length + 64);
  }

  /** Everything before `start` is copied; what stands there becomes `piece`. */
  replace(start: number, end: number, piece: string): void {
    this.#copyTo(start);
    this.insert(piece, start);
    this.#copied = end;
    this.isChanged = true;
  }

  insert(piece: string, from: number): void {
    this.#reserve(piece.length);
    this.#text += piece;
    for (let i = 0; i < piece.length; i += 1) this.#offsets[this.#length + i] = from;
    this.#length += piece.length;
  }

  finish(): Pick<FoldedText, "text" | "offsets"> {
    this.#copyTo(this.#source.length);
    this.#reserve(1);
    this.#offsets[this.#length] = this.#source.length;
    return { text: this.#text, offsets: this.#offsets.subarray(0, this.#length + 1) };
  }

  #copyTo(end: number): void {
    const count = end - this.#copied;
    if (count <= 0) return;
    this.#reserve(count);
    this.#text += this.#source.slice(this.#copied, end);
    for (let i = 0; i < count; i += 1) this.#offsets[this.#length + i] = this.#copied + i;
    this.#length += count;
  }

  #reserve(count: number): void {
    if (this.#length + count < this.#offsets.length) return;
    const larger = new Uint32Array((this.#length + count) * 2);
    larger.set(this.#offsets);
    this.#offsets = larger;
  }
}

/** The place in the original that a span of the folded text comes from. */
export function originalSpan(
  { offsets }: Pick<FoldedText, "offsets">,
  start: number,
  end: number,
): { readonly start: number; readonly end: number } {
  const from = offsets[start] ?? 0;
  const last = offsets[Math.max(start, end - 1)] ?? from;
  let after = end;
  while ((offsets[after] ?? last + 1) === last) after += 1; // one character may have become several
  return { start: from, end: offsets[after] ?? last + 1 };
}

const NOT_VISIBLE_ASCII = /[^\t\n\r -~]/;

function isVisibleAscii(unit: number): boolean {
  return (unit >= 0x20 && unit < 0x7f) || unit === 0x09 || unit === 0x0a || unit === 0x0d;
}

// ---- hidden characters ----

const TAG_UNITS = 2;
const BLACK_FLAG = 0x1f3f4;
const CANCEL_TAG = 0xe007f;
/** The flags of countries' parts that are spelled with tags: England, Scotland, Wales, states of the USA, provinces of Canada. */
const FLAG_NAME = /^(?:gb(?:eng|sct|wls|nir)|us[a-z]{2}|ca[a-z]{2})$/;
/** One selector belongs to the character before it, and emoji may follow closely; three in a row belong to nothing. */
const FEWEST_SELECTORS = 3;

type Run = {
  readonly kind: HiddenText["kind"] | undefined;
  readonly spelled: readonly string[];
  readonly end: number;
};

function hiddenRun(text: string, at: number, codePoint: number): Run | undefined {
  if (isTag(codePoint)) return tagRun(text, at);
  if (!isSelector(codePoint)) return undefined;
  let end = at;
  let count = 0;
  for (let next = codePoint; isSelector(next); next = text.codePointAt(end) ?? 0) {
    end += next > 0xffff ? 2 : 1;
    count += 1;
  }
  return { kind: count >= FEWEST_SELECTORS ? "selectors" : undefined, spelled: [], end };
}

/** A letter of ours, or any selector of the second block, which only Han characters are written with. */
function isStraySelector(text: string, at: number, selector: number): boolean {
  if (!isSelector(selector)) return false;
  const unit = text.charCodeAt(at - 1);
  if (selector <= 0xffff) return /[A-Za-z]/.test(text.charAt(at - 1));
  const before = unit >= 0xdc00 && unit <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : text.charAt(at - 1);
  return !/\p{Script=Han}$/u.test(before);
}

const ESCAPE = 0x1b;
const CONTROL_SEQUENCE = /(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]/y;
const CONTROL_STRING = /\x1b[P\]X^_][^\x07\x1b]*(?:\x07|\x1b\\)?/y;

/**
 * What a terminal obeys and does not show. A model may see it all, so a sequence goes whole in one reading and leaves
 * everything behind its first character in the other.
 */
function escapeRun(text: string, at: number, unit: number, reading: Reading): Run | undefined {
  if (unit !== ESCAPE && unit !== 0x9b) return undefined;
  const form = reading === "usual" ? CONTROL_SEQUENCE : CONTROL_STRING;
  form.lastIndex = at;
  const length = form.exec(text)?.[0].length ?? 1;
  return { kind: undefined, spelled: [], end: at + length };
}

function tagRun(text: string, at: number): Run {
  let end = at;
  let name = "";
  const spelled: string[] = [];
  let isCancelled = false;
  for (let next = text.codePointAt(end) ?? 0; isTag(next); next = text.codePointAt(end) ?? 0) {
    end += TAG_UNITS;
    isCancelled = next === CANCEL_TAG;
    const ascii = next - 0xe0000;
    const character = ascii >= 0x20 && ascii < 0x7f ? String.fromCharCode(ascii) : "";
    name += character;
    spelled.push(character);
    if (isCancelled) break;
  }
  const follows = text.codePointAt(at - 2) === BLACK_FLAG;
  const isFlag = follows && isCancelled && FLAG_NAME.test(name);
  return isFlag ? { kind: undefined, spelled: [], end } : { kind: "tags", spelled, end };
}

function isTag(codePoint: number): boolean {
  return codePoint >= 0xe0000 && codePoint <= CANCEL_TAG;
}

function isSelector(codePoint: number): boolean {
  return (codePoint >= 0xfe00 && codePoint <= 0xfe0f) || (codePoint >= 0xe0100 && codePoint <= 0xe01ef);
}

// ---- single characters ----

const known = new Map<number, string | undefined>();
const MOST_KNOWN = 8192; // more than any one text uses; past it the memory is given back

/** What a character outside ASCII stands for; undefined when it is itself. "" for one that shows nothing. */
function plainForm(codePoint: number): string | undefined {
  if (known.has(codePoint)) return known.get(codePoint);
  if (known.size >= MOST_KNOWN) known.clear();
  const form = workOut(codePoint);
  known.set(codePoint, form);
  return form;
}

/** Most of a Chinese, Japanese or Korean text. They stand for nothing else. */
function isIdeographOrSyllable(unit: number): boolean {
  return (
    (unit >= 0x3041 && unit <= 0x30ff) ||
    (unit >= 0x3400 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3)
  );
}

/** Accents, strokes through letters and enclosing marks. Marks that scripts other than Latin are written with stay. */
const DISGUISING_MARK =
  /[\u0300-\u036f]|[\u0483-\u0489]|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff]|[\ufe20-\ufe2f]/gu;
/** Controls, private use, characters that are none, marks of annotations and of objects. */
const SHOWS_NOTHING = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Co}\p{Cn}\ufff9-\ufffc]$/u;
/** Controls that some programs take for a blank. */
const BLANK_CONTROL = /^[\v\f\x1c-\x1f\x85]$/;
/** Unicode takes these apart into dots, and `wait…env` would read as a file name. */
const ELLIPSES: ReadonlySet<number> = new Set([0x2025, 0x2026]);

function otherForm(codePoint: number): string | undefined {
  const form = otherLookAlike(codePoint);
  if (form !== undefined || codePoint > 0x85) return form;
  return BLANK_CONTROL.test(String.fromCodePoint(codePoint)) ? " " : undefined;
}

function workOut(codePoint: number): string | undefined {
  const direct = lookAlike(codePoint);
  if (direct !== undefined) return direct;
  if (ELLIPSES.has(codePoint)) return undefined;
  const character = String.fromCodePoint(codePoint);
  if (SHOWS_NOTHING.test(character)) return "";
  let plain = "";
  for (const part of character.normalize("NFKD").replace(DISGUISING_MARK, ""))
    plain += lookAlike(part.codePointAt(0) ?? 0) ?? part;
  if (plain === "") return "";
  return /[\0-\x7f]/.test(plain) ? plain : undefined;
}

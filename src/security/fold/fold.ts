// Reads a text the way a model does: look-alike letters, styled letters and hidden characters become the plain letters
// they stand for. Only scans use the result; what is stored or shown is always the original.
import { lookAlike } from "./look-alikes.ts";

export type HiddenText = {
  /** `tags`: U+E0020 to U+E007E, which spell ASCII unseen. `selectors`: a row of variation selectors, which can carry bytes. */
  readonly kind: "tags" | "selectors";
  readonly start: number;
  readonly end: number;
};

export type FoldedText = {
  readonly text: string;
  /** For each UTF-16 unit of `text` where the character it comes from starts in the original; then the original's length. */
  readonly offsets: readonly number[];
  readonly hidden: readonly HiddenText[];
};

/** Undefined when the text reads as it is written, which every ASCII text does. */
export function foldText(text: string): FoldedText | undefined {
  if (isAscii(text)) return undefined;
  const units: string[] = [];
  const offsets: number[] = [];
  const hidden: HiddenText[] = [];
  const put = (piece: string, from: number): void => {
    units.push(piece);
    for (let i = 0; i < piece.length; i += 1) offsets.push(from);
  };
  let isChanged = false;
  for (let at = 0; at < text.length; ) {
    const codePoint = text.codePointAt(at) ?? 0;
    if (codePoint < 0x80) {
      put(text.charAt(at), at);
      at += 1;
      continue;
    }
    const run = hiddenRun(text, at, codePoint);
    if (run !== undefined) {
      isChanged = true;
      for (const [index, character] of run.spelled.entries()) put(character, at + index * TAG_UNITS); // selectors spell nothing
      if (run.kind !== undefined) hidden.push({ kind: run.kind, start: at, end: run.end });
      at = run.end;
      continue;
    }
    const width = codePoint > 0xffff ? 2 : 1;
    const plain = plainForm(codePoint);
    if (plain === undefined) put(text.slice(at, at + width), at);
    else {
      isChanged = true;
      put(plain, at);
    }
    at += width;
  }
  if (!isChanged) return undefined;
  offsets.push(text.length);
  return { text: units.join(""), offsets, hidden };
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

export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
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
  if (isIdeographOrSyllable(codePoint)) return undefined;
  if (known.has(codePoint)) return known.get(codePoint);
  if (known.size >= MOST_KNOWN) known.clear();
  const form = workOut(codePoint);
  known.set(codePoint, form);
  return form;
}

/** Most of a Chinese, Japanese or Korean text. They stand for nothing else. */
function isIdeographOrSyllable(codePoint: number): boolean {
  return (
    (codePoint >= 0x3041 && codePoint <= 0x30ff) ||
    (codePoint >= 0x3400 && codePoint <= 0x9fff) ||
    (codePoint >= 0xac00 && codePoint <= 0xd7a3)
  );
}

/** Accents, strokes through letters and enclosing marks. Marks that scripts other than Latin are written with stay. */
const DISGUISING_MARK =
  /[\u0300-\u036f]|[\u0483-\u0489]|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff]|[\ufe20-\ufe2f]/gu;
const SHOWS_NOTHING = /^\p{Default_Ignorable_Code_Point}$/u;
/** Unicode takes these apart into dots, and `wait…env` would read as a file name. */
const ELLIPSES: ReadonlySet<number> = new Set([0x2025, 0x2026]);

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

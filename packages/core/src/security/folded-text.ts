// Reads a text the way a model does: look-alike letters, styled letters, hidden characters, digits for letters and markup become the
// plain letters they stand for. Only scans use the result; the original is stored and shown.
import { lookAlike, otherLookAlike } from "./look-alikes.ts";
import { THREAT_PATTERNS } from "./threats/patterns.ts";

/**
 * Some characters can be read in two ways: a blank letter as a blank or as nothing, a Cyrillic letter as one of two Latin ones.
 * `other` uses the second way for all of them.
 */
export type Reading = "usual" | "other";

type HiddenText = {
  /** `tags`: U+E0020 to U+E007E, invisible ASCII. `selectors`: a run of variation selectors, which can encode bytes. */
  readonly kind: "tags" | "selectors";
  readonly start: number;
  readonly end: number;
};

export type OffsetText = {
  readonly text: string;
  /** For each UTF-16 unit of `text`: the offset in the original of the character it comes from; then the original's length. */
  readonly offsets: Uint32Array;
};

export type FoldedText = OffsetText & { readonly hidden: readonly HiddenText[] };

/** Undefined when folding changes nothing, as for every visible ASCII text. */
export function foldText(text: string, reading: Reading = "usual"): FoldedText | undefined {
  const first = text.search(NOT_VISIBLE_ASCII);
  if (first === -1) return undefined;
  const folded = new Folding(text);
  const hidden: HiddenText[] = [];
  const carriers: HiddenText[] = []; // single selectors after letters that take none
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
      folded.replace(at, end, ""); // the letters that tags spell follow one by one
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

/** Every reading of the text that differs from the text itself, the usual one first. */
export function readings(text: string): FoldedText[] {
  const usual = foldText(text);
  if (usual === undefined) return [];
  const other = foldText(text, "other");
  return other === undefined || other.text === usual.text ? [usual] : [usual, other];
}

/** The text with other pieces in place of the matches; undefined when there are none. */
export function readOtherwise(
  text: string,
  pattern: RegExp,
  piece: (found: RegExpExecArray) => string,
): OffsetText | undefined {
  const changed = new Folding(text);
  for (const found of text.matchAll(pattern))
    changed.replace(found.index, found.index + found[0].length, piece(found));
  return changed.isChanged ? changed.finish() : undefined;
}

/** Builds the folded text. Unchanged stretches are copied whole. */
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

  /** Copies everything before `start` and puts `piece` in place of `start` to `end`. */
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

  finish(): OffsetText {
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

/** The span of the original that a span of the folded text comes from. */
export function originalSpan(
  { offsets }: Pick<OffsetText, "offsets">,
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

// ---- Hidden characters ----

const TAG_UNITS = 2;
const BLACK_FLAG = 0x1f3f4;
const CANCEL_TAG = 0xe007f;
/** Regional flags that are spelled with tags: England, Scotland, Wales, states of the USA, provinces of Canada. */
const FLAG_NAME = /^(?:gb(?:eng|sct|wls|nir)|us[a-z]{2}|ca[a-z]{2})$/;
/** One selector belongs to the character before it, and another emoji may follow; three in a row have no use. */
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

/** A selector after an ASCII letter, or one of the second block after anything but a Han character. */
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
 * Escape sequences, which a terminal executes and does not show. A model may see the characters, so one reading drops the whole
 * sequence and the other only its first character.
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

// ---- Single characters ----

const known = new Map<number, string | undefined>();
const MOST_KNOWN = 8192; // more than one text uses; then the cache is cleared

/** The plain form of a character outside ASCII; undefined when it has none, "" when it shows nothing. */
function plainForm(codePoint: number): string | undefined {
  if (known.has(codePoint)) return known.get(codePoint);
  if (known.size >= MOST_KNOWN) known.clear();
  const form = workOut(codePoint);
  known.set(codePoint, form);
  return form;
}

/** Most characters of a Chinese, Japanese or Korean text. They resemble no Latin letter. */
function isIdeographOrSyllable(unit: number): boolean {
  return (
    (unit >= 0x3041 && unit <= 0x30ff) ||
    (unit >= 0x3400 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3)
  );
}

/** Accents, strokes through letters and enclosing marks. Marks of scripts other than Latin stay. */
const DISGUISING_MARK =
  /[\u0300-\u036f]|[\u0483-\u0489]|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff]|[\ufe20-\ufe2f]/gu;
/** Controls, private use, unassigned code points, marks of annotations and of objects. */
const SHOWS_NOTHING = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Co}\p{Cn}\ufff9-\ufffc]$/u;
/** Controls that some programs treat as a blank. */
const BLANK_CONTROL = /^[\v\f\x1c-\x1f\x85]$/;
/** Unicode decomposes these into dots, and `wait…env` would read as a file name. */
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
  if (/\p{Dash}/u.test(character)) return "-";
  let plain = "";
  for (const part of character.normalize("NFKD").replace(DISGUISING_MARK, ""))
    plain += lookAlike(part.codePointAt(0) ?? 0) ?? part;
  if (plain === "") return "";
  return /[\0-\x7f]/.test(plain) ? plain : undefined;
}

// ---- Digits, signs and letters that look like other letters (`1gn0re`, `in$tructi0ns`, `lgnore`) ----
// Only a run that then is a word of the threat table is read this way; every other digit stays a digit.

const LOOKS = new Map([
  ["0", "o"],
  ["1", "l"],
  ["|", "l"],
  ["!", "l"],
  ["i", "l"],
  ["3", "e"],
  ["4", "a"],
  ["@", "a"],
  ["5", "s"],
  ["$", "s"],
  ["7", "t"],
]);
const FEWEST_LETTERS = 3;
const LONGEST = 24;

let words: ReadonlyMap<string, string> | undefined;

/** Has the same length as the text, so offsets stay valid; undefined when no word is written this way. */
export function readDigitsAsLetters(text: string): string | undefined {
  words ??= wordsOfThreats();
  const known = words;
  let isChanged = false;
  const read = text.replace(/[A-Za-z0-9|!@$]+/g, (run) => {
    const word = run.length <= LONGEST ? wordIn(run, known) : undefined;
    if (word === undefined) return run;
    isChanged = true;
    return word;
  });
  return isChanged ? read : undefined;
}

function wordIn(run: string, known: ReadonlyMap<string, string>): string | undefined {
  const small = run.toLowerCase();
  const whole = known.get(looksOf(small));
  if (whole !== undefined) return whole === small ? undefined : whole;
  const core = small.replace(/!+$/, ""); // the end of a sentence
  const word = known.get(looksOf(core));
  return word === undefined || word === core ? undefined : word + run.slice(core.length);
}

function looksOf(word: string): string {
  let looks = "";
  for (const letter of word) looks += LOOKS.get(letter) ?? letter;
  return looks;
}

/** Words of the patterns below, by the letters they look like. Patterns about commands and files cannot be disguised this way. */
function wordsOfThreats(): ReadonlyMap<string, string> {
  const built = new Map<string, string>();
  for (const { shape, id } of THREAT_PATTERNS) {
    if (!PLAIN_LANGUAGE_PATTERNS.has(id)) continue;
    for (const [word] of shape.replace(/\[[a-z]+\]|\{[^}]*\}/g, " ").matchAll(/[a-z]+/g))
      if (word.length >= FEWEST_LETTERS) built.set(looksOf(word), word);
  }
  return built;
}

// ---- Markup, hyphens and spaced letters (`**Ignore** <b>all</b>`, `ig-nore`, `i g n o r e`) ----

const MARKUP = new RegExp(
  [
    "<[!/a-z][^<>]{0,300}>", // a tag or a comment
    String.raw`(?<![a-z0-9])[a-z](?:[ \t._*-]{1,3}[a-z](?![a-z0-9])){3,}`, // spaced letters
    "(?<=[a-z])-(?=[a-z])",
    String.raw`\]\([^()\s]{0,500}\)|[*_~${"`"}\\[\]]+`, // links and emphasis
    String.raw`^[ \t]{0,9}[>#]+|\|`, // quotations, headings and cells
    String.raw`&#(?:(\d{1,7})|x([0-9a-f]{1,6}));`,
  ].join("|"),
  "gim",
);
const BLOCK_TAG = /^<\/?(?:br|div|h[1-6r]|li|p|t[dr])\b/i;

/** The text as it looks when its markup is rendered: with words at both sides of a hyphen, and then with one word. */
export function markupReadings(text: string): OffsetText[] {
  const apart = withoutMarkup(text, " ");
  const joined = apart && withoutMarkup(text, "");
  return [...(apart ? [apart] : []), ...(joined && joined.text !== apart?.text ? [joined] : [])];
}

function withoutMarkup(text: string, hyphen: "" | " "): OffsetText | undefined {
  return readOtherwise(text, MARKUP, ({ 0: found, 1: decimal, 2: hexadecimal }) => {
    if (found === "-") return hyphen;
    if (found === "|" || BLOCK_TAG.test(found)) return " ";
    if (/^[a-z]/i.test(found)) return spacedWords(found);
    const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : ""; // not for NaN
  });
}

/** The words of `i g n o r e  a l l`. Where the blanks do not say it, they end where words of the threat table do. */
function spacedWords(spaced: string): string {
  const [first = "", ...more] = spaced.split(/[^a-z]{2,}/i).map((word) => word.replace(/[^a-z]/gi, ""));
  if (more.length > 0) return [first, ...more].join(" ");
  words ??= wordsOfThreats();
  anyWord ??= new RegExp([...words.values()].sort((one, other) => other.length - one.length).join("|"), "gi");
  return first.replace(anyWord, " $& ");
}

let anyWord: RegExp | undefined;

/** Patterns that are instructions in plain language. */
export const PLAIN_LANGUAGE_PATTERNS: ReadonlySet<string> = new Set([
  "prompt_injection",
  "sys_prompt_override",
  "disregard_rules",
  "bypass_restrictions",
  "deception_hide",
  "role_hijack",
  "role_pretend",
  "leak_system_prompt",
  "remove_filters",
  "fake_update",
  "identity_override",
]);

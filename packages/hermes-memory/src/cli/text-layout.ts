// Text for the terminal: cutting to a width, times, and names of sessions.
import { localTime, printable } from "./printing.ts";

/** Of a terminal. */
export type Size = { readonly columns: number; readonly rows: number };

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const PLAIN = /^[\x20-\x7e]*$/;
const ASCII = /^[\n\x20-\x7e]*$/;
const MARKS_ONLY = /^[\p{M}\p{Cf}\u200b]+$/u;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
/** Blocks a terminal draws two columns wide (East Asian Width W and F). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemesOf(text).reduce((sum, grapheme) => sum + widthOf(grapheme), 0);
}

/** Cuts the text to at most `columns`, with an ellipsis where something is missing. Never splits a character. */
export function cutToWidth(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (PLAIN.test(text)) return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
  let taken = "";
  let used = 0;
  let fits = ""; // the part that leaves a column for the ellipsis
  for (const grapheme of graphemesOf(text)) {
    const width = widthOf(grapheme);
    if (used + width > columns) return `${fits}…`;
    taken += grapheme;
    used += width;
    if (used < columns) fits = taken;
  }
  return taken;
}

/** Cut and filled up to exactly `columns`. */
export function fitToWidth(text: string, columns: number): string {
  const cut = cutToWidth(text, columns);
  return cut + " ".repeat(Math.max(0, columns - displayWidth(cut)));
}

/** The characters a user sees. */
export function graphemesOf(text: string): readonly string[] {
  if (ASCII.test(text)) return text.split(""); // much cheaper, and most long pasted texts are ASCII
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
}

function widthOf(grapheme: string): 0 | 1 | 2 {
  if (MARKS_ONLY.test(grapheme)) return 0;
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1;
}

// Times of the database, in seconds since 1970.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `just now`, `5m ago`, `3h ago`, `yesterday`, `4d ago`, then the date. */
export function relativeTime(seconds: number | null | undefined, now: Date): string {
  const date = dateOf(seconds);
  if (date === undefined) return "?";
  const age = now.getTime() / 1000 - date.getTime() / 1000;
  if (age < MINUTE) return "just now"; // also for a time in the future, written by a clock that is ahead
  if (age < HOUR) return `${Math.floor(age / MINUTE)}m ago`;
  if (age < DAY) return `${Math.floor(age / HOUR)}h ago`;
  if (age < 2 * DAY) return "yesterday";
  if (age < 7 * DAY) return `${Math.floor(age / DAY)}d ago`;
  return absoluteTime(seconds).slice(0, "2026-11-15".length);
}

/** `2026-11-15 04:02`, in local time. */
export function absoluteTime(seconds: number | null | undefined): string {
  const date = dateOf(seconds);
  return date === undefined ? "?" : localTime(date.toISOString());
}

/** Undefined when the value is no time, or out of range for a `Date`. */
function dateOf(seconds: number | null | undefined): Date | undefined {
  if (typeof seconds !== "number" || seconds === 0) return undefined;
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

// Sessions.

/** A stored text in one line, with control characters escaped. */
export function flat(text: string): string {
  return printable(text.replaceAll(/[\r\n\t\u2028\u2029]+/g, " "));
}

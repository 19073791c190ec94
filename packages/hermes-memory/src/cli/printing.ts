// Text for a terminal: no control character of stored text reaches it, previews stay on one line, and texts are cut to a width.
import type { Change } from "@hermes-memory/core/internal/curated";
import { preview, snakeCase } from "@hermes-memory/core/internal/lib";
import type { CommandInput } from "./command.ts";

const PREVIEW_CHARS = 60;
// C0 and C1 control characters, ESC among them, and characters that change the reading direction. Newline and tab stay: they are
// ordinary text.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Escapes control characters: an entry may hold a sequence that would clear the screen or change the window's title. */
export function printable(text: string): string {
  return text.replace(CONTROL, escapeOf);
}

/** The start of a text on one line. */
export function oneLine(text: string, limitChars = PREVIEW_CHARS): string {
  return printable(preview(text.replaceAll("\n", "⏎"), limitChars));
}

/** A whole text, its later lines aligned with the first. */
export function indented(text: string, columns: number): string {
  return printable(text).replaceAll("\n", `\n${" ".repeat(columns)}`);
}

/** `2026-11-15 04:02` in the local time zone. A time that cannot be parsed is shown unchanged. */
export function localTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return printable(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The same for every time in a text. */
export function localTimes(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, localTime);
}

const LISTED = 20;

/** As many as --limit says, of a list that has the newest first. */
export function newestOf<T>(
  all: readonly T[],
  { flags: { limit = LISTED } }: CommandInput,
): { readonly shown: readonly T[]; readonly notes: readonly string[] } {
  const shown = all.slice(0, Number(limit));
  const more = `The newest ${shown.length} of ${all.length}; --limit ${all.length} lists them all.`;
  return { shown, notes: all.length > shown.length ? [more] : [] };
}

/** `+` added, `-` removed, `~` replaced. */
export function changeLine({ before, after }: Change, isWhole: boolean): string {
  const show = (text: string): string => (isWhole ? indented(text, 4) : oneLine(text));
  if (before === null) return `  + ${show(after ?? "")}`;
  if (after === null) return `  - ${show(before)}`;
  return isWhole
    ? `  ~ ${show(before)}\n    became\n    ${show(after)}`
    : `  ~ ${show(before)} -> ${show(after)}`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `4.1 kB`: in steps of 1024, like the limits in config.yaml. */
export function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${step === 0 ? Math.round(bytes) : (bytes / 1024 ** step).toFixed(1)} ${units[step]}`;
}

/** As `--json` names them. Only the first level: keys further down may belong to data. */
export function snakeKeys(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [snakeCase(key), each]));
}

const MOST_LISTED = 20;

/** The first lines of a list, and how many more there are. */
export function firstLines(lines: readonly string[], hint = "--json lists them all"): string[] {
  const rest = lines.length - MOST_LISTED;
  return rest <= 0 ? [...lines] : [...lines.slice(0, MOST_LISTED), `  and ${rest} more (${hint})`];
}

function escapeOf(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
}

// Widths on a terminal

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

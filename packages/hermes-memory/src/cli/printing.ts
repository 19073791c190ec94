// Text for a terminal: no control character of stored text reaches it, and previews stay on one line.
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

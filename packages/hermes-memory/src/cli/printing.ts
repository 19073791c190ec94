// Stored text as a person may see it: no control character reaches the terminal, one line where a line is meant.
import type { Change } from "@hermes-memory/core/curated";
import { preview } from "@hermes-memory/core/lib";

const PREVIEW_CHARS = 60;
// Everything a terminal obeys, C0 and C1 with ESC among them, and what reverses the reading direction. Newline and tab
// stay: they are ordinary text, and the blocks of a prompt are printed with them.
const COMMANDS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** An entry may hold anything, also what would clear the screen or retitle the window. It is shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(COMMANDS, escapeOf);
}

/** The beginning of a text in one line. */
export function oneLine(text: string, limitChars = PREVIEW_CHARS): string {
  return printable(preview(text.replaceAll("\n", "⏎"), limitChars));
}

/** A whole text, later lines below the first. */
export function indented(text: string, columns: number): string {
  return printable(text).replaceAll("\n", `\n${" ".repeat(columns)}`);
}

/** `2026-11-15 04:02`, where the reader is. A time that cannot be read is shown as it was written. */
export function localTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return printable(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `+` came, `-` went, `~` was exchanged. */
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

function escapeOf(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
}

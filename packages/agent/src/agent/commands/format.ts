// Figures, times and texts as the replies show them.
import { groupThousands, preview } from "@hermes-memory/core/lib";

/** The beginning of a text in one line. */
export function short(text: string, limitChars: number): string {
  return preview(text.replace(/\s+/g, " ").trim(), limitChars);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${groupThousands(count)} ${count === 1 ? one : many}`;
}

/** `$1.25`, `$0.0042`: cents alone would show most sessions as free. */
export function money(usd: number): string {
  const digits = Math.abs(usd) >= 1 ? 2 : 4;
  return `${usd < 0 ? "-" : ""}$${Math.abs(usd).toFixed(digits)}`;
}

/** `2026-11-15 04:02`, where the reader is. */
export function localMinute(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "?";
  const [day, time] = [dayOf(date), timeOf(date)];
  return `${day.join("-")} ${time.slice(0, 2).join(":")}`;
}

/** `20261115_040259`, for file names. */
export function fileStamp(date: Date): string {
  return `${dayOf(date).join("")}_${timeOf(date).join("")}`;
}

/** `name` and its value in two columns. */
export function row(name: string, value: string): string {
  return `${name.padEnd(9)}  ${value}`;
}

function dayOf(date: Date): readonly [string, string, string] {
  return [String(date.getFullYear()).padStart(4, "0"), two(date.getMonth() + 1), two(date.getDate())];
}

function timeOf(date: Date): readonly [string, string, string] {
  return [two(date.getHours()), two(date.getMinutes()), two(date.getSeconds())];
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

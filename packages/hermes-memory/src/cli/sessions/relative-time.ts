// Times of the database (seconds since 1970) as people read them.
import { localTime } from "../printing.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `just now`, `5m ago`, `3h ago`, `yesterday`, `4d ago`, then the date. */
export function relativeTime(seconds: number | null | undefined, now: Date): string {
  const date = dateOf(seconds);
  if (date === undefined) return "?";
  const age = now.getTime() / 1000 - date.getTime() / 1000;
  if (age < MINUTE) return "just now"; // also what a clock that runs ahead has written
  if (age < HOUR) return `${Math.floor(age / MINUTE)}m ago`;
  if (age < DAY) return `${Math.floor(age / HOUR)}h ago`;
  if (age < 2 * DAY) return "yesterday";
  if (age < 7 * DAY) return `${Math.floor(age / DAY)}d ago`;
  return absoluteTime(seconds).slice(0, "2026-11-15".length);
}

/** `2026-11-15 04:02`, where the reader is. */
export function absoluteTime(seconds: number | null | undefined): string {
  const date = dateOf(seconds);
  return date === undefined ? "?" : localTime(date.toISOString());
}

/** Undefined for what is no time, or one that no calendar holds. */
function dateOf(seconds: number | null | undefined): Date | undefined {
  if (typeof seconds !== "number" || seconds === 0) return undefined;
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

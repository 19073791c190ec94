// Dates a question names ("in June 2023", "on 25 May"), as spans of time. A message of that time is a likelier answer.
import type { TimeSpan } from "./ranking-facts.ts";

const MONTHS = [
  ...["january", "february", "march", "april", "may", "june"],
  ...["july", "august", "september", "october", "november", "december"],
];
/** Words before "may" that make it a month. */
const BEFORE_MAY = new Set([
  "in",
  "on",
  "of",
  "since",
  "until",
  "by",
  "during",
  "early",
  "mid",
  "late",
  "last",
  "this",
]);
const WORD = /[a-z]+|\d+/g;
const ORDINAL = /\b(\d{1,2})(?:st|nd|rd|th)\b/g;

/** `years`: those a date without a year may mean, newest first. */
export function namedTimes(query: string, years: readonly number[]): TimeSpan[] {
  const words = query.toLowerCase().replace(ORDINAL, "$1 ").match(WORD) ?? [];
  const spans = words.flatMap((word, at) => {
    const month = MONTHS.indexOf(word);
    return month < 0 || !isMonth(words, at) ? [] : monthSpans(words, at, month, years);
  });
  if (spans.length > 0) return spans;
  return words.flatMap((word) => (isYear(word) ? [yearSpan(Number(word))] : []));
}

function isMonth(words: readonly string[], at: number): boolean {
  if (words[at] !== "may" && words[at] !== "march") return true;
  const before = words[at - 1] ?? "";
  const after = words[at + 1] ?? "";
  return BEFORE_MAY.has(before) || isDay(before) || isDay(after) || isYear(after);
}

function monthSpans(
  words: readonly string[],
  at: number,
  month: number,
  years: readonly number[],
): TimeSpan[] {
  const [before = "", twoBefore = ""] = [words[at - 1], words[at - 2]];
  const after = words[at + 1] ?? "";
  const dayBefore = isDay(before) ? before : before === "of" && isDay(twoBefore) ? twoBefore : "";
  const day = dayBefore !== "" ? dayBefore : isDay(after) ? after : "";
  const year = [words[at + 1], words[at + 2], words[at + 3]].find(
    (word) => word !== undefined && isYear(word),
  );
  const meant = year === undefined ? years : [Number(year)];
  return meant.map((each) => (day === "" ? monthSpan(each, month) : daySpan(each, month, Number(day))));
}

function yearSpan(year: number): TimeSpan {
  return span(new Date(year, 0, 1), new Date(year + 1, 0, 1));
}

function monthSpan(year: number, month: number): TimeSpan {
  return span(new Date(year, month, 1), new Date(year, month + 1, 1));
}

function daySpan(year: number, month: number, day: number): TimeSpan {
  return span(new Date(year, month, day), new Date(year, month, day + 1));
}

function span(from: Date, to: Date): TimeSpan {
  return { from: from.getTime() / 1000, to: to.getTime() / 1000 };
}

function isDay(word: string): boolean {
  return /^\d{1,2}$/.test(word) && Number(word) >= 1 && Number(word) <= 31;
}

function isYear(word: string): boolean {
  return /^(19|20)\d\d$/.test(word);
}

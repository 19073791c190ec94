// Titles of sessions: one line, unique, numbered along a lineage (`kiln`, `kiln #2`, `kiln #3`).
import { codePointLength, pyStrip, takeCodePoints } from "../lib/index.ts";
import { sessionError } from "./errors.ts";
import { collapseWhitespace } from "./previews.ts";

export const MAX_TITLE_CHARS = 100;

/** The title as it is stored; null when nothing visible is left. Throws `title-too-long`. */
export function sanitizeTitle(title: string | null | undefined): string | null {
  if (!title) return null;
  const clean = cleaned(title);
  const length = codePointLength(clean);
  if (length > MAX_TITLE_CHARS)
    throw sessionError("title-too-long", `Title too long (${length} chars, max ${MAX_TITLE_CHARS})`, {
      hint: `Shorten it to ${MAX_TITLE_CHARS} characters.`,
    });
  return clean === "" ? null : clean;
}

/** `sanitizeTitle` for a title nobody can be asked about: what is too long is cut. */
export function fittingTitle(title: string): string | null {
  return sanitizeTitle(cutTo(cleaned(title), MAX_TITLE_CHARS));
}

/** The title without one number at its end. */
export function baseOfTitle(title: string): string {
  return NUMBERED.exec(title)?.[1] ?? title;
}

/** Which one of the base's line the title is: 1 for the base itself, null when it is not of that line. */
export function numberOfTitle(base: string, title: string): number | null {
  if (title === base) return 1;
  const [, stem, digits] = NUMBERED.exec(title) ?? [];
  return stem === base ? Number(digits) : null;
}

/**
 * The next free title of a line. `existing`: the titles that equal the base (a number at its end taken off) or start
 * with it and ` #`. A base that leaves no room for the number is cut, so a very long one can meet a title of the shorter
 * line: whoever finds the answer taken asks again with the answer as the base.
 */
export function nextTitle(base: string, existing: readonly string[]): string {
  const stem = baseOfTitle(base);
  if (existing.length === 0) return cutTo(stem, MAX_TITLE_CHARS);
  // The last number counts, also in `kiln #2 #3`: too high a number does no harm, one that is taken does.
  const numbers = existing.map((title) => Number(NUMBERED.exec(title)?.[2] ?? 1));
  const suffix = ` #${numbers.reduce((highest, number) => Math.max(highest, number), 1) + 1}`;
  return cutTo(stem, MAX_TITLE_CHARS - suffix.length) + suffix;
}

// Control characters except the ones that are whitespace; zero-width, direction and annotation marks.
const INVISIBLE =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffc\ufff9-\ufffb]/g;

// Fifteen digits are exact in a number; a longer row of digits is part of the name.
const NUMBERED = /^(.+) #(\d{1,15})$/su;

function cleaned(title: string): string {
  return collapseWhitespace(title.replace(INVISIBLE, "").toWellFormed());
}

function cutTo(text: string, count: number): string {
  return codePointLength(text) <= count ? text : pyStrip(takeCodePoints(text, count));
}

// Titles of sessions: one line, unique, numbered along a lineage (`kiln`, `kiln #2`, `kiln #3`).
import { codePointLength, isWhitespaceUnit, preview, pyStrip, takeCodePoints } from "../lib/index.ts";
import { contentText, plainText } from "../message/index.ts";
import { sessionError } from "./errors.ts";

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

// ----
// One line that reminds a person of a message. Lengths are code points; a surrogate pair is never cut.

/** A session in a listing: the beginning of its first user message. Content without text gives "". */
export function sessionPreview(content: unknown): string {
  // Three more than are shown, as the original's query reads them: blanks at the end then do not count as cut text.
  const head = takeCodePoints(plainText(content) ?? "", 63);
  return preview(pyStrip(head.replace(/[\r\n]/g, " ")), 60);
}

/** What the user said beside the summary of a compaction; undefined for a message that is nothing but one. */
export function withoutSummary(content: unknown): unknown {
  const text = plainText(content);
  if (text === null || text === undefined || !SUMMARY.test(text)) return content;
  const end = text.lastIndexOf(SUMMARY_END);
  const own = end < 0 ? "" : pyStrip(text.slice(end + SUMMARY_END.length));
  return own === "" ? undefined : own;
}

/** As today's and June's compactions begin one, and where one that was merged into a message ends. */
const SUMMARY = /^\s*(?:\[CONTEXT COMPACTION|\[CONTEXT SUMMARY\]:)/;
const SUMMARY_END = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---";

/** A message in the list of turns to go back to. */
export function userMessagePreview(content: unknown): string {
  // A list without text is a picture or the like; any other structure says nothing to a person.
  const text = Array.isArray(content) ? contentText(content) : (plainText(content) ?? "");
  const line = collapseWhitespace(text, 81);
  return codePointLength(line) > 80 ? `${takeCodePoints(line, 77)}...` : line;
}

/** Words with one blank between them, as Python's split and join give. Stops when it has `enough` code points. */
export function collapseWhitespace(text: string, enough = Number.POSITIVE_INFINITY): string {
  const words: string[] = [];
  let wordStart = -1;
  let length = -1; // the first word has no blank before it
  for (let at = 0; at <= text.length && length < enough; at += 1) {
    if (at < text.length && !isWhitespaceUnit(text.charCodeAt(at))) {
      if (wordStart < 0) wordStart = at;
    } else if (wordStart >= 0) {
      const word = text.slice(wordStart, at);
      words.push(word);
      length += codePointLength(word) + 1;
      wordStart = -1;
    }
  }
  return words.join(" ");
}

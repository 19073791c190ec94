// Titles and previews: one line that identifies a session or a message. Titles are unique and numbered along a lineage (`kiln`,
// `kiln #2`, `kiln #3`).
import { codePointLength, isWhitespaceUnit, preview, pyStrip, takeCodePoints } from "../lib/index.ts";
import { contentText, plainText } from "../message/index.ts";
import { sessionError } from "./errors.ts";

export const MAX_TITLE_CHARS = 100;

/** The stored form of a title; null when nothing visible is left. Throws `title-too-long`. */
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

/** Like `sanitizeTitle`, but cuts a title that is too long. For titles that no user can be asked about. */
export function fittingTitle(title: string): string | null {
  return sanitizeTitle(cutTo(cleaned(title), MAX_TITLE_CHARS));
}

/** The title without one number at its end. */
export function baseOfTitle(title: string): string {
  return NUMBERED.exec(title)?.[1] ?? title;
}

/** The number of the title among the titles of the base: 1 for the base itself, null when it belongs to another base. */
export function numberOfTitle(base: string, title: string): number | null {
  if (title === base) return 1;
  const [, stem, digits] = NUMBERED.exec(title) ?? [];
  return stem === base ? Number(digits) : null;
}

/**
 * The next free title of a base. `existing`: the titles that equal the base (without a number at its end) or start with it and `
 * #`. A base that leaves no room for the number is cut, so a very long one may give a title that is taken: the caller then asks
 * again with that title as the base.
 */
export function nextTitle(base: string, existing: readonly string[]): string {
  const stem = baseOfTitle(base);
  if (existing.length === 0) return cutTo(stem, MAX_TITLE_CHARS);
  // The last number counts, also in `kiln #2 #3`: a number that is too high does no harm, a taken one does.
  const numbers = existing.map((title) => Number(NUMBERED.exec(title)?.[2] ?? 1));
  const suffix = ` #${numbers.reduce((highest, number) => Math.max(highest, number), 1) + 1}`;
  return cutTo(stem, MAX_TITLE_CHARS - suffix.length) + suffix;
}

// Control characters except white space; zero-width, direction and annotation marks.
const INVISIBLE =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffc\ufff9-\ufffb]/g;

// 15 digits are exact in a number; a longer run of digits is part of the name.
const NUMBERED = /^(.+) #(\d{1,15})$/su;

function cleaned(title: string): string {
  return collapseWhitespace(title.replace(INVISIBLE, "").toWellFormed());
}

function cutTo(text: string, count: number): string {
  return codePointLength(text) <= count ? text : pyStrip(takeCodePoints(text, count));
}

// ---- Previews ----
// Lengths are code points; a surrogate pair is never cut.

/** For a listing: the beginning of the first user message. Content without text gives "". */
export function sessionPreview(content: unknown): string {
  // Three characters more than are shown, like Hermes Agent's query: trailing blanks then do not count as cut text.
  const head = takeCodePoints(plainText(content) ?? "", 63);
  return preview(pyStrip(head.replace(/[\r\n]/g, " ")), 60);
}

/** The user's own text after a compaction summary; undefined for a message that is only a summary. */
export function withoutSummary(content: unknown): unknown {
  const text = plainText(content);
  if (text === null || text === undefined || !startsWithSummary(text)) return content;
  const end = text.lastIndexOf(SUMMARY_END);
  const own = end < 0 ? "" : pyStrip(text.slice(end + SUMMARY_END.length));
  return own === "" ? undefined : own;
}

/** How compaction summaries begin in old and new versions of Hermes Agent, and where one that was merged into a message ends. */
const SUMMARY = /^\s*(?:\[CONTEXT COMPACTION|\[CONTEXT SUMMARY\]:)/;
const SUMMARY_END = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---";

export function startsWithSummary(text: string): boolean {
  return SUMMARY.test(text);
}

/** For the list of turns that the user can go back to. */
export function userMessagePreview(content: unknown): string {
  // A list without text is a picture or the like; other structures have no readable preview.
  const text = Array.isArray(content) ? contentText(content) : (plainText(content) ?? "");
  const line = collapseWhitespace(text, 81);
  return codePointLength(line) > 80 ? `${takeCodePoints(line, 77)}...` : line;
}

/** Words joined by single blanks, like Python's split and join. Stops at `enough` code points. */
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

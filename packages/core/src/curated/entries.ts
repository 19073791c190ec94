// The list of entries in MEMORY.md and USER.md: how it is written, measured, searched and checked. Pure. Every other program
// that shares these files uses the same format and the same unit, the code point.
import {
  codePointLength,
  groupThousands,
  ok,
  percentOf,
  preview,
  pyStrip,
  type Result,
  sha256,
} from "../lib/index.ts";
import { type EntryMatch, type MemoryError, type MemoryTarget, refused } from "./types.ts";

// ---- File format ----

/** What separates two entries in a curated file. */
export const ENTRY_DELIMITER = "\n§\n";

export function fileNameOf(target: MemoryTarget): "MEMORY.md" | "USER.md" {
  return target === "user" ? "USER.md" : "MEMORY.md";
}

/** `text` has LF line ends. Pieces are stripped, empty ones dropped, order kept. */
export function parseEntries(text: string): string[] {
  return text
    .split(ENTRY_DELIMITER)
    .map(pyStrip)
    .filter((piece) => piece !== "");
}

/** The entries that a store works with: identical copies count once. */
export function distinctEntries(text: string): string[] {
  return withoutDuplicates(parseEntries(text));
}

/** No entries give an empty file; there is never a newline at the end. */
export function formatEntries(entries: readonly string[]): string {
  return entries.join(ENTRY_DELIMITER);
}

/** Exact text, first occurrence stays. */
export function withoutDuplicates(entries: readonly string[]): string[] {
  // Comparing is faster than hashing for lists of ordinary length: texts differ in length or in their first letters.
  if (entries.length > 64) return [...new Set(entries)];
  return entries.filter((entry, index) => entries.indexOf(entry) === index);
}

/** True when this text would be read back as something else once other entries stand around it. */
export function breaksFormat(content: string): boolean {
  return content.includes(ENTRY_DELIMITER) || content.endsWith("\n§");
}

/**
 * True when a file with these entries gives them back. An entry that ends with a lone section sign does not, unless it is the
 * last one. We refuse to write such a text, but an existing file may hold one.
 */
export function survivesReading(entries: readonly string[]): boolean {
  return entries.every((entry, index) => index === entries.length - 1 || !entry.endsWith("\n§"));
}

// ---- Budget ----

export type Budget = { readonly used: number; readonly limit: number };

const WARN_FROM_PERCENT = 80;

export function measure(entries: readonly string[], limit: number): Budget {
  return { used: codePointLength(formatEntries(entries)), limit };
}

export function isOver(budget: Budget): boolean {
  return budget.used > budget.limit;
}

/** `41/2,200` */
export function formatFraction({ used, limit }: Budget): string {
  return `${groupThousands(used)}/${groupThousands(limit)}`;
}

/** `1% — 41/2,200 chars` */
export function formatUsage(budget: Budget): string {
  return `${percentOf(budget.used, budget.limit)}% — ${formatFraction(budget)} chars`;
}

export function usageWarning(budget: Budget): string | undefined {
  const percent = percentOf(budget.used, budget.limit);
  if (percent < WARN_FROM_PERCENT) return undefined;
  return `${percent}% of the space is used (${formatFraction(budget)} chars). Merge related entries or remove stale ones soon.`;
}

// ---- Ids ----

// An id is the start of the SHA-256 of target and text, so the same text in the same target always has the same id.
const ID_CHARS = 8;

/** The short id of an entry, derived from its file and text. */
export function entryId(target: MemoryTarget, text: string): string {
  return entryHash(target, text).slice(0, ID_CHARS);
}

/** One id for each entry of a file. Where two begin with the same characters, all are long enough to tell them apart. */
export function entryIds(target: MemoryTarget, entries: readonly string[]): string[] {
  const hashes = entries.map((text) => entryHash(target, text));
  for (let chars = ID_CHARS; chars < 64; chars += 4) {
    const ids = hashes.map((hash) => hash.slice(0, chars));
    if (new Set(ids).size === new Set(hashes).size) return ids;
  }
  return hashes;
}

/** True for a text that has the form of an id, whether or not an entry has it. */
export function looksLikeId(text: string): boolean {
  return /^[0-9a-f]{8,64}$/.test(text);
}

export function hasId(target: MemoryTarget, text: string, id: string): boolean {
  return entryHash(target, text).startsWith(id);
}

function entryHash(target: MemoryTarget, text: string): string {
  return sha256(`${target}\0${text}`);
}

// ---- Finding an entry by a piece of its text ----

const PREVIEW_CHARS = 80;
const ECHO_CHARS = 1000; // the error repeats the search text, which may be megabytes long

/**
 * Index of the entry that equals `needle`, else of the one that contains it. Several that contain it are accepted only when
 * their texts are identical.
 */
export function findEntry(
  entries: readonly string[],
  needle: string,
  match?: EntryMatch,
): Result<number, MemoryError> {
  const equal = entries.indexOf(needle);
  if (equal >= 0) return ok(equal);
  if (match !== undefined) {
    const message = `The entry '${preview(needle, PREVIEW_CHARS)}' is not stored any more. Nothing was changed.`;
    return refused({ kind: "no_match", message });
  }
  const found = entries.flatMap((entry, index) => (entry.includes(needle) ? [{ entry, index }] : []));
  const first = found[0];
  const asked = preview(needle, ECHO_CHARS);
  if (!first) return refused({ kind: "no_match", message: `No entry matched '${asked}'.` });
  if (found.some(({ entry }) => entry !== first.entry)) {
    return refused({
      kind: "ambiguous",
      message: `Multiple entries matched '${asked}'. Be more specific.`,
      matches: found.map(({ entry }) => preview(entry, PREVIEW_CHARS)),
      entries: found.map(({ entry }) => entry),
    });
  }
  return ok(first.index);
}

// ---- Drift: content that a rewrite would destroy, or that none of our programs would have written ----

export type Drift =
  | { readonly kind: "oversized"; readonly chars: number; readonly limit: number }
  | { readonly kind: "unparsed_append" };

/**
 * `text` has LF line ends. Extra whitespace and empty pieces around delimiters come from editing by hand; a rewrite tidies them
 * and loses nothing. Two things do stop a rewrite: an entry longer than the whole file may be (text pasted in without
 * delimiters), and a blank line before a delimiter but none after it (a program appended to the file without reading it, and so
 * did not know where the last entry ended).
 */
export function findDrift(text: string, limit: number): Drift | undefined {
  for (const entry of parseEntries(text)) {
    const chars = codePointLength(entry);
    if (chars > limit) return { kind: "oversized", chars, limit };
  }
  return hasUnparsedAppend(pyStrip(text)) ? { kind: "unparsed_append" } : undefined;
}

// Only the whitespace next to the delimiter matters; cutting keeps the two expressions cheap on any text.
const NEAR_DELIMITER_UNITS = 200;

function hasUnparsedAppend(text: string): boolean {
  const pieces = text.split(ENTRY_DELIMITER);
  return pieces.some((piece, index) => {
    const next = pieces[index + 1];
    return (
      next !== undefined &&
      pyStrip(piece) !== "" &&
      /\n[^\S\n]*$/.test(piece.slice(-NEAR_DELIMITER_UNITS)) &&
      !/^[^\S\n]*(?:\n|$)/.test(next.slice(0, NEAR_DELIMITER_UNITS))
    );
  });
}

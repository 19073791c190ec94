// The file format of MEMORY.md and USER.md, shared with every other program that reads them.
import { pyStrip } from "../lib/index.ts";
import type { MemoryTarget } from "./types.ts";

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

/** No entries give an empty file; there is never a newline at the end. */
export function formatEntries(entries: readonly string[]): string {
  return entries.join(ENTRY_DELIMITER);
}

/** Exact text, first occurrence stays. */
export function withoutDuplicates(entries: readonly string[]): string[] {
  // Comparing beats hashing for lists of ordinary length: texts differ in length or in their first letters.
  if (entries.length > 64) return [...new Set(entries)];
  return entries.filter((entry, index) => entries.indexOf(entry) === index);
}

/** True when an entry with this text would come back as something else once other entries stand around it. */
export function breaksFormat(content: string): boolean {
  return content.includes(ENTRY_DELIMITER) || content.endsWith("\n§");
}

/**
 * True when a file with these entries gives them back. One that ends with a lone section sign does not, unless it is the
 * last: we refuse to write such a text, but a file may hold one already.
 */
export function survivesReading(entries: readonly string[]): boolean {
  return entries.every((entry, index) => index === entries.length - 1 || !entry.endsWith("\n§"));
}

// Finds archived entries by words. Pure.
import { codePointLength, preview } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import type { ArchivedEntry } from "./archive.ts";
import type { ScanOptions } from "./content-check.ts";
import { entryId } from "./entry-id.ts";
import type { MemoryTarget } from "./types.ts";

/** A tool answer stays in the conversation, so it is bounded. What is left out is counted. */
const MOST_ENTRIES = 20;
const MOST_CHARS = 6000;
const MOST_ENTRY_CHARS = 4000;

/** Letter case aside; every word has to occur somewhere in the text. No words: everything. */
export function withAllWords<Entry extends { readonly text: string }>(
  entries: readonly Entry[],
  query: string,
): Entry[] {
  const words = wordsOf(query);
  return entries.filter(({ text }) => countIn(text, words) === words.length);
}

/** Those with all words, newest first; where there are none, those with some of them, the most first. */
function rankArchived<Entry extends { readonly text: string }>(
  entries: readonly Entry[],
  query: string,
): { readonly hits: readonly Entry[]; readonly matched: "all" | "some" } {
  const all = withAllWords(entries, query).reverse();
  const words = wordsOf(query);
  if (all.length > 0 || words.length < 2) return { hits: all, matched: "all" };
  const counted = entries.map((entry) => ({ entry, count: countIn(entry.text, words) })).reverse();
  const some = counted.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  return { hits: some.map(({ entry }) => entry), matched: "some" };
}

/** The answer of the `memory` tool. What the scanner objects to is left out, as it is from the prompt. */
export function archiveJson(
  target: MemoryTarget,
  archived: readonly ArchivedEntry[],
  query: string,
  scan: ScanOptions,
): object {
  const { hits, matched } = rankArchived(archived, query);
  const shown: object[] = [];
  let chars = 0;
  for (const entry of hits) {
    const text = textShown(entry.text, scan);
    chars += codePointLength(text);
    if (shown.length > 0 && (shown.length === MOST_ENTRIES || chars > MOST_CHARS)) break;
    shown.push({ id: entryId(target, entry.text), archive_id: entry.id, archived_at: entry.time, text });
  }
  return {
    success: true,
    target,
    query,
    archived: shown,
    count: shown.length,
    total_matches: hits.length,
    archive_size: archived.length,
    message: messageOf(query, { hits: hits.length, shown: shown.length, archived: archived.length, matched }),
  };
}

function messageOf(
  query: string,
  { hits, shown, archived, matched }: { hits: number; shown: number; archived: number; matched: string },
): string {
  if (archived === 0) return "The archive of this target is empty.";
  if (hits === 0) return `None of the ${archived} archived entries has a word of '${preview(query, 80)}'.`;
  const which = matched === "some" ? " None has all the words; these have some of them." : "";
  const more = shown < hits ? ` ${hits - shown} more are left out; narrow the query.` : "";
  return `${shown} of ${archived} archived entries, newest first.${which}${more} To have one in the prompt again, 'add' its text.`;
}

function textShown(text: string, scan: ScanOptions): string {
  const ids = scanThreats(text, "strict", scan).map(({ id }) => id);
  if (ids.length === 0) return preview(text, MOST_ENTRY_CHARS);
  return `[BLOCKED: archived entry contained threat pattern(s): ${ids.join(", ")}. The user can see it with 'hermes memory archive list --full'.]`;
}

function wordsOf(query: string): string[] {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

function countIn(text: string, words: readonly string[]): number {
  const lower = text.toLowerCase();
  return words.filter((word) => lower.includes(word)).length;
}

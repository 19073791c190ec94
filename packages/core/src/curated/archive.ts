// The archive of one target: entries that made room for newer ones. A file of JSON lines that is only appended to; restoring an
// entry appends a line that says so. Below the class: searching it by words for the `memory` tool.
import { appendJsonLines, codePointLength, preview, randomHex, readJsonLines } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import type { ScanOptions } from "./entries.ts";
import { entryId } from "./entries.ts";
import { isTime, isToken } from "./journal.ts";
import { targetPaths } from "./memory-file.ts";
import { MEMORY_TARGETS, type MemoryTarget, type WriteOrigin } from "./types.ts";

/** An entry that left a full file and is still searchable. */
export type ArchivedEntry = {
  readonly id: string;
  readonly time: string;
  readonly text: string;
  readonly origin: WriteOrigin;
  readonly sessionId?: string;
};

type ArchiveLine = ArchivedEntry | { readonly restored: string; readonly time: string };

export class Archive {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Oldest first, without restored entries. */
  entries(): ArchivedEntry[] {
    const archived = new Map<string, ArchivedEntry>();
    for (const line of readJsonLines(this.#path).values.flatMap(readLine)) {
      archived.delete("restored" in line ? line.restored : line.id);
      if (!("restored" in line)) archived.set(line.id, line);
    }
    return [...archived.values()];
  }

  /** On disk before this returns: the caller is about to remove these entries from the file. */
  add(texts: readonly string[], meta: { time: string; origin: WriteOrigin; sessionId?: string }): void {
    const { time, origin, sessionId: session } = meta;
    const lines = texts.map((text) => ({ id: randomHex(4), time, text, origin, session }));
    appendJsonLines(this.#path, lines, { isDurable: true });
  }

  /** Notes that entries with these texts are in the file again. */
  take(texts: readonly string[], time: string): void {
    const found = texts.length === 0 ? [] : this.entries().filter(({ text }) => texts.includes(text));
    if (found.length === 0) return;
    const lines = found.map(({ id }) => ({ restored: id, time }));
    appendJsonLines(this.#path, lines);
  }
}

/** Whether the memory tool offers to search the archive: entries go there, or some are in it. An unreadable one says so when asked. */
export function hasArchive(dir: string, overflow?: "refuse" | "archive"): boolean {
  if (overflow === "archive") return true;
  return MEMORY_TARGETS.some((target) => {
    const { archive } = targetPaths(dir, target);
    try {
      return new Archive(archive).entries().length > 0;
    } catch {
      return true;
    }
  });
}

function readLine(value: unknown): ArchiveLine[] {
  if (typeof value !== "object" || value === null) return [];
  const line = value as Record<string, unknown>;
  const time = isTime(line.time) ? line.time : new Date(0).toISOString();
  if (typeof line.restored === "string") return [{ restored: line.restored, time }];
  if (!isToken(line.id) || typeof line.text !== "string") return [];
  return [
    {
      id: line.id,
      time,
      text: line.text,
      origin: (isToken(line.origin) ? line.origin : "tool") as WriteOrigin,
      sessionId: typeof line.session === "string" ? line.session : undefined,
    },
  ];
}

// ---- Search ----

/** A tool answer stays in the conversation, so it is bounded. The message counts the entries left out. */
const MOST_ENTRIES = 20;
const MOST_CHARS = 6000;
const MOST_ENTRY_CHARS = 4000;

/** Entries whose text contains every word, ignoring case. All entries when there are no words. */
export function withAllWords<Entry extends { readonly text: string }>(
  entries: readonly Entry[],
  query: string,
): Entry[] {
  const words = wordsOf(query);
  return entries.filter(({ text }) => countWordsIn(text, words) === words.length);
}

/** Those with all words, the last ones first; if there are none, those with some of the words, the most words first. */
export function rankByWords<Entry extends { readonly text: string }>(
  entries: readonly Entry[],
  query: string,
): { readonly hits: readonly Entry[]; readonly matched: "all" | "some" } {
  const all = withAllWords(entries, query).reverse();
  const words = wordsOf(query);
  if (all.length > 0 || words.length < 2) return { hits: all, matched: "all" };
  const counted = entries.map((entry) => ({ entry, count: countWordsIn(entry.text, words) })).reverse();
  const some = counted.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  return { hits: some.map(({ entry }) => entry), matched: "some" };
}

/** The answer of the `memory` tool. Texts in which the scanner finds something are left out, as they are from the prompt. */
export function archiveJson(
  target: MemoryTarget,
  archived: readonly ArchivedEntry[],
  query: string,
  scan: ScanOptions,
): object {
  const { hits, matched } = rankByWords(archived, query);
  const shown: object[] = [];
  let chars = 0;
  for (const entry of hits) {
    const text = shownText(entry.text, scan);
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
    message: searchMessage(query, {
      hits: hits.length,
      shown: shown.length,
      archived: archived.length,
      matched,
    }),
  };
}

function searchMessage(
  query: string,
  { hits, shown, archived, matched }: { hits: number; shown: number; archived: number; matched: string },
): string {
  if (archived === 0) return "The archive of this target is empty.";
  if (hits === 0) return `None of the ${archived} archived entries has a word of '${preview(query, 80)}'.`;
  const which = matched === "some" ? " None has all the words; these have some of them." : "";
  const more = shown < hits ? ` ${hits - shown} more are left out; narrow the query.` : "";
  return `${shown} of ${archived} archived entries, newest first.${which}${more} To have one in the prompt again, 'add' its text.`;
}

function shownText(text: string, scan: ScanOptions): string {
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

function countWordsIn(text: string, words: readonly string[]): number {
  const lower = text.toLowerCase();
  return words.filter((word) => lower.includes(word)).length;
}

// What happens to entries before they are stored: the product is renamed in them, and they are merged into a file with a limit. Pure.
// Lengths are code points.
import { codePointLength, pyStrip } from "@hermes-memory/core/internal/lib";
import { collapsed, type IncomingEntry, SPACE, WORD } from "../transcripts/kit/markdown.ts";

const BRAND = new RegExp(`(?<!${WORD})(?:open(?:${SPACE}|-)?claw|clawdbot|moltbot)(?!${WORD})`, "giu");
/** A URL would lead nowhere and a command would fail under another name. (The scheme is bounded: a long word would take minutes.) */
const KEPT = /`[^`\n]*`|[a-z][a-z0-9+.-]{0,30}:\/\/[^\s<>"')\]]+/giu;

/** OpenClaw and its older names become Hermes. URLs and code in backticks stay. */
export function rebranded(text: string): string {
  let result = "";
  let at = 0;
  for (const kept of text.matchAll(KEPT)) {
    result += renamed(text.slice(at, kept.index)) + kept[0];
    at = kept.index + kept[0].length;
  }
  return result + renamed(text.slice(at));
}

function renamed(text: string): string {
  return text.replace(BRAND, (name) => (name === name.toLowerCase() ? "hermes" : "Hermes"));
}

// ---- Merging ----

export type Merge = {
  /** In the order of the source. */
  readonly added: readonly string[];
  readonly overflowed: readonly string[];
  readonly duplicates: number;
  readonly finalChars: number;
};

const DELIMITER_CHARS = 3;

/** Existing entries stay as they are. A later, shorter entry may fit where an earlier one did not. */
export function mergeEntries(
  existing: readonly string[],
  incoming: readonly IncomingEntry[],
  limit: number,
): Merge {
  const present = new Set(existing.map(collapsed));
  const candidates: { readonly text: string; readonly priority: number; readonly at: number }[] = [];
  let duplicates = 0;
  for (const [at, { text, priority = 0 }] of incoming.entries()) {
    const key = collapsed(text);
    if (key === "") continue;
    if (present.has(key)) duplicates += 1;
    else candidates.push({ text: pyStrip(text), priority, at });
    present.add(key);
  }
  let used = existing.reduce((sum, entry) => sum + codePointLength(entry), 0);
  used += Math.max(0, existing.length - 1) * DELIMITER_CHARS;
  let count = existing.length;
  const fitting = new Set<number>();
  for (const { text, at } of candidates.toSorted((a, b) => b.priority - a.priority)) {
    const next = used + codePointLength(text) + (count > 0 ? DELIMITER_CHARS : 0);
    if (next > limit) continue;
    used = next;
    count += 1;
    fitting.add(at);
  }
  return {
    added: candidates.filter(({ at }) => fitting.has(at)).map(({ text }) => text),
    overflowed: candidates.filter(({ at }) => !fitting.has(at)).map(({ text }) => text),
    duplicates,
    finalChars: used,
  };
}

// Turns Markdown notes into entries by the rules of Hermes' own migration, renames the product in them, and merges them into a
// file with a limit. Pure. Lengths are code points and whitespace is Python's, as in every program that shares these files.
import { codePointLength, pyStrip } from "@hermes-memory/core/internal/lib";

const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const HEADING = new RegExp(`^(#{1,6})${SPACE}+(.+)$`, "su");
const BULLET = new RegExp(`^(?:[-*]|\\p{Nd}+\\.)${SPACE}+(.+)$`, "su");
const SPACES = new RegExp(`${SPACE}+`, "g");
const WORD = "[\\p{L}\\p{N}_]";
/** Headings that only name the file. */
export const FILE_NAME = new RegExp(
  `(?<!${WORD})(?:MEMORY|USER|SOUL|AGENTS|TOOLS|IDENTITY)\\.md(?!${WORD})`,
  "iu",
);

/** The entries of a Markdown text. Fenced code and tables are left out: `hasDroppedText` says so. */
export function markdownEntries(markdown: string): string[] {
  const found: string[] = [];
  const headings: string[] = [];
  let paragraph: string[] = [];
  let isFenced = false;
  const add = (text: string): void => {
    const prefix = headings.filter((heading) => !FILE_NAME.test(heading)).join(" > ");
    found.push(prefix === "" ? text : `${prefix}: ${text}`);
  };
  const flush = (): void => {
    if (paragraph.length > 0) add(paragraph.join(" "));
    paragraph = [];
  };
  for (const line of markdown.split(LINE_END).map(pyStrip)) {
    const heading = HEADING.exec(line);
    const bullet = BULLET.exec(line);
    if (line.startsWith("```")) {
      isFenced = !isFenced;
      flush();
    } else if (isFenced) {
      // Hermes leaves code out.
    } else if (heading) {
      flush();
      // The depth is the number of open headings, not their level: `# A`, `### C`, `### D` nest three deep.
      headings.length = Math.min(headings.length, (heading[1] ?? "").length - 1);
      headings.push(heading[2] ?? "");
    } else if (bullet) {
      flush();
      add(bullet[1] ?? "");
    } else if (line === "" || isTableRow(line)) {
      flush();
    } else {
      paragraph.push(line);
    }
  }
  flush();
  return withoutRepeats(found);
}

/** True when `markdownEntries` leaves out fenced code or a table. */
export function hasDroppedText(markdown: string): boolean {
  return markdown
    .split(LINE_END)
    .map(pyStrip)
    .some((line) => line.startsWith("```") || isTableRow(line));
}

function isTableRow(line: string): boolean {
  return line.startsWith("|") && line.endsWith("|");
}

/** First occurrence stays; texts that differ only in whitespace count as the same. */
function withoutRepeats(entries: readonly string[]): string[] {
  const seen = new Set<string>();
  return entries.map(pyStrip).filter((entry) => {
    const key = collapsed(entry);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

export function collapsed(text: string): string {
  return pyStrip(text.replace(SPACES, " "));
}

// ---- Renaming the product ----

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

export type IncomingEntry = {
  readonly text: string;
  /** When space is short, entries with a higher number come first; 0 by default. */
  readonly priority?: number;
};

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

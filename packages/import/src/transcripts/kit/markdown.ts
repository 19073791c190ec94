// The reader of Markdown notes. Lines become entries by the rules of Hermes' own migration (`compat`, fixed by golden vectors), or by
// rules that keep nesting, continuation lines, code and tables and know the marks that OpenClaw adds to promoted entries (`smart`).
import { ENTRY_DELIMITER, parseEntries } from "@hermes-memory/core/internal/curated";
import { normalizeNewlines, pyStrip } from "@hermes-memory/core/internal/lib";

export type MarkdownRules = "compat" | "smart";

export type IncomingEntry = {
  readonly text: string;
  /** When space is short, entries with a higher number come first; 0 by default. */
  readonly priority?: number;
};

/** Python's whitespace, as in every program that shares the files of memory. */
export const SPACE =
  "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const SPACES = new RegExp(`${SPACE}+`, "g");
export const WORD = "[\\p{L}\\p{N}_]";
/** Headings that only name the file. */
const FILE_NAME = new RegExp(`(?<!${WORD})(?:MEMORY|USER|SOUL|AGENTS|TOOLS|IDENTITY)\\.md(?!${WORD})`, "iu");

/** The key by which two entries count as the same. */
export function collapsed(text: string): string {
  return pyStrip(text.replace(SPACES, " "));
}

// ---- Lines ----

export type Line = {
  readonly kind: "code" | "heading" | "bullet" | "rule" | "table" | "blank" | "text";
  readonly raw: string;
  /** Without the mark in front and without blanks around it. */
  readonly text: string;
  /** Of a heading: 1 to 6. Of other lines: the columns before the text. */
  readonly depth: number;
};

const HEADING = new RegExp(`^(#{1,6})${SPACE}+(.+)$`, "su");
const RULE = /^(?:-[ \t]*){3,}$|^(?:\*[ \t]*){3,}$|^(?:_[ \t]*){3,}$/;
const MARKS = {
  compat: {
    lineEnd: /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/, // Python's
    fence: /^```/,
    bullet: new RegExp(`^(?:[-*]|\\p{Nd}+\\.)${SPACE}+(.+)$`, "su"),
  },
  smart: {
    lineEnd: /\r\n|\n|\r/,
    fence: /^(?:`{3,}|~{3,})/,
    bullet: new RegExp(`^(?:[-*+]|\\p{Nd}+[.)])${SPACE}+(.+)$`, "su"),
  },
} as const;
const TAB_COLUMNS = 4;

export function linesOf(markdown: string, rules: MarkdownRules = "smart"): Line[] {
  const marks = MARKS[rules];
  let fence: string | undefined;
  return markdown.split(marks.lineEnd).map((raw): Line => {
    const text = pyStrip(raw);
    const mark = marks.fence.exec(text)?.[0];
    if (fence !== undefined || mark !== undefined) {
      const isEnd = fence !== undefined && mark?.startsWith(fence) && (rules === "compat" || mark === text);
      fence = isEnd ? undefined : (fence ?? mark);
      return { kind: "code", raw, text, depth: 0 };
    }
    const [, level = "", title] = HEADING.exec(text) ?? [];
    if (title !== undefined) return { kind: "heading", raw, text: title, depth: level.length };
    const depth = columns(/^[ \t]*/.exec(raw)?.[0] ?? "");
    if (rules === "smart" && RULE.test(text)) return { kind: "rule", raw, text, depth };
    const item = marks.bullet.exec(text)?.[1];
    if (item !== undefined) return { kind: "bullet", raw, text: item, depth };
    const isTable = text.startsWith("|") && text.endsWith("|");
    return { kind: text === "" ? "blank" : isTable ? "table" : "text", raw, text, depth };
  });
}

function columns(indent: string): number {
  return [...indent].reduce((sum, character) => sum + (character === "\t" ? TAB_COLUMNS : 1), 0);
}

// ---- Entries ----

const FRONT_MATTER = /^---\n[\s\S]*?\n(?:---|\.\.\.)(?:\n|$)/;
const LABEL = /^\*\*[^*\n]+:\*\*|^\*\*[^*\n]+\*\*:/;

/** `fileName`: headings that only name the file, which are no part of an entry. */
export function markdownEntries(
  markdown: string,
  rules: MarkdownRules,
  fileName: RegExp = FILE_NAME,
): IncomingEntry[] {
  if (rules === "compat") return read(markdown, rules, fileName);
  const text = normalizeNewlines(markdown)
    .replace(/^\ufeff/, "")
    .replace(FRONT_MATTER, "");
  if (text.includes(ENTRY_DELIMITER)) return distinct(parseEntries(text).map(withMarks));
  return read(withoutLongComments(text), rules, fileName);
}

/** True when the compatible rules leave out fenced code or a table. */
export function hasDroppedText(markdown: string): boolean {
  return linesOf(markdown, "compat").some(({ kind }) => kind === "code" || kind === "table");
}

function read(text: string, rules: MarkdownRules, fileName: RegExp): IncomingEntry[] {
  const reader = new EntryReader(rules === "smart", fileName);
  for (const line of linesOf(text, rules)) reader.add(line);
  return distinct(reader.end());
}

/** First occurrence stays; texts that differ only in whitespace count as the same. */
function distinct(entries: readonly IncomingEntry[]): IncomingEntry[] {
  const byText = new Map<string, IncomingEntry>();
  for (const entry of entries) {
    const key = collapsed(entry.text);
    if (key !== "" && !byText.has(key)) byText.set(key, { ...entry, text: pyStrip(entry.text) });
  }
  return [...byText.values()];
}

type Open = {
  text: string;
  readonly indent: number;
  readonly isBullet: boolean;
  /** It began with `**Label:**`. Noted then: to test a text that still grows would copy it each time. */
  readonly isLabelled: boolean;
};

class EntryReader {
  readonly #isSmart: boolean;
  readonly #fileName: RegExp;
  readonly #done: IncomingEntry[] = [];
  #headings: { readonly level: number; readonly text: string }[] = [];
  /** The open bullets, outermost first. */
  #bullets: { readonly indent: number; readonly text: string }[] = [];
  #open: Open | undefined;

  constructor(isSmart: boolean, fileName: RegExp) {
    this.#isSmart = isSmart;
    this.#fileName = fileName;
  }

  add(line: Line): void {
    const isKept = this.#isSmart || (line.kind !== "code" && line.kind !== "table");
    if (line.kind === "heading") this.#heading(line);
    else if (line.kind === "bullet") this.#bullet(line);
    else if (line.kind === "text") this.#text(line);
    else if (line.kind === "rule" || !isKept) this.#close();
    else if (line.kind === "code") this.#append(line.raw.trimEnd(), "\n");
    else if (line.kind === "table") this.#append(line.text, "\n");
    else if (this.#open?.isBullet !== true) this.#close();
  }

  end(): IncomingEntry[] {
    this.#close();
    return this.#done;
  }

  #heading({ depth: level, text }: Line): void {
    this.#close();
    this.#bullets = [];
    // Hermes counts the open headings instead of their levels: `# A`, `### C`, `### D` nest three deep.
    this.#headings = this.#headings.filter((outer, at) => (this.#isSmart ? outer.level : at + 1) < level);
    this.#headings.push({ level, text: this.#isSmart ? withoutClosingMarks(text).replace(/:$/, "") : text });
  }

  #bullet({ depth: indent, text }: Line): void {
    this.#close();
    if (!this.#isSmart) {
      this.#start(text, { isBullet: true });
      this.#close();
      return;
    }
    this.#bullets = this.#bullets.filter((outer) => outer.indent < indent);
    const path = [...this.#bullets.map((outer) => outer.text), text].join(" > ");
    this.#bullets.push({ indent, text: withMarks(text).text });
    this.#start(path, { indent, isBullet: true });
  }

  #text({ depth: indent, text }: Line): void {
    const open = this.#open;
    const isContinued = open?.isBullet
      ? indent > open.indent
      : !this.#isSmart || !(open?.isLabelled || LABEL.test(text));
    if (open !== undefined && isContinued) this.#append(text, " ");
    else {
      this.#close();
      this.#bullets = [];
      this.#start(text, { indent });
    }
  }

  #append(text: string, separator: string): void {
    if (this.#open === undefined) this.#start(text, {});
    else this.#open.text += separator + text;
  }

  #start(text: string, { indent = 0, isBullet = false }): void {
    this.#open = { text, indent, isBullet, isLabelled: LABEL.test(text) };
  }

  #close(): void {
    if (this.#open === undefined) return;
    const entry = this.#isSmart ? withMarks(this.#open.text) : { text: this.#open.text };
    const named = this.#headings.map(({ text }) => text).filter((text) => !this.#fileName.test(text));
    const prefix = named.length === 0 ? "" : `${named.join(" > ")}: `;
    if (entry.text !== "") this.#done.push({ ...entry, text: prefix + entry.text });
    this.#open = undefined;
  }
}

// ---- Comments and marks ----

const IMPORTANCE = /<!--\s*importance:\s*(\d{1,2})\s*-->/i;
/** Where OpenClaw found a promoted fact: `Source: memory/2026-03-01.md#L3-L9`. */
const SOURCE_REFERENCE = /\(?\bSource: \S+#L\d+(?:-L?\d+)?\)?/g;

function withMarks(text: string): IncomingEntry {
  const plain = without(text, commentsIn(text));
  const references = [...plain.matchAll(SOURCE_REFERENCE)];
  const spans = references.map(({ index, 0: found }) => ({ from: index, to: index + found.length }));
  return { text: without(plain, spans).trim(), priority: Number(IMPORTANCE.exec(text)?.[1] ?? 0) };
}

/** Comments over several lines are removed; those on one line stay until the entry is complete, because they may rate it. */
function withoutLongComments(text: string): string {
  const isLong = ({ from, to }: Span): boolean => text.slice(from, to).includes("\n");
  return without(text, [...commentsIn(text)].filter(isLong));
}

// Loops instead of expressions such as /[ \t]*<!--[\s\S]*?-->/, which need the square of the length for many blanks or open comments.

type Span = { readonly from: number; readonly to: number };

/** A comment that does not end is text. */
function* commentsIn(text: string): Generator<Span> {
  for (let at = 0; ; ) {
    const from = text.indexOf("<!--", at);
    const end = from < 0 ? -1 : text.indexOf("-->", from + 4);
    if (end < 0) return;
    at = end + 3;
    yield { from, to: at };
  }
}

/** Without these parts and the blanks before them. */
function without(text: string, spans: Iterable<Span>): string {
  let rest = "";
  let at = 0;
  for (const { from, to } of spans) {
    rest += text.slice(at, blanksBefore(text, from, at));
    at = to;
  }
  return at === 0 ? text : rest + text.slice(at);
}

/** Where the blanks that end at `end` begin. */
function blanksBefore(text: string, end: number, first = 0): number {
  let at = end;
  while (at > first && (text[at - 1] === " " || text[at - 1] === "\t")) at -= 1;
  return at;
}

/** `## Title ##` */
function withoutClosingMarks(heading: string): string {
  let end = heading.length;
  while (heading[end - 1] === "#") end -= 1;
  const start = blanksBefore(heading, end);
  return start > 0 && start < end ? heading.slice(0, start) : heading;
}

// The second parser of Markdown notes (`migration.markdown_parser: smart`): keeps nesting, continuation lines, code and tables, and
// understands the marks that OpenClaw adds to promoted entries.
import { ENTRY_DELIMITER, parseEntries } from "@hermes-memory/core/internal/curated";
import { normalizeNewlines } from "@hermes-memory/core/internal/lib";
import { collapsed, FILE_NAME, type IncomingEntry } from "./markdown-entries.ts";

const FRONT_MATTER = /^---\n[\s\S]*?\n(?:---|\.\.\.)(?:\n|$)/;
const IMPORTANCE = /<!--\s*importance:\s*(\d{1,2})\s*-->/i;
/** Where OpenClaw found a promoted fact: `Source: memory/2026-03-01.md#L3-L9`. */
const SOURCE_REFERENCE = /\(?\bSource: \S+#L\d+(?:-L?\d+)?\)?/g;
const RULE = /^(?:-[ \t]*){3,}$|^(?:\*[ \t]*){3,}$|^(?:_[ \t]*){3,}$/;
const HEADING = /^(#{1,6})[ \t]+(\S.*)$/;
const BULLET = /^([ \t]*)(?:[-*+]|\p{Nd}+[.)])[ \t]+(\S.*)$/u;
const LABEL = /^\*\*[^*\n]+:\*\*|^\*\*[^*\n]+\*\*:/;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const TAB_COLUMNS = 4;

type Open = {
  text: string;
  readonly indent: number;
  readonly isBullet: boolean;
  /** It began with `**Label:**`. Noted then: to test a text that still grows would copy it each time. */
  readonly isLabelled: boolean;
};

/** `fileName`: headings that only name the file, which are no part of an entry. */
export function smartEntries(markdown: string, fileName: RegExp = FILE_NAME): IncomingEntry[] {
  const text = normalizeNewlines(markdown)
    .replace(/^\ufeff/, "")
    .replace(FRONT_MATTER, "");
  if (text.includes(ENTRY_DELIMITER)) return distinct(parseEntries(text).map((entry) => withMarks(entry)));
  const reader = new NotesReader(fileName);
  let fence: string | undefined;
  for (const line of withoutComments(text).split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      reader.verbatim(line);
      const isClosing = mark?.startsWith(fence) && line.trim() === mark;
      if (isClosing) fence = undefined;
    } else if (mark !== undefined) {
      fence = mark;
      reader.verbatim(line);
    } else {
      reader.line(line);
    }
  }
  return distinct(reader.end());
}

class NotesReader {
  readonly #done: IncomingEntry[] = [];
  readonly #headings: { readonly level: number; readonly text: string }[] = [];
  /** The open bullets, outermost first. */
  #bullets: { readonly indent: number; readonly text: string }[] = [];
  #open: Open | undefined;
  readonly #fileName: RegExp;

  constructor(fileName: RegExp) {
    this.#fileName = fileName;
  }

  /** A line of a fenced block belongs to the entry before it. */
  verbatim(line: string): void {
    this.#append(line.trimEnd(), "\n");
  }

  line(line: string): void {
    const trimmed = line.trim();
    const heading = HEADING.exec(trimmed);
    const bullet = BULLET.exec(line);
    if (RULE.test(trimmed)) this.#close();
    else if (heading) this.#heading((heading[1] ?? "").length, withoutClosingMarks(heading[2] ?? ""));
    else if (bullet) this.#bullet(columns(bullet[1] ?? ""), bullet[2] ?? "");
    else if (trimmed === "") this.#blank();
    else if (trimmed.startsWith("|") && trimmed.endsWith("|")) this.#append(trimmed, "\n");
    else this.#text(line, trimmed);
  }

  end(): IncomingEntry[] {
    this.#close();
    return this.#done;
  }

  #heading(level: number, text: string): void {
    this.#close();
    this.#bullets = [];
    while ((this.#headings.at(-1)?.level ?? 0) >= level) this.#headings.pop();
    this.#headings.push({ level, text: text.replace(/:$/, "") });
  }

  #bullet(indent: number, text: string): void {
    this.#close();
    this.#bullets = this.#bullets.filter((outer) => outer.indent < indent);
    const path = [...this.#bullets.map((outer) => outer.text), text].join(" > ");
    this.#bullets.push({ indent, text: marksOf(text).text });
    this.#start(path, indent, true);
  }

  #blank(): void {
    if (this.#open?.isBullet !== true) this.#close();
  }

  #text(line: string, trimmed: string): void {
    const indent = columns(/^[ \t]*/.exec(line)?.[0] ?? "");
    const open = this.#open;
    const isContinued = open !== undefined && (open.isBullet ? indent > open.indent : !LABEL.test(trimmed));
    if (isContinued && (open.isBullet || !open.isLabelled)) this.#append(trimmed, " ");
    else {
      this.#close();
      this.#bullets = [];
      this.#start(trimmed, indent, false);
    }
  }

  #append(text: string, separator: string): void {
    if (this.#open === undefined) this.#start(text, 0, false);
    else this.#open.text += separator + text;
  }

  #start(text: string, indent: number, isBullet: boolean): void {
    this.#open = { text, indent, isBullet, isLabelled: LABEL.test(text) };
  }

  #close(): void {
    if (this.#open === undefined) return;
    const entry = withMarks(this.#open.text);
    const named = this.#headings.map(({ text }) => text).filter((text) => !this.#fileName.test(text));
    const prefix = named.length === 0 ? "" : `${named.join(" > ")}: `;
    if (entry.text !== "") this.#done.push({ ...entry, text: prefix + entry.text });
    this.#open = undefined;
  }
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

/** Comments over several lines are removed; those on one line stay until the entry is complete, because they may rate it. */
function withoutComments(text: string): string {
  const isLong = ({ from, to }: Span): boolean => text.slice(from, to).includes("\n");
  return without(text, [...commentsIn(text)].filter(isLong));
}

function withMarks(text: string): IncomingEntry {
  const { text: plain, importance } = marksOf(text);
  return { text: plain, priority: importance };
}

function marksOf(text: string): { readonly text: string; readonly importance: number } {
  const importance = Number(IMPORTANCE.exec(text)?.[1] ?? 0);
  const plain = without(text, commentsIn(text));
  const references = [...plain.matchAll(SOURCE_REFERENCE)];
  const spans = references.map(({ index, 0: found }) => ({ from: index, to: index + found.length }));
  return { text: without(plain, spans).trim(), importance };
}

function distinct(entries: readonly IncomingEntry[]): IncomingEntry[] {
  const byText = new Map<string, IncomingEntry>();
  for (const entry of entries) {
    const key = collapsed(entry.text);
    if (key !== "" && !byText.has(key)) byText.set(key, entry);
  }
  return [...byText.values()];
}

function columns(indent: string): number {
  return [...indent].reduce((sum, character) => sum + (character === "\t" ? TAB_COLUMNS : 1), 0);
}

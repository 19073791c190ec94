// Edits of a JSON document that keep every other byte: its parts with their offsets, and adding, replacing and removing one of them in
// the indentation of the file.
import { err, isRecord, ok, type Result } from "@hermes-memory/core/internal/lib";
import { DocumentSyntaxError, type SyntaxProblem } from "./config-edit.ts";

export type Style = {
  readonly unit: string;
  readonly newline: string;
  readonly isOneLine: boolean;
  readonly gap: string;
};

export function styleOf(text: string, root: JsonNode): Style {
  const first = root.members?.[0];
  const lead = first && text.slice(root.start + 1, first.start);
  const isOneLine = lead !== undefined && !lead.includes("\n");
  const unit = (lead?.includes("\n") && blanksBefore(lead)) || "  ";
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const isDense =
    isOneLine && first !== undefined && /":\S/.test(text.slice(first.start, first.value.start + 1));
  return { unit, newline, isOneLine, gap: isDense ? "" : " " };
}

/** The text with a last member in an object. */
export function appendMember(
  text: string,
  into: JsonNode,
  key: string,
  value: unknown,
  style: Style,
): string {
  return append(
    text,
    into,
    (shape, indent) => `${JSON.stringify(key)}:${style.gap}${render(value, shape, indent)}`,
    style,
  );
}

/** The text with a last item in an array. */
export function appendItem(text: string, into: JsonNode, value: unknown, style: Style): string {
  return append(text, into, (shape, indent) => render(value, shape, indent), style);
}

function append(
  text: string,
  into: JsonNode,
  part: (style: Style, indent: string) => string,
  style: Style,
): string {
  const own = indentAt(text, into.start);
  const parts = partsOf(into);
  const [first] = parts;
  const last = parts.at(-1);
  const lead = first ? text.slice(into.start + 1, first.start) : "";
  const isOneLine = first ? !lead.includes("\n") : style.isOneLine;
  const indent = first && !isOneLine ? blanksBefore(lead) : own + style.unit;
  const piece = part({ ...style, isOneLine }, indent);
  if (last) {
    const joint = isOneLine ? `,${style.gap}` : `,${style.newline}${indent}`;
    return splice(text, last.end, last.end, joint + piece);
  }
  const inside = text.slice(into.start + 1, into.end - 1);
  const line = isOneLine ? piece : `${style.newline}${indent}${piece}`;
  // A comment stays behind the new part.
  if (/\S/.test(inside)) return splice(text, into.start + 1, into.start + 1, line);
  return splice(text, into.start + 1, into.end - 1, isOneLine ? line : `${line}${style.newline}${own}`);
}

/** The text without one member or item, and without its comma. Undoes an append. */
export function withoutPart(text: string, from: JsonNode, index: number): string {
  const parts = partsOf(from);
  const part = parts[index];
  if (part === undefined) throw new Error("there is no such part");
  const before = parts[index - 1];
  const after = parts[index + 1];
  if (before) return splice(text, before.end, part.end, "");
  if (after) return splice(text, part.start, after.start, "");
  const lead = text.slice(from.start + 1, part.start);
  const tail = text.slice(part.end, from.end - 1);
  if (/\S/.test(lead)) return splice(text, part.start, part.end, ""); // a comment, whose line end must stay
  return splice(text, from.start + 1, /\S/.test(tail) ? part.end : from.end - 1, "");
}

function partsOf({ members, items }: JsonNode): readonly { readonly start: number; readonly end: number }[] {
  return members?.map(({ start, value }) => ({ start, end: value.end })) ?? items ?? [];
}

function blanksBefore(lead: string): string {
  return /^[ \t]*/.exec(lead.slice(lead.lastIndexOf("\n") + 1))?.[0] ?? "";
}

export function render(value: unknown, { unit, newline, isOneLine, gap }: Style, indent: string): string {
  if (isOneLine) return gap === "" ? JSON.stringify(value) : spaced(value);
  return JSON.stringify(value, null, unit).replaceAll("\n", `${newline}${indent}`);
}

/** `{"a": 1, "b": [2, 3]}` */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`)
    .join(", ")}}`;
}

/** The white space at the beginning of the line that contains the offset. */
export function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

export function splice(text: string, start: number, end: number, piece: string): string {
  return text.slice(0, start) + piece + text.slice(end);
}

// A JSON parser that keeps the offsets of every member. It judges neither numbers nor repeated keys: the file belongs to another
// program.

type JsonMember = { readonly key: string; readonly start: number; readonly value: JsonNode };
export type JsonNode = {
  readonly start: number;
  readonly end: number;
  /** Only of an object. */
  readonly members?: readonly JsonMember[];
  /** Only of an array. */
  readonly items?: readonly JsonNode[];
};

/** The parser is recursive, and no real config is nested deeper. */
const MAX_DEPTH = 500;
const WORD = /[-+.\w]*/y;
const PRIMITIVE = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** `relaxed`: with comments and commas behind the last part, which some programs allow in their settings. */
export function parseJsonDocument(
  text: string,
  grammar: "strict" | "relaxed" = "strict",
): Result<JsonNode, SyntaxProblem> {
  try {
    return ok(new Parser(text, grammar === "relaxed").document());
  } catch (cause) {
    if (cause instanceof DocumentSyntaxError) return err(cause.in(text));
    throw cause;
  }
}

/** The last one wins, as in every JSON parser. */
export function memberOf(node: JsonNode, key: string): JsonMember | undefined {
  return node.members?.findLast((member) => member.key === key);
}

class Parser {
  readonly #text: string;
  readonly #isRelaxed: boolean;
  #at = 0;

  constructor(text: string, isRelaxed: boolean) {
    this.#text = text;
    this.#isRelaxed = isRelaxed;
  }

  document(): JsonNode {
    if (this.#text.startsWith("\ufeff")) this.#at = 1;
    const node = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) this.#fail("there is something behind the end of the document");
    return node;
  }

  #value(depth: number): JsonNode {
    this.#skip();
    const start = this.#at;
    if (depth > MAX_DEPTH) this.#fail("the document is nested too deeply");
    switch (this.#text[start]) {
      case "{":
        return { start, members: this.#members(depth), end: this.#at };
      case "[":
        return { start, items: this.#items(depth), end: this.#at };
      case '"':
        this.#string();
        return { start, end: this.#at };
      default:
        this.#primitive();
        return { start, end: this.#at };
    }
  }

  #members(depth: number): JsonMember[] {
    const members: JsonMember[] = [];
    this.#list("}", () => {
      const start = this.#at;
      if (this.#text[start] !== '"') this.#fail("a key in double quotes is expected here");
      const key = this.#string();
      this.#skip();
      if (this.#text[this.#at] !== ":") this.#fail("':' is expected here");
      this.#at += 1;
      members.push({ key, start, value: this.#value(depth + 1) });
    });
    return members;
  }

  #items(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    this.#list("]", () => void items.push(this.#value(depth + 1)));
    return items;
  }

  #list(close: string, item: () => void): void {
    this.#at += 1;
    this.#skip();
    if (this.#text[this.#at] === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      this.#skip();
      item();
      this.#skip();
      const next = this.#text[this.#at];
      if (next !== "," && next !== close) this.#fail(`',' or '${close}' is expected here`);
      this.#at += 1;
      if (next === close) return;
      this.#skip();
      if (this.#isRelaxed && this.#text[this.#at] === close) {
        this.#at += 1;
        return;
      }
    }
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x22) break;
      if (Number.isNaN(code)) this.#fail("the document ends inside a string");
      if (code < 0x20) this.#fail("a control character inside a string has to be escaped");
      if (code === 0x5c) {
        ESCAPE.lastIndex = this.#at;
        if (!ESCAPE.test(this.#text)) this.#fail("there is no such escape");
        this.#at = ESCAPE.lastIndex;
      } else this.#at += 1;
    }
    this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #primitive(): void {
    WORD.lastIndex = this.#at;
    const [word = ""] = WORD.exec(this.#text) ?? [];
    if (!PRIMITIVE.test(word)) this.#fail("a value is expected here");
    this.#at += word.length;
  }

  #skip(): void {
    for (;;) {
      while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
      if (!this.#isRelaxed || !this.#skipComment()) return;
    }
  }

  #skipComment(): boolean {
    const isLine = this.#text.startsWith("//", this.#at);
    if (!isLine && !this.#text.startsWith("/*", this.#at)) return false;
    const end = this.#text.indexOf(isLine ? "\n" : "*/", this.#at + 2);
    if (end < 0 && !isLine) this.#fail("the comment has no end");
    this.#at = end < 0 ? this.#text.length : end + (isLine ? 1 : 2);
    return true;
  }

  #fail(reason: string): never {
    throw new DocumentSyntaxError(reason, this.#at);
  }
}

/** The value of a node, for a document that may have comments inside it. */
export function dataOf(text: string, { start, end, members, items }: JsonNode): unknown {
  if (members) return Object.fromEntries(members.map(({ key, value }) => [key, dataOf(text, value)]));
  return items ? items.map((item) => dataOf(text, item)) : JSON.parse(text.slice(start, end));
}

// A TOML parser that returns statements with their offsets, which is enough to change one table. Numbers and dates are checked for
// their form and kept as text.
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { DocumentSyntaxError, type SyntaxProblem, type TextRange } from "./config-edit.ts";

export type TomlStatement = {
  readonly kind: "table" | "array-table" | "pair";
  /** From the root: a pair carries the path of its table. */
  readonly path: readonly string[];
  /** Of its first line. */
  readonly start: number;
  /** After its last character and before a comment. */
  readonly end: number;
  /** Only of a pair. Texts, lists and inline tables are parsed; any other value is `{ raw }`. */
  readonly value?: { readonly start: number; readonly end: number; readonly data: unknown };
};

const MAX_DEPTH = 100;
const BARE_KEY = /[A-Za-z0-9_-]+/y;
const SCALAR = /[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?/y; // one space may separate a date and its time
const KNOWN_SCALAR =
  /^(?:true|false|[+-]?(?:inf|nan)|[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?|0x[\dA-Fa-f](?:_?[\dA-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\u001b",
  '"': '"',
  "\\": "\\",
};
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

export function parseTomlDocument(text: string): Result<readonly TomlStatement[], SyntaxProblem> {
  try {
    return ok(new Parser(text).document());
  } catch (cause) {
    if (cause instanceof DocumentSyntaxError) return err(cause.in(text));
    throw cause;
  }
}

/** The offsets of the items of a list. `start` is the offset of its bracket in a valid document. */
export function tomlItems(text: string, start: number): readonly TextRange[] {
  return new Parser(text, start).items();
}

class Parser {
  readonly #text: string;
  #at: number;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.#at = at;
  }

  document(): TomlStatement[] {
    if (this.#text.startsWith("\ufeff")) this.#at = 1;
    const statements: TomlStatement[] = [];
    const taken = new Map<string, "table" | "pair">();
    let table: readonly string[] = [];
    for (;;) {
      this.#skipLines();
      if (this.#at >= this.#text.length) return statements;
      const start = this.#at;
      const statement = this.#text[start] === "[" ? this.#header() : this.#pair(table, 0);
      if (statement.kind !== "pair") table = statement.path;
      refuseRepetition(statement, taken);
      statements.push({ ...statement, start: this.#text.lastIndexOf("\n", start - 1) + 1 });
      this.#endOfLine();
    }
  }

  items(): TextRange[] {
    const ranges: TextRange[] = [];
    this.#list(0, ranges);
    return ranges;
  }

  #header(): TomlStatement {
    const start = this.#at;
    const isArray = this.#text.startsWith("[[", start);
    this.#at += isArray ? 2 : 1;
    const path = this.#key();
    this.#expect(isArray ? "]]" : "]");
    return { kind: isArray ? "array-table" : "table", path, start, end: this.#at };
  }

  #pair(table: readonly string[], depth: number): TomlStatement {
    const start = this.#at;
    const key = this.#key();
    this.#expect("=");
    this.#skipBlanks();
    const valueStart = this.#at;
    const data = this.#value(depth);
    const value = { start: valueStart, end: this.#at, data };
    return { kind: "pair", path: [...table, ...key], start, end: this.#at, value };
  }

  #key(): string[] {
    const parts: string[] = [];
    do {
      if (parts.length > 0) this.#at += 1;
      this.#skipBlanks();
      const quote = this.#text[this.#at];
      if (quote === '"' || quote === "'") parts.push(this.#line(quote));
      else parts.push(this.#match(BARE_KEY) ?? this.#fail("a key is expected here"));
      this.#skipBlanks();
    } while (this.#text[this.#at] === ".");
    return parts;
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) this.#fail("the document is nested too deeply");
    const rest = this.#text.slice(this.#at, this.#at + 3);
    if (rest === '"""' || rest === "'''") return this.#block(rest);
    switch (rest[0]) {
      case '"':
      case "'":
        return this.#line(rest[0]);
      case "[":
        return this.#list(depth);
      case "{":
        return this.#inlineTable(depth);
      default: {
        const start = this.#at;
        const raw = this.#match(SCALAR);
        if (raw !== undefined && KNOWN_SCALAR.test(raw)) return { raw };
        this.#at = start;
        return this.#fail("a value is expected here; texts go into quotes");
      }
    }
  }

  #list(depth: number, ranges: TextRange[] = []): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    for (;;) {
      this.#skipLines();
      if (this.#text[this.#at] === "]") break;
      const start = this.#at;
      items.push(this.#value(depth + 1));
      ranges.push({ start, end: this.#at });
      this.#skipLines();
      if (this.#text[this.#at] === "]") break;
      this.#expect(",");
    }
    this.#at += 1;
    return items;
  }

  #inlineTable(depth: number): Record<string, unknown> {
    const table: Record<string, unknown> = {};
    this.#at += 1;
    for (;;) {
      this.#skipLines(); // TOML 1.1 allows several lines
      if (this.#text[this.#at] === "}") break;
      const { path, value } = this.#pair([], depth + 1);
      table[path.join(".")] = value?.data;
      this.#skipLines();
      if (this.#text[this.#at] === "}") break;
      this.#expect(",");
    }
    this.#at += 1;
    return table;
  }

  /** A text within one line. */
  #line(quote: string): string {
    this.#at += 1;
    let content = "";
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined || character === "\n") this.#fail("the text has no end on its line");
      if (character === quote) break;
      content += quote === '"' && character === "\\" ? this.#escape() : character;
      this.#at += 1;
    }
    this.#at += 1;
    return content;
  }

  /** A text over several lines. Its escapes are not resolved: only its end has to be found. */
  #block(quotes: string): string {
    const start = this.#at + 3;
    this.#at = start;
    for (;;) {
      if (this.#at >= this.#text.length) this.#fail("the document ends inside a text");
      if (this.#text.startsWith(quotes, this.#at)) break;
      if (quotes === '"""' && this.#text[this.#at] === "\\") this.#at += 1; // an escaped character cannot end the text
      this.#at += 1;
    }
    // Up to two more quotes belong to the text.
    let extra = 0;
    while (extra < 2 && this.#text[this.#at + 3] === quotes[0]) {
      this.#at += 1;
      extra += 1;
    }
    const content = this.#text.slice(start, this.#at);
    this.#at += 3;
    return content;
  }

  /** Stops on the last character of the escape. */
  #escape(): string {
    this.#at += 1;
    const letter = this.#text[this.#at] ?? "";
    const short = SHORT_ESCAPES[letter];
    if (short !== undefined) return short;
    const digits = HEX_ESCAPES[letter];
    const hex = this.#text.slice(this.#at + 1, this.#at + 1 + (digits ?? 0));
    const code = Number.parseInt(hex, 16);
    if (digits === undefined || !/^[\dA-Fa-f]+$/.test(hex) || hex.length < digits || code > 0x10ffff)
      this.#fail("there is no such escape; a single backslash is written as two");
    this.#at += hex.length;
    return String.fromCodePoint(code);
  }

  #skipBlanks(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1;
  }

  /** Blanks, line ends and comments. */
  #skipLines(): void {
    for (;;) {
      this.#skipBlanks();
      const character = this.#text[this.#at];
      if (character === "#") this.#at = this.#lineEnd();
      else if (character === "\n" || (character === "\r" && this.#text[this.#at + 1] === "\n")) this.#at += 1;
      else return;
    }
  }

  #endOfLine(): void {
    this.#skipBlanks();
    if (this.#text[this.#at] === "#") this.#at = this.#lineEnd();
    if (this.#at >= this.#text.length || /^\r?\n/.test(this.#text.slice(this.#at, this.#at + 2))) return;
    this.#fail("a statement ends with its line");
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#at);
    return end < 0 ? this.#text.length : end;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #expect(wanted: string): void {
    this.#skipBlanks();
    if (!this.#text.startsWith(wanted, this.#at)) this.#fail(`'${wanted}' is expected here`);
    this.#at += wanted.length;
  }

  #fail(reason: string): never {
    throw new DocumentSyntaxError(reason, this.#at);
  }
}

/** `taken` holds the paths of tables and values; nothing may follow below the path of a value. */
function refuseRepetition({ kind, path, start }: TomlStatement, taken: Map<string, "table" | "pair">): void {
  const id = JSON.stringify(path);
  const above = path.map((_part, index) => JSON.stringify(path.slice(0, index + 1)));
  const isBelowValue = above.some((each) => taken.get(each) === "pair");
  if (isBelowValue || (kind !== "array-table" && taken.has(id)))
    throw new DocumentSyntaxError(`'${path.join(".")}' is there for the second time`, start);
  if (kind === "array-table") {
    // A new element may repeat the keys of the element before it.
    for (const other of taken.keys()) if (other.startsWith(`${id.slice(0, -1)},`)) taken.delete(other);
  } else taken.set(id, kind);
}

// Edits one table of `mcp_servers` in the TOML config of Codex, and leaves every other byte unchanged.
import { isDeepStrictEqual } from "node:util";
import { err, isRecord, ok, type Result } from "@hermes-memory/core/lib";
import type { ServerLaunch } from "./clients.ts";
import {
  type ConfigEdit,
  DocumentSyntaxError,
  type EditFailure,
  type SyntaxProblem,
  type TextRange,
  type WordRanges,
} from "./config-edit.ts";
import { isOurs, type NamedLaunch, namedLaunch } from "./launch.ts";

const SERVERS = "mcp_servers";

export function setTomlServer(
  text: string,
  name: string,
  server: ServerLaunch,
): Result<ConfigEdit, EditFailure> {
  const opened = open(text, name);
  if (!opened.ok) return opened;
  const { statements, header } = opened.value;
  if (header === undefined) {
    // The file may have an `env` table of a server that has no table; then HERMES_HOME goes into that `env`.
    const isOrphaned = statements.some(({ path }) => isPath(path.slice(0, 2), [SERVERS, name]));
    const block = tomlBlock(name, isOrphaned ? { ...server, env: {} } : server, newlineOf(text));
    const added = append(text, block);
    return ok({ text: isOrphaned ? setHome(added, name, server.env.HERMES_HOME) : added, action: "added" });
  }
  const present = launchIn(statements, name);
  if (!isOurs(name, present)) return err({ kind: "foreign" });
  if (isSame(present, server)) return ok({ text, action: "unchanged" });
  const steps: ((text: string) => string)[] = [
    (now) => setKey(now, [SERVERS, name, "command"], tomlText(server.command)),
    (now) => setKey(now, [SERVERS, name, "args"], tomlList(server.args)),
    (now) => setHome(now, name, server.env.HERMES_HOME),
  ];
  const next = steps.reduce((now, step) => step(now), text);
  return ok({ text: next, action: "updated" });
}

export function removeTomlServer(text: string, name: string): Result<ConfigEdit, EditFailure> {
  const opened = open(text, name);
  if (!opened.ok) return opened;
  const { statements, header } = opened.value;
  if (header === undefined) return ok({ text, action: "absent" });
  if (!isOurs(name, launchIn(statements, name))) return err({ kind: "foreign" });
  // From the end, so that earlier offsets stay valid.
  const next = tablesOf(statements, name)
    .reverse()
    .reduce((now, [first, last]) => removeLines(now, first, last), text);
  return ok({ text: next, action: "removed" });
}

/** Servers that are local processes; those at an address have no command. One written without a table gets an `obstacle`. */
export function listTomlServers(text: string): Result<readonly NamedLaunch[], EditFailure> {
  const parsed = parseTomlDocument(text);
  if (!parsed.ok) return err({ kind: "syntax", ...parsed.error });
  const tables = parsed.value.filter(
    ({ kind, path }) => kind === "table" && path[0] === SERVERS && path.length === 2,
  );
  const names = new Set(tables.map(({ path: [, name = ""] }) => name));
  return ok([
    ...[...names].flatMap((name) => namedLaunch(name, launchIn(parsed.value, name))),
    ...withoutTable(text, parsed.value, names),
  ]);
}

/** Undefined when the entry has no `command` or no list of `args`. */
export function tomlWords(text: string, name: string): WordRanges | undefined {
  const parsed = parseTomlDocument(text);
  if (!parsed.ok) return undefined;
  const at = (key: string): TomlStatement["value"] =>
    parsed.value.find(({ kind, path }) => kind === "pair" && isPath(path, [SERVERS, name, key]))?.value;
  const command = at("command");
  const list = at("args");
  return command && list && Array.isArray(list.data)
    ? { command, list, items: tomlItems(text, list.start) }
    : undefined;
}

/** Servers written as inline tables or dotted keys. */
function withoutTable(
  text: string,
  statements: readonly TomlStatement[],
  tables: ReadonlySet<string>,
): NamedLaunch[] {
  const found = new Map<string, { readonly first: TomlStatement; command?: unknown; args?: unknown }>();
  for (const statement of statements) {
    if (statement.kind !== "pair" || statement.path[0] !== SERVERS) continue;
    for (const { path, data } of leavesOf(statement.path, statement.value?.data)) {
      const [, name = "", key] = path;
      if (tables.has(name) || path.length !== 3 || (key !== "command" && key !== "args")) continue;
      const server = found.get(name) ?? { first: statement };
      server[key] = data;
      found.set(name, server);
    }
  }
  return [...found].flatMap(([name, { first, ...server }]) =>
    namedLaunch(name, server).map((launch) => ({ ...launch, obstacle: notATable(text, first, name) })),
  );
}

function leavesOf(
  path: readonly string[],
  data: unknown,
): { readonly path: readonly string[]; readonly data: unknown }[] {
  if (!isRecord(data)) return [{ path, data }];
  return Object.entries(data).flatMap(([key, each]) => leavesOf([...path, ...key.split(".")], each));
}

/** The block that is appended, also shown in the docs. */
export function tomlBlock(name: string, { command, args, env }: ServerLaunch, newline = "\n"): string {
  const lines = [`[${SERVERS}.${name}]`, `command = ${tomlText(command)}`, `args = ${tomlList(args)}`];
  if (Object.keys(env).length > 0) lines.push(`env = ${tomlTable(env)}`);
  return lines.map((line) => `${line}${newline}`).join("");
}

type Opened = { readonly statements: readonly TomlStatement[]; readonly header: TomlStatement | undefined };

function open(text: string, name: string): Result<Opened, EditFailure> {
  const parsed = parseTomlDocument(text);
  if (!parsed.ok) return err({ kind: "syntax", ...parsed.error });
  const statements = parsed.value;
  const header = statements.find(({ kind, path }) => kind === "table" && isPath(path, [SERVERS, name]));
  // `mcp_servers = { ... }` and dotted keys are valid too, but a block cannot be appended to them.
  const other = statements.find(({ kind, path }, index) => {
    if (path[0] !== SERVERS || kind === "table") return false;
    if (path.length === 1 || isPath(path, [SERVERS, name])) return true;
    return kind === "pair" && path[1] === name && !isBelow(statements, index, name);
  });
  if (other === undefined) return ok({ statements, header });
  return err({ kind: "shape", reason: notATable(text, other, other.path[1]) });
}

function notATable(text: string, { start }: TomlStatement, name: string | undefined): string {
  const line = text.slice(0, start).split("\n").length;
  return `line ${line} writes '${[SERVERS, name].filter(Boolean).join(".")}' in another way than as a table`;
}

/** Whether the statement is inside a table of this server. */
function isBelow(statements: readonly TomlStatement[], index: number, name: string): boolean {
  const table = statements.slice(0, index).findLast(({ kind }) => kind !== "pair");
  return table?.path[0] === SERVERS && table.path[1] === name;
}

function launchIn(
  statements: readonly TomlStatement[],
  name: string,
): { command?: unknown; args?: unknown; home?: unknown } {
  const at = (...key: string[]): unknown =>
    statements.find(({ path, kind }) => kind === "pair" && isPath(path, [SERVERS, name, ...key]))?.value
      ?.data;
  const inline = at("env");
  const home = at("env", "HERMES_HOME") ?? (isRecord(inline) ? inline.HERMES_HOME : undefined);
  return { command: at("command"), args: at("args"), home };
}

function isSame(present: ReturnType<typeof launchIn>, server: ServerLaunch): boolean {
  const wanted = { command: server.command, args: server.args, home: server.env.HERMES_HOME };
  return isDeepStrictEqual({ ...present }, wanted);
}

/** Parses the text again, because the edit before this one has moved the offsets. */
function setKey(text: string, path: readonly string[], value: string): string {
  const statements = statementsOf(text);
  const pair = statements.find((each) => each.kind === "pair" && isPath(each.path, path));
  if (pair?.value) return text.slice(0, pair.value.start) + value + text.slice(pair.value.end);
  const table = path.slice(0, -1);
  const header = statements.find((each) => each.kind === "table" && isPath(each.path, table));
  if (!header) throw new Error(`there is no table ${table.join(".")}`);
  const end = lineEnd(text, header.end);
  const line = `${path.at(-1)} = ${value}${newlineOf(text)}`;
  return (
    text.slice(0, end) + (text.slice(0, end).endsWith("\n") ? "" : newlineOf(text)) + line + text.slice(end)
  );
}

/** Sets or removes HERMES_HOME where the file has the `env` of the server: inline table, dotted keys or a separate table. */
function setHome(text: string, name: string, home: string | undefined): string {
  const statements = statementsOf(text);
  const env = [SERVERS, name, "env"];
  const own = statements.find(({ kind, path }) => kind === "pair" && isPath(path, [...env, "HERMES_HOME"]));
  if (own?.value)
    return home === undefined ? removeLines(text, own, own) : setKey(text, own.path, tomlText(home));
  const inline = statements.find(({ kind, path }) => kind === "pair" && isPath(path, env));
  if (inline?.value && isRecord(inline.value.data)) {
    const { HERMES_HOME: _old, ...others } = inline.value.data;
    const next = { ...others, ...(home === undefined ? {} : { HERMES_HOME: home }) };
    return Object.keys(next).length === 0
      ? removeLines(text, inline, inline)
      : setKey(text, env, tomlTable(next));
  }
  if (home === undefined) return text;
  const hasTable = statements.some(({ kind, path }) => kind === "table" && isPath(path, env));
  if (hasTable) return setKey(text, [...env, "HERMES_HOME"], tomlText(home));
  const dotted = statements.findLast(({ kind, path }) => kind === "pair" && isPath(path.slice(0, 3), env));
  if (!dotted) return setKey(text, env, tomlTable({ HERMES_HOME: home }));
  const end = lineEnd(text, dotted.end);
  return `${text.slice(0, end)}env.HERMES_HOME = ${tomlText(home)}${newlineOf(text)}${text.slice(end)}`;
}

function statementsOf(text: string): readonly TomlStatement[] {
  const parsed = parseTomlDocument(text);
  if (!parsed.ok)
    throw new Error(`an edit broke the document: line ${parsed.error.line}: ${parsed.error.reason}`);
  return parsed.value;
}

/** First and last statement of the server's table and of each table below it. */
function tablesOf(statements: readonly TomlStatement[], name: string): [TomlStatement, TomlStatement][] {
  const tables: [TomlStatement, TomlStatement][] = [];
  let isInside = false;
  for (const statement of statements) {
    if (statement.kind !== "pair") {
      isInside = isPath(statement.path.slice(0, 2), [SERVERS, name]);
      if (isInside) tables.push([statement, statement]);
    } else if (isInside) tables[tables.length - 1] = [tables.at(-1)?.[0] ?? statement, statement];
  }
  return tables;
}

/** Removes whole lines, and one blank line in front of a table. A comment behind them stays: it belongs to the next table. */
function removeLines(text: string, first: TomlStatement, last: TomlStatement): string {
  const before = text.slice(0, first.start);
  const kept = first.kind === "pair" ? before : before.replace(/(^|\n)\r?\n$/, "$1");
  return kept + text.slice(lineEnd(text, last.end));
}

function append(text: string, block: string): string {
  if (text === "" || text === "\ufeff") return text + block;
  const newline = newlineOf(text);
  return `${text}${text.endsWith("\n") ? "" : newline}${newline}${block}`;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end + 1;
}

function newlineOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** TOML has the escapes of JSON, and requires DEL to be escaped as well. */
export function tomlText(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll("\u007f", "\\u007f");
}

function tomlList(texts: readonly string[]): string {
  return `[${texts.map(tomlText).join(", ")}]`;
}

function tomlTable(table: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(table).map(([key, value]) => {
    const name = /^[\w-]+$/.test(key) ? key : tomlText(key);
    return `${name} = ${tomlValue(value)}`;
  });
  return `{ ${pairs.join(", ")} }`;
}

function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (!isRecord(value)) return tomlText(String(value));
  return typeof value.raw === "string" ? value.raw : tomlTable(value);
}

function isPath(path: readonly string[], wanted: readonly string[]): boolean {
  return isDeepStrictEqual(path, wanted);
}

// A TOML parser that returns statements with their offsets, which is enough to change one table. Numbers and dates are checked for
// their form and kept as text.

type TomlStatement = {
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
function tomlItems(text: string, start: number): readonly TextRange[] {
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

// Edits one entry of `mcpServers` in a JSON config, in the indentation of the file, and leaves every other byte unchanged.
import { isDeepStrictEqual } from "node:util";
import { err, isRecord, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { ServerLaunch } from "./clients.ts";
import {
  type ConfigEdit,
  DocumentSyntaxError,
  type EditFailure,
  type SyntaxProblem,
  type WordRanges,
} from "./config-edit.ts";
import { isOurs, type NamedLaunch, namedLaunch } from "./launch.ts";

const SERVERS = "mcpServers";

type JsonServer = ServerLaunch & { readonly type?: "stdio" };

export function setJsonServer(
  text: string,
  name: string,
  server: JsonServer,
): Result<ConfigEdit, EditFailure> {
  const opened = open(text);
  if (!opened.ok) return opened;
  const { source, root, servers } = opened.value;
  const style = styleOf(source, root);
  if (servers === undefined) {
    const value = { [name]: merged({}, server) };
    return ok({ text: insert(source, root, SERVERS, value, style), action: "added" });
  }
  const found = memberOf(servers, name);
  if (found === undefined)
    return ok({ text: insert(source, servers, name, merged({}, server), style), action: "added" });
  const present: unknown = JSON.parse(source.slice(found.value.start, found.value.end));
  if (!isRecord(present) || !isOurs(name, present)) return err({ kind: "foreign" });
  const next = merged(present, server);
  if (isDeepStrictEqual(next, present)) return ok({ text, action: "unchanged" });
  const rendered = render(next, style, indentAt(source, found.start));
  return ok({ text: splice(source, found.value.start, found.value.end, rendered), action: "updated" });
}

export function removeJsonServer(text: string, name: string): Result<ConfigEdit, EditFailure> {
  const opened = open(text);
  if (!opened.ok) return opened;
  const { source, servers } = opened.value;
  const found = servers && memberOf(servers, name);
  if (!servers?.members || !found) return ok({ text, action: "absent" });
  const present: unknown = JSON.parse(source.slice(found.value.start, found.value.end));
  if (!isRecord(present) || !isOurs(name, present)) return err({ kind: "foreign" });
  const index = servers.members.indexOf(found);
  const before = servers.members[index - 1];
  const after = servers.members[index + 1];
  // Remove the comma to a neighbour as well, or, without neighbours, everything between the braces.
  const [start, end] = before
    ? [before.value.end, found.value.end]
    : after
      ? [found.start, after.start]
      : [servers.start + 1, servers.end - 1];
  return ok({ text: splice(source, start, end, ""), action: "removed" });
}

/** Servers that are local processes. Those at an address have no command. */
export function listJsonServers(text: string): Result<readonly NamedLaunch[], EditFailure> {
  const opened = open(text);
  if (!opened.ok) return opened;
  const { source, servers } = opened.value;
  const names = new Set(servers?.members?.map(({ key }) => key));
  return ok(
    [...names].flatMap((name) => {
      const found = servers && memberOf(servers, name);
      if (!found) return [];
      const entry: unknown = JSON.parse(source.slice(found.value.start, found.value.end));
      return isRecord(entry) ? namedLaunch(name, entry) : [];
    }),
  );
}

/** Undefined when the entry has no `command` or no list of `args`. */
export function jsonWords(text: string, name: string): WordRanges | undefined {
  const opened = open(text);
  const servers = opened.ok ? opened.value.servers : undefined;
  const entry = servers && memberOf(servers, name)?.value;
  const command = entry && memberOf(entry, "command")?.value;
  const list = entry && memberOf(entry, "args")?.value;
  return command && list?.items && { command, list, items: list.items };
}

type Opened = { readonly source: string; readonly root: JsonNode; readonly servers: JsonNode | undefined };

/** An empty file counts as one without servers. */
function open(text: string): Result<Opened, EditFailure> {
  const source = text.trim() === "" ? "{}\n" : text;
  const root = parseJsonDocument(source);
  if (!root.ok) return err({ kind: "syntax", ...root.error });
  if (root.value.members === undefined) return err({ kind: "shape", reason: "it holds no JSON object" });
  const servers = memberOf(root.value, SERVERS)?.value;
  if (servers !== undefined && servers.members === undefined)
    return err({ kind: "shape", reason: `its '${SERVERS}' is not a JSON object` });
  return ok({ source, root: root.value, servers });
}

/** Keeps what the user added to the entry, such as a timeout or an environment variable. */
function merged(present: Readonly<Record<string, unknown>>, server: JsonServer): Record<string, unknown> {
  const { HERMES_HOME: _old, ...others } = isRecord(present.env) ? present.env : {};
  const env = { ...others, ...server.env };
  const hasEnv = Object.keys(env).length > 0 || "env" in present;
  return {
    ...(server.type === undefined || "type" in present ? {} : { type: server.type }), // an existing one keeps its place
    ...present,
    command: server.command,
    args: [...server.args],
    ...(hasEnv ? { env: sortedLike(present.env, env) } : {}),
  };
}

/** Keys keep their order, so that an unchanged entry keeps its text. */
function sortedLike(present: unknown, env: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known = isRecord(present) ? Object.keys(present).filter((key) => key in env) : [];
  const keys = new Set([...known, ...Object.keys(env)]);
  return Object.fromEntries([...keys].map((key) => [key, env[key]]));
}

type Style = {
  readonly unit: string;
  readonly newline: string;
  readonly isOneLine: boolean;
  readonly gap: string;
};

function styleOf(text: string, root: JsonNode): Style {
  const first = root.members?.[0];
  const lead = first && text.slice(root.start + 1, first.start);
  const isOneLine = lead !== undefined && !lead.includes("\n");
  const unit = (lead?.includes("\n") && lead.slice(lead.lastIndexOf("\n") + 1)) || "  ";
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const isDense =
    isOneLine && first !== undefined && /":\S/.test(text.slice(first.start, first.value.start + 1));
  return { unit, newline, isOneLine, gap: isDense ? "" : " " };
}

function insert(text: string, into: JsonNode, key: string, value: unknown, style: Style): string {
  const own = indentAt(text, into.start);
  const last = into.members?.at(-1);
  const first = into.members?.[0];
  const lead = first ? text.slice(into.start + 1, first.start) : "";
  const isOneLine = first ? !lead.includes("\n") : style.isOneLine;
  const indent = first && !isOneLine ? lead.slice(lead.lastIndexOf("\n") + 1) : own + style.unit;
  const shape = { ...style, isOneLine };
  const member = `${JSON.stringify(key)}:${style.gap}${render(value, shape, indent)}`;
  if (last) {
    const joint = isOneLine ? `,${style.gap}` : `,${style.newline}${indent}`;
    return splice(text, last.value.end, last.value.end, joint + member);
  }
  const inner = isOneLine ? member : `${style.newline}${indent}${member}${style.newline}${own}`;
  return splice(text, into.start, into.end, `{${inner}}`);
}

function render(value: unknown, { unit, newline, isOneLine, gap }: Style, indent: string): string {
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
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function splice(text: string, start: number, end: number, piece: string): string {
  return text.slice(0, start) + piece + text.slice(end);
}

// A JSON parser that keeps the offsets of every member. It judges neither numbers nor repeated keys: the file belongs to another
// program.

type JsonMember = { readonly key: string; readonly start: number; readonly value: JsonNode };
type JsonNode = {
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

export function parseJsonDocument(text: string): Result<JsonNode, SyntaxProblem> {
  try {
    return ok(new Parser(text).document());
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
  #at = 0;

  constructor(text: string) {
    this.#text = text;
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
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #fail(reason: string): never {
    throw new DocumentSyntaxError(reason, this.#at);
  }
}

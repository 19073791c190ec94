// Edits one table of `mcp_servers` in the TOML config of Codex, and leaves every other byte unchanged.
import { isDeepStrictEqual } from "node:util";
import { err, isRecord, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { ServerLaunch } from "./clients.ts";
import type { ConfigEdit, EditFailure, WordRanges } from "./config-edit.ts";
import { isOurs, type NamedLaunch, namedLaunch } from "./launch.ts";
import { parseTomlDocument, type TomlStatement, tomlItems } from "./toml-document.ts";

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
    const added = appendBlock(text, block);
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
    const next = home === undefined ? others : { ...others, HERMES_HOME: home };
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
export function removeLines(text: string, first: TomlStatement, last: TomlStatement): string {
  const before = text.slice(0, first.start);
  const kept = first.kind === "pair" ? before : before.replace(/(^|\n)\r?\n$/, "$1");
  return kept + text.slice(lineEnd(text, last.end));
}

export function appendBlock(text: string, block: string): string {
  if (text === "" || text === "\ufeff") return text + block;
  const newline = newlineOf(text);
  return `${text}${text.endsWith("\n") ? "" : newline}${newline}${block}`;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end + 1;
}

export function newlineOf(text: string): string {
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

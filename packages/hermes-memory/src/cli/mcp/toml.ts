// TOML settings of other programs: ours is a block of whole tables. The package checks each text, and tells where a statement ends.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { parse, TomlError } from "smol-toml";
import {
  attempt,
  type ConfigEdit,
  EditError,
  newlineOf,
  shapeError,
  splice,
  type TextRange,
} from "./config-edit.ts";

/** In front of every block that we write. It has no end mark: Codex puts new tables before the last comment of a file. */
export const MARK = "# Written by 'hermes mcp install'; 'hermes mcp uninstall' removes it.";

type TomlData = Readonly<Record<string, unknown>>;

/** Whole lines. Several for a value over several lines. */
type TomlPair = TextRange & { readonly text: string; readonly data: TomlData };

/** The first one is the root, without header. */
type TomlTable = {
  readonly path: readonly string[];
  readonly isInArray: boolean;
  /** Of its mark or its header. */
  readonly start: number;
  /** Behind the header. */
  readonly inside: number;
  readonly pairs: readonly TomlPair[];
};

function parseToml(text: string): TomlData {
  try {
    return structuredClone(parse(text, { integersAsBigInt: true }));
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const { line, column, message } = cause;
    const [reason = ""] = message.replace("Invalid TOML document: ", "").split("\n");
    throw new EditError({ kind: "syntax", line, column, reason });
  }
}

/** Of a valid text. A statement is the fewest lines that are valid alone. */
function tablesOf(text: string): readonly TomlTable[] {
  let start = text.startsWith("\ufeff") ? 1 : 0;
  let end = start;
  let mark: number | undefined;
  let pairs: TomlPair[] = [];
  const tables: TomlTable[] = [{ path: [], isInArray: false, start, inside: start, pairs }];
  for (const line of text.slice(start).split(/(?<=\n)/)) {
    end += line.length;
    const statement = text.slice(start, end);
    const data = statementData(statement);
    if (data === undefined) continue;
    if (/^[ \t]*\[/.test(statement)) {
      pairs = [];
      tables.push({ ...headerOf(data), start: mark ?? start, inside: end, pairs });
    } else if (Object.keys(data).length > 0) pairs.push({ start, end, text: statement, data });
    mark = statement.trim() === MARK ? start : undefined;
    start = end;
  }
  return tables;
}

function statementData(text: string): TomlData | undefined {
  try {
    return parse(text, { integersAsBigInt: true });
  } catch {
    return undefined;
  }
}

/** `[a.b]` alone is `{ a: { b: {} } }`, and `[[a.b]]` is `{ a: { b: [{}] } }`. */
function headerOf(data: TomlData): { readonly path: readonly string[]; readonly isInArray: boolean } {
  const [found] = Object.entries(data);
  if (!found) return { path: [], isInArray: false };
  const [key, below] = found;
  if (!isRecord(below)) return { path: [key], isInArray: true };
  const { path, isInArray } = headerOf(below);
  return { path: [key, ...path], isInArray };
}

/** A file without a last line end gets a block without one, by which `withoutTables` knows it. */
function withBlock(text: string, block: string): string {
  if (text === "" || text === "\ufeff") return text + block;
  const newline = newlineOf(text);
  return text.endsWith("\n") ? `${text}${newline}${block}` : `${text}${newline}${newline}${block.trimEnd()}`;
}

/** Also without the blank line in front of each. A comment behind a table stays: it belongs to the next one. */
function withoutTables(text: string, tables: readonly TomlTable[]): string {
  return tables.reduceRight((now, { start, inside, pairs }) => {
    const end = pairs.at(-1)?.end ?? inside;
    const before = now.slice(0, start).replace(/(^|\n)\r?\n$/, "$1");
    const hasLineEnd = now[end - 1] === "\n";
    return hasLineEnd ? before + now.slice(end) : before.replace(/\r?\n$/, "");
  }, text);
}

// ---- The server in the config of Codex ----

const SERVERS = "mcp_servers";

/** What the file holds, and its servers. */
export function tomlServers(text: string): { readonly others: TomlData; readonly servers: TomlData } {
  const { [SERVERS]: servers = {}, ...others } = parseToml(text);
  if (!isRecord(servers)) throw shapeError(`its '${SERVERS}' is not a table`);
  return { others, servers };
}

/** With another entry, of which only the keys whose value differs are written; without it for `undefined`. */
export function withTomlServer(text: string, name: string, entry: TomlData | undefined): string {
  const { others, servers } = tomlServers(text);
  const { [name]: present, ...rest } = servers;
  let next = text;
  if (entry === undefined) next = withoutTables(text, tablesNamed(text, name));
  else if (!isRecord(present))
    next = withBlock(text, blockOf(`[${SERVERS}.${name}]`, entry, newlineOf(text)));
  else
    for (const [key, value] of Object.entries(entry))
      if (!isDeepStrictEqual(present[key], value)) next = withKey(next, name, key, value);
  return checked(next, tomlServers, {
    others,
    servers: entry === undefined ? rest : { ...rest, [name]: entry },
  });
}

/** Why a server cannot be edited. */
export function tomlObstacle(text: string, name: string): string | undefined {
  return mainTable(text, name) ? undefined : `it writes '${SERVERS}.${name}' in another way than as a table`;
}

/** The tables of a server: its own, and those below. */
function tablesNamed(text: string, name: string): readonly TomlTable[] {
  return tablesOf(text).filter(({ path }) => isDeepStrictEqual(path.slice(0, 2), [SERVERS, name]));
}

function mainTable(text: string, name: string): TomlTable | undefined {
  return tablesNamed(text, name).find(({ path, isInArray }) => path.length === 2 && !isInArray);
}

/** A text on one line. */
const STRING = String.raw`(?:"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')[^'\n]*')`;
const VALUE = new RegExp(
  String.raw`^(\s*[\w-]+\s*=\s*)(?:${STRING}|\[(?:${STRING}|#.*|[^\]"'#])*\]|\{(?:${STRING}|[^}"'#])*\})`,
);

/** Comments behind a value stay; those inside a list only while it keeps its length. A value in several lines of their own becomes one. */
function withKey(text: string, name: string, key: string, value: unknown): string {
  const pair = mainTable(text, name)?.pairs.find(({ data }) => key in data);
  if (pair && VALUE.test(pair.text)) return splice(text, pair, withValue(pair, key, value));
  const below = withoutTables(
    text,
    tablesNamed(text, name).filter(({ path }) => path[2] === key),
  );
  const { inside = 0, pairs = [] } = mainTable(below, name) ?? {};
  const cleared = pairs.reduceRight((now, each) => (key in each.data ? splice(now, each, "") : now), below);
  const newline = newlineOf(text);
  const line = `${key} = ${tomlValue(value)}`;
  return splice(
    cleared,
    { start: inside, end: inside },
    cleared[inside - 1] === "\n" ? line + newline : newline + line,
  );
}

function withValue({ text, data }: TomlPair, key: string, value: unknown): string {
  const old = data[key];
  if (!Array.isArray(old) || !Array.isArray(value) || old.length !== value.length)
    return text.replace(VALUE, (_all, lead: string) => lead + tomlValue(value));
  let at = -1;
  return text.replace(new RegExp(`#.*|${STRING}`, "g"), (part) => {
    if (!part.startsWith("#")) at += 1;
    return part.startsWith("#") || old[at] === value[at] ? part : tomlValue(value[at]);
  });
}

// ---- Hooks in the config of Kimi ----

const HOOKS = "hooks";

export type TomlHook = { readonly event: string; readonly command: string };

/** With the wanted hooks in place of ours; without any for an empty list. */
export function withTomlHooks(
  text: string,
  wanted: readonly TomlHook[],
  isOwn: (command: unknown) => boolean,
): ConfigEdit {
  const { others, hooks } = tomlHooks(text);
  const tables = tablesOf(text).filter(
    ({ path, isInArray }) => isInArray && isDeepStrictEqual(path, [HOOKS]),
  );
  if (hooks.length !== tables.length)
    throw shapeError(`it writes '${HOOKS}' in another way than as [[${HOOKS}]] tables`);
  const isOwnHook = (hook: unknown): boolean => isRecord(hook) && isOwn(hook.command);
  const own = hooks.filter(isOwnHook);
  if (isDeepStrictEqual(own, wanted)) return { text, action: wanted.length === 0 ? "absent" : "unchanged" };
  const rest = withoutTables(
    text,
    tables.filter((_table, at) => isOwnHook(hooks[at])),
  );
  const newline = newlineOf(text);
  // Any other key breaks the file for Kimi.
  const blocks = wanted.map((hook, at) => blockOf(`[[${HOOKS}]]`, hook, newline, at === 0));
  const next = wanted.length === 0 ? rest : withBlock(rest, blocks.join(newline));
  const left = hooks.filter((hook) => !isOwnHook(hook));
  return {
    text: checked(next, tomlHooks, { others, hooks: [...left, ...wanted] }),
    action: wanted.length === 0 ? "removed" : own.length > 0 ? "updated" : "added",
  };
}

export function tomlHooks(text: string): { readonly others: TomlData; readonly hooks: readonly unknown[] } {
  const { [HOOKS]: hooks = [], ...others } = parseToml(text);
  if (!Array.isArray(hooks)) throw shapeError(`its '${HOOKS}' is not a list of tables`);
  return { others, hooks };
}

// ---- Writing ----

function checked<T>(text: string, read: (text: string) => T, wanted: T): string {
  const content = attempt(() => read(text));
  if (content.ok && isDeepStrictEqual(content.value, wanted)) return text;
  throw shapeError("it is written in a way that this command cannot change");
}

function blockOf(header: string, data: TomlData, newline: string, isMarked = true): string {
  const lines = Object.entries(data).map(([key, value]) => `${key} = ${tomlValue(value)}`);
  return [...(isMarked ? [MARK] : []), header, ...lines].map((line) => line + newline).join("");
}

/** A text, a number, and a list or an inline table of them. TOML has the escapes of JSON, and requires DEL to be escaped as well. */
function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (isRecord(value) && Object.keys(value).length === 0) return "{}";
  if (isRecord(value))
    return `{ ${Object.entries(value)
      .map(([key, each]) => `${/^[\w-]+$/.test(key) ? key : tomlValue(key)} = ${tomlValue(each)}`)
      .join(", ")} }`;
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.toWellFormed()).replaceAll("\u007f", "\\u007f");
}

// Edits one table of `mcp_servers` in the TOML config of Codex.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { ServerLaunch } from "./clients.ts";
import { type ConfigEdit, EditError, newlineOf, shapeError, splice, type Words } from "./config-edit.ts";
import { isOurs } from "./launch.ts";
import {
  MARK,
  parseToml,
  STRING,
  type TomlData,
  type TomlTable,
  tablesOf,
  tomlValue,
  withBlock,
  withoutTables,
  withPairValue,
} from "./toml.ts";

export const TOML_SERVERS = "mcp_servers";

export function setTomlServer(text: string, name: string, server: ServerLaunch): ConfigEdit {
  const env = findEnv(text, name);
  if (!env) return { text: withBlock(text, blockOf(name, server, newlineOf(text))), action: "added" };
  const { command, args } = server;
  const next = withHome(withTomlWords(text, name, { command, args }), name, env, server.env[HOME]);
  return { text: next, action: next === text ? "unchanged" : "updated" };
}

export function removeTomlServer(text: string, name: string): ConfigEdit {
  if (!findEnv(text, name)) return { text, action: "absent" };
  return { text: withoutTables(text, tablesNamed(text, name)), action: "removed" };
}

/** Only the keys whose value differs are written. */
export function withTomlWords(text: string, name: string, words: Words): string {
  return Object.entries(words).reduce((now, [key, value]) => {
    const table = mainTable(now, name);
    const pair = table?.pairs.find(({ data }) => key in data);
    if (pair)
      return isDeepStrictEqual(pair.data[key], value)
        ? now
        : splice(now, pair, withPairValue(pair, key, value));
    return table ? withLine(now, table, `${key} = ${tomlValue(value)}`) : now;
  }, text);
}

/** Why a server cannot be edited. */
export function tomlObstacle(text: string, name: string): string | undefined {
  if (mainTable(text, name)) return undefined;
  const holder = tablesOf(text)
    .filter(({ path }) => path.length === 0 || isDeepStrictEqual(path, [TOML_SERVERS]))
    .flatMap(({ path, pairs }) =>
      pairs.map(({ data, start }) => ({ start, servers: path.length === 0 ? data[TOML_SERVERS] : data })),
    )
    .find(({ servers }) => isRecord(servers) && name in servers);
  const where = holder ? `line ${text.slice(0, holder.start).split("\n").length}` : "the file";
  return `${where} writes '${TOML_SERVERS}.${name}' in another way than as a table`;
}

/** The variables of a server of ours; undefined when the file has none of this name. */
function findEnv(text: string, name: string): TomlData | undefined {
  const servers = parseToml(text)[TOML_SERVERS] ?? {};
  if (!isRecord(servers)) throw shapeError(`its '${TOML_SERVERS}' is not a table`);
  const entry = servers[name];
  if (entry === undefined) return undefined;
  const obstacle = tomlObstacle(text, name);
  if (obstacle !== undefined) throw shapeError(obstacle);
  if (!isRecord(entry) || !isOurs(name, entry)) throw new EditError({ kind: "foreign" });
  return isRecord(entry.env) ? entry.env : {};
}

/** The tables of a server: its own, and those below. */
function tablesNamed(text: string, name: string): readonly TomlTable[] {
  return tablesOf(text).filter(({ path }) => isDeepStrictEqual(path.slice(0, 2), [TOML_SERVERS, name]));
}

function mainTable(text: string, name: string): TomlTable | undefined {
  return tablesNamed(text, name).find(({ path, isInArray }) => path.length === 2 && !isInArray);
}

const HOME = "HERMES_HOME";

/** Sets or removes HERMES_HOME where the file has the `env` of the server: inline table, dotted keys or a separate table. */
function withHome(text: string, name: string, env: TomlData, home: string | undefined): string {
  if (env[HOME] === home) return text;
  const tables = tablesNamed(text, name);
  const isOfEnv = ({ path }: TomlTable): boolean => path.length === 3 && path[2] === "env";
  const holders = tables.flatMap((table) =>
    table.pairs.map((pair) => ({ pair, data: isOfEnv(table) ? pair.data : pair.data.env })),
  );
  const present = holders.find(({ data }) => isRecord(data) && HOME in data);
  const line = `${HOME} = ${tomlValue(home)}`;
  if (present) {
    const { pair, data } = present;
    const own = String.raw`${HOME}\s*=\s*${STRING}`;
    if (home !== undefined)
      return splice(
        text,
        pair,
        pair.text.replace(new RegExp(own), () => line),
      );
    const isAlone = isRecord(data) && Object.keys(data).length === 1;
    const rest = isAlone ? "" : pair.text.replace(new RegExp(String.raw`,\s*${own}|${own}\s*,\s*`), "");
    return splice(text, pair, rest);
  }
  const envTable = tables.find(isOfEnv);
  if (envTable) return withLine(text, envTable, line);
  const inline = holders.find(({ pair }) => /^\s*env\s*=/.test(pair.text))?.pair;
  if (inline) {
    const join = (_all: string, close: string | undefined): string => `{ ${line}${close ? " }" : ", "}`;
    return splice(text, inline, inline.text.replace(/\{\s*(\})?/, join));
  }
  const table = mainTable(text, name);
  const isFirst = Object.keys(env).length === 0;
  return table ? withLine(text, table, isFirst ? `env = { ${line} }` : `env.${line}`) : text;
}

function withLine(text: string, { inside }: TomlTable, line: string): string {
  const newline = newlineOf(text);
  const piece = text[inside - 1] === "\n" ? line + newline : newline + line;
  return splice(text, { start: inside, end: inside }, piece);
}

function blockOf(name: string, { command, args, env }: ServerLaunch, newline: string): string {
  const home = env[HOME] === undefined ? [] : [`env = { ${HOME} = ${tomlValue(env[HOME])} }`];
  const words = [`command = ${tomlValue(command)}`, `args = ${tomlValue(args)}`];
  const lines = [MARK, `[${TOML_SERVERS}.${name}]`, ...words, ...home];
  return lines.map((line) => line + newline).join("");
}

// The servers in a client's config, in JSON or TOML: list, set and remove them, and repair entries of ours whose program has moved.
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isRecord, type Result } from "@hermes-memory/core/internal/lib";
import {
  type Client,
  DEFAULT_SERVER_NAME,
  type Environment,
  readClientConfig,
  type ServerLaunch,
} from "./clients.ts";
import { attempt, type ConfigEdit, checkedEdit, type EditFailure, type Words } from "./config-edit.ts";
import { dataOf } from "./json.ts";
import { JSON_SERVERS, openServers, removeJsonServer, setJsonServer, withJsonEntry } from "./json-servers.ts";
import { isHermes, type NamedLaunch, namedLaunch, type Program } from "./launch.ts";
import { parseToml } from "./toml.ts";
import {
  removeTomlServer,
  setTomlServer,
  TOML_SERVERS,
  tomlObstacle,
  withTomlWords,
} from "./toml-servers.ts";

type Format = Pick<Client, "format">;

/** What the file holds, and its servers. */
function contentOf(
  text: string,
  { format }: Format,
): {
  readonly others: Readonly<Record<string, unknown>>;
  readonly servers: Readonly<Record<string, unknown>>;
} {
  const data = format === "toml" ? parseToml(text) : dataOf(openServers(text).root);
  const { [format === "toml" ? TOML_SERVERS : JSON_SERVERS]: servers, ...others } = isRecord(data)
    ? data
    : {};
  return { others, servers: isRecord(servers) ? servers : {} };
}

function othersThan(name: string, format: Format): (text: string) => unknown {
  return (text) => {
    const { others, servers } = contentOf(text, format);
    const { [name]: _own, ...rest } = servers;
    return [others, rest];
  };
}

/** Servers that are local processes. Those at an address have no command. */
function listServers(text: string, format: Format): readonly NamedLaunch[] {
  return Object.entries(contentOf(text, format).servers).flatMap(([name, entry]) =>
    isRecord(entry) ? namedLaunch(name, entry) : [],
  );
}

export function setServer(
  text: string,
  { format, namesTransport }: Client,
  name: string,
  launch: ServerLaunch,
): Result<ConfigEdit, EditFailure> {
  return checkedEdit(text, othersThan(name, { format }), (now) =>
    format === "toml"
      ? setTomlServer(now, name, launch)
      : setJsonServer(now, name, namesTransport ? { type: "stdio", ...launch } : launch),
  );
}

export function removeServer(
  text: string,
  { format }: Format,
  name: string,
): Result<ConfigEdit, EditFailure> {
  return checkedEdit(text, othersThan(name, { format }), (now) =>
    format === "toml" ? removeTomlServer(now, name) : removeJsonServer(now, name),
  );
}

/** Undefined when that is not possible, or would change anything else. */
function withWords(text: string, client: Format, name: string, words: Words): string | undefined {
  const { others, servers } = contentOf(text, client);
  const own = servers[name];
  const wanted = { others, servers: { ...servers, [name]: { ...(isRecord(own) ? own : {}), ...words } } };
  const edited = attempt(() => {
    const next =
      client.format === "toml" ? withTomlWords(text, name, words) : withJsonEntry(text, name, words);
    return { next, content: contentOf(next, client) };
  });
  return edited.ok && isDeepStrictEqual(edited.value.content, wanted) ? edited.value.next : undefined;
}

// Entries that start this program: those `hermes doctor` checks, and those whose program has moved since `hermes mcp install`.

export type OwnEntry = NamedLaunch & {
  /** Why the entry cannot be edited. */
  readonly obstacle?: string;
  /** Undefined when the entry has an obstacle. */
  readonly script: OwnScript | undefined;
};

/** The config of a client, and the entries in it that start this program. */
export type OwnEntries = {
  readonly client: Client;
  readonly path: string;
  readonly text: string;
  readonly entries: Result<readonly OwnEntry[], EditFailure>;
};

/** Undefined when the client has no config. Throws a `HermesError` for a file that cannot be read. */
export function ownEntries(client: Client, env: Environment): OwnEntries | undefined {
  const path = client.configPath(env);
  const text = readClientConfig(path);
  if (text === undefined) return undefined;
  const entries = attempt(() => listServers(text, client).flatMap((entry) => ownEntry(entry, text, client)));
  return { client, path, text, entries };
}

function ownEntry(entry: NamedLaunch, text: string, { format }: Format): OwnEntry[] {
  const script = ownScript(entry);
  if (!script && entry.name !== DEFAULT_SERVER_NAME) return [];
  const obstacle = format === "toml" ? tomlObstacle(text, entry.name) : undefined;
  if (obstacle !== undefined) return [{ ...entry, obstacle, script: undefined }];
  return script ? [{ ...entry, script }] : [];
}

type Moved = {
  readonly path: string;
  readonly why: "missing" | "outdated";
  readonly isCommandGone: boolean;
  readonly isScriptGone: boolean;
};

/** Which paths of an entry have to be replaced, its command or its script, and why. */
export function movedPaths({ command, script }: OwnEntry): Moved | undefined {
  if (script === undefined) return undefined;
  const isCommandGone = script.at !== undefined && isAbsolute(command) && !existsSync(command);
  const isMissing = !existsSync(script.path);
  const isScriptGone = isMissing || isForwarder(script.path);
  if (!isCommandGone && !isScriptGone) return undefined;
  const why = isCommandGone || isMissing ? "missing" : "outdated";
  return { path: isCommandGone ? command : script.path, why, isCommandGone, isScriptGone };
}

/** Replaces the moved paths of one entry by those of this program. Undefined when that would change anything else. */
export function withMovedPathsReplaced(
  text: string,
  client: Client,
  entry: OwnEntry,
  { node, script: ours }: Program,
): string | undefined {
  const { command, args, script } = entry;
  const moved = movedPaths(entry);
  if (script === undefined || moved === undefined) return undefined;
  const next =
    script.at === undefined
      ? { command: node, args: [ours, ...args] }
      : {
          command: moved.isCommandGone ? node : command,
          args: moved.isScriptGone ? args.with(script.at, ours) : args,
        };
  return withWords(text, client, entry.name, next);
}

type OwnScript = {
  readonly path: string;
  /** The index in `args`; undefined when the script is the command itself. */
  readonly at: number | undefined;
};

/** Undefined for an entry of another program, and for one whose script is not an absolute path. */
function ownScript(entry: NamedLaunch): OwnScript | undefined {
  const script = scriptOf(entry);
  if (script === undefined || !isAbsolute(script.path)) return undefined;
  if (entry.name === DEFAULT_SERVER_NAME) return script;
  return entry.args.includes("mcp") && (isOurPath(script.path) || isForwarder(script.path))
    ? script
    : undefined;
}

/** Whether this is the file that scripts/build.ts puts where the launcher was before version 0.3.0. */
function isForwarder(path: string): boolean {
  if (basename(path) !== "hermes.js") return false;
  try {
    if (!statSync(path).isFile()) return false; // reading a pipe would wait forever
    return readFileSync(path, "utf8").split("\n", 2)[1]?.startsWith("// hermes-memory: moved.") ?? false;
  } catch {
    return false;
  }
}

const NODE = /(?:^|\/)node(?:js)?[\d.]*(?:\.exe)?$/i;
const SCRIPT = /\.[cm]?[jt]s$/;
/** The package as npm installs it and as it was before 0.3.0, and the checkout. */
const OUR_PATH = /\/hermes-memory\/(?:(?:dist\/)?hermes\.js|src\/cli\/main\.ts)$/;

function isOurPath(path: string): boolean {
  return OUR_PATH.test(slashed(path));
}

function scriptOf({ command, args }: NamedLaunch): OwnScript | undefined {
  if (!NODE.test(slashed(command))) return isHermes(command) ? { path: command, at: undefined } : undefined;
  const at = scriptIndex(args);
  const path = args[at];
  return typeof path === "string" && (SCRIPT.test(path) || isHermes(path)) ? { path, at } : undefined;
}

/** Options of Node whose value may be the next word. */
const WITH_VALUE: ReadonlySet<unknown> = new Set([
  "-C",
  "-r",
  "--conditions",
  "--disable-warning",
  "--env-file",
  "--env-file-if-exists",
  "--experimental-loader",
  "--import",
  "--loader",
  "--require",
  "--title",
]);
/** Options with which Node runs no script from its arguments. */
const WITHOUT_SCRIPT: ReadonlySet<unknown> = new Set(["-e", "-p", "-pe", "--eval", "--print", "--run"]);

/** The index of the first argument that is not for Node itself, or -1. */
function scriptIndex(args: readonly unknown[]): number {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at];
    if (WITHOUT_SCRIPT.has(word)) return -1;
    if (word === "--") return at + 1;
    if (WITH_VALUE.has(word)) at += 1;
    else if (typeof word !== "string" || !word.startsWith("-")) return at;
  }
  return -1;
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

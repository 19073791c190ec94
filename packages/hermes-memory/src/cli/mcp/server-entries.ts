// The servers in a client's config, in JSON or TOML: set and remove them, and repair entries of ours whose program has moved.
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { isRecord, type Result } from "@hermes-memory/core/internal/lib";
import {
  type Client,
  DEFAULT_SERVER_NAME,
  type Environment,
  readClientConfig,
  type ServerLaunch,
} from "./clients.ts";
import { attempt, type ConfigEdit, EditError, type EditFailure, shapeError } from "./config-edit.ts";
import { readJson, withJson } from "./json.ts";
import { isHermes, isOurs, type NamedLaunch, namedLaunch, type Program } from "./launch.ts";
import { tomlObstacle, tomlServers, withTomlServer } from "./toml.ts";

const JSON_SERVERS = "mcpServers";

type Format = Pick<Client, "format">;

function serversOf(text: string, { format }: Format): Readonly<Record<string, unknown>> {
  if (format === "toml") return tomlServers(text).servers;
  const { [JSON_SERVERS]: servers = {} } = readJson(text, "json"); // the programs that read these files refuse comments
  if (!isRecord(servers)) throw shapeError(`its '${JSON_SERVERS}' is not a JSON object`);
  return servers;
}

export function setServer(
  text: string,
  { format, namesTransport }: Client,
  name: string,
  launch: ServerLaunch,
): Result<ConfigEdit, EditFailure> {
  return attempt(() => {
    const present = ownServer(text, { format }, name);
    const { HERMES_HOME: _old, ...others } = isRecord(present?.env) ? present.env : {};
    const home = launch.env.HERMES_HOME;
    const env =
      home === undefined ? others : { ...(isRecord(present?.env) ? present.env : {}), HERMES_HOME: home };
    // What the user added to the entry stays, such as a timeout or an environment variable.
    const next = withServer(text, { format }, name, {
      ...(namesTransport ? { type: "stdio" } : {}),
      ...present,
      command: launch.command,
      args: [...launch.args],
      ...(present?.env !== undefined || Object.keys(env).length > 0 ? { env } : {}),
    });
    return { text: next, action: present === undefined ? "added" : next === text ? "unchanged" : "updated" };
  });
}

export function removeServer(text: string, format: Format, name: string): Result<ConfigEdit, EditFailure> {
  return attempt(() =>
    ownServer(text, format, name) === undefined
      ? { text, action: "absent" }
      : { text: withServer(text, format, name, undefined), action: "removed" },
  );
}

/** The entry of a server of ours; undefined when the file has none of this name. */
function ownServer(
  text: string,
  format: Format,
  name: string,
): Readonly<Record<string, unknown>> | undefined {
  const entry = serversOf(text, format)[name];
  if (entry === undefined) return undefined;
  const obstacle = format.format === "toml" ? tomlObstacle(text, name) : undefined;
  if (obstacle !== undefined) throw shapeError(obstacle);
  if (!isRecord(entry) || !isOurs(name, entry)) throw new EditError({ kind: "foreign" });
  return entry;
}

function withServer(
  text: string,
  { format }: Format,
  name: string,
  entry: Readonly<Record<string, unknown>> | undefined,
): string {
  return format === "toml" ? withTomlServer(text, name, entry) : withJson(text, [JSON_SERVERS, name], entry);
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
  const entries = attempt(() =>
    Object.entries(serversOf(text, client))
      .flatMap(([name, entry]) => (isRecord(entry) ? namedLaunch(name, entry) : []))
      .flatMap((entry) => ownEntry(entry, text, client)),
  );
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
  const edited = attempt(() =>
    withServer(text, client, entry.name, { ...ownServer(text, client, entry.name), ...next }),
  );
  return edited.ok ? edited.value : undefined;
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
/** The package as npm installs it and as it was before 0.3.0, and the checkout. */
const OUR_PATH = /\/hermes-memory\/(?:(?:dist\/)?hermes\.js|src\/cli\/main\.ts)$/;

function isOurPath(path: string): boolean {
  return OUR_PATH.test(slashed(path));
}

function scriptOf({ command, args }: NamedLaunch): OwnScript | undefined {
  if (!NODE.test(slashed(command))) return isHermes(command) ? { path: command, at: undefined } : undefined;
  const at = args.findIndex((word) => typeof word === "string" && isHermes(word));
  const path = args[at];
  const isFlag = (word: unknown): boolean => typeof word === "string" && word.startsWith("-");
  // Only options of Node, with or without a value, are in front of its script.
  const isFirst = args.slice(0, at).every((word, before) => isFlag(word) || isFlag(args[before - 1]));
  return typeof path === "string" && isFirst ? { path, at } : undefined;
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

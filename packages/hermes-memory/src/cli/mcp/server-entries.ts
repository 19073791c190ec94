// The servers in a client's config, in JSON or TOML: list, set and remove them, and repair entries of ours whose program has moved.
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ok, type Result } from "@hermes-memory/core/internal/lib";
import {
  type Client,
  DEFAULT_SERVER_NAME,
  type Environment,
  readClientConfig,
  type ServerLaunch,
} from "./clients.ts";
import type { ConfigEdit, EditFailure, TextRange, WordChange } from "./config-edit.ts";
import { jsonWords, listJsonServers, removeJsonServer, setJsonServer } from "./json-servers.ts";
import { isHermes, type NamedLaunch, type Program } from "./launch.ts";
import { listTomlServers, removeTomlServer, setTomlServer, tomlText, tomlWords } from "./toml-servers.ts";

function listServers(text: string, { format }: Client): Result<readonly NamedLaunch[], EditFailure> {
  return format === "toml" ? listTomlServers(text) : listJsonServers(text);
}

export function setServer(
  text: string,
  { format, namesTransport }: Client,
  name: string,
  launch: ServerLaunch,
): Result<ConfigEdit, EditFailure> {
  if (format === "toml") return setTomlServer(text, name, launch);
  return setJsonServer(text, name, namesTransport ? { type: "stdio", ...launch } : launch);
}

export function removeServer(
  text: string,
  { format }: Client,
  name: string,
): Result<ConfigEdit, EditFailure> {
  return format === "toml" ? removeTomlServer(text, name) : removeJsonServer(text, name);
}

/**
 * Replaces single words of an entry and leaves every other byte unchanged (`tomlText` is valid in JSON as well). Undefined when the
 * words cannot be found in the text, or when the new text would not hold the same servers with just these words replaced.
 */
function replaceWords(
  text: string,
  client: Client,
  { name, command, args }: NamedLaunch,
  change: WordChange,
): string | undefined {
  const ranges = client.format === "toml" ? tomlWords(text, name) : jsonWords(text, name);
  const before = listServers(text, client);
  if (ranges === undefined || !before.ok) return undefined;
  const pieces: (TextRange & { readonly piece: string })[] = [];
  if (change.command !== undefined) {
    if (!hasSimpleQuotes(text, ranges.command)) return undefined;
    pieces.push({ ...ranges.command, piece: tomlText(change.command) });
  }
  if (change.arg?.isNew === false) {
    const range = ranges.items[change.arg.at];
    if (range === undefined || !hasSimpleQuotes(text, range)) return undefined;
    pieces.push({ ...range, piece: tomlText(change.arg.word) });
  } else if (change.arg)
    pieces.push(insertedFirst(text, ranges.list.start + 1, ranges.items[0], change.arg.word));
  const next = pieces
    .sort((one, other) => other.start - one.start)
    .reduce((now, { start, end, piece }) => now.slice(0, start) + piece + now.slice(end), text);
  const { arg } = change;
  const words = arg ? args.toSpliced(arg.at, arg.isNew ? 0 : 1, arg.word) : args;
  const wanted = before.value.map((each) =>
    each.name === name ? { ...each, command: change.command ?? command, args: words } : each,
  );
  const after = listServers(next, client);
  return after.ok && isDeepStrictEqual(after.value.map(withoutObstacle), wanted.map(withoutObstacle))
    ? next
    : undefined;
}

/** Without the obstacle, whose line number may have changed. */
function withoutObstacle({ name, command, args }: NamedLaunch): NamedLaunch {
  return { name, command, args };
}

/** Whether the literal has simple quotes. The parser does not resolve a TOML text in three quotes, so that is not replaced. */
function hasSimpleQuotes(text: string, { start, end }: TextRange): boolean {
  return /^(?:"(?!"")|'(?!''))/.test(text.slice(start, end));
}

/** Inserts a first item into a list, with the line break and indentation of the item after it. */
function insertedFirst(
  text: string,
  open: number,
  first: TextRange | undefined,
  word: string,
): TextRange & { readonly piece: string } {
  const at = first?.start ?? open;
  const lead = text.slice(open, at);
  const gap = /^\s*\n\s*$/.test(lead) ? lead : " ";
  return { start: at, end: at, piece: first ? `${tomlText(word)},${gap}` : tomlText(word) };
}

// Entries that start this program: those `hermes doctor` checks, and those whose program has moved since `hermes mcp install`.

export type OwnEntry = NamedLaunch & {
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
  const servers = listServers(text, client);
  return { client, path, text, entries: servers.ok ? ok(servers.value.flatMap(ownEntry)) : servers };
}

function ownEntry(entry: NamedLaunch): OwnEntry[] {
  const script = ownScript(entry);
  if (entry.obstacle === undefined) return script ? [{ ...entry, script }] : [];
  return script || entry.name === DEFAULT_SERVER_NAME ? [{ ...entry, script: undefined }] : [];
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
  const { script } = entry;
  const moved = movedPaths(entry);
  if (script === undefined || moved === undefined) return undefined;
  const change: WordChange =
    script.at === undefined
      ? { command: node, arg: { at: 0, word: ours, isNew: true } }
      : {
          command: moved.isCommandGone ? node : undefined,
          arg: moved.isScriptGone ? { at: script.at, word: ours, isNew: false } : undefined,
        };
  return replaceWords(text, client, entry, change);
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

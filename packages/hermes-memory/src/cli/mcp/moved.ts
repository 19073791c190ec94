// Entries of ours in client configs: which ones `hermes doctor` may judge, and those whose program has moved since `hermes mcp install`
// wrote them.
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { ok, type Result } from "@hermes-memory/core/lib";
import { readClientConfig } from "./client-config.ts";
import { type Client, DEFAULT_SERVER_NAME, type Environment } from "./clients.ts";
import type { EditFailure, WordChange } from "./config-edit.ts";
import { isHermes, type NamedLaunch, type Program } from "./launch.ts";
import { listServers, replaceWords } from "./servers.ts";

export type OwnEntry = NamedLaunch & {
  /** Undefined when it cannot be judged: the entry has an obstacle. */
  readonly script: OwnScript | undefined;
};

/** The config of a client, and which of its servers are ours. */
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

export type Moved = {
  readonly path: string;
  readonly why: "missing" | "outdated";
  readonly isCommandGone: boolean;
  readonly isScriptGone: boolean;
};

/** Which of the two paths of an entry, command and script, has to be replaced, and why. */
export function movedIn({ command, script }: OwnEntry): Moved | undefined {
  if (script === undefined) return undefined;
  const isCommandGone = script.at !== undefined && isAbsolute(command) && !existsSync(command);
  const isMissing = !existsSync(script.path);
  const isScriptGone = isMissing || isForwarder(script.path);
  if (!isCommandGone && !isScriptGone) return undefined;
  const why = isCommandGone || isMissing ? "missing" : "outdated";
  return { path: isCommandGone ? command : script.path, why, isCommandGone, isScriptGone };
}

/** The text with the moved paths of one entry replaced by this program, or undefined when they cannot be replaced alone. */
export function withMoved(
  text: string,
  client: Client,
  entry: OwnEntry,
  { node, script: ours }: Program,
): string | undefined {
  const { script } = entry;
  const moved = movedIn(entry);
  if (script === undefined || moved === undefined) return undefined;
  const change: WordChange =
    script.at === undefined
      ? { command: node, arg: { at: 0, word: ours, isNew: true } }
      : {
          ...(moved.isCommandGone && { command: node }),
          ...(moved.isScriptGone && { arg: { at: script.at, word: ours, isNew: false } }),
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

/** As scripts/build.ts puts it where the launcher was before version 0.3.0. */
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
/** Options with which Node runs no script of its arguments. */
const WITHOUT_SCRIPT: ReadonlySet<unknown> = new Set(["-e", "-p", "-pe", "--eval", "--print", "--run"]);

/** Of the first argument that is not for Node itself; -1 when there is none. */
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

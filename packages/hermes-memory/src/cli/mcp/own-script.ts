// Which entries of a client's config `hermes doctor` may judge: those whose script is certainly ours.
import { readFileSync, statSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import { DEFAULT_SERVER_NAME } from "./clients.ts";
import { isHermes, type NamedLaunch } from "./launch.ts";

export type OwnScript = {
  readonly path: string;
  /** The index in `args`; undefined when the script is the command itself. */
  readonly at: number | undefined;
};

/** Undefined for an entry of another program, and for one whose script is not an absolute path. */
export function ownScript(entry: NamedLaunch): OwnScript | undefined {
  const script = scriptOf(entry);
  if (script === undefined || !isAbsolute(script.path)) return undefined;
  if (entry.name === DEFAULT_SERVER_NAME) return script;
  return entry.args.includes("mcp") && (isOurPath(script.path) || isForwarder(script.path))
    ? script
    : undefined;
}

/** As scripts/build.ts puts it where the launcher was before version 0.3.0. */
export function isForwarder(path: string): boolean {
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

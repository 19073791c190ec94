// What a plugin needs beside its own files: npm packages, installed into its own directory, and programs, which are only
// looked for.
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  describeCause,
  err,
  isWhitespaceUnit,
  ok,
  pyStrip,
  type Result,
  takeCodePoints,
} from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { FoundProvider } from "../discovery/find-providers.ts";
import type { ExternalDependency } from "../discovery/plugin-files.ts";
import { findEntryFile } from "../discovery/plugin-files.ts";
import { type CommandOutcome, runCommand } from "./run-command.ts";

type InstallFailure = {
  readonly kind: "bad-spec" | "no-directory" | "npm-missing" | "failed" | "timed-out" | "stopped";
  /** What happened and what to type instead. No secrets. */
  readonly message: string;
};

type InstallOptions = {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
};

type ExternalCheck =
  | { readonly kind: "present" }
  | { readonly kind: "missing"; readonly reason: string }
  /** The plugin names no way to find out. */
  | { readonly kind: "unchecked" };

const INSTALL_TIMEOUT_MS = 120_000;
const CHECK_TIMEOUT_MS = 5_000;
const SHOWN_OF_STDERR = 200;

/** The specs of `npm_dependencies` whose package cannot be found from the plugin's directory. */
export function missingPackages({ directory, manifest }: FoundProvider): readonly string[] {
  if (directory === undefined) return []; // bundled providers bring what they need
  return manifest.npmDependencies.filter((spec) => !isInstalled(directory, spec));
}

/** Ask before calling this: it runs npm. Scripts of the packages are not run. */
export async function installPackages(
  { name, directory }: FoundProvider,
  specs: readonly string[],
  { signal, timeoutMs = INSTALL_TIMEOUT_MS, env = process.env }: InstallOptions = {},
): Promise<Result<void, InstallFailure>> {
  if (directory === undefined)
    return err({ kind: "no-directory", message: `'${name}' is bundled and has no packages to install.` });
  const refused = specs.filter((spec) => !isUsableSpec(spec));
  if (refused.length > 0) {
    const message = `The plugin.yaml of '${name}' names ${refused.map((spec) => JSON.stringify(spec)).join(", ")}, which is no npm package. Nothing was installed.`;
    return err({ kind: "bad-spec", message });
  }
  if (specs.length === 0) return ok(undefined);
  try {
    nameModuleType(directory);
  } catch (cause) {
    return err({ kind: "failed", message: `Cannot write in ${directory}: ${describeCause(cause)}.` });
  }
  const args = ["install", "--prefix", directory, "--no-audit", "--no-fund", "--ignore-scripts", ...specs];
  const npm = npmProgram();
  const outcome = await runCommand(npm.command, [...npm.args, ...args], {
    timeoutMs,
    cwd: directory, // relative `file:` specs are meant from here
    env: { ...env, npm_config_update_notifier: "false" },
    ...(signal === undefined ? {} : { signal }),
  });
  const failure = installFailure(outcome, timeoutMs);
  if (failure === undefined) return ok(undefined);
  const manual = `To do it by hand: npm ${args.map(quoted).join(" ")}`;
  return err({ kind: failure.kind, message: `${failure.message} ${manual}` });
}

/** Runs the dependency's own check. Nothing is installed. */
export async function checkExternal(
  { check }: ExternalDependency,
  { timeoutMs = CHECK_TIMEOUT_MS, env = process.env }: Omit<InstallOptions, "signal"> = {},
): Promise<ExternalCheck> {
  const words = splitCommandLine(check);
  if (!words.ok) return { kind: "missing", reason: `its check '${check}' cannot be read: ${words.error}` };
  const [command, ...args] = words.value;
  if (command === undefined) return { kind: "unchecked" };
  const outcome = await runCommand(command, args, { timeoutMs, env });
  switch (outcome.kind) {
    case "exited":
      if (outcome.code === 0) return { kind: "present" };
      return { kind: "missing", reason: `'${check}' ended with code ${outcome.code}` };
    case "missing":
      return { kind: "missing", reason: `there is no program '${command}'` };
    case "timed-out":
      return { kind: "missing", reason: `'${check}' gave no answer within ${timeoutMs / 1000} s` };
    case "failed":
      return { kind: "missing", reason: `'${check}' could not be started: ${outcome.reason}` };
    case "killed":
    case "stopped":
      return { kind: "missing", reason: `'${check}' was ended from outside` };
    default:
      return outcome satisfies never;
  }
}

/** Looks where Node would: `node_modules` here and in every directory above. A spec that tells no name is looked up in package.json. */
function isInstalled(directory: string, spec: string): boolean {
  const name = packageNameOf(spec) ?? nameInPackage(directory, spec);
  if (name === undefined) return false;
  let place = realPath(directory);
  for (;;) {
    if (existsSync(join(place, "node_modules", name, "package.json"))) return true;
    if (dirname(place) === place) return false;
    place = dirname(place);
  }
}

function nameInPackage(directory: string, spec: string): string | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    const dependencies = (content as { dependencies?: unknown } | null)?.dependencies ?? {};
    const wanted = placeOf(directory, spec);
    return Object.entries(dependencies).find(([, value]) => placeOf(directory, value) === wanted)?.[0];
  } catch {
    return undefined; // not there or not readable: then npm has not installed it
  }
}

/** npm writes down a path as seen from the plugin, however it was given. */
function placeOf(directory: string, spec: unknown): unknown {
  return typeof spec === "string" && spec.startsWith("file:")
    ? resolve(realPath(directory), spec.slice("file:".length))
    : spec;
}

/**
 * npm makes a package.json where there is none, without a module type; Node would then warn at every start that it had to
 * guess. So the type is written down first, when the plugin is plainly an ES module.
 */
function nameModuleType(directory: string): void {
  const path = join(directory, "package.json");
  const entry = findEntryFile(directory);
  if (existsSync(path) || entry.kind !== "file") return;
  const isModule = /^\s*(?:import|export)\b/m.test(readFileSync(entry.path, "utf8"));
  if (isModule)
    writeFileSync(path, `${JSON.stringify({ private: true, type: "module" }, null, 2)}\n`, { flag: "wx" });
}

/** On Windows npm is a batch file, which only a shell can run; the script behind it lies beside Node. */
function npmProgram(): { command: string; args: readonly string[] } {
  if (process.platform !== "win32") return { command: "npm", args: [] };
  const script = join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js");
  return existsSync(script)
    ? { command: process.execPath, args: [script] }
    : { command: "npm.exe", args: [] };
}

function installFailure(outcome: CommandOutcome, timeoutMs: number): InstallFailure | undefined {
  switch (outcome.kind) {
    case "exited":
      if (outcome.code === 0) return undefined;
      return { kind: "failed", message: `npm ended with code ${outcome.code}${said(outcome.stderr)}.` };
    case "killed":
      return { kind: "failed", message: `npm was ended by ${outcome.by}${said(outcome.stderr)}.` };
    case "timed-out":
      return {
        kind: "timed-out",
        message: `npm did not finish within ${timeoutMs / 1000} s${said(outcome.stderr)}.`,
      };
    case "stopped":
      return { kind: "stopped", message: "The installation was stopped." };
    case "missing":
      return { kind: "npm-missing", message: "npm was not found, so nothing was installed." };
    case "failed":
      return { kind: "failed", message: `npm could not be started: ${outcome.reason}.` };
    default:
      return outcome satisfies never;
  }
}

function said(stderr: string): string {
  const text = takeCodePoints(pyStrip(redactSecrets(stderr)), SHOWN_OF_STDERR);
  return text === "" ? "" : `: ${text}`;
}

function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./~^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

// ----
// What a plugin may ask npm for. Pure.

const PACKAGE_NAME = /^(?:@[A-Za-z0-9._~-]+\/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*$/;

/** Nothing that npm would take for an option, and nothing that has no business in a list of packages. */
export function isUsableSpec(spec: string): boolean {
  return spec !== "" && pyStrip(spec) === spec && !spec.startsWith("-") && !/[\x00-\x1f\x7f]/.test(spec);
}

/** `@scope/name@^1` -> `@scope/name`. Undefined where the spec is an address or a path, which tells no name. */
export function packageNameOf(spec: string): string | undefined {
  const at = spec.indexOf("@", 1);
  const name = pyStrip(at === -1 ? spec : spec.slice(0, at));
  return PACKAGE_NAME.test(name) ? name : undefined;
}

// ----
// Splitting a command line as a shell would, without running one. Pure.

/** Words in quotes stay together; variables, pipes and redirections mean nothing. */
export function splitCommandLine(line: string): Result<readonly string[], string> {
  const words: string[] = [];
  let word: string | undefined; // undefined between words; "" is a word when it was quoted
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && /["\\$`]/.test(line.charAt(at + 1))) {
        at += 1;
        word = (word ?? "") + line.charAt(at);
      } else word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (character === "\\") {
      if (at + 1 >= line.length) return err("it ends with a backslash");
      at += 1;
      word = (word ?? "") + line.charAt(at);
    } else if (isWhitespaceUnit(line.charCodeAt(at))) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return err(`a ${quote} is never closed`);
  if (word !== undefined) words.push(word);
  return ok(words);
}

// Dependencies of a plugin: npm packages, which are installed into its directory, and programs, which are only checked for.
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describeCause, err, ok, pyStrip, type Result, takeCodePoints } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { FoundProvider } from "../discovery/find-providers.ts";
import { type ExternalDependency, findEntryFile, type PluginManifest } from "../discovery/plugins.ts";
import { type ChildEnd, runChild } from "../kit/child-process.ts";

const STDERR_SHOWN_CHARS = 200;
/** Only the beginning of the output is used, for messages. */
const KEPT_OUTPUT = { outputBytes: 64 * 1024, onOverflow: "ignore" } as const;
const GRACE_MS = 2_000;

// ---- Npm packages ----

export type InstallFailure = {
  readonly kind: "bad-spec" | "no-directory" | "npm-missing" | "failed" | "timed-out" | "stopped";
  /** The failure, and the command to type instead. No secrets. */
  readonly message: string;
};

export type InstallOptions = {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
};

const INSTALL_TIMEOUT_MS = 120_000;
const PACKAGE_NAME = /^(?:@[A-Za-z0-9._~-]+\/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*$/;

/** The entries of `npm_dependencies` whose package cannot be found from the plugin's directory. */
export function missingPackages(directory: string, { npmDependencies }: PluginManifest): readonly string[] {
  return npmDependencies.filter((spec) => !isInstalled(directory, spec));
}

/** Runs npm, so ask the user before calling this. Install scripts of the packages are not run. */
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
    writeModuleType(directory);
  } catch (cause) {
    return err({ kind: "failed", message: `Cannot write in ${directory}: ${describeCause(cause)}.` });
  }
  const args = ["install", "--prefix", directory, "--no-audit", "--no-fund", "--ignore-scripts", ...specs];
  const npm = npmProgram();
  const end = await runChild({
    ...KEPT_OUTPUT,
    command: npm.command,
    args: [...npm.args, ...args],
    timeoutMs,
    graceMs: GRACE_MS,
    cwd: directory, // relative `file:` specs start here
    env: { ...env, npm_config_update_notifier: "false" },
    signal,
  });
  const failure = installFailure(end, timeoutMs);
  if (failure === undefined) return ok(undefined);
  const manual = `To do it by hand: npm ${args.map(quoted).join(" ")}`;
  return err({ kind: failure.kind, message: `${failure.message} ${manual}` });
}

/** Refuses specs that npm would take for an option, and control characters. */
export function isUsableSpec(spec: string): boolean {
  return spec !== "" && pyStrip(spec) === spec && !spec.startsWith("-") && !/[\x00-\x1f\x7f]/.test(spec);
}

/** `@scope/name@^1` -> `@scope/name`. Undefined for a URL or a path, which do not contain the package's name. */
export function packageNameOf(spec: string): string | undefined {
  const at = spec.indexOf("@", 1);
  const name = pyStrip(at === -1 ? spec : spec.slice(0, at));
  return PACKAGE_NAME.test(name) ? name : undefined;
}

/** Looks where Node does: `node_modules` here and in every directory above. The name for a URL or path is looked up in package.json. */
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
    const wanted = absoluteSpec(directory, spec);
    return Object.entries(dependencies).find(([, value]) => absoluteSpec(directory, value) === wanted)?.[0];
  } catch {
    return undefined; // missing or unreadable: npm has not installed it
  }
}

/** npm rewrites a path relative to the plugin, however it was given. */
function absoluteSpec(directory: string, spec: unknown): unknown {
  return typeof spec === "string" && spec.startsWith("file:")
    ? resolve(realPath(directory), spec.slice("file:".length))
    : spec;
}

/**
 * npm creates a missing package.json without a module type, and Node would then warn at every start that it had to guess the type. So
 * the type is written first, if the entry file is clearly an ES module.
 */
function writeModuleType(directory: string): void {
  const path = join(directory, "package.json");
  const entry = findEntryFile(directory);
  if (existsSync(path) || entry.kind !== "file") return;
  const isModule = /^\s*(?:import|export)\b/m.test(readFileSync(entry.path, "utf8"));
  if (isModule)
    writeFileSync(path, `${JSON.stringify({ private: true, type: "module" }, null, 2)}\n`, { flag: "wx" });
}

/** On Windows npm is a batch file, which needs a shell; the script behind it is beside Node. */
function npmProgram(): { command: string; args: readonly string[] } {
  if (process.platform !== "win32") return { command: "npm", args: [] };
  const script = join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js");
  return existsSync(script)
    ? { command: process.execPath, args: [script] }
    : { command: "npm.exe", args: [] };
}

function installFailure(end: ChildEnd, timeoutMs: number): InstallFailure | undefined {
  if (end.kind === "exited" && end.code === 0) return undefined;
  if (end.kind === "not-started" && end.code === "ENOENT")
    return { kind: "npm-missing", message: "npm was not found, so nothing was installed." };
  const kind = end.kind === "timed-out" ? "timed-out" : end.kind === "aborted" ? "stopped" : "failed";
  const stderr = "stderr" in end ? shownStderr(end.stderr) : "";
  return { kind, message: `npm ${howItEnded(end, timeoutMs)}${stderr}.` };
}

/** Continues a sentence after the name of the program. */
function howItEnded(end: ChildEnd, timeoutMs: number): string {
  switch (end.kind) {
    case "exited":
      return end.code === undefined ? `was ended by ${end.killedBy}` : `ended with code ${end.code}`;
    case "timed-out":
      return `gave no answer within ${timeoutMs / 1000} s`;
    case "not-started":
      return `could not be started: ${end.message}`;
    default:
      return "was stopped";
  }
}

function shownStderr(stderr: string): string {
  const text = takeCodePoints(pyStrip(redactSecrets(stderr)), STDERR_SHOWN_CHARS);
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

// ---- Programs ----

export type ExternalCheck =
  | { readonly kind: "present" }
  | { readonly kind: "missing"; readonly reason: string }
  /** The plugin names no command to check with. */
  | { readonly kind: "unchecked" };

const CHECK_TIMEOUT_MS = 5_000;

/** Runs the command line that the plugin names as its check. Nothing is installed. */
export async function checkExternal(
  { check }: ExternalDependency,
  { timeoutMs = CHECK_TIMEOUT_MS, env = process.env }: Omit<InstallOptions, "signal"> = {},
): Promise<ExternalCheck> {
  const [command, ...args] = splitCommandLine(check);
  if (command === undefined) return { kind: "unchecked" };
  const end = await runChild({ ...KEPT_OUTPUT, command, args, timeoutMs, graceMs: GRACE_MS, env });
  if (end.kind === "exited" && end.code === 0) return { kind: "present" };
  if (end.kind === "not-started" && end.code === "ENOENT")
    return { kind: "missing", reason: `there is no program '${command}'` };
  return { kind: "missing", reason: `'${check}' ${howItEnded(end, timeoutMs)}` };
}

/** The words of a command line, quoted or not. No shell runs it: variables, pipes and redirections have no meaning. */
export function splitCommandLine(line: string): readonly string[] {
  return (line.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/s, "$2"));
}

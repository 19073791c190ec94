// The command lines that start this program as a server and as a hook, and whether an entry of a client's config starts it. Paths are
// absolute, because a client started from a desktop may have a short PATH.
import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, resolve, sep } from "node:path";
import { DEFAULT_PROFILE, type HomeContext, selectHome } from "@hermes-memory/core/internal/home";
import type { CommandContext } from "../command.ts";
import { DEFAULT_SERVER_NAME, type Environment, type ServerLaunch, userHome } from "./clients.ts";

export type Program = { readonly node: string; readonly script: string };

export function thisProgram(): Program {
  return { node: process.execPath, script: realpathSync(process.argv[1] ?? "") };
}

/** `client`: named in the journal as the origin of what it writes. */
export function launchOf(
  { node, script }: Program,
  client: string,
  { home, io }: Pick<CommandContext, "home" | "io">,
): ServerLaunch {
  return {
    command: node,
    args: [script, ...profileFlag(home, io.env), "mcp", "--for", client],
    env: io.env.HERMES_HOME?.trim() ? { HERMES_HOME: resolve(io.env.HERMES_HOME.trim()) } : {},
  };
}

/** npx may delete a package that it fetched for one run. */
export function isTemporary({ script }: Program): boolean {
  return script.includes(`${sep}_npx${sep}`);
}

/** The published launcher, a link to it, or the checkout. */
const HERMES = /(?:^|\/)(?:hermes(?:-memory)?(?:\.js|\.cmd|\.exe)?|src\/cli\/main\.ts)$/;

export function isHermes(word: string): boolean {
  return HERMES.test(word.replaceAll("\\", "/"));
}

/** An entry of a client's config, ours or another one. */
export type NamedLaunch = {
  readonly name: string;
  readonly command: string;
  /** As in the file, so that indexes agree. */
  readonly args: readonly unknown[];
};

/** Empty when the entry has no command. */
export function namedLaunch(
  name: string,
  { command, args }: { readonly command?: unknown; readonly args?: unknown },
): NamedLaunch[] {
  return typeof command === "string" ? [{ name, command, args: Array.isArray(args) ? args : [] }] : [];
}

/** Whether an entry starts this program. The default name is enough: no other server has it. */
export function isOurs(
  name: string,
  entry: { readonly command?: unknown; readonly args?: unknown },
): boolean {
  if (typeof entry.command !== "string") return false;
  if (name === DEFAULT_SERVER_NAME) return true;
  const args = Array.isArray(entry.args) ? entry.args.filter((each) => typeof each === "string") : [];
  return [entry.command, ...args].some(isHermes) && args.includes("mcp");
}

/** Pins the current profile, so that the entry keeps it when the user switches later. */
function profileFlag({ home, profile }: CommandContext["home"], env: Environment): string[] {
  const isNamed = profile !== DEFAULT_PROFILE && profile !== "custom";
  const context: HomeContext = { env, platform: process.platform, userHome: userHome(env) };
  const byDefault = selectHome(context, {});
  const isDefaultHome = byDefault.ok && byDefault.value.home === home;
  return isNamed || (profile === DEFAULT_PROFILE && !isDefaultHome) ? ["--profile", profile] : [];
}

// ---- Hooks ----

// It is constant for one installation, because Codex asks the user again when it changes, and it ends with client and event, by which
// we recognise our own entries.

export type HookLaunch = Program & {
  /** `--home` and `--profile` with their values; may be empty. */
  readonly flags: readonly string[];
};

/** The words of a hook. It cannot be given an environment, so the home is a flag. */
export function hookLaunchOf(
  { node, script }: Program,
  { home, io }: Pick<CommandContext, "home" | "io">,
): HookLaunch {
  const own = io.env.HERMES_HOME?.trim();
  return {
    node,
    script,
    flags: [...(own ? ["--home", resolve(own)] : []), ...profileFlag(home, io.env)],
  };
}

/**
 * One text that a POSIX shell, Git Bash and cmd.exe split into the same words, without any other feature of a shell. `powershell`: that
 * shell takes a quoted first word for a text unless `&` is before it.
 */
export function hookCommand(
  { node, script, flags }: HookLaunch,
  client: string,
  event: string,
  shell: Shell,
): string {
  const quote = shell === "sh" ? posixQuoted : windowsQuoted;
  const words = [node, script, "hook", ...flags, client, event].map(quote).join(" ");
  return shell === "powershell" ? `& ${words}` : words;
}

export type Shell = "sh" | "windows" | "powershell";

/** The shell through which clients run a command on this platform. */
export function shellOf(platform: string): Shell {
  return platform === "win32" ? "windows" : "sh";
}

const PLAIN = /^[\w@%+=:,./-]+$/;

function posixQuoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Slashes, because Git Bash removes single backslashes; Windows accepts both. A path cannot hold a double quote there. */
function windowsQuoted(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `"${word.replaceAll("\\", "/")}"`;
}

const WORDS = /'(?:[^']|'\\'')*'|"[^"]*"|\S+/g;

/** Whether a command of a client's settings is a hook of ours, of this installation or another one. */
export function isOwnHook(command: unknown, client: string): boolean {
  if (typeof command !== "string") return false;
  const words = wordsOf(command);
  return words.at(-2) === client && words.includes("hook") && words.some(isHermes);
}

/** The program or script of a hook of ours that is no longer there. */
export function missingFile(command: string): string | undefined {
  const words = wordsOf(command);
  return words.slice(0, words.indexOf("hook")).find((word) => isAbsolute(word) && !existsSync(word));
}

function wordsOf(command: string): string[] {
  const found = command.match(WORDS) ?? [];
  return found.map((word) => word.replace(/^(['"])(.*)\1$/, "$2").replaceAll("'\\''", "'"));
}

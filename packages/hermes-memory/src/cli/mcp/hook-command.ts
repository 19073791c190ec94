// The command line of a hook as a client's settings hold it. It is constant for one installation, because Codex asks the user again
// when it changes, and it ends with client and event, by which we recognise our own entries.
import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { CommandContext } from "../command.ts";
import { isHermes, type Program, profileFlag } from "./launch.ts";

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

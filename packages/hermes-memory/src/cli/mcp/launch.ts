// The command line that starts this program as a server, and whether an entry of a client's config starts it. Paths are absolute,
// because a client started from a desktop may have a short PATH.
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
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
export function profileFlag({ home, profile }: CommandContext["home"], env: Environment): string[] {
  const isNamed = profile !== DEFAULT_PROFILE && profile !== "custom";
  const context: HomeContext = { env, platform: process.platform, userHome: userHome(env) };
  const byDefault = selectHome(context, {});
  const isDefaultHome = byDefault.ok && byDefault.value.home === home;
  return isNamed || (profile === DEFAULT_PROFILE && !isDefaultHome) ? ["--profile", profile] : [];
}

// Commands that the active provider adds to the command line. Only its `cli` file is imported, not the provider itself.
import { readFileSync } from "node:fs";
import { err, ok, type Result } from "../../lib/index.ts";
import { DEADLINES_MS } from "../contract.ts";
import { runAsProvider, runForeign } from "../kit/foreign-code.ts";
import { type FoundProvider, type LookedUp, lookUp } from "./find-providers.ts";
import { importFile, type LoadOptions } from "./load-provider.ts";
import { findModule } from "./plugin-files.ts";

export type ProviderCommand = {
  readonly name: string;
  readonly help: string;
  readonly description: string;
  /** Passes the command object to the plugin, which adds its subcommands. May throw. */
  readonly setup: (command: unknown) => void;
  readonly handler?: (args: unknown) => unknown;
};

/** At most one of the two fields. Neither: the provider has no commands. */
export type ProviderCommands = { readonly command?: ProviderCommand; readonly warning?: string };

/** `activeName` is the result of `activeProviderName`; for "" there are no commands. */
export async function loadProviderCommands(
  home: string,
  activeName: string,
  options: LoadOptions = {},
): Promise<ProviderCommands> {
  const looked = await lookUp(home, activeName);
  const importCommands = looked && importerOf(looked);
  if (looked === undefined || importCommands === undefined) return {};
  const module = await runForeign({ timeoutMs: DEADLINES_MS.load, ...options }, importCommands);
  const read = module.ok
    ? readCommand(looked, module.value, options)
    : err(`Loading them ${module.error.message}`);
  if (!read.ok) return { warning: `The commands of '${activeName}' are not available. ${read.error}.` };
  return { command: read.value };
}

/** For a help page: the command group of the active provider, read from its files without running them. */
export async function describeProviderCommands(
  home: string,
  activeName: string,
): Promise<Pick<ProviderCommand, "name" | "help"> | undefined> {
  const looked = await lookUp(home, activeName);
  if (looked === undefined || !registersCommands(looked)) return undefined;
  return { name: looked.found.name, help: helpOf(looked.found) };
}

function registersCommands(looked: LookedUp): boolean {
  if ("bundled" in looked) return looked.bundled.loadCommands !== undefined;
  const path = commandsFile(looked.found);
  try {
    return path !== undefined && /\bregister(?:Cli|_cli)\b/.test(readFileSync(path, "utf8"));
  } catch {
    return false; // unreadable: running the command reports why
  }
}

function helpOf({ name, manifest }: FoundProvider): string {
  return manifest.description === "" ? `Manage ${name} memory plugin` : manifest.description;
}

function importerOf(looked: LookedUp): (() => Promise<unknown>) | undefined {
  if ("bundled" in looked) return looked.bundled.loadCommands;
  const path = commandsFile(looked.found);
  return path === undefined ? undefined : () => importFile(path);
}

function commandsFile({ directory, problem }: FoundProvider): string | undefined {
  return directory === undefined || problem !== undefined ? undefined : findModule(directory, "cli");
}

function readCommand(
  { found }: LookedUp,
  module: unknown,
  { onStray = () => {} }: LoadOptions,
): Result<ProviderCommand | undefined, string> {
  const exports = module as Readonly<Record<string, unknown>>;
  const register = exports.registerCli ?? exports.register_cli;
  if (register === undefined) return ok(undefined);
  if (typeof register !== "function") return err("Its registerCli is no function");
  return ok({
    name: found.name,
    help: helpOf(found),
    description: found.manifest.description,
    setup: (command) => void runAsProvider(onStray, () => register(command)),
    handler: handlerOf(found.name, exports),
  });
}

/** `<name>_command`, or `honcho_command`: plugins copied from Honcho, the first provider with commands, still use that name. */
function handlerOf(
  name: string,
  exports: Readonly<Record<string, unknown>>,
): ((args: unknown) => unknown) | undefined {
  const names = [`${name}_command`, `${name.replace(/[^A-Za-z0-9_]/g, "_")}_command`, "honcho_command"];
  const handler = names.map((candidate) => exports[candidate]).find((value) => typeof value === "function");
  return handler === undefined ? undefined : (args) => (handler as (args: unknown) => unknown)(args);
}

// Loading one provider: its code is imported (once per process), a new instance is created from its exports, and the instance is checked
// against the contract. Below: the commands that it adds to the command line.
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { err, ok, type Result } from "../../lib/index.ts";
import { DEADLINES_MS, type MemoryProvider, PROVIDER_CONTRACT } from "../contract.ts";
import {
  type ForeignFailure,
  type ForeignRules,
  oneLine,
  runAsProvider,
  runForeign,
} from "../kit/foreign-code.ts";
import { neededVariables } from "../setup/setup.ts";
import { type FoundProvider, findBundled, findProviders, type LookedUp, lookUp } from "./find-providers.ts";
import {
  checkPlugin,
  findModule,
  importFile,
  instantiatePlugin,
  isProviderName,
  type PluginFault,
  type PluginKind,
  pluginsDirectory,
  registrations,
} from "./plugins.ts";

/** Why a provider could not be loaded. */
export type LoadFailure = {
  readonly kind:
    | "bad-name"
    | "not-found"
    | "not-loadable"
    | "import-failed"
    | "no-provider"
    | "wrong-contract";
  /** The failure, its reason and the remedy. No stack, no secrets. */
  readonly message: string;
};

/** A provider, created and ready for `initialize`. */
export type LoadedProvider = { readonly found: FoundProvider; readonly provider: MemoryProvider };

export type Availability = {
  readonly available: boolean;
  readonly reason?: string;
  /** Of one that is not available: the variables that its setup asks for. */
  readonly variables?: readonly string[];
};

export type LoadOptions = Partial<ForeignRules>;

/** Imports a provider of a home by name and checks its contract. */
export async function loadProvider(
  home: string,
  name: string,
  options: LoadOptions = {},
): Promise<Result<LoadedProvider, LoadFailure>> {
  if (!isProviderName(name)) {
    const message = `'${name}' cannot be the name of a memory provider: letters, digits, '.', '_' and '-', starting with a letter or digit.`;
    return err({ kind: "bad-name", message });
  }
  const looked = await lookUp(home, name);
  if (looked === undefined) return err(await notFound(home, name));
  const { found } = looked;
  if (found.problem !== undefined)
    return err({ kind: "not-loadable", message: `Cannot load '${name}'. ${found.problem}` });

  const rules: ForeignRules = { timeoutMs: DEADLINES_MS.load, ...options };
  const loaded = await runForeign(rules, () => providerOf(home, looked));
  if (!loaded.ok) return err(importFailed(looked, loaded.error));
  const provider = loaded.value;
  return provider.ok ? ok({ found, provider: provider.value }) : err(noProvider(found, provider.error));
}

/** Whether the failure was found by running the plugin's code. The other failures show in its files. */
export function isOwnFault({ kind }: LoadFailure): boolean {
  return kind === "import-failed" || kind === "no-provider" || kind === "wrong-contract";
}

async function providerOf(home: string, looked: LookedUp): Promise<Result<MemoryProvider, PluginFault>> {
  if ("bundled" in looked) return ok((await looked.bundled.load())({ home }));
  return instantiate(await importFile(looked.entry ?? ""));
}

async function notFound(home: string, name: string): Promise<LoadFailure> {
  const names = (await findProviders(home)).providers.map((provider) => provider.name).join(", ");
  const message =
    `There is no memory provider '${name}'. There are: ${names}. ` +
    `Put a plugin of your own into ${pluginsDirectory(home)}, in a directory of its name.`;
  return { kind: "not-found", message };
}

function importFailed(looked: LookedUp, { message, code }: ForeignFailure): LoadFailure {
  const { name } = looked.found;
  const entry = "entry" in looked ? looked.entry : undefined;
  return {
    kind: "import-failed",
    message: `Loading '${name}' ${message}. ${remedy(name, entry ?? "", code)}`,
  };
}

function remedy(name: string, entry: string, code: string | undefined): string {
  switch (code) {
    case "SyntaxError":
    case "ERR_INVALID_TYPESCRIPT_SYNTAX":
      return `Repair the plugin; 'node "${entry}"' shows the line.`;
    case "ERR_MODULE_NOT_FOUND":
    case "MODULE_NOT_FOUND":
      return `'hermes memory setup ${name} --yes' installs the packages that its plugin.yaml names; other files are missing from the plugin.`;
    case "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING":
      return "Node runs no TypeScript inside node_modules: copy the plugin instead of linking it, or use its JavaScript.";
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return "Node only strips types: enums, namespaces and parameter properties need a build to JavaScript.";
    default:
      return "Repair the plugin, or choose another provider with 'hermes memory setup'.";
  }
}

function noProvider({ name }: FoundProvider, { kind, message }: PluginFault): LoadFailure {
  if (kind === "wrong-contract") return { kind, message: `Cannot use '${name}': ${message}.` };
  return {
    kind,
    message: `The plugin '${name}' gives no memory provider: ${message}. See docs/providers.md for what it has to export.`,
  };
}

// ---- Availability ----

/** Never rejects: a throw or a hang counts as not available. `isAvailable` and `unavailableReason` have the deadline each. */
export async function checkAvailability(
  provider: MemoryProvider,
  options: Partial<ForeignRules> = {},
): Promise<Availability> {
  const rules: ForeignRules = { timeoutMs: DEADLINES_MS.availability, ...options };
  const answer = await runForeign(rules, () => provider.isAvailable());
  if (!answer.ok) return { available: false, reason: `isAvailable() ${answer.error.message}.` };
  if (answer.value) return { available: true };
  const needed = neededVariables(provider);
  const unavailable = { available: false, ...(needed.length === 0 ? {} : { variables: needed }) };
  const reason = await runForeign(rules, () => provider.unavailableReason?.() ?? "");
  if (!reason.ok) return { ...unavailable, reason: `unavailableReason() ${reason.error.message}.` };
  const said = typeof reason.value === "string" ? oneLine(reason.value) : "";
  return said === "" ? unavailable : { ...unavailable, reason: `${said}.` };
}

/** What a backup of this memory needs: absolute paths. Undefined when the provider does not tell. Never rejects. */
export async function backupPathsOf(
  { found, provider }: LoadedProvider,
  home: string,
): Promise<readonly string[] | undefined> {
  const bundled = found.source === "bundled" ? await findBundled(found.name) : undefined;
  if (provider.backupPaths == null) return bundled?.backupPaths?.(home);
  const rules: ForeignRules = { timeoutMs: DEADLINES_MS.availability };
  const told = await runForeign<unknown>(rules, () => provider.backupPaths?.(home));
  if (!told.ok || !Array.isArray(told.value)) return undefined;
  return told.value.filter((path): path is string => typeof path === "string" && isAbsolute(path));
}

// ---- What a memory provider is ----

type Method = Exclude<keyof MemoryProvider, "contract" | "name" | "preCompressCheckpointApiVersion">;

const METHODS: Readonly<Record<Method, "required" | "optional">> = {
  isAvailable: "required",
  initialize: "required",
  initializeForInspection: "optional",
  getToolSchemas: "optional",
  unavailableReason: "optional",
  systemPromptBlock: "optional",
  prefetch: "optional",
  recallStatus: "optional",
  queuePrefetch: "optional",
  syncTurn: "optional",
  handleToolCall: "optional",
  onTurnStart: "optional",
  onSessionEnd: "optional",
  onSessionSwitch: "optional",
  onPreCompress: "optional",
  onMemoryWrite: "optional",
  forget: "optional",
  eraseUser: "optional",
  onDelegation: "optional",
  shutdown: "optional",
  getConfigSchema: "optional",
  saveConfig: "optional",
  postSetup: "optional",
  readConfig: "optional",
  backupPaths: "optional",
  checkConnection: "optional",
  selfTest: "optional",
};

const PROVIDER: PluginKind<MemoryProvider> = {
  short: "provider",
  reserved: "builtin",
  contract: PROVIDER_CONTRACT,
  factory: /^create\w*Provider$/,
  members: METHODS,
  args: [],
  /** The last registered provider counts; a returned provider is accepted too. */
  async registered(register) {
    let provider: unknown;
    const take = (value: unknown): void => {
      provider = value;
    };
    const returned = await register(registrations({ MemoryProvider: take }));
    if (provider === undefined && returned === undefined) throw new Error("it registered no provider");
    return provider ?? returned;
  },
  faultOf(provider) {
    // A provider with tools also needs `handleToolCall`.
    return provider.handleToolCall == null && offersTools(provider)
      ? "offers tools, but has no handleToolCall()"
      : undefined;
  },
};

export function instantiate(module: unknown): Promise<Result<MemoryProvider, PluginFault>> {
  return instantiatePlugin(module, PROVIDER);
}

/** Calls `getToolSchemas` once, as registration does. */
export function checkProvider(value: unknown): Result<MemoryProvider, PluginFault> {
  return checkPlugin(value, PROVIDER);
}

function offersTools(provider: MemoryProvider): boolean {
  try {
    const schemas: unknown = provider.getToolSchemas?.();
    return Array.isArray(schemas) && schemas.length > 0;
  } catch {
    return false; // allowed before `initialize`, and means no tools
  }
}

// ---- Commands that the active provider adds to the command line. Only its `cli` file is imported, not the provider itself ----

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

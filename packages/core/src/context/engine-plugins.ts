// Context engines: the two built-in ones, and plugins of kind `context_engine` in the home's plugins folder. Listing reads only
// text files; the code of a plugin runs when it is loaded.
import { basename, dirname, join } from "node:path";
import {
  describeCause,
  err,
  isDirectory,
  isFile,
  namesIn,
  ok,
  preview,
  pyStrip,
  type Result,
  snakeCase,
  type TextModel,
} from "../lib/index.ts";
import {
  describeForeign,
  type EntryFile,
  findEntryFile,
  importFile,
  isProviderName,
  pluginsDirectory,
  readManifest,
  runForeign,
} from "../providers/index.ts";
import { type ContextEngine, ENGINE_CONTRACT } from "./engine.ts";

/** An engine that `context.engine` can select: built in, or a plugin of the home. */
export type ListedEngine = {
  /** The value of `context.engine` that selects it. */
  readonly name: string;
  readonly source: "built-in" | "plugin";
  readonly description: string;
  /** Of a plugin. */
  readonly directory?: string;
  /** The file to import; absent when `problem` says why there is none. */
  readonly entry?: string;
  readonly problem?: string;
};

type ListedEngines = {
  /** Built-in engines first, then plugins by name. */
  readonly engines: readonly ListedEngine[];
  /** About folders that were skipped. */
  readonly warnings: readonly string[];
};

const BUILT_IN_ENGINES: readonly ListedEngine[] = [
  {
    name: "compressor",
    source: "built-in",
    description: "Summarises older turns into one handoff message.",
  },
  {
    name: "lcm",
    source: "built-in",
    description: "Summarises older turns in layers; every span can be read again in full.",
  },
];

const KIND = "context_engine";

/** Lists the built-in engines and the engine plugins of a home, without running their code. */
export async function listEngines(home: string): Promise<ListedEngines> {
  const warnings: string[] = [];
  const plugins: ListedEngine[] = [];
  for (const parent of parentsIn(home))
    for (const name of pluginFolders(parent, warnings)) {
      const looked = await readPluginFolder(join(parent, name), name);
      if (looked === undefined) continue;
      if ("warning" in looked) warnings.push(looked.warning);
      else if (!plugins.some((other) => other.name === name)) plugins.push(looked.engine);
    }
  return { engines: [...BUILT_IN_ENGINES, ...plugins], warnings };
}

/** Undefined when there is no such engine. */
export async function findEngine(home: string, name: string): Promise<ListedEngine | undefined> {
  const builtIn = BUILT_IN_ENGINES.find((engine) => engine.name === name);
  if (builtIn || !isProviderName(name)) return builtIn;
  for (const parent of parentsIn(home)) {
    const looked = await readPluginFolder(join(parent, name), name);
    if (looked && "engine" in looked) return looked.engine;
  }
  return undefined;
}

/** `plugins/context_engine/` has engines only and comes first; in `plugins/` they are beside other plugins. */
function parentsIn(home: string): readonly string[] {
  const all = pluginsDirectory(home);
  return [join(all, KIND), all].filter((parent) => parent === all || isDirectory(parent));
}

type Looked = { readonly engine: ListedEngine } | { readonly warning: string };

/** Undefined for a folder without an engine plugin. */
async function readPluginFolder(directory: string, name: string): Promise<Looked | undefined> {
  try {
    const isInOwnFolder = basename(dirname(directory)) === KIND && isDirectory(directory);
    // Elsewhere, only this file tells the kind.
    if (!isInOwnFolder && !isFile(join(directory, "plugin.yaml"))) return undefined;
    const { manifest } = await readManifest(directory);
    if (!isInOwnFolder && manifest.kind !== KIND) return undefined;
    const obstacle = nameProblem(name);
    if (obstacle !== undefined) return { warning: `${directory} is passed over: ${obstacle}` };
    const entry = findEntryFile(directory);
    const engine = { name, source: "plugin" as const, description: manifest.description, directory };
    if (entry.kind === "file") return { engine: { ...engine, entry: entry.path } };
    const isPython = isFile(join(directory, "__init__.py"));
    return { engine: { ...engine, problem: isPython ? PYTHON_PLUGIN : entryProblem(entry) } };
  } catch (cause) {
    return { warning: `Cannot look into ${directory}: ${describeCause(cause)}. It is passed over.` };
  }
}

function nameProblem(name: string): string | undefined {
  if (!isProviderName(name))
    return "an engine's name has only letters, digits, '.', '_' and '-'. Rename the directory.";
  const isTaken = BUILT_IN_ENGINES.some((engine) => engine.name === name);
  return isTaken ? `'${name}' is built in. Rename the directory.` : undefined;
}

const PYTHON_PLUGIN =
  "It is a Python plugin, and this program loads JavaScript and TypeScript only. " +
  "Use it with the Python edition, or look for an edition with an index.ts or index.js.";

function entryProblem(entry: EntryFile): string {
  switch (entry.kind) {
    case "outside":
      return `Its package.json leads out of its directory ('${entry.named}'). Name a file inside.`;
    case "missing":
      return `Its package.json names '${entry.named}', which is not there. Build the plugin, or correct the name.`;
    default:
      return "It has no entry file. Add index.ts or index.js, or name a file in package.json.";
  }
}

function pluginFolders(parent: string, warnings: string[]): readonly string[] {
  try {
    const names = namesIn(parent).filter((name) => !/^[._]/.test(name));
    return names.filter((name) => isDirectory(join(parent, name))).sort();
  } catch (cause) {
    warnings.push(`Cannot read ${parent}: ${describeCause(cause)}. Only the built-in engines are known.`);
    return [];
  }
}

// Loading: from a plugin's module to an engine. Tried in this order: `register(ctx)`, the default export, then by name all
// classes and functions called `create...Engine`. All failures are collected for the error message.

/** Passed to the plugin: in the context of `register`, or as the argument of a class or function. */
export type EngineHost = {
  readonly home: string;
  readonly model: string;
  readonly contextLength: number;
  /** For summaries; absent when no model is configured. */
  readonly summarizer?: TextModel;
};

type LoadedEngine = {
  readonly engine: ContextEngine;
  readonly commands: readonly EngineCommand[];
  /** About registrations that were refused. */
  readonly warnings: readonly string[];
};

type LoadRules = {
  readonly timeoutMs: number;
  /** Slash commands that are already taken. */
  readonly reservedCommands: readonly string[];
  /** Called for errors in plugin work that no code awaits. */
  readonly onStray?: (cause: unknown) => void;
};

/** The error is a sentence without the plugin's name. Never rejects. */
export async function loadEngine(
  plugin: ListedEngine,
  host: EngineHost,
  rules: LoadRules,
): Promise<Result<LoadedEngine, string>> {
  const { name, entry, problem } = plugin;
  if (entry === undefined) return err(problem ?? "It has no entry file.");
  const loaded = await runForeign(rules, async () => instantiate(await importFile(entry), name, host, rules));
  if (!loaded.ok) return err(`Loading it ${loaded.error.message}.`);
  if (!loaded.value.ok) return loaded.value;
  const { engine } = loaded.value.value;
  // An engine with another name is not the one config asks for.
  if (engine.name !== name)
    return err(`It calls itself '${preview(engine.name, 60)}'; both names have to be equal.`);
  const usable = await runForeign(rules, () => isAvailable(engine));
  if (!usable.ok) return err(`isAvailable() ${usable.error.message}.`);
  return usable.value ? loaded.value : err("It says that it is not available.");
}

type Exports = Readonly<Record<string, unknown>>;
type Callable = (...args: readonly unknown[]) => unknown;
type Attempt = { readonly what: string; readonly make: () => unknown };

async function instantiate(
  module: unknown,
  owner: string,
  host: EngineHost,
  { reservedCommands }: LoadRules,
): Promise<Result<LoadedEngine, string>> {
  const exports = exportsOf(module);
  const faults: string[] = [];
  if (typeof exports.register === "function") {
    const registered = await register(exports.register as Callable, owner, host, reservedCommands);
    if (registered.ok) return registered;
    faults.push(registered.error);
  }
  for (const { what, make } of attempts(exports, host)) {
    try {
      const checked = checkEngine(await make());
      if (checked.ok) return ok({ engine: checked.value, commands: [], warnings: [] });
      faults.push(`${what} ${checked.error}`);
    } catch (cause) {
      faults.push(`${what} failed: ${describeForeign(cause)}`);
    }
  }
  return err(`It gives no context engine: ${faults.join("; ") || "it exports nothing of that kind"}.`);
}

/** The first engine that is registered is used. Registrations of tools, hooks and providers are ignored. */
async function register(
  registering: Callable,
  owner: string,
  host: EngineHost,
  reserved: readonly string[],
): Promise<Result<LoadedEngine, string>> {
  let engine: ContextEngine | undefined;
  const commands: EngineCommand[] = [];
  const warnings: string[] = [];
  const takeEngine = (value: unknown): void => {
    const checked = checkEngine(value);
    if (!checked.ok) warnings.push(`The value it registered ${checked.error}.`);
    else if (engine !== undefined) warnings.push("It registered a second engine, which was refused.");
    else engine = checked.value;
  };
  const take = (...args: readonly unknown[]): void => {
    const command = readCommand(args, owner, [...reserved, ...commands.map(({ name }) => name)]);
    if (command.ok) commands.push(command.value);
    else warnings.push(command.error);
  };
  try {
    const returned = await registering({
      ...host,
      registerContextEngine: takeEngine,
      register_context_engine: takeEngine,
      registerCommand: take,
      register_command: take,
      ...IGNORED_REGISTRATIONS,
    });
    if (engine === undefined && returned !== undefined) takeEngine(returned);
  } catch (cause) {
    return err(`register() failed: ${describeForeign(cause)}`);
  }
  if (engine !== undefined) return ok({ engine, commands, warnings });
  return err(`register() registered no engine${warnings.length > 0 ? ` (${warnings.join(" ")})` : ""}`);
}

const IGNORED_REGISTRATIONS = Object.fromEntries(
  ["Tool", "Hook", "CliCommand", "MemoryProvider"].flatMap((what) =>
    [`register${what}`, `register${snakeCase(what)}`].map((name) => [name, (): void => {}]),
  ),
);

/** Ways to get an engine from the exports: the default export first, then the others by name. */
function attempts(exports: Exports, host: EngineHost): readonly Attempt[] {
  const named = Object.keys(exports).filter((name) => !["register", "default"].includes(name));
  return ["default", ...named.sort()].flatMap((name) => {
    const value = exports[name];
    const isDefault = name === "default";
    const label = (text: string): string => (isDefault ? "the default export" : text);
    if (isClass(value)) {
      // Constructing an unrelated class could have any effect.
      if (!isDefault && !resemblesEngine(value.prototype)) return [];
      return [{ what: label(`class ${name}`), make: () => Reflect.construct(value, [host]) }];
    }
    if (typeof value === "function") {
      if (!isDefault && !/^create\w*Engine$/.test(name)) return [];
      return [{ what: label(`${name}()`), make: () => (value as Callable)(host) }];
    }
    return resemblesEngine(value) ? [{ what: label(`'${name}'`), make: () => value }] : [];
  });
}

async function isAvailable(engine: ContextEngine): Promise<boolean> {
  if (!("isAvailable" in engine) || typeof engine.isAvailable !== "function") return true;
  return Boolean(await engine.isAvailable());
}

/** A CommonJS module compiled from ESM has its real exports one level deeper. */
function exportsOf(module: unknown): Exports {
  if (typeof module !== "object" || module === null) return {};
  const inner: unknown = "default" in module ? module.default : undefined;
  const isTranslated = typeof inner === "object" && inner !== null && "__esModule" in inner;
  return (isTranslated ? inner : module) as Exports;
}

function isClass(value: unknown): value is new (host: EngineHost) => unknown {
  if (typeof value !== "function") return false;
  // The second test finds classes compiled to functions.
  return /^class\b/.test(Function.prototype.toString.call(value)) || resemblesEngine(value.prototype);
}

// Checking: is a value a context engine? Decided by its members, because a plugin has no base class of ours to extend.

type Kind = "number" | "required" | "optional";

const MEMBERS: Readonly<Record<Exclude<keyof ContextEngine, "contract" | "name">, Kind>> = {
  lastPromptTokens: "number",
  lastCompletionTokens: "number",
  lastTotalTokens: "number",
  thresholdTokens: "number",
  contextLength: "number",
  compressionCount: "number",
  updateFromResponse: "required",
  shouldCompress: "required",
  compress: "required",
  getStatus: "required",
  shouldDeferPreflightToRealUsage: "optional",
  hasContentToCompress: "optional",
  onCompacted: "optional",
  onSessionStart: "optional",
  onSessionEnd: "optional",
  onSessionReset: "optional",
  carryOverNewSessionContext: "optional",
  getToolSchemas: "optional",
  handleToolCall: "optional",
  updateModel: "optional",
};

/** The error continues a sentence about the value: `has no compress()`. Throws what a getter throws. */
export function checkEngine(value: unknown): Result<ContextEngine, string> {
  if (typeof value !== "object" || value === null) return err("is not an engine object");
  const engine = value as Readonly<Record<string, unknown>>;
  const { contract = 1, name } = engine;
  if (typeof contract !== "number" || !Number.isInteger(contract) || contract < 1)
    return err("has a 'contract' that is no version number");
  if (contract > ENGINE_CONTRACT)
    return err(
      `is made for version ${contract} of the engine contract, and this program knows version ${ENGINE_CONTRACT}; update hermes-memory, or use an older version of the plugin`,
    );
  if (typeof name !== "string" || pyStrip(name) === "") return err("has no 'name'");
  const faults = Object.entries(MEMBERS).map(([member, kind]) => faultOf(engine, member, kind));
  const found = faults.filter((fault) => fault !== "");
  // All members were checked above. Return values of methods are checked by the callers.
  return found.length > 0 ? err(found.join(", ")) : ok(value as ContextEngine);
}

/** True when it has a method of the contract, in either spelling. Recognises an engine's class without constructing it. */
function resemblesEngine(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  const methods = Object.entries(MEMBERS).filter(([, kind]) => kind === "required");
  return methods.some(([name]) => name in prototype || snakeCase(name) in prototype);
}

function faultOf(engine: Readonly<Record<string, unknown>>, member: string, kind: Kind): string {
  const value = engine[member] ?? undefined;
  if (kind === "number") return typeof value === "number" ? "" : `has no number '${member}'`;
  if (typeof value === "function") return "";
  if (value !== undefined) return `has a '${member}' that is no function`;
  const other = snakeCase(member);
  // Otherwise the method would silently never be called.
  if (other !== member && typeof engine[other] === "function")
    return `has ${other}(), but the contract calls it ${member}()`;
  return kind === "required" ? `has no ${member}()` : "";
}

// Slash commands that a plugin engine brings.

export type EngineCommand = {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
  /** Describes the arguments. */
  readonly argsHint: string;
  /** `context-engine:<engine>`. */
  readonly owner: string;
  /** Takes the text behind the command; its return value is shown. May throw. */
  readonly handler: (args: string) => unknown;
};

/** Reads the arguments of `registerCommand(name, handler, description, argsHint)`. */
function readCommand(
  args: readonly unknown[],
  owner: string,
  taken: readonly string[],
): Result<EngineCommand, string> {
  const [given, handler, description, argsHint] = args;
  const name = commandName(given);
  const shown = `The command '/${preview(name, 40)}'`;
  if (name === "") return err("A command without a name was refused.");
  if (typeof handler !== "function") return err(`${shown} was refused: it has no handler.`);
  if (taken.includes(name)) return err(`${shown} was refused: there is one of that name already.`);
  return ok({
    name,
    description: text(description),
    argsHint: text(argsHint),
    owner: `context-engine:${owner}`,
    handler: (rest) => (handler as (args: string) => unknown)(rest),
  });
}

function commandName(given: unknown): string {
  return pyStrip(pyStrip(text(given)).replace(/^\/+/, ""))
    .toLowerCase()
    .replaceAll(" ", "-");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

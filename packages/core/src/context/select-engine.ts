// Selects the engine that `context.engine` names and offers its tools. A plugin is used only when config names it. If it does
// not work, the built-in engine is used and a warning is returned: without any engine the conversation would end when the window
// is full.
import { basename, dirname, join } from "node:path";
import type { HermesConfig } from "../config/index.ts";
import {
  describeCause,
  err,
  isDirectory,
  isFile,
  ok,
  preview,
  pyStrip,
  type Result,
  type TextModel,
} from "../lib/index.ts";
import {
  cannotInspect,
  checkPlugin,
  entryProblem,
  findEntryFile,
  importFile,
  instantiatePlugin,
  isProviderName,
  type PluginKind,
  PYTHON_ENTRY,
  pluginFolders,
  pluginsDirectory,
  readManifest,
  registrations,
  runForeign,
} from "../providers/index.ts";
import {
  argumentPreview,
  described,
  errorOutcome,
  readForeignTools,
  type Tool,
  type ToolDefinition,
  textOutcome,
} from "../tools/index.ts";
import { type ContextEngine, ENGINE_CONTRACT, type ModelWindow, onMessages } from "./engine.ts";

/** The home, the model's window, and how the built-in engines are made. */
export type SelectEngineOptions = {
  readonly home: string;
  readonly window: ModelWindow;
  readonly builtIn: {
    readonly compressor: () => ContextEngine;
    /** Absent when there is no session database for its summaries. */
    readonly lcm?: () => ContextEngine | Promise<ContextEngine>;
  };
  /** Passed to plugin engines. */
  readonly summarizer?: TextModel;
  /** Slash commands that are already taken. */
  readonly reservedCommands?: readonly string[];
  readonly loadTimeoutMs?: number;
  /** Called for errors in plugin work that no code awaits. */
  readonly onStray?: (cause: unknown) => void;
};

/** The engine that config selects, or the default with the reason. */
export type SelectedEngine = {
  readonly engine: ContextEngine;
  readonly source: "built-in" | "plugin";
  /** Commands of a plugin engine. */
  readonly commands: readonly EngineCommand[];
  /** Why the engine named in config is not used; shown to the user once. */
  readonly warning?: string;
  /** Other problems of the plugin, for the log. */
  readonly remarks: readonly string[];
};

const LOAD_TIMEOUT_MS = 10_000;

/** Opens the context engine that config names. Falls back to the compressor, with a warning, if that engine cannot be used. */
export async function selectEngine(
  { context }: Pick<HermesConfig, "context">,
  options: SelectEngineOptions,
): Promise<SelectedEngine> {
  const selected = await selectByName(context.engine, options);
  if (selected.ok) return selected.value;
  const warning =
    `The context engine '${context.engine}' is not used: ${selected.error} The built-in one takes its place. ` +
    "'hermes context engines' lists what there is.";
  return { ...builtIn(options.builtIn.compressor(), options), warning };
}

/** The error is a sentence. */
async function selectByName(
  name: string,
  options: SelectEngineOptions,
): Promise<Result<SelectedEngine, string>> {
  if (name === "compressor") return ok(builtIn(options.builtIn.compressor(), options));
  if (name === "lcm") return selectLossless(options);
  const plugin = (await listEngines(options.home)).engines.find((engine) => engine.name === name);
  if (plugin === undefined) return err("There is no such engine.");
  const { model, contextLength } = options.window;
  const host = { home: options.home, model, contextLength, summarizer: options.summarizer };
  const rules = {
    timeoutMs: options.loadTimeoutMs ?? LOAD_TIMEOUT_MS,
    reservedCommands: options.reservedCommands ?? [],
    onStray: options.onStray,
  };
  const loaded = await loadEngine(plugin, host, rules);
  if (!loaded.ok) return loaded;
  const { engine, commands, warnings } = loaded.value;
  // An engine that does not know the window would let the conversation grow past it.
  const told = await runForeign(rules, () => engine.updateModel?.(options.window));
  if (!told.ok) return err(`updateModel() ${told.error.message}.`);
  return ok({ engine: onMessages(engine), source: "plugin", commands, remarks: warnings });
}

/**
 * An engine object of the embedding program, treated as a plugin. Its type says that it works on `Message`, so an absent `contract`
 * means version 2; one with `contract: 1` gets chat rows. `engine` must have passed `checkEngine`.
 */
export async function givenEngine(
  engine: ContextEngine,
  window: ModelWindow,
): Promise<Result<SelectedEngine, string>> {
  const told = await runForeign({ timeoutMs: LOAD_TIMEOUT_MS }, () => engine.updateModel?.(window));
  if (!told.ok) return err(`updateModel() ${told.error.message}.`);
  const used = engine.contract === 1 ? onMessages(engine) : engine;
  return ok({ engine: used, source: "plugin", commands: [], remarks: [] });
}

async function selectLossless(options: SelectEngineOptions): Promise<Result<SelectedEngine, string>> {
  const { lcm } = options.builtIn;
  if (lcm === undefined) return err("It needs the session database, and there is none.");
  try {
    return ok(builtIn(await lcm(), options));
  } catch (cause) {
    return err(`It could not be started: ${describeCause(cause)}.`);
  }
}

function builtIn(engine: ContextEngine, { window }: SelectEngineOptions): SelectedEngine {
  engine.updateModel?.(window);
  return { engine, source: "built-in", commands: [], remarks: [] };
}

// Tools of the engine, such as `lcm_grep`. The tools of a plugin are checked like all tools from outside.

type EngineTools = {
  readonly tools: readonly Tool[];
  /** One log line for each plugin tool that was left out. */
  readonly remarks: readonly string[];
};

const CALL_TIMEOUT_MS = 120_000;
const LIST_TIMEOUT_MS = 2_000;

export async function engineTools({
  engine,
  source,
}: Pick<SelectedEngine, "engine" | "source">): Promise<EngineTools> {
  // Without handleToolCall no tool can run, so none is offered.
  if (engine.getToolSchemas === undefined || engine.handleToolCall === undefined)
    return { tools: [], remarks: [] };
  // Own tools read what a compaction took out of the list; the effect of a plugin's is unknown, so assume a write.
  if (source === "built-in")
    return { tools: engine.getToolSchemas().map((own) => engineTool(engine, own, "read")), remarks: [] };
  const who = `The context engine '${engine.name}'`;
  const answer = await runForeign<unknown>({ timeoutMs: LIST_TIMEOUT_MS }, () => engine.getToolSchemas?.());
  if (!answer.ok)
    return { tools: [], remarks: [`${who} could not list its tools: it ${answer.error.message}.`] };
  const { definitions, refused } = readForeignTools(answer.value, { who });
  return {
    tools: definitions.map((definition) => engineTool(engine, definition, "write")),
    remarks: refused.map(({ remark }) => remark),
  };
}

function engineTool(engine: ContextEngine, definition: ToolDefinition, effect: "read" | "write"): Tool {
  const { name } = definition;
  return {
    ...described(definition),
    owner: { kind: "engine", name: engine.name },
    // The answer may contain web pages and files that tools had read.
    policy: { toolset: "context_engine", effect, untrustedSource: `${engine.name}/${name}` },
    preview: argumentPreview,
    run: async (args, { messages }) => {
      const answer = await runForeign<unknown>({ timeoutMs: CALL_TIMEOUT_MS }, () =>
        engine.handleToolCall?.(name, args, messages),
      );
      if (!answer.ok)
        return errorOutcome(`The tool '${name}' of the context engine ${answer.error.message}.`);
      return typeof answer.value === "string"
        ? textOutcome(answer.value)
        : errorOutcome("The context engine answered with something that is not text.");
    },
  };
}

// The engines there are: the two built-in ones, and plugins of kind `context_engine` in the plugins folder of the home. Listing reads
// only text files; the code of a plugin runs when it is loaded.

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
    for (const name of pluginFolders(parent, warnings, "the built-in engines")) {
      const looked = await readPluginFolder(join(parent, name), name);
      if (looked === undefined) continue;
      if ("warning" in looked) warnings.push(looked.warning);
      else if (!plugins.some((other) => other.name === name)) plugins.push(looked.engine);
    }
  return { engines: [...BUILT_IN_ENGINES, ...plugins], warnings };
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
    return { engine: { ...engine, problem: entryProblem(entry, isFile(join(directory, PYTHON_ENTRY))) } };
  } catch (cause) {
    return { warning: cannotInspect(directory, cause) };
  }
}

function nameProblem(name: string): string | undefined {
  if (!isProviderName(name))
    return "an engine's name has only letters, digits, '.', '_' and '-'. Rename the directory.";
  const isTaken = BUILT_IN_ENGINES.some((engine) => engine.name === name);
  return isTaken ? `'${name}' is built in. Rename the directory.` : undefined;
}

// Loading: from a plugin's module to an engine.

/** Passed to the plugin: in the context of `register`, or as the argument of a class or function. */
type EngineHost = {
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
async function loadEngine(
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

async function instantiate(
  module: unknown,
  owner: string,
  host: EngineHost,
  { reservedCommands }: LoadRules,
): Promise<Result<LoadedEngine, string>> {
  let registered: LoadedEngine | undefined;
  /** The first engine that is registered is used. */
  const register: PluginKind<ContextEngine>["registered"] = async (registering) => {
    let engine: ContextEngine | undefined;
    const commands: EngineCommand[] = [];
    const warnings: string[] = [];
    const takeEngine = (value: unknown): void => {
      const checked = checkEngine(value);
      if (!checked.ok) warnings.push(`The value it registered ${checked.error}.`);
      else if (engine !== undefined) warnings.push("It registered a second engine, which was refused.");
      else engine = checked.value;
    };
    const takeCommand = (...args: readonly unknown[]): void => {
      const command = readCommand(args, owner, [...reservedCommands, ...commands.map(({ name }) => name)]);
      if (command.ok) commands.push(command.value);
      else warnings.push(command.error);
    };
    const context = { ...host, ...registrations({ ContextEngine: takeEngine, Command: takeCommand }) };
    const returned = await registering(context);
    if (engine === undefined && returned !== undefined) takeEngine(returned);
    if (engine === undefined)
      throw new Error(`it registered no engine${warnings.length > 0 ? ` (${warnings.join(" ")})` : ""}`);
    registered = { engine, commands, warnings };
    return engine;
  };
  const made = await instantiatePlugin(module, { ...ENGINE, args: [host], registered: register });
  if (!made.ok) return err(`It gives no context engine: ${made.error.message}.`);
  const engine = made.value;
  return ok(registered?.engine === engine ? registered : { engine, commands: [], warnings: [] });
}

async function isAvailable(engine: ContextEngine): Promise<boolean> {
  if (!("isAvailable" in engine) || typeof engine.isAvailable !== "function") return true;
  return Boolean(await engine.isAvailable());
}

// What an engine is.

const MEMBERS: Readonly<
  Record<Exclude<keyof ContextEngine, "contract" | "name">, "number" | "required" | "optional">
> = {
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

const ENGINE: Omit<PluginKind<ContextEngine>, "args" | "registered"> = {
  short: "engine",
  contract: ENGINE_CONTRACT,
  factory: /^create\w*Engine$/,
  members: MEMBERS,
};

/** The error continues a sentence about the value: `has no compress()`. */
export function checkEngine(value: unknown): Result<ContextEngine, string> {
  const checked = checkPlugin(value, ENGINE);
  return checked.ok ? checked : err(checked.error.message);
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

// Selects the engine that `context.engine` names and offers its tools. A plugin is used only when config names it. If it does
// not work, the built-in engine is used and a warning is returned: without any engine the conversation would end when the window
// is full.
import type { HermesConfig } from "../config/index.ts";
import { describeCause, err, ok, type Result, type TextModel } from "../lib/index.ts";
import { runForeign } from "../providers/index.ts";
import {
  argumentPreview,
  described,
  errorOutcome,
  readForeignTools,
  type Tool,
  type ToolDefinition,
  textOutcome,
} from "../tools/index.ts";
import { onMessages } from "./chat-rows.ts";
import type { ContextEngine, ModelWindow } from "./engine.ts";
import { type EngineCommand, findEngine, loadEngine } from "./engine-plugins.ts";

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
  const plugin = await findEngine(options.home, name);
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

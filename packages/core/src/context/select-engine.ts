// The engine that `context.engine` names. Plugins are used only by name; whatever keeps one from working costs a warning and
// the built-in engine takes its place, because a conversation without an engine would end at the window's edge.
import type { HermesConfig } from "../config/index.ts";
import { describeCause, err, ok, type Result, type TextModel } from "../lib/index.ts";
import { runForeign } from "../providers/index.ts";
import type { ContextEngine, ModelWindow } from "./engine.ts";
import type { EngineCommand } from "./engine-commands.ts";
import { type EngineHost, loadEngine } from "./engine-loading.ts";
import { findEngine } from "./engine-plugins.ts";
import { onMessages } from "./row-engine.ts";

export type SelectEngineOptions = {
  readonly home: string;
  /** The model of this session and its window. */
  readonly window: ModelWindow;
  readonly builtIn: {
    readonly compressor: () => ContextEngine;
    /** Absent where there is no session database to keep its summaries in. */
    readonly lcm?: (() => ContextEngine | Promise<ContextEngine>) | undefined;
  };
  /** For engines of plugins. */
  readonly summarizer?: TextModel | undefined;
  /** Slash commands that are somebody else's. */
  readonly reservedCommands?: readonly string[];
  readonly loadTimeoutMs?: number;
  /** Told of failures in work of a plugin that nobody awaits. */
  readonly onStray?: (cause: unknown) => void;
};

export type SelectedEngine = {
  readonly engine: ContextEngine;
  readonly source: "built-in" | "plugin";
  /** Of a plugin's engine. */
  readonly commands: readonly EngineCommand[];
  /** Why it is not the engine that config names; for the user, once. */
  readonly warning?: string;
  /** What the plugin did wrong beside; for the log. */
  readonly remarks: readonly string[];
};

const LOAD_TIMEOUT_MS = 10_000;

export async function selectEngine(
  { context }: Pick<HermesConfig, "context">,
  options: SelectEngineOptions,
): Promise<SelectedEngine> {
  const selected = await named(context.engine, options);
  if (selected.ok) return selected.value;
  const warning =
    `The context engine '${context.engine}' is not used: ${selected.error} The built-in one takes its place. ` +
    "'hermes context engines' lists what there is.";
  return { ...builtIn(options.builtIn.compressor(), options), warning };
}

/** The error is a sentence that says why. */
async function named(name: string, options: SelectEngineOptions): Promise<Result<SelectedEngine, string>> {
  if (name === "compressor") return ok(builtIn(options.builtIn.compressor(), options));
  if (name === "lcm") return lossless(options);
  const plugin = await findEngine(options.home, name);
  if (plugin === undefined) return err("There is no such engine.");
  const { model, contextLength } = options.window;
  const host: EngineHost = {
    home: options.home,
    model,
    contextLength,
    ...(options.summarizer ? { summarizer: options.summarizer } : {}),
  };
  const rules = {
    timeoutMs: options.loadTimeoutMs ?? LOAD_TIMEOUT_MS,
    reservedCommands: options.reservedCommands ?? [],
    ...(options.onStray ? { onStray: options.onStray } : {}),
  };
  const loaded = await loadEngine(plugin, host, rules);
  if (!loaded.ok) return loaded;
  const { engine, commands, warnings } = loaded.value;
  // An engine that does not know the window would let the conversation run over it.
  const told = await runForeign(rules, () => engine.updateModel?.(options.window));
  if (!told.ok) return err(`updateModel() ${told.error.message}.`);
  return ok({ engine: onMessages(engine), source: "plugin", commands, remarks: warnings });
}

async function lossless(options: SelectEngineOptions): Promise<Result<SelectedEngine, string>> {
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

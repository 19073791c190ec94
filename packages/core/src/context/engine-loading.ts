// From a plugin's module to an engine. Tried in this order: `register(ctx)`, the default export, then classes and functions
// called `create...Engine` by name. Whatever goes wrong is remembered for the message.
import { err, ok, preview, type Result, type TextModel } from "../lib/index.ts";
import { describeForeign, importFile, runForeign } from "../providers/index.ts";
import type { ContextEngine } from "./engine.ts";
import { type EngineCommand, takeCommand } from "./engine-commands.ts";
import type { ListedEngine } from "./engine-plugins.ts";
import { checkEngine, resemblesEngine } from "./engine-structure.ts";

/** What an engine of a plugin is made with: `register` has it in its context, a class or function gets it as an argument. */
export type EngineHost = {
  readonly home: string;
  readonly model: string;
  readonly contextLength: number;
  /** For summaries; absent when no model is configured. */
  readonly summarizer?: TextModel;
};

export type LoadedEngine = {
  readonly engine: ContextEngine;
  readonly commands: readonly EngineCommand[];
  /** About registrations that were refused. */
  readonly warnings: readonly string[];
};

export type LoadRules = {
  readonly timeoutMs: number;
  /** Slash commands that are somebody else's. */
  readonly reservedCommands: readonly string[];
  /** Told of failures in work that nobody awaits. */
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
  // One under another name was not what anybody asked for.
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

/** The first engine that is handed in counts. Tools, hooks and providers of general plugins are none of our business. */
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
    if (!checked.ok) warnings.push(`What it registered ${checked.error}.`);
    else if (engine !== undefined) warnings.push("It registered a second engine, which was refused.");
    else engine = checked.value;
  };
  const take = (...args: readonly unknown[]): void => {
    const command = takeCommand(args, { owner, reserved, taken: commands });
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
      ...IGNORED,
    });
    if (engine === undefined && returned !== undefined) takeEngine(returned);
  } catch (cause) {
    return err(`register() failed: ${describeForeign(cause)}`);
  }
  if (engine !== undefined) return ok({ engine, commands, warnings });
  return err(`register() registered no engine${warnings.length > 0 ? ` (${warnings.join(" ")})` : ""}`);
}

const IGNORED = Object.fromEntries(
  ["Tool", "Hook", "CliCommand", "MemoryProvider"].flatMap((what) => {
    const snake = what.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [`register${what}`, `register${snake}`].map((name) => [name, (): void => {}]);
  }),
);

function attempts(exports: Exports, host: EngineHost): readonly Attempt[] {
  const { default: standard } = exports;
  const named = Object.keys(exports).filter((name) => !["register", "default"].includes(name));
  return [
    ...fromDefault(standard, host),
    ...named.sort().flatMap((name) => fromNamed(name, exports[name], host)),
  ];
}

function fromDefault(value: unknown, host: EngineHost): readonly Attempt[] {
  const what = "the default export";
  if (isClass(value)) return [{ what, make: () => Reflect.construct(value, [host]) }];
  if (typeof value === "function") return [{ what, make: () => (value as Callable)(host) }];
  return resemblesEngine(value) ? [{ what, make: () => value }] : [];
}

function fromNamed(name: string, value: unknown, host: EngineHost): readonly Attempt[] {
  if (isClass(value)) {
    // Making an instance of some other class might do anything.
    if (!resemblesEngine(value.prototype)) return [];
    return [{ what: `class ${name}`, make: () => Reflect.construct(value, [host]) }];
  }
  if (typeof value === "function")
    return /^create\w*Engine$/.test(name)
      ? [{ what: `${name}()`, make: () => (value as Callable)(host) }]
      : [];
  return resemblesEngine(value) ? [{ what: `'${name}'`, make: () => value }] : [];
}

async function isAvailable(engine: ContextEngine): Promise<boolean> {
  if (!("isAvailable" in engine) || typeof engine.isAvailable !== "function") return true;
  return Boolean(await engine.isAvailable());
}

/** A CommonJS module that was translated from ESM has its real exports one level further in. */
function exportsOf(module: unknown): Exports {
  if (typeof module !== "object" || module === null) return {};
  const inner: unknown = "default" in module ? module.default : undefined;
  const isTranslated = typeof inner === "object" && inner !== null && "__esModule" in inner;
  return (isTranslated ? inner : module) as Exports;
}

function isClass(value: unknown): value is new (host: EngineHost) => unknown {
  if (typeof value !== "function") return false;
  // The second: translated to an older language.
  return /^class\b/.test(Function.prototype.toString.call(value)) || resemblesEngine(value.prototype);
}

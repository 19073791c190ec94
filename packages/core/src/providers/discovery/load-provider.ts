// Loading one provider: its code is imported (once per process), a new instance is created from its exports, and the instance is checked
// against the contract.
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { err, isRecord, ok, pyStrip, type Result, snakeCase } from "../../lib/index.ts";
import { DEADLINES_MS, type MemoryProvider, PROVIDER_CONTRACT } from "../contract.ts";
import {
  describeForeign,
  type ForeignFailure,
  type ForeignRules,
  oneLine,
  runForeign,
} from "../kit/foreign-code.ts";
import { neededVariables } from "../setup/questions.ts";
import { findBundled } from "./bundled.ts";
import {
  type FoundProvider,
  findProviders,
  isProviderName,
  type LookedUp,
  lookUp,
  pluginsDirectory,
} from "./find-providers.ts";

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

/** Imports a plugin's module. Node runs it at the first import only, and strips the types of TypeScript. */
export function importFile(path: string): Promise<unknown> {
  return import(/* @vite-ignore */ pathToFileURL(path).href);
}

async function providerOf(home: string, looked: LookedUp): Promise<Result<MemoryProvider, StructureFault>> {
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

function noProvider({ name }: FoundProvider, { kind, message }: StructureFault): LoadFailure {
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

// ---- From a plugin's exports to a provider ----
//
// Tried in this order: `register(ctx)`, the default export, then the other exports by name: classes, objects and functions named
// `create...Provider`. The message of a failure lists every attempt.

type Exports = Readonly<Record<string, unknown>>;
type Callable = (...args: readonly unknown[]) => unknown;

type Attempt = {
  /** For the message: `register()`, `class Notes`. */
  readonly what: string;
  readonly make: () => unknown;
};

const FACTORY_NAME = /^create\w*Provider$/;

/** Runs the plugin's code; the caller sets the deadline. */
export async function instantiate(module: unknown): Promise<Result<MemoryProvider, StructureFault>> {
  const faults: StructureFault[] = [];
  for (const { what, make } of attempts(exportsOf(module))) {
    try {
      const checked = checkProvider(await make());
      if (checked.ok) return checked;
      faults.push({ ...checked.error, message: `${what} ${checked.error.message}` });
    } catch (cause) {
      faults.push({ kind: "no-provider", message: `${what} failed: ${describeForeign(cause)}` });
    }
  }
  const message = faults.map((fault) => fault.message).join("; ") || "it exports nothing of that kind";
  return err(faults.find((fault) => fault.kind === "wrong-contract") ?? { kind: "no-provider", message });
}

function attempts(exports: Exports): readonly Attempt[] {
  const { register, default: standard } = exports;
  const named = Object.keys(exports)
    .filter((name) => !["register", "default", "module.exports", "__esModule"].includes(name))
    .sort();
  return [
    ...(isFunction(register) ? [registration("register()", register)] : []),
    ...fromDefault(standard),
    ...named.flatMap((name) => fromNamed(name, exports[name])),
  ];
}

function fromDefault(value: unknown): readonly Attempt[] {
  const what = "the default export";
  if (isClass(value)) return [{ what, make: () => Reflect.construct(value, []) }];
  if (isFunction(value))
    return [value.length > 0 ? registration(what, value) : { what, make: () => value() }];
  if (!isRecord(value)) return [];
  const { register } = value;
  if (!isFunction(register)) return [{ what, make: () => value }];
  return [registration(`register() of ${what}`, register.bind(value))];
}

function fromNamed(name: string, value: unknown): readonly Attempt[] {
  if (isClass(value)) {
    // The constructor of an unrelated class might do anything.
    if (!resemblesProvider(value.prototype)) return [];
    return [{ what: `class ${name}`, make: () => Reflect.construct(value, []) }];
  }
  if (isFunction(value))
    return FACTORY_NAME.test(name) && value.length === 0 ? [{ what: `${name}()`, make: () => value() }] : [];
  return resemblesProvider(value) ? [{ what: `'${name}'`, make: () => value }] : [];
}

/** The last registered provider counts; a returned provider is accepted too. */
function registration(what: string, register: Callable): Attempt {
  const make = async (): Promise<unknown> => {
    let provider: unknown;
    const take = (value: unknown): void => {
      provider = value;
    };
    const ignore = (): void => {}; // for plugins of other kinds; a memory provider has its tools and hooks as members
    const returned = await register({
      registerMemoryProvider: take,
      register_memory_provider: take,
      registerTool: ignore,
      register_tool: ignore,
      registerHook: ignore,
      register_hook: ignore,
      registerCliCommand: ignore,
      register_cli_command: ignore,
    });
    if (provider === undefined && returned === undefined) throw new Error("it registered no provider");
    return provider ?? returned;
  };
  return { what, make };
}

/** A CommonJS module compiled from ESM has its exports inside `default`. */
function exportsOf(module: unknown): Exports {
  if (!isRecord(module)) return {};
  const { default: inner } = module;
  return isRecord(inner) && inner.__esModule === true ? inner : module;
}

function isClass(value: unknown): value is new () => unknown {
  if (!isFunction(value)) return false;
  if (/^class\b/.test(Function.prototype.toString.call(value))) return true;
  const prototype: unknown = value.prototype;
  return isRecord(prototype) && Object.getOwnPropertyNames(prototype).length > 1; // a class compiled to a function
}

function isFunction(value: unknown): value is Callable & { readonly prototype?: unknown } {
  return typeof value === "function";
}

// ---- Whether a value is a memory provider ----
// Decided by its members, because a plugin has no base class to inherit from.

type StructureFault = {
  readonly kind: "no-provider" | "wrong-contract";
  /** Continues a sentence after the name of the value: `has no isAvailable()`. */
  readonly message: string;
};

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

const METHOD_NAMES = Object.keys(METHODS);

/** Calls `getToolSchemas` once, as registration does: a provider with tools also needs `handleToolCall`. */
export function checkProvider(value: unknown): Result<MemoryProvider, StructureFault> {
  if (typeof value !== "object" || value === null) return fault(`is ${kindOf(value)}, not a provider object`);
  try {
    return check(value as Readonly<Record<string, unknown>>);
  } catch (cause) {
    return fault(`cannot be looked at: ${describeForeign(cause)}`);
  }
}

/** Whether it has at least one method of the contract, in either spelling. Recognises a provider's class without creating an instance. */
function resemblesProvider(prototype: unknown): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  return METHOD_NAMES.some((name) => name in prototype || snakeCase(name) in prototype);
}

function check(value: Readonly<Record<string, unknown>>): Result<MemoryProvider, StructureFault> {
  const { contract = 1, name } = value;
  if (typeof contract !== "number" || !Number.isInteger(contract) || contract < 1)
    return fault("has a 'contract' that is no version number");
  if (contract > PROVIDER_CONTRACT) {
    const message =
      `is made for version ${contract} of the provider contract, and this program knows version ${PROVIDER_CONTRACT}. ` +
      "Update hermes-memory, or use an older version of the plugin";
    return err({ kind: "wrong-contract", message });
  }
  if (typeof name !== "string" || pyStrip(name) === "") return fault("has no 'name'");
  if (name === "builtin") return fault("calls itself 'builtin', which is reserved");

  const faults = METHOD_NAMES.map((method) => methodFault(value, method)).filter((text) => text !== "");
  if (faults.length > 0) return fault(faults.join(", "));
  // Every member was checked above; the results of the methods are checked by their callers.
  const provider = value as unknown as MemoryProvider;
  if (provider.handleToolCall == null && offersTools(provider))
    return fault("offers tools, but has no handleToolCall()");
  return ok(provider);
}

function methodFault(value: Readonly<Record<string, unknown>>, method: string): string {
  const member = value[method] ?? undefined;
  if (typeof member === "function") return "";
  if (member !== undefined) return `has a '${method}' that is no function`;
  const other = snakeCase(method);
  // Without this fault the method would silently never be called.
  if (other !== method && typeof value[other] === "function")
    return `has ${other}(), but the contract calls it ${method}()`;
  return METHODS[method as Method] === "required" ? `has no ${method}()` : "";
}

function offersTools(provider: MemoryProvider): boolean {
  try {
    const schemas: unknown = provider.getToolSchemas?.();
    return Array.isArray(schemas) && schemas.length > 0;
  } catch {
    return false; // allowed before `initialize`, and means no tools
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "function" ? "a function or class" : `a ${typeof value}`;
}

function fault(message: string): { ok: false; error: StructureFault } {
  return err({ kind: "no-provider", message });
}

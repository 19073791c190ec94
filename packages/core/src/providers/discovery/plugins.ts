// Plugins in the home, of memory providers and of context engines: their folders, the manifest `plugin.yaml`, the file that would be
// imported, and what becomes of its exports. Another author wrote them all, so unusable values are left out, and everything up to the
// import only reads text.
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  describeCause,
  err,
  errnoCode,
  isFile,
  isRecord,
  isWithin,
  namesIn,
  ok,
  pyStrip,
  type Result,
  snakeCase,
} from "../../lib/index.ts";
import { describeForeign } from "../kit/foreign-code.ts";

// ---- Folders ----

const PLUGIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** A name becomes part of a path, so it may not contain anything that leads to another directory. */
export function isProviderName(name: string): boolean {
  return PLUGIN_NAME.test(name);
}

export function pluginsDirectory(home: string): string {
  return join(home, "plugins");
}

/** Sorted. `known` is what there is besides, for the warning. */
export function pluginFolders(parent: string, warnings: string[], known: string): readonly string[] {
  const isFolder = (name: string): boolean => {
    const path = join(parent, name);
    try {
      return statSync(path).isDirectory(); // follows links: a plugin under development is often one
    } catch (cause) {
      warnings.push(cannotInspect(path, cause));
      return false;
    }
  };
  try {
    const names = namesIn(parent).filter((name) => !/^[._]/.test(name));
    return names.filter(isFolder).sort();
  } catch (cause) {
    warnings.push(`Cannot read ${parent}: ${describeCause(cause)}. Only ${known} are known.`);
    return [];
  }
}

export function cannotInspect(path: string, cause: unknown): string {
  return `Cannot look into ${path}: ${describeCause(cause)}. It is passed over.`;
}

// ---- plugin.yaml ----

export type ExternalDependency = {
  readonly name: string;
  /** The command line that installs it, for the user to type. */
  readonly install: string;
  /** A command line that succeeds when it is installed. */
  readonly check: string;
};

/** An environment variable that a plugin reads, and where to get its value. */
type RequiredVariable = { readonly name: string; readonly url: string };

/** The keys of `plugin.yaml` that this program reads. */
export type PluginManifest = {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** `exclusive`, `context_engine`, ...; "" when absent. */
  readonly kind: string;
  readonly requiresEnv: readonly RequiredVariable[];
  readonly npmDependencies: readonly string[];
  readonly pipDependencies: readonly string[];
  readonly externalDependencies: readonly ExternalDependency[];
};

export type ReadManifest = { readonly manifest: PluginManifest; readonly warning?: string };

export const MANIFEST_FILE = "plugin.yaml";

export const EMPTY_MANIFEST: PluginManifest = {
  name: "",
  version: "",
  description: "",
  kind: "",
  requiresEnv: [],
  npmDependencies: [],
  pipDependencies: [],
  externalDependencies: [],
};

/** A long manifest has some hundred lines. A larger file is something else. */
const MAX_BYTES = 256 * 1024;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export async function readManifest(directory: string): Promise<ReadManifest> {
  const path = join(directory, MANIFEST_FILE);
  try {
    const stats = statSync(path); // before opening it: reading a pipe would block
    if (!stats.isFile()) return empty(`${path} is not a file`);
    if (stats.size > MAX_BYTES) return empty(`${path} is larger than ${MAX_BYTES} bytes`);
    return await parseManifest(readFileSync(path, "utf8"), path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return empty(`There is no ${path}`);
    return empty(`Cannot read ${path}: ${describeCause(cause)}`);
  }
}

/** `path` only names the file in the warning. The YAML library is imported here, on first use. */
export async function parseManifest(text: string, path: string): Promise<ReadManifest> {
  const { parseDocument } = await import("yaml");
  try {
    // Every scalar stays text, so that `version: 1.10` does not become the number 1.1. Of a repeated key the last value counts, as in Python.
    const document = parseDocument(text.replace(/^\ufeff/, ""), {
      schema: "failsafe",
      uniqueKeys: false,
      logLevel: "error",
    });
    const [mistake] = document.errors;
    if (mistake) return empty(`Cannot read ${path}: ${firstLine(mistake.message)}`);
    const content: unknown = document.toJS();
    if (content === null || content === undefined) return empty(`${path} is empty`);
    if (!isRecord(content)) return empty(`${path} does not hold keys and values`);
    return { manifest: toManifest(content) };
  } catch (cause) {
    return empty(`Cannot read ${path}: ${firstLine(describeCause(cause))}`); // for example, too many aliases
  }
}

function toManifest(content: Readonly<Record<string, unknown>>): PluginManifest {
  return {
    name: text(content.name),
    version: text(content.version),
    description: text(content.description),
    kind: text(content.kind).toLowerCase(),
    requiresEnv: list(content.requires_env).flatMap(toVariable),
    npmDependencies: texts(content.npm_dependencies),
    pipDependencies: texts(content.pip_dependencies),
    externalDependencies: list(content.external_dependencies).flatMap(toExternalDependency),
  };
}

/** From a name, or from a name with the URL where the user gets the value. */
function toVariable(value: unknown): readonly RequiredVariable[] {
  const { name, url } = isRecord(value)
    ? { name: text(value.name), url: text(value.url) }
    : { name: text(value), url: "" };
  return VARIABLE_NAME.test(name) ? [{ name, url }] : [];
}

function toExternalDependency(value: unknown): readonly ExternalDependency[] {
  if (!isRecord(value)) return [];
  const dependency = { name: text(value.name), install: text(value.install), check: text(value.check) };
  return dependency.name === "" ? [] : [dependency];
}

function text(value: unknown): string {
  return typeof value === "string" ? pyStrip(value) : "";
}

function texts(value: unknown): readonly string[] {
  return list(value)
    .map(text)
    .filter((item) => item !== "");
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Without the excerpt of the file that the library adds to its messages. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/:$/, "");
}

function empty(reason: string): ReadManifest {
  const warning = `${reason}. The plugin is listed without a description, and its dependencies are not known.`;
  return { manifest: EMPTY_MANIFEST, warning };
}

// ---- The entry file: the one that package.json names, or index.ts, .mts, .js, .mjs ----

export type EntryFile =
  | { readonly kind: "file"; readonly path: string }
  /** package.json names a file outside of the plugin's directory. */
  | { readonly kind: "outside"; readonly path: string; readonly named: string }
  /** package.json names a file that does not exist, and there is no index file. */
  | { readonly kind: "missing"; readonly named: string }
  | { readonly kind: "none" };

const EXTENSIONS = [".ts", ".mts", ".js", ".mjs"];

/** Conditions of `exports` that match when Node runs an `import`. */
const CONDITIONS = ["import", "node", "module-sync", "default"];

export function findEntryFile(directory: string): EntryFile {
  const named = namedInPackage(directory);
  if (named !== undefined) {
    const path = resolve(directory, named);
    if (!isWithin(directory, path)) return { kind: "outside", path, named };
    const file = [path, `${path}.js`, join(path, "index.js")].find(isFile);
    if (file !== undefined) return { kind: "file", path: file };
  }
  const index = findModule(directory, "index");
  if (index !== undefined) return { kind: "file", path: index };
  return named === undefined ? { kind: "none" } : { kind: "missing", named };
}

/** The first of `<base>.ts`, `.mts`, `.js` and `.mjs` that exists. */
export function findModule(directory: string, base: string): string | undefined {
  return EXTENSIONS.map((extension) => join(directory, base + extension)).find(isFile);
}

/** The file that `exports` gives to an `import` of the package itself. */
export function entryOfExports(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports;
  if (Array.isArray(exports)) return firstDefined(exports.map(entryOfExports));
  if (typeof exports !== "object" || exports === null) return undefined;
  const entries: [string, unknown][] = Object.entries(exports);
  const usable = entries.filter(([key]) => key === "." || CONDITIONS.includes(key));
  return firstDefined(usable.map(([, value]) => entryOfExports(value)));
}

function namedInPackage(directory: string): string | undefined {
  const path = join(directory, "package.json");
  if (!isFile(path)) return undefined;
  try {
    const content: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof content !== "object" || content === null) return undefined;
    const main = "main" in content && typeof content.main === "string" ? content.main : undefined;
    return ("exports" in content ? entryOfExports(content.exports) : undefined) ?? (main || undefined);
  } catch (cause) {
    // Invalid JSON names no file; Node reports it when the plugin is loaded.
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

export const PYTHON_ENTRY = "__init__.py";

/** Why nothing can be imported. */
export function entryProblem(entry: EntryFile, isPython: boolean): string {
  if (isPython)
    return (
      `It is a Python plugin (${PYTHON_ENTRY}), and this program loads JavaScript and TypeScript only. ` +
      "Use it with the Python edition, or look for an edition with an index.ts or index.js."
    );
  switch (entry.kind) {
    case "outside":
      return `Its package.json names '${entry.named}', which is outside of the plugin's directory. Name a file inside.`;
    case "missing":
      return `Its package.json names '${entry.named}', which does not exist. Build the plugin, or correct the name.`;
    default:
      return "It has no entry file. Add index.ts, index.mts, index.js or index.mjs, or name one in package.json.";
  }
}

/** Imports a plugin's module. Node runs it at the first import only, and strips the types of TypeScript. */
export function importFile(path: string): Promise<unknown> {
  return import(/* @vite-ignore */ pathToFileURL(path).href);
}

function firstDefined(values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined);
}

// ---- From a plugin's exports to a provider or an engine ----
//
// Tried in this order: `register(ctx)`, the default export, then the other exports by name: classes, objects and functions named
// `create...Provider` or `create...Engine`. The message of a failure lists every attempt.

/** What a plugin of one kind has to give. Decided by its members, because a plugin has no base class to inherit from. */
export type PluginKind<T> = {
  /** As in "provider contract". */
  readonly short: "provider" | "engine";
  /** A name that no plugin may have. */
  readonly reserved?: string;
  readonly contract: number;
  readonly factory: RegExp;
  readonly members: Readonly<Record<string, "required" | "optional" | "number">>;
  /** For classes and factories. */
  readonly args: readonly unknown[];
  /** Calls a `register` with a context; gives what was registered or returned. */
  readonly registered: (register: (context: object) => unknown) => Promise<unknown>;
  /** A further fault of a value with the right members. */
  readonly faultOf?: (value: T) => string | undefined;
};

export type PluginFault = {
  readonly kind: "no-provider" | "wrong-contract";
  /** Continues a sentence after the name of the value: `has no isAvailable()`. */
  readonly message: string;
};

type Exports = Readonly<Record<string, unknown>>;
type Callable = (...args: readonly unknown[]) => unknown;
type Attempt = {
  /** For the message: `register()`, `class Notes`. */
  readonly what: string;
  readonly make: () => unknown;
};

/** Runs the plugin's code; the caller sets the deadline. */
export async function instantiatePlugin<T>(
  module: unknown,
  kind: PluginKind<T>,
): Promise<Result<T, PluginFault>> {
  const faults: PluginFault[] = [];
  for (const { what, make } of attempts(exportsOf(module), kind)) {
    try {
      const checked = checkPlugin(await make(), kind);
      if (checked.ok) return checked;
      faults.push({ ...checked.error, message: `${what} ${checked.error.message}` });
    } catch (cause) {
      faults.push({ kind: "no-provider", message: `${what} failed: ${describeForeign(cause)}` });
    }
  }
  const message = faults.map((fault) => fault.message).join("; ") || "it exports nothing of that kind";
  return err(faults.find((fault) => fault.kind === "wrong-contract") ?? { kind: "no-provider", message });
}

const REGISTRATIONS = ["MemoryProvider", "ContextEngine", "Tool", "Hook", "Command", "CliCommand"];

/** The functions of a context for `register`, in both spellings. Those for plugins of other kinds do nothing. */
export function registrations(taken: Readonly<Record<string, Callable>>): object {
  return Object.fromEntries(
    REGISTRATIONS.flatMap((name) => {
      const take = taken[name] ?? (() => {});
      return [`register${name}`, `register${snakeCase(name)}`].map((spelled) => [spelled, take]);
    }),
  );
}

function attempts<T>(exports: Exports, kind: PluginKind<T>): readonly Attempt[] {
  const registration = (what: string, register: Callable): Attempt => ({
    what,
    make: () => kind.registered((context) => register(context)),
  });
  const { register, default: standard } = exports;
  const found: Attempt[] = isFunction(register) ? [registration("register()", register)] : [];
  const what = "the default export";
  if (isClass(standard)) found.push({ what, make: () => Reflect.construct(standard, kind.args) });
  else if (isFunction(standard)) found.push(registration(what, standard));
  else if (isRecord(standard)) {
    const { register: inner } = standard;
    if (isFunction(inner)) found.push(registration(`register() of ${what}`, inner.bind(standard)));
    else found.push({ what, make: () => standard });
  }
  const named = Object.keys(exports).filter(
    (name) => !["register", "default", "module.exports", "__esModule"].includes(name),
  );
  return [...found, ...named.sort().flatMap((name) => fromNamed(name, exports[name], kind))];
}

function fromNamed<T>(name: string, value: unknown, kind: PluginKind<T>): readonly Attempt[] {
  if (isClass(value)) {
    // The constructor of an unrelated class might do anything.
    if (!resembles(value.prototype, kind)) return [];
    return [{ what: `class ${name}`, make: () => Reflect.construct(value, kind.args) }];
  }
  if (!isFunction(value)) return resembles(value, kind) ? [{ what: `'${name}'`, make: () => value }] : [];
  if (!kind.factory.test(name) || value.length > kind.args.length) return [];
  return [{ what: `${name}()`, make: () => value(...kind.args) }];
}

/** A CommonJS module compiled from ESM has its exports inside `default`. */
function exportsOf(module: unknown): Exports {
  if (!isRecord(module)) return {};
  const { default: inner } = module;
  return isRecord(inner) && inner.__esModule === true ? inner : module;
}

function isClass(value: unknown): value is new (...args: readonly unknown[]) => unknown {
  if (!isFunction(value)) return false;
  if (/^class\b/.test(Function.prototype.toString.call(value))) return true;
  const prototype: unknown = value.prototype;
  return isRecord(prototype) && Object.getOwnPropertyNames(prototype).length > 1; // a class compiled to a function
}

function isFunction(value: unknown): value is Callable & { readonly prototype?: unknown } {
  return typeof value === "function";
}

/** Whether it has at least one method of the contract, in either spelling. Recognises a class without creating an instance. */
function resembles<T>(prototype: unknown, { members }: PluginKind<T>): boolean {
  if (typeof prototype !== "object" || prototype === null) return false;
  const methods = Object.keys(members).filter((name) => members[name] !== "number");
  return methods.some((name) => name in prototype || snakeCase(name) in prototype);
}

/** Whether a value has the members of the contract. */
export function checkPlugin<T>(
  value: unknown,
  kind: Pick<PluginKind<T>, "short" | "reserved" | "contract" | "members" | "faultOf">,
): Result<T, PluginFault> {
  const what = value === null || value === undefined ? "nothing" : `a ${typeof value}`;
  if (typeof value !== "object" || value === null)
    return fault(
      `is ${what === "a function" ? "a function or class" : what}, not ${kind.short === "engine" ? "an engine" : "a provider"} object`,
    );
  try {
    const { contract = 1, name } = value as Exports;
    if (typeof contract !== "number" || !Number.isInteger(contract) || contract < 1)
      return fault("has a 'contract' that is no version number");
    if (contract > kind.contract) {
      const message =
        `is made for version ${contract} of the ${kind.short} contract, and this program knows version ${kind.contract}. ` +
        "Update hermes-memory, or use an older version of the plugin";
      return err({ kind: "wrong-contract", message });
    }
    if (typeof name !== "string" || pyStrip(name) === "") return fault("has no 'name'");
    if (name === kind.reserved) return fault(`calls itself '${name}', which is reserved`);
    const faults = Object.keys(kind.members).map((member) =>
      memberFault(value as Exports, member, kind.members),
    );
    const found = faults.filter((each) => each !== "").join(", ");
    // Every member was checked; the results of the methods are checked by their callers.
    const further = found === "" ? kind.faultOf?.(value as T) : found;
    return further === undefined ? ok(value as T) : fault(further);
  } catch (cause) {
    return fault(`cannot be looked at: ${describeForeign(cause)}`);
  }
}

function memberFault(value: Exports, name: string, members: PluginKind<unknown>["members"]): string {
  const member = value[name] ?? undefined;
  if (members[name] === "number") return typeof member === "number" ? "" : `has no number '${name}'`;
  if (typeof member === "function") return "";
  if (member !== undefined) return `has a '${name}' that is no function`;
  const other = snakeCase(name);
  // Without this fault the method would silently never be called.
  if (other !== name && typeof value[other] === "function")
    return `has ${other}(), but the contract calls it ${name}()`;
  return members[name] === "required" ? `has no ${name}()` : "";
}

function fault(message: string): { ok: false; error: PluginFault } {
  return err({ kind: "no-provider", message });
}

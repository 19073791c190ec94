// The two files of a plugin's directory that are read without running any code of the plugin: its manifest `plugin.yaml`, and which file
// would be imported. Another author wrote both, so unusable values are left out.
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { describeCause, errnoCode, isFile, isRecord, pyStrip } from "../../lib/index.ts";

// ---- Plugin.yaml ----

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
    if (!isInside(path, directory)) return { kind: "outside", path, named };
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

function isInside(path: string, directory: string): boolean {
  const way = relative(resolve(directory), path);
  return !isAbsolute(way) && way.split(sep)[0] !== "..";
}

function firstDefined(values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined);
}

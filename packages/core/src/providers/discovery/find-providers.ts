// Which memory providers there are: the bundled ones, then the plugins in `<home>/plugins`. Plugin folders are inspected by reading text;
// no code of a plugin runs.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeCause, isFile, namesIn, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { BUNDLED_NAMES, type BundledProvider, findBundled } from "./bundled.ts";
import {
  type EntryFile,
  findEntryFile,
  MANIFEST_FILE,
  type PluginManifest,
  readManifest,
} from "./plugin-files.ts";

/** A provider that config can select. */
export type FoundProvider = {
  /** The name config selects it by; of a plugin, the name of its directory. */
  readonly name: string;
  readonly source: "bundled" | "user";
  /** Only of a user's plugin. */
  readonly directory?: string;
  readonly manifest: PluginManifest;
  /** Why it cannot be loaded, as far as its files show: a Python plugin, no entry file, a package that is not installed. */
  readonly problem?: string;
};

/** The providers of a home, and remarks about folders that are none. */
export type FoundProviders = {
  /** Bundled ones first, each group sorted by name. A plugin with the name of a bundled provider is left out. */
  readonly providers: readonly FoundProvider[];
  /** About directories that were ignored and manifests that could not be read. */
  readonly warnings: readonly string[];
};

/** A provider and where its code is. */
export type LookedUp =
  | { readonly found: FoundProvider; readonly bundled: BundledProvider }
  | { readonly found: FoundProvider; readonly entry?: string };

export function pluginsDirectory(home: string): string {
  return join(home, "plugins");
}

/** Lists the bundled providers and the plugins of a home, without running their code. */
export async function findProviders(home: string): Promise<FoundProviders> {
  const bundled = (await Promise.all(BUNDLED_NAMES.map(findBundled))).flatMap((each) =>
    each ? [toFound(each)] : [],
  );
  const { directories, warnings } = listDirectories(pluginsDirectory(home));
  const users: FoundProvider[] = [];
  for (const name of directories) {
    const directory = join(pluginsDirectory(home), name);
    const inspected = await inspectPlugin(directory, name);
    const obstacle = inspected.found && obstacleOf(name, directory);
    if (obstacle !== undefined) warnings.push(obstacle);
    else {
      warnings.push(...inspected.warnings);
      if (inspected.found) users.push(inspected.found);
    }
  }
  return { providers: [...bundled, ...users.sort(byName)], warnings };
}

export async function findProvider(home: string, name: string): Promise<FoundProvider | undefined> {
  return (await lookUp(home, name))?.found;
}

export async function lookUp(home: string, name: string): Promise<LookedUp | undefined> {
  if (!isProviderName(name) || activeProviderName(name) === "") return undefined;
  const bundled = await findBundled(name);
  if (bundled) return { found: toFound(bundled), bundled };
  const { found, entry } = await inspectPlugin(join(pluginsDirectory(home), name), name);
  return found && { found, entry };
}

// ---- Names ----

const PROVIDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const NO_PROVIDER = ["", "builtin", "built-in", "none"];

/** `memory.provider` trimmed, and "" for every value that means "built-in memory only". */
export function activeProviderName(configValue: string): string {
  const name = pyStrip(configValue);
  return NO_PROVIDER.includes(name.toLowerCase()) ? "" : name;
}

/** A name becomes part of a path, so it may not contain anything that leads to another directory. */
export function isProviderName(name: string): boolean {
  return PROVIDER_NAME.test(name);
}

/** Why a provider in this directory can never be selected. */
function obstacleOf(name: string, directory: string): string | undefined {
  if (!isProviderName(name))
    return `${directory} is passed over: a provider's name has only letters, digits, '.', '_' and '-'. Rename the directory.`;
  if (activeProviderName(name) === "")
    return `${directory} is passed over: '${name}' stands for the built-in memory. Rename the directory.`;
  if (BUNDLED_NAMES.includes(name))
    return `${directory} is passed over: a bundled provider has the same name. Rename the directory to use yours.`;
  return undefined;
}

function toFound({ name, manifest, problem }: BundledProvider): FoundProvider {
  return { name, source: "bundled", manifest, problem };
}

function byName(one: FoundProvider, other: FoundProvider): number {
  if (one.name === other.name) return 0;
  return one.name < other.name ? -1 : 1;
}

// ---- Plugin directories ----

function listDirectories(parent: string): { directories: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const isDirectory = (name: string): boolean => {
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
    return { directories: names.filter(isDirectory), warnings };
  } catch (cause) {
    const warning = `Cannot read ${parent}: ${describeCause(cause)}. Only bundled providers are known.`;
    return { directories: [], warnings: [warning] };
  }
}

type Inspected = {
  /** Absent when the directory is not a memory provider. */
  readonly found?: FoundProvider;
  /** The file to import; absent when `found.problem` says why there is none. */
  readonly entry?: string;
  readonly warnings: readonly string[];
};

/** Texts that show that a source file is a memory provider. */
const SIGNS = ["register_memory_provider", "registerMemoryProvider", "MemoryProvider"];
const SCANNED_CHARS = 8192;
const PYTHON_ENTRY = "__init__.py";

async function inspectPlugin(directory: string, name: string): Promise<Inspected> {
  try {
    return await inspect(directory, name);
  } catch (cause) {
    return { warnings: [cannotInspect(directory, cause)] };
  }
}

async function inspect(directory: string, name: string): Promise<Inspected> {
  const entry = findEntryFile(directory);
  const python = join(directory, PYTHON_ENTRY);
  const isPython = isFile(python);
  if (entry.kind === "none" && !isPython && !isFile(join(directory, MANIFEST_FILE))) return { warnings: [] };

  const { manifest, warning } = await readManifest(directory);
  if (manifest.kind === "context_engine") return { warnings: [] };
  const isExclusive = manifest.kind === "exclusive";
  const isOurs = "path" in entry && (isExclusive || hasSign(entry.path));
  if (!isOurs && !isExclusive && !(isPython && hasSign(python))) return { warnings: [] };

  const warnings = warning === undefined ? [] : [warning];
  const found: FoundProvider = { name, source: "user", directory, manifest };
  if (isOurs && entry.kind === "file") return { found, entry: entry.path, warnings };
  const problem = !isOurs && isPython ? PYTHON_PROBLEM : entryProblem(entry);
  return { found: { ...found, problem }, warnings };
}

const PYTHON_PROBLEM =
  `It is a Python plugin (${PYTHON_ENTRY}), and this program loads JavaScript and TypeScript only. ` +
  "Use it with the Python edition, or look for an edition with an index.ts or index.js.";

function entryProblem(entry: EntryFile): string {
  switch (entry.kind) {
    case "outside":
      return `Its package.json names '${entry.named}', which is outside of the plugin's directory. Name a file inside.`;
    case "missing":
      return `Its package.json names '${entry.named}', which does not exist. Build the plugin, or correct the name.`;
    default:
      return "It has no entry file. Add index.ts, index.mts, index.js or index.mjs, or name one in package.json.";
  }
}

/** Whether the first 8,192 characters contain one of the signs. */
function hasSign(path: string): boolean {
  if (!isFile(path)) return false; // also for a pipe: opening one would block
  const bytes = Buffer.alloc(SCANNED_CHARS * 4);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    const text = takeCodePoints(bytes.toString("utf8", 0, length), SCANNED_CHARS);
    return SIGNS.some((sign) => text.includes(sign));
  } finally {
    closeSync(file);
  }
}

function cannotInspect(path: string, cause: unknown): string {
  return `Cannot look into ${path}: ${describeCause(cause)}. It is passed over.`;
}

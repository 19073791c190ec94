// Which memory providers there are: the bundled ones, then the plugins in `<home>/plugins`. Plugin folders are inspected by reading text;
// no code of a plugin runs. The bundled ones are in a package of their own: core knows their names, and their manifests and code are
// imported when that package is installed.
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { errnoCode, HermesError, isFile, pyStrip, takeCodePoints } from "../../lib/index.ts";
import type { Logger } from "../../lib/logger.ts";
import type { MemoryProvider } from "../contract.ts";
import {
  cannotInspect,
  EMPTY_MANIFEST,
  entryProblem,
  findEntryFile,
  isProviderName,
  MANIFEST_FILE,
  type PluginManifest,
  PYTHON_ENTRY,
  pluginFolders,
  pluginsDirectory,
  readManifest,
} from "./plugins.ts";

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

/** Lists the bundled providers and the plugins of a home, without running their code. */
export async function findProviders(home: string): Promise<FoundProviders> {
  const bundled = (await Promise.all(BUNDLED_NAMES.map(findBundled))).flatMap((each) =>
    each ? [toFound(each)] : [],
  );
  const warnings: string[] = [];
  const users: FoundProvider[] = [];
  for (const name of pluginFolders(pluginsDirectory(home), warnings, "bundled providers")) {
    const directory = join(pluginsDirectory(home), name);
    const inspected = await inspectPlugin(directory, name);
    const obstacle = inspected.found && obstacleOf(name, directory);
    if (obstacle !== undefined) warnings.push(obstacle);
    else {
      warnings.push(...inspected.warnings);
      if (inspected.found) users.push(inspected.found);
    }
  }
  return { providers: [...bundled, ...users], warnings };
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

const NO_PROVIDER = ["", "builtin", "built-in", "none"];

/** `memory.provider` trimmed, and "" for every value that means "built-in memory only". */
export function activeProviderName(configValue: string): string {
  const name = pyStrip(configValue);
  return NO_PROVIDER.includes(name.toLowerCase()) ? "" : name;
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

// ---- Plugin directories ----

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
  const problem = entryProblem(entry, !isOurs && isPython);
  return { found: { ...found, problem }, warnings };
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

// ---- The bundled providers ----

/** What `@hermes-memory/providers` exports for core. */
export type BundledProviders = {
  readonly providers: readonly BundledProvider[];
  /** Entries of the curated files that the outbox knows. Throws `HermesError` when its file cannot be read. */
  readonly knownEntries: (home: string, provider: string) => readonly KnownEntry[];
  /** Providers that are not active but still have records of this user, or without one of the owner, with one sentence each. */
  readonly findStoresElsewhere: (
    home: string,
    active: string,
    user: StoreUser | undefined,
  ) => Promise<readonly { readonly provider: string; readonly found: string }[]>;
  readonly unreadableOutboxes: (home: string) => readonly LostOutbox[];
};

export type BundledProvider = {
  readonly name: string;
  readonly manifest: PluginManifest;
  /** Why it cannot be loaded: its package is not installed. */
  readonly problem?: string;
  /** Imports the factory; each call of the factory creates a new instance for a home. */
  readonly load: () => Promise<(place: ProviderPlace) => MemoryProvider>;
  /** The provider's own commands: a module with the exports of a plugin's `cli.ts`. */
  readonly loadCommands?: () => Promise<object>;
  /** One sentence if the owner's store contains the text, or else undefined. Does not start the provider, changes nothing. */
  readonly findTraces?: (home: string, text: string) => Promise<string | undefined>;
  /** One sentence if anything is stored for this user, or without one for the owner. Changes nothing. */
  readonly findStore?: (home: string, user: StoreUser | undefined) => Promise<string | undefined>;
  /** The stores of the home's users that hold the text, and how to erase it there. Changes nothing. */
  readonly findUserTraces?: (home: string, text: string) => Promise<readonly UserTrace[]>;
  /** Settings that name the profile, for one that was made as a copy. One sentence if something was copied. Throws `HermesError`. */
  readonly cloneSettings?: (from: string, to: string) => Promise<string | undefined>;
  /** Keeps entries in a model's words, so that it cannot be asked whether it has one. */
  readonly rephrases?: true;
  /** What a backup of this memory needs, as absolute paths, where the provider's code need not be loaded for it. */
  readonly backupPaths?: (home: string) => readonly string[];
};

/** What a bundled provider is made with: `isAvailable` has no arguments, and its settings are in the home. */
type ProviderPlace = { readonly home: string; readonly log?: Logger };

export type StoreUser = { readonly platform: string; readonly userId: string };

export type UserTrace = { readonly path: string; readonly reach: string };

/** An entry of the curated files in the owner's lane: it was sent, it waits, or the server refused it. */
export type KnownEntry = {
  readonly target: string;
  readonly text: string;
  readonly state: "sent" | "waiting" | "refused";
};

/** A file with writes that no command can search or erase. `problem` is a sentence, `remedy` what to do. */
export type LostOutbox = { readonly path: string; readonly problem: string; readonly remedy: string };

export const BUNDLED_NAMES = [
  "byterover",
  "hindsight",
  "holographic",
  "honcho",
  "mem0",
  "openviking",
  "retaindb",
  "supermemory",
];

const NOT_INSTALLED =
  "It comes with the package @hermes-memory/providers, which is not installed: 'npm install @hermes-memory/providers'.";

// Not a literal, so that bundlers of programs without the package do not look for it.
const PACKAGE = "@hermes-memory/providers";
let loading: Promise<BundledProviders | undefined> | undefined;

/** Undefined when the package is not installed. */
export function bundledProviders(): Promise<BundledProviders | undefined> {
  loading ??= load();
  return loading;
}

async function load(): Promise<BundledProviders | undefined> {
  try {
    const module = (await import(/* @vite-ignore */ PACKAGE)) as { bundledProviders: BundledProviders };
    return module.bundledProviders;
  } catch (cause) {
    if (errnoCode(cause) === "ERR_MODULE_NOT_FOUND" && String(cause).includes(PACKAGE)) return undefined;
    throw cause;
  }
}

export async function findBundled(name: string): Promise<BundledProvider | undefined> {
  if (!BUNDLED_NAMES.includes(name)) return undefined;
  const known = (await bundledProviders())?.providers.find((each) => each.name === name);
  return known ?? { name, manifest: { ...EMPTY_MANIFEST, name }, problem: NOT_INSTALLED, load: notInstalled };
}

async function notInstalled(): Promise<never> {
  throw new HermesError("providers-not-installed", NOT_INSTALLED);
}

/** Where bundled providers keep texts in a home. */
const STORES = ["memory_outbox.db", "memory_store.db", "byterover", "supermemory.db"];

/** Stores of bundled providers that nobody can look into, because the package that could is not installed. */
export function unreachableStores(home: string): readonly LostOutbox[] {
  return STORES.map((name) => join(home, name))
    .filter((path) => existsSync(path))
    .map((path) => ({
      path,
      problem: `${path} belongs to a provider of @hermes-memory/providers, which is not installed.`,
      remedy: "Install it with 'npm install @hermes-memory/providers', then try again.",
    }));
}

/** For work that goes on without the outbox; `unreadableOutboxes` names the file. */
export function ifReadable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof HermesError) return [];
    throw cause;
  }
}

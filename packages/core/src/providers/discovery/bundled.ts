// The providers that come with the program, in a package of their own. Core knows their names; their manifests and code are imported when
// that package is installed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { errnoCode, HermesError } from "../../lib/index.ts";
import type { Logger } from "../../lib/logger.ts";
import type { MemoryProvider } from "../contract.ts";
import { EMPTY_MANIFEST, type PluginManifest } from "./plugin-files.ts";

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

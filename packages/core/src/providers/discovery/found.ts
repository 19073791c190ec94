// What a look at the plugin folders tells, before any plugin's code has run.
import type { MemoryProvider } from "../contract.ts";

export type ExternalDependency = {
  readonly name: string;
  /** How to install it, as a line to type. */
  readonly install: string;
  /** A command line that succeeds when it is there. */
  readonly check: string;
};

/** An environment variable that a plugin reads. */
export type RequiredVariable = { readonly name: string; readonly url: string };

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

export type FoundProvider = {
  /** The directory's name, which config selects. */
  readonly name: string;
  readonly source: "bundled" | "user";
  /** Of a user's plugin. */
  readonly directory?: string;
  readonly manifest: PluginManifest;
  /** Why it cannot be loaded, as far as that can be told from outside: a Python plugin, no entry file. */
  readonly problem?: string;
};

export type FoundProviders = {
  /** Bundled first, each sorted by name; a user's plugin named like a bundled one is left out. */
  readonly providers: readonly FoundProvider[];
  /** About folders that were passed over and manifests that could not be read. */
  readonly warnings: readonly string[];
};

export type LoadFailure = {
  readonly kind:
    | "bad-name"
    | "not-found"
    | "not-loadable"
    | "import-failed"
    | "no-provider"
    | "wrong-contract";
  /** What happened, why, what to do. No stack, no secrets. */
  readonly message: string;
};

export type LoadedProvider = { readonly found: FoundProvider; readonly provider: MemoryProvider };

export type Availability = { readonly available: boolean; readonly reason?: string };

// The providers that come with the program. Their manifests are data, because the published package is one bundle and has
// no plugin folders; their code is imported when one of them is loaded.
import { join } from "node:path";
import { VERSION } from "../../version.ts";
import type { MemoryProvider } from "../contract.ts";
import type { PluginManifest } from "./plugin-files.ts";
import { EMPTY_MANIFEST } from "./plugin-files.ts";

export type BundledProvider = {
  readonly name: string;
  readonly manifest: PluginManifest;
  /** Gives the factory; every call of that makes a fresh instance. */
  readonly load: () => Promise<() => MemoryProvider>;
  /** Commands of its own: a module with the exports that `cli.ts` of a user's plugin would have. */
  readonly loadCommands?: () => Promise<object>;
  /** What its store in this home holds of a text, in one sentence, without starting it; undefined for nothing. Changes nothing. */
  readonly findTraces?: (home: string, text: string) => Promise<string | undefined>;
  /** Files of the home's users that hold the text, and what reaches each. Changes nothing. */
  readonly findUserTraces?: (
    home: string,
    text: string,
  ) => Promise<readonly { readonly path: string; readonly reach: string }[]>;
};

export const BUNDLED_PROVIDERS: readonly BundledProvider[] = [
  {
    name: "byterover",
    manifest: manifest("byterover", "Knowledge tree kept by the ByteRover command line (brv).", {
      externalDependencies: [
        { name: "brv", install: "npm install -g byterover-cli", check: "brv --version" },
      ],
    }),
    load: async () => (await import("../bundled/byterover/provider.ts")).createByteroverProvider,
    findTraces: async (home, text) =>
      (await import("../bundled/byterover/traces.ts")).findNoteTraces(join(home, "byterover"), text),
  },
  {
    name: "holographic",
    manifest: manifest("holographic", "Local fact store with entities, trust and vector queries."),
    load: async () => (await import("../bundled/holographic/provider.ts")).createHolographicProvider,
    findTraces: async (home, text) =>
      (await import("../bundled/holographic/forget.ts")).findFactTraces(home, text),
    findUserTraces: async (home, text) =>
      (await import("../bundled/holographic/forget.ts")).findUserTraces(home, text),
  },
];

function manifest(
  name: string,
  description: string,
  more: Partial<Pick<PluginManifest, "externalDependencies" | "npmDependencies">> = {},
): PluginManifest {
  return { ...EMPTY_MANIFEST, name, description, version: VERSION, ...more };
}

// ----
// What bundled providers that are not active still hold of a text, from an earlier time when they were. None of them is started.

/** One sentence for each that holds it, or may. */
export async function findTracesElsewhere(
  home: string,
  active: string,
  text: string,
): Promise<readonly { readonly provider: string; readonly found: string }[]> {
  const found = await Promise.all(
    BUNDLED_PROVIDERS.filter(({ name }) => name !== active).map(async ({ name, findTraces }) => {
      const told = await findTraces?.(home, text);
      return told === undefined ? [] : [{ provider: name, found: told }];
    }),
  );
  return found.flat();
}

/** Stores of the home's users, whichever provider is active: none of them is the owner's, so no command here erases in them. */
export async function findTracesOfUsers(
  home: string,
  text: string,
): Promise<readonly { readonly path: string; readonly reach: string }[]> {
  const found = await Promise.all(BUNDLED_PROVIDERS.map((each) => each.findUserTraces?.(home, text) ?? []));
  return found.flat();
}

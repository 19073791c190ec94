// The providers that come with the program. Their manifests are data, because the published package is one bundle without plugin
// folders; their code is imported only when one of them is loaded.
import { join } from "node:path";
import { VERSION } from "../../version.ts";
import type { MemoryProvider } from "../contract.ts";
import { EMPTY_MANIFEST, type PluginManifest } from "./plugin-files.ts";

export type BundledProvider = {
  readonly name: string;
  readonly manifest: PluginManifest;
  /** Imports the factory; each call of the factory creates a new instance. */
  readonly load: () => Promise<() => MemoryProvider>;
  /** The provider's own commands: a module with the exports of a plugin's `cli.ts`. */
  readonly loadCommands?: () => Promise<object>;
  /** One sentence if the owner's store contains the text, or else undefined. Does not start the provider, changes nothing. */
  readonly findTraces?: (home: string, text: string) => Promise<string | undefined>;
  /** One sentence if anything is stored for this user, or without one for the owner. Changes nothing. */
  readonly findStore?: (home: string, user: StoreUser | undefined) => Promise<string | undefined>;
  /** The stores of the home's users that hold the text, and how to erase it there. Changes nothing. */
  readonly findUserTraces?: (home: string, text: string) => Promise<readonly UserTrace[]>;
};

type StoreUser = { readonly platform: string; readonly userId: string };

export type UserTrace = { readonly path: string; readonly reach: string };

const NO_NEEDS: PluginManifest = { ...EMPTY_MANIFEST, version: VERSION };

export const BUNDLED_PROVIDERS: readonly BundledProvider[] = [
  {
    name: "byterover",
    manifest: {
      ...NO_NEEDS,
      name: "byterover",
      description: "Knowledge tree kept by the ByteRover command line (brv).",
      externalDependencies: [
        { name: "brv", install: "npm install -g byterover-cli", check: "brv --version" },
      ],
    },
    load: async () => (await import("../bundled/byterover/provider.ts")).createByteroverProvider,
    findTraces: async (home, text) =>
      (await import("../bundled/byterover/traces.ts")).findNoteTraces(join(home, "byterover"), text),
    findStore: async (home, user) => {
      const { directoryOf, findTree } = await import("../bundled/byterover/traces.ts");
      return findTree(directoryOf(home, user));
    },
  },
  {
    name: "holographic",
    manifest: {
      ...NO_NEEDS,
      name: "holographic",
      description: "Local fact store with entities, trust and vector queries.",
    },
    load: async () => (await import("../bundled/holographic/provider.ts")).createHolographicProvider,
    findTraces: async (home, text) =>
      (await import("../bundled/holographic/forget.ts")).findFactTraces(home, text),
    findStore: async (home, user) =>
      (await import("../bundled/holographic/forget.ts")).findFactsOf(home, user),
    findUserTraces: async (home, text) =>
      (await import("../bundled/holographic/forget.ts")).findUserTraces(home, text),
  },
  {
    name: "mem0",
    manifest: {
      ...NO_NEEDS,
      name: "mem0",
      description:
        "Facts that Mem0 extracts from conversations, on the Mem0 Platform or a server of your own.",
    },
    load: async () => {
      const { createMem0Provider } = await import("../bundled/mem0/provider.ts");
      return () => createMem0Provider({ home: process.env.HERMES_HOME ?? "" });
    },
  },
];

/** Bundled providers that are not active but may still hold the text from an earlier time, with one sentence each. */
export async function findTracesElsewhere(
  home: string,
  active: string,
  text: string,
): Promise<readonly { readonly provider: string; readonly found: string }[]> {
  const found = await Promise.all(
    BUNDLED_PROVIDERS.filter(({ name }) => name !== active).map(async ({ name, findTraces }) => {
      const sentence = await findTraces?.(home, text);
      return sentence === undefined ? [] : [{ provider: name, found: sentence }];
    }),
  );
  return found.flat();
}

/** Bundled providers that are not active but still have records of this user, or without one of the owner, with one sentence each. */
export async function findStoresElsewhere(
  home: string,
  active: string,
  user: StoreUser | undefined,
): Promise<readonly { readonly provider: string; readonly found: string }[]> {
  const found = await Promise.all(
    BUNDLED_PROVIDERS.filter(({ name }) => name !== active).map(async ({ name, findStore }) => {
      const sentence = await findStore?.(home, user);
      return sentence === undefined ? [] : [{ provider: name, found: sentence }];
    }),
  );
  return found.flat();
}

/** In the stores of the home's users, of every bundled provider. They do not belong to the owner, so no command here erases in them. */
export async function findTracesOfUsers(home: string, text: string): Promise<readonly UserTrace[]> {
  const found = await Promise.all(BUNDLED_PROVIDERS.map((each) => each.findUserTraces?.(home, text) ?? []));
  return found.flat();
}

// The bundled providers, as core finds them: `@hermes-memory/core` imports this package by its name when it is installed. Manifests are
// data; the code of a provider is imported only when it is loaded.
import { join } from "node:path";
import {
  type BundledProvider,
  type BundledProviders,
  EMPTY_MANIFEST,
  ifReadable,
  type PluginManifest,
  type StoreUser,
  type UserTrace,
} from "@hermes-memory/core/internal/providers";
import { VERSION } from "@hermes-memory/core/internal/version";
import { laneUser } from "./kit/networked/identity.ts";
import { findInOutbox, knownEntries, readOutbox, unreadableOutboxes } from "./kit/outbox/commands.ts";

type About = Omit<BundledProvider, "manifest"> & {
  readonly description: string;
  readonly manifest?: Partial<PluginManifest>;
};

function bundled({ description, manifest, ...rest }: About): BundledProvider {
  const { name } = rest;
  return { ...rest, manifest: { ...EMPTY_MANIFEST, version: VERSION, name, description, ...manifest } };
}

const PROVIDERS: readonly BundledProvider[] = [
  bundled({
    name: "byterover",
    description: "Knowledge tree kept by the ByteRover command line (brv).",
    manifest: {
      externalDependencies: [
        { name: "brv", install: "npm install -g byterover-cli", check: "brv --version" },
      ],
    },
    load: async () => {
      const { createByteroverProvider } = await import("./byterover/provider.ts");
      return () => createByteroverProvider();
    },
    rephrases: true,
    backupPaths: (home) => [join(home, "byterover")],
    findTraces: async (home, text) =>
      (await import("./byterover/traces.ts")).findNoteTraces(join(home, "byterover"), text),
    findStore: async (home, user) => {
      const { directoryOf, findTree } = await import("./byterover/traces.ts");
      return findTree(directoryOf(home, user));
    },
  }),
  bundled({
    name: "hindsight",
    description:
      "Hindsight: facts, entities and reflection, in its cloud, on your server or as a local daemon.",
    load: async () => (await import("./hindsight/provider.ts")).createHindsightProvider,
  }),
  bundled({
    name: "holographic",
    description: "Local fact store with entities, trust and vector queries.",
    load: async () => {
      const { createHolographicProvider } = await import("./holographic/provider.ts");
      return () => createHolographicProvider();
    },
    findTraces: async (home, text) => (await import("./holographic/forget.ts")).findFactTraces(home, text),
    findStore: async (home, user) => (await import("./holographic/forget.ts")).findFactsOf(home, user),
    findUserTraces: async (home, text) =>
      (await import("./holographic/forget.ts")).findUserTraces(home, text),
  }),
  bundled({
    name: "mem0",
    description: "Facts that Mem0 extracts from conversations, on the Mem0 Platform or a server of your own.",
    load: async () => (await import("./mem0/provider.ts")).createMem0Provider,
  }),
  bundled({
    name: "honcho",
    description: "Honcho: a model of the user that learns from conversations (cloud or own server).",
    load: async () => (await import("./honcho/provider.ts")).createHonchoProvider,
    loadCommands: async () => await import("./honcho/cli.ts"),
    cloneSettings: async (from, to) => (await import("./honcho/profiles.ts")).cloneSettings(from, to),
  }),
  bundled({
    name: "openviking",
    description: "Context database with memories, resources and skills as a file tree (OpenViking).",
    manifest: { requiresEnv: [{ name: "OPENVIKING_ENDPOINT", url: "" }] },
    load: async () => (await import("./openviking/provider.ts")).createOpenVikingProvider,
  }),
  bundled({
    name: "retaindb",
    description: "Memory and files at RetainDB, in the cloud or on a server of your own.",
    manifest: { requiresEnv: [{ name: "RETAINDB_API_KEY", url: "https://www.retaindb.com" }] },
    load: async () => (await import("./retaindb/provider.ts")).createRetainDbProvider,
  }),
  bundled({
    name: "supermemory",
    description: "Memories, profile and documents at Supermemory, in the cloud or on a server of one's own.",
    load: async () => (await import("./supermemory/provider.ts")).createSupermemoryProvider,
    findTraces: async (home, text) => {
      const { countKept, partsPath } = await import("./supermemory/conversations.ts");
      const count = countKept(home, text);
      if (count === 0) return undefined;
      const messages = count === 1 ? "1 message" : `${count} messages`;
      return `${messages} of conversations that were sent to Supermemory, in ${partsPath(home)} and at its server`;
    },
  }),
];

/** Called after a profile was made as a copy of another, with the provider that the copy uses. */
export async function cloneProviderSettings(
  provider: string,
  from: string,
  to: string,
): Promise<string | undefined> {
  return await PROVIDERS.find(({ name }) => name === provider)?.cloneSettings?.(from, to);
}

/** Bundled providers that are not active but may still hold the text from an earlier time, with one sentence each. */
export async function findTracesElsewhere(
  home: string,
  active: string,
  text: string,
): Promise<readonly Finding[]> {
  const found = await askInactive(active, (provider) => provider.findTraces?.(home, text));
  const mirrored = ifReadable(() => findInOutbox(home, text))
    .filter(({ provider, user, mirrors }) => provider !== active && user === OWNER && mirrors > 0)
    .map(({ provider, mirrors }) => ({
      provider,
      found: `${mirrors === 1 ? "1 entry with the text was" : `${mirrors} entries with the text were`} copied to the server of '${provider}', and the outbox keeps the text to find it there.`,
    }));
  return [...found, ...mirrored];
}

type Finding = { readonly provider: string; readonly found: string };

/** The sentences of the bundled providers that are not active. */
async function askInactive(
  active: string,
  ask: (provider: BundledProvider) => Promise<string | undefined> | undefined,
): Promise<readonly Finding[]> {
  const others = PROVIDERS.filter(({ name }) => name !== active);
  const asked = await Promise.all(
    others.map(async (each) => ({ provider: each.name, found: await ask(each) })),
  );
  return asked.filter((each): each is Finding => each.found !== undefined);
}

/** The lane of the home's owner. */
const OWNER = "";

function writes(count: number): string {
  return count === 1 ? "1 write that was not delivered" : `${count} writes that were not delivered`;
}

/** Bundled providers that are not active but still have records of this user, or without one of the owner, with one sentence each. */
async function findStoresElsewhere(
  home: string,
  active: string,
  user: StoreUser | undefined,
): Promise<readonly Finding[]> {
  const found = await askInactive(active, (provider) => provider.findStore?.(home, user));
  const own = user === undefined ? OWNER : laneUser({ platform: user.platform, user_id: user.userId });
  const left = ifReadable(() => readOutbox(home))
    .filter(({ provider, user: lane }) => provider !== active && lane === own)
    .map(({ provider, state }) => ({ provider, items: state.waiting + state.held + state.dead }))
    .filter(({ items }) => items > 0)
    .map(({ provider, items }) => ({ provider, found: `The outbox of '${provider}' has ${writes(items)}.` }));
  return [...found, ...left];
}

/** In the stores of the home's users, of every bundled provider. They do not belong to the owner, so no command here erases in them. */
export async function findTracesOfUsers(home: string, text: string): Promise<readonly UserTrace[]> {
  const found = await Promise.all(PROVIDERS.map((each) => each.findUserTraces?.(home, text) ?? []));
  const mirrored = ifReadable(() => findInOutbox(home, text))
    .filter(({ user, mirrors }) => user !== OWNER && mirrors > 0)
    .map(({ provider, user }) => ({
      path: join(home, "memory_outbox.db"),
      reach: `It keeps the text to find an entry of the user '${user}' at the server of '${provider}': 'erase()' of that user's memory erases both.`,
    }));
  return [...found.flat(), ...mirrored];
}

/** The eight providers, and what core asks about all of them. */
export const bundledProviders: BundledProviders = {
  providers: PROVIDERS,
  knownEntries,
  findStoresElsewhere,
  unreadableOutboxes,
};

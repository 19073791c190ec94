// A fake RetainDB and the provider in front of it, for tests. One server may serve many homes: each home has a project of its own.
import { basename } from "node:path";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import type { ProviderHarness } from "../../../core/testing/index.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createRetainDbProvider } from "../../src/retaindb/provider.ts";
import { controlsOf } from "../fakes/servers/controls.ts";
import type { FakeRetainDb } from "../fakes/servers/retaindb.ts";

export const KEY = "test-key-of-retaindb";

const FAST: NetworkedOptions["limits"] = {
  pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 },
  breakerMs: 200,
};

export function providerFor(
  fake: FakeRetainDb,
  home: string,
  { env = {}, ...options }: Partial<NetworkedOptions> = {},
): MemoryProvider {
  const standard = { RETAINDB_API_KEY: KEY, RETAINDB_BASE_URL: fake.url, RETAINDB_PROJECT: projectOf(home) };
  return createRetainDbProvider({ home, limits: FAST, ...options, env: { ...standard, ...env } });
}

export function projectOf(home: string): string {
  return `p-${basename(home)}`;
}

type Stored = {
  readonly memories: readonly { readonly project: string }[];
  readonly messages: Readonly<Record<string, readonly { readonly role: string; readonly content: string }[]>>;
  readonly seeds: readonly { readonly project: string }[];
  readonly files: readonly { readonly project: string | undefined }[];
};

function storedIn(fake: FakeRetainDb, home: string): Stored {
  const { memories, messages, seeds, files } = fake.stored() as Stored;
  const isOfHome = ({ project }: { readonly project: string | undefined }) => project === projectOf(home);
  return {
    memories: memories.filter(isOfHome),
    messages: Object.fromEntries(
      Object.entries(messages).filter(([key]) => key.startsWith(`${projectOf(home)} `)),
    ),
    seeds: seeds.filter(isOfHome),
    files: files.filter(isOfHome),
  };
}

export function harnessOf(fake: FakeRetainDb): ProviderHarness {
  return {
    create: (home) => providerFor(fake, home),
    stored: (home) => storedIn(fake, home),
    turns: (home) =>
      Object.values(storedIn(fake, home).messages)
        .flat()
        .filter(({ role }) => role === "user")
        .map(({ content }) => content),
    server: () => controlsOf(fake, KEY),
    recallsProfile: "the overlay begins with five memories of the user's profile",
  };
}

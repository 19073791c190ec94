// A fake RetainDB and the provider in front of it, for tests. One server may serve many homes: each home has a project of its own.
import { basename } from "node:path";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createRetainDbProvider } from "../../src/retaindb/provider.ts";
import { harnessOf } from "../fakes/contract.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";

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

/** For the provider contract. */
export const retaindb = () =>
  harnessOf("retaindb", {
    fake: () => new FakeRetainDb(),
    recallsProfile: "the overlay begins with five memories of the user's profile",
  });

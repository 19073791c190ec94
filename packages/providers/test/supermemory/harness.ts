// A fake Supermemory and the provider in front of it, for tests. One server serves many homes: each home has a container of its own.
import { basename } from "node:path";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createSupermemoryProvider } from "../../src/supermemory/provider.ts";
import { harnessOf } from "../fakes/contract.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";

export const KEY = "sm_test_key_0123456789";

const FAST: NetworkedOptions["limits"] = {
  pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 },
  breakerMs: 200,
};

export function providerFor(
  fake: FakeSupermemory,
  home: string,
  { env = {}, ...options }: Partial<NetworkedOptions> = {},
): MemoryProvider {
  const standard = {
    SUPERMEMORY_API_KEY: KEY,
    SUPERMEMORY_BASE_URL: fake.url,
    SUPERMEMORY_CONTAINER_TAG: tagOf(home),
  };
  return createSupermemoryProvider({ home, limits: FAST, ...options, env: { ...standard, ...env } });
}

/** The owner's container of a home. */
function tagOf(home: string): string {
  return `t${basename(home).replace(/[^A-Za-z0-9]/g, "")}`;
}

/** For the provider contract. The share of common words is lower than the similarity of two meanings. */
export const supermemory = () =>
  harnessOf("supermemory", { fake: () => Object.assign(new FakeSupermemory(), { defaultThreshold: 0.3 }) });

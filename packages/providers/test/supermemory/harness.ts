// A fake Supermemory and the provider in front of it, for tests. One server serves many homes: each home has a container of its own.
import { basename } from "node:path";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import type { ProviderHarness } from "../../../core/testing/memory-provider.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createSupermemoryProvider } from "../../src/supermemory/provider.ts";
import { controlsOf } from "../fakes/servers/controls.ts";
import type { FakeSupermemory } from "../fakes/servers/supermemory.ts";

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

export function harnessOf(fake: FakeSupermemory): ProviderHarness {
  fake.defaultThreshold = 0.3; // the share of common words is lower than the similarity of two meanings
  const isOfHome = (home: string) => (each: { readonly containerTags: readonly string[] }) =>
    each.containerTags.some((tag) => tag.startsWith(tagOf(home)));
  const conversations = (home: string) => fake.store.conversations().filter(isOfHome(home));
  return {
    create: (home) => providerFor(fake, home),
    stored: (home) => ({
      documents: fake.store
        .documents()
        .filter(isOfHome(home))
        .map(({ content, customId, containerTags }) => ({ content, customId, containerTags })),
      conversations: conversations(home).map(({ conversationId, messages }) => ({
        conversationId,
        messages,
      })),
      memories: fake.store
        .memories()
        .filter(({ containerTag }) => containerTag.startsWith(tagOf(home)))
        .map(({ memory, isForgotten }) => ({ memory, isForgotten })),
    }),
    turns: (home) =>
      conversations(home).flatMap(({ messages }) =>
        messages.filter(({ role }) => role === "user").map(({ content }) => content),
      ),
    server: () => controlsOf(fake, KEY),
  };
}

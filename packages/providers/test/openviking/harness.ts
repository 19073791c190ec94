// A fake OpenViking and the provider in front of it, for tests. One server serves many homes: each home has an account of its own.
import { basename } from "node:path";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import type { ProviderHarness } from "../../../core/testing/memory-provider/support.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createOpenVikingProvider } from "../../src/openviking/provider.ts";
import { harnessOf } from "../fakes/contract.ts";
import { controlsOf } from "../fakes/servers/controls.ts";
import { FakeOpenViking, type VikingProfile } from "../fakes/servers/openviking.ts";

const FAST: NetworkedOptions["limits"] = {
  pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 },
  breakerMs: 200,
};

function providerFor(
  fake: FakeOpenViking,
  home: string,
  { env = {}, ...options }: Partial<Parameters<typeof createOpenVikingProvider>[0]> = {},
): MemoryProvider {
  const standard = { OPENVIKING_ENDPOINT: fake.url, OPENVIKING_ACCOUNT: accountOf(home) };
  return createOpenVikingProvider({
    home,
    limits: FAST,
    times: { recheckMs: 50 },
    ...options,
    env: { ...standard, ...env },
  });
}

export function accountOf(home: string): string {
  return `a${basename(home).replace(/[^A-Za-z0-9]/g, "")}`;
}

const ROOT_KEY = "root-key-0123456789";
const OTHER_KEY = "other-key-0123456789";

/**
 * For the provider contract. Users of a gateway are kept apart by servers that take the user from the request: 0.4 without keys, 0.3 also
 * with a root key, which is what each is tested with.
 */
export function openViking(profile: VikingProfile): Promise<ProviderHarness> {
  const fake = () => new FakeOpenViking({ profile });
  if (profile === "v04") return harnessOf("openviking", { fake, key: "" });
  const server = (used: FakeOpenViking) => ({
    ...controlsOf(used, OTHER_KEY),
    revokeKey: () => used.revokeKey(ROOT_KEY),
    recover: () => {
      used.recover();
      used.requireAuth(OTHER_KEY);
      used.addKey(ROOT_KEY, { role: "root" });
    },
  });
  return harnessOf("openviking", { fake, key: ROOT_KEY, server });
}

/** A provider of the owner, started, with the tools at hand. Closed by the caller. */
export async function startProvider(
  fake: FakeOpenViking,
  home: string,
  options: Partial<Parameters<typeof createOpenVikingProvider>[0]> & { readonly userId?: string } = {},
) {
  const { userId, ...rest } = options;
  const provider = providerFor(fake, home, rest);
  const start = { hermes_home: home, platform: "telegram", agent_context: "primary" } as const;
  await provider.initialize("session-1", userId === undefined ? start : { ...start, user_id: userId });
  const tool = async (name: string, args: object): Promise<Record<string, unknown>> =>
    JSON.parse((await provider.handleToolCall?.(name, { ...args }, {})) ?? "{}");
  const turn = (user: string, assistant: string, session_id = "session-1") =>
    provider.syncTurn?.(user, assistant, { session_id });
  const mirror = (action: "add" | "replace" | "remove", text: string, old_text = "") =>
    provider.onMemoryWrite?.(action, "memory", text, old_text === "" ? {} : { old_text });
  const recall = (query: string) => provider.prefetch?.(query, { session_id: "session-1" });
  return { provider, tool, turn, mirror, recall };
}

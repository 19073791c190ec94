// A fake OpenViking and the provider in front of it, for tests. One server serves many homes: each home has an account of its own.
import { basename } from "node:path";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import type { ProviderHarness } from "../../../core/testing/memory-provider/support.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createOpenVikingProvider } from "../../src/openviking/provider.ts";
import { controlsOf } from "../fakes/servers/controls.ts";
import type { FakeOpenViking } from "../fakes/servers/openviking.ts";

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

/**
 * Users of a gateway are kept apart by servers that take the user from the request: 0.4 without keys, 0.3 also with a root key, which is
 * what each is tested with.
 */
export function harnessOf(fake: FakeOpenViking): ProviderHarness {
  const isWithKey = fake.profile === "v03";
  const admit = () => {
    fake.requireAuth(isWithKey ? OTHER_KEY : undefined);
    fake.addKey(ROOT_KEY, { role: "root" });
  };
  admit();
  const accounts = () => fake.stored() as Readonly<Record<string, Account>>;
  return {
    create: (home) => providerFor(fake, home, isWithKey ? { env: { OPENVIKING_API_KEY: ROOT_KEY } } : {}),
    stored: (home) => accounts()[accountOf(home)] ?? {},
    turns: (home) =>
      Object.values(accounts()[accountOf(home)]?.sessions ?? {}).flatMap(({ messages }) =>
        messages.filter(({ role }) => role === "user").map(({ content }) => content ?? ""),
      ),
    server: () => ({
      ...controlsOf(fake, OTHER_KEY),
      revokeKey: () => {
        fake.requireAuth(OTHER_KEY);
        fake.revokeKey(ROOT_KEY);
      },
      recover: () => {
        fake.recover();
        admit();
      },
    }),
  };
}

const ROOT_KEY = "root-key-0123456789";
const OTHER_KEY = "other-key-0123456789";

type Account = {
  readonly sessions: Readonly<
    Record<string, { readonly messages: readonly { readonly role: string; readonly content?: string }[] }>
  >;
};

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

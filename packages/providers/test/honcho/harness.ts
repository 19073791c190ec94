// Fake Honchos as the provider contract needs them: each home has a server of its own. `create` is synchronous, so the servers are started
// before the tests are registered.
import { join } from "node:path";
import type { ProviderHarness } from "../../../core/testing/index.ts";
import { createHonchoProvider } from "../../src/honcho/provider.ts";
import { controlsOf } from "../fakes/servers/controls.ts";
import { FakeHoncho } from "../fakes/servers/honcho.ts";

const FAST = { pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 }, breakerMs: 200 };
const WORKSPACE = "hermes";

export type HonchoServers = { readonly harness: ProviderHarness; readonly stop: () => Promise<void> };

export async function startServers(count: number): Promise<HonchoServers> {
  const servers = await Promise.all(Array.from({ length: count }, () => new FakeHoncho().start()));
  const ofHome = new Map<string, FakeHoncho>();
  const serverOf = (home: string): FakeHoncho => {
    const server = ofHome.get(home) ?? servers[ofHome.size];
    if (server === undefined) throw new Error("There are more homes than servers.");
    if (!ofHome.has(home)) {
      ofHome.set(home, server);
      server.chatAnswer = null; // the model's answers depend on no words of the query; they have tests of their own
    }
    return server;
  };
  const messagesOf = (home: string) => {
    const server = serverOf(home);
    return server.sessionsOf(WORKSPACE).flatMap((session) => server.messagesOf(WORKSPACE, session));
  };
  const harness: ProviderHarness = {
    create: (home) => {
      const env = { HONCHO_BASE_URL: serverOf(home).url };
      const userHome = join(home, "nobody");
      return createHonchoProvider({ home, env, cwd: "/projects/kiln", userHome, limits: FAST });
    },
    // Sessions and peers are names; memories are what is in them.
    stored: (home) => {
      const server = serverOf(home);
      const peers = server.peersOf(WORKSPACE);
      const pairs = peers.flatMap((one) => peers.map((other) => [one, other] as const));
      return {
        messages: messagesOf(home).map(({ content }) => content),
        conclusions: pairs.flatMap((pair) =>
          server.conclusionsOf(WORKSPACE, ...pair).map(({ content }) => content),
        ),
        cards: pairs.flatMap((pair) => server.cardOf(WORKSPACE, ...pair) ?? []),
      };
    },
    turns: (home) =>
      messagesOf(home)
        .map(({ content }) => content)
        .filter((content) => !content.startsWith("Noted")),
    server: (home) => controlsOf(serverOf(home), undefined),
  };
  return { harness, stop: async () => void (await Promise.all(servers.map((server) => server.stop()))) };
}

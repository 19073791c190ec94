// A Honcho provider in a home of its own, on a fake server of its own.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { InitializeOptions, MemoryProvider } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHonchoProvider, type HonchoOptions } from "../../src/honcho/provider.ts";
import { FakeHoncho } from "../fakes/servers/honcho.ts";

export const WORKSPACE = "office";

export type HonchoHome = {
  readonly server: FakeHoncho;
  readonly home: string;
  readonly create: (options?: Partial<HonchoOptions>) => MemoryProvider;
  /** Initialised; shut down after the test. */
  readonly start: (
    options?: Partial<InitializeOptions> & { readonly session?: string },
    more?: Partial<HonchoOptions>,
  ) => Promise<MemoryProvider>;
};

/** `block` is the block of this host in honcho.json. */
export async function honchoHome(
  block: Readonly<Record<string, unknown>> = {},
  root: Readonly<Record<string, unknown>> = {},
): Promise<HonchoHome> {
  const server = await new FakeHoncho().start();
  onTestFinished(() => server.stop());
  const home = tempDirectory();
  const hosts = { hermes: { workspace: WORKSPACE, peerName: "ann", aiPeer: "bot", ...block } };
  writeFileSync(join(home, "honcho.json"), JSON.stringify({ baseUrl: server.url, hosts, ...root }));
  const create: HonchoHome["create"] = (options) =>
    createHonchoProvider({
      home,
      env: {},
      cwd: "/projects/kiln",
      userHome: join(home, "nobody"),
      ...options,
    });
  return {
    server,
    home,
    create,
    start: async ({ session = "s1", ...options } = {}, more) => {
      const provider = create(more);
      onTestFinished(async () => void (await provider.shutdown?.({})));
      await provider.initialize(session, {
        hermes_home: home,
        platform: "cli",
        agent_context: "primary",
        ...options,
      });
      return provider;
    },
  };
}

export async function callTool(
  provider: MemoryProvider,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  return JSON.parse((await provider.handleToolCall?.(name, args, {})) ?? "{}");
}

/** Waits until `isTrue` holds; fails after 5 s. */
export async function until(isTrue: () => boolean): Promise<void> {
  const end = Date.now() + 5_000;
  while (!isTrue()) {
    if (Date.now() > end) throw new Error("It did not happen within 5 s.");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

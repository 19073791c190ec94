// A fake Mem0 and providers in front of it, for tests.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { InitializeOptions } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { NetworkedOptions } from "../../src/kit/networked/provider.ts";
import { createMem0Provider } from "../../src/mem0/provider.ts";
import { harnessOf } from "../fakes/contract.ts";
import { FakeMem0 } from "../fakes/servers/mem0.ts";

export const KEY = "m0-testkey0123456789abcdef";
export const SESSION = { session_id: "session-1" };

export async function serve(edition: "platform" | "oss" = "platform"): Promise<FakeMem0> {
  const fake = await new FakeMem0({ edition }).start();
  fake.requireAuth(KEY);
  onTestFinished(() => fake.stop());
  return fake;
}

type Start = Partial<InitializeOptions> & {
  readonly home?: string;
  /** Written to `mem0.json`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly limits?: NetworkedOptions["limits"];
};

/** An initialised provider. */
export function start(fake: FakeMem0, options: Start = {}) {
  const { home = tempDirectory(), settings, limits, ...rest } = options;
  const edition = fake.edition === "oss" ? { api: "oss" } : {};
  writeFileSync(join(home, "mem0.json"), JSON.stringify({ ...edition, ...settings }));
  const env = { MEM0_HOST: fake.url, MEM0_API_KEY: KEY };
  const provider = createMem0Provider({ home, env, limits });
  onTestFinished(async () => provider.shutdown?.({}));
  provider.initialize("session-1", { hermes_home: home, platform: "cli", ...rest });
  const call = async (name: string, args: Readonly<Record<string, unknown>> = {}) =>
    JSON.parse((await provider.handleToolCall?.(name, args, {})) ?? "null") as Record<string, unknown>;
  return { provider, home, call };
}

/** Requests with this path, as method, path, query and body. */
export function requestsTo(fake: FakeMem0, path: string) {
  return fake.requests
    .filter((request) => request.path === path)
    .map(({ method, query, body }) => ({ method, query, body }));
}

/** For the provider contract. A tool waits as long as `timeout` for a server that hangs; the tests call several. */
export const mem0 = (edition: "platform" | "oss") =>
  harnessOf("mem0", { fake: () => new FakeMem0({ edition }), settings: { api: edition, timeout: 3 } });

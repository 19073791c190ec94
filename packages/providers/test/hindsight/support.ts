// A Hindsight provider on a fake server, for one test.
import { expect, onTestFinished } from "vitest";
import type { InitializeOptions, MemoryProvider } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHindsightProvider } from "../../src/hindsight/provider.ts";
import type { SeenRequest } from "../fakes/servers/fake-server.ts";
import { FakeHindsight, type HindsightOptions } from "../fakes/servers/hindsight.ts";

export const KEY = "hs-test-key-1234567890";

export async function startFake(options: HindsightOptions = {}): Promise<FakeHindsight> {
  const fake = await new FakeHindsight(options).start();
  fake.requireAuth(KEY);
  onTestFinished(() => fake.stop());
  return fake;
}

type Lines = { readonly level: string; readonly message: string }[];

type StartedProvider = {
  readonly fake: FakeHindsight;
  readonly provider: MemoryProvider;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Lines;
};

/** With `fake` undefined, a new one. */
export async function startProvider({
  fake: given,
  version,
  settings = {},
  session = "session-1",
  home = tempDirectory(),
  env: moreEnv = {},
  ...options
}: Partial<InitializeOptions> & {
  readonly fake?: FakeHindsight;
  readonly version?: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly session?: string;
  readonly home?: string;
  readonly env?: Readonly<Record<string, string>>;
} = {}): Promise<StartedProvider> {
  const fake = given ?? (await startFake(version === undefined ? {} : { version }));
  const env = { HOME: home, HINDSIGHT_API_URL: fake.url, HINDSIGHT_API_KEY: KEY, ...moreEnv };
  const log: Lines = [];
  const note = (level: string) => (message: string) => void log.push({ level, message });
  const provider = createHindsightProvider({
    home,
    env,
    log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error"), dropped: 0 },
    limits: { recallMs: 1_000, shutdownMs: 1_000 },
    times: { erase: { settleMs: 200, pollMs: 20 } },
  });
  provider.saveConfig?.(settings, home);
  await provider.initialize(session, {
    hermes_home: home,
    platform: "cli",
    agent_context: "primary",
    ...options,
  });
  onTestFinished(async () => void (await provider.shutdown?.({})));
  return { fake, provider, home, env, log };
}

export async function call(
  provider: MemoryProvider,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse((await provider.handleToolCall?.(tool, args, {})) ?? "{}");
}

/** Everything that waits is sent, turns that are held back excepted. */
export async function settleOutbox(provider: MemoryProvider): Promise<void> {
  await provider.onMemoryWrite?.("remove", "memory", "", { old_text: "an entry that was never there" });
}

export function retains(
  fake: FakeHindsight,
): readonly { readonly path: string; readonly body: RetainBody }[] {
  return requestsTo(fake, "POST", "/memories").map(({ path, body }) => ({ path, body: body as RetainBody }));
}

type RetainBody = {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly async?: boolean;
  readonly operation_id?: string;
};

export function requestsTo(fake: FakeHindsight, method: string, ending: string): readonly SeenRequest[] {
  return fake.requests.filter((request) => request.method === method && request.path.endsWith(ending));
}

/** The texts of the messages in the documents of a bank, in their order. */
export function storedTexts(fake: FakeHindsight, bank = "hermes"): readonly string[] {
  return fake.documents(bank).flatMap(({ text }) =>
    text.split("\n").flatMap((line) => {
      const turns: unknown = JSON.parse(line);
      expect(Array.isArray(turns)).toBe(true);
      return (turns as { content: string }[][]).flat().map(({ content }) => content);
    }),
  );
}

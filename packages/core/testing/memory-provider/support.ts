// The provider under test: created in a new home, initialised, and shut down after the test.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InitializeOptions, MemoryProvider } from "../../src/providers/index.ts";
import type { TestScope } from "../runner.ts";

/** How the tests make a provider and look at what it stored. */
export type ProviderHarness = {
  /** A new instance that has everything it needs in this home and is not initialised. Also called while tests are registered. */
  readonly create: (home: string) => MemoryProvider;
  /** Everything stored for this home, as a value that can be compared. Called when every provider of the home is shut down. */
  readonly stored: (home: string) => unknown;
  /** For a memory from which nothing can be removed: the reason why removed entries stay. */
  readonly cannotForget?: string;
  /** The setting for recall, tools or both, if it is not called `mode`. */
  readonly modeSetting?: string;
  /** For a memory whose recall begins with the same facts about the user for every question: the reason. */
  readonly recallsProfile?: string;
  /** Settings that setup does not ask for. */
  readonly moreSettings?: readonly string[];
  /** The texts of what users said in synced turns, as they are stored, oldest first. For a memory that keeps them word for word. */
  readonly turns?: (home: string) => readonly string[];
  /** For a memory behind a server: the server that this home uses. The tests stop it, stall it and let it fail. */
  readonly server?: (home: string) => ServerControls;
};

/** What the tests do to the server of a networked memory. Each state lasts until `recover`. */
export type ServerControls = {
  /** Refuses connections. */
  stop(): Promise<void>;
  /** Listens again at the same address, with what was stored. */
  start(): Promise<void>;
  /** Takes requests and never answers. */
  hang(): void;
  fail(status: number, body?: unknown, headers?: Readonly<Record<string, string>>): void;
  /** Answers 200 with this text. */
  answer(text: string, contentType: string): void;
  /** Sends half of each answer and cuts the connection. */
  cutAnswers(): void;
  /** The provider's key is no longer accepted. */
  revokeKey(): void;
  /** Everything works again, the key included. */
  recover(): void;
  /** Queues again what the server has refused for good, as `hermes memory outbox retry` does. */
  resend(home: string): void;
  /** How many requests have come so far. */
  requests(): number;
};

export type Started = { readonly provider: MemoryProvider; readonly home: string };

export type StartOptions = Partial<InitializeOptions> & {
  readonly home?: string;
  readonly session?: string;
  /** Passed to `saveConfig` before the start. */
  readonly settings?: Readonly<Record<string, string>>;
};

export async function start(
  test: TestScope,
  harness: ProviderHarness,
  options: StartOptions = {},
): Promise<Started> {
  const { home = test.directory(), session = "session-1", settings, ...rest } = options;
  if (settings !== undefined) await harness.create(home).saveConfig?.(settings, home);
  const provider = harness.create(home);
  test.after(() => close(provider));
  await provider.initialize(session, {
    hermes_home: home,
    platform: "cli",
    agent_context: "primary",
    ...rest,
  });
  return { provider, home };
}

export async function close(provider: MemoryProvider): Promise<void> {
  await provider.shutdown?.({});
}

/** For a call that may fail but has to settle. */
export async function settle(work: () => unknown): Promise<"answered" | "failed"> {
  try {
    await work();
    return "answered";
  } catch {
    return "failed";
  }
}

/** Asks a temporary instance while tests are registered, to skip tests of members that it does not have. */
export function probe<T>(harness: ProviderHarness, ask: (provider: MemoryProvider) => T): T {
  const home = mkdtempSync(join(tmpdir(), "hermes-contract-"));
  try {
    return ask(harness.create(home));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export function hasSetting(harness: ProviderHarness, key: string): boolean {
  const fields = probe(harness, (provider) => provider.getConfigSchema?.()) ?? [];
  return fields.some((field) => field.key === key) || (harness.moreSettings ?? []).includes(key);
}

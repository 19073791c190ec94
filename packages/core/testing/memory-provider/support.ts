// A provider under test: made for a home of its own, initialised, closed when the test is over.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InitializeOptions, MemoryProvider } from "../../src/providers/index.ts";
import type { TestScope } from "../runner.ts";

export type ProviderHarness = {
  /** A fresh instance that has everything it needs in this home and was not initialised. Also called while tests are registered. */
  readonly create: (home: string) => MemoryProvider;
  /** All that is kept for this home, in a form that can be compared, once every provider there is closed. */
  readonly stored: (home: string) => unknown;
  /** Why a removed entry stays: of a memory that nothing can be taken out of. */
  readonly cannotForget?: string;
  /** Settings beside those that setup asks for. */
  readonly moreSettings?: readonly string[];
};

export type Started = { readonly provider: MemoryProvider; readonly home: string };

export type StartOptions = Partial<InitializeOptions> & {
  readonly home?: string;
  readonly session?: string;
  /** Given to `saveConfig` before. */
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

/** What became of a call that may fail, but has to come to an end. */
export async function settle(work: () => unknown): Promise<"answered" | "failed"> {
  try {
    await work();
    return "answered";
  } catch {
    return "failed";
  }
}

/** Asks an instance made for nothing else, while tests are registered: what it does not have is skipped. */
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

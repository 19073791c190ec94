// Reads and writes `<home>/provider-health/<provider>.json`. Counting must never disturb what is counted: a file that
// cannot be read starts anew, one that cannot be written is left alone.
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Clock, systemClock, withFileLockSync, writeFileAtomic } from "../../lib/index.ts";
import type { ProviderHealth } from "./health.ts";
import { addHealth, emptyHealth, type HealthDelta, readHealth } from "./health.ts";

const LOCK_WAIT_MS = 200;

export function healthFilePath(home: string, provider: string): string {
  return join(home, "provider-health", `${provider.replace(/[^A-Za-z0-9._-]/g, "_")}.json`);
}

/** Undefined when nothing was ever counted. */
export function readProviderHealth(home: string, provider: string): ProviderHealth | undefined {
  try {
    return readHealth(JSON.parse(readFileSync(healthFilePath(home, provider), "utf8")), provider);
  } catch {
    return undefined;
  }
}

/** False when it could not be written, now; the caller keeps its counts and tries again later. */
export function addToHealthFile(
  home: string,
  provider: string,
  delta: HealthDelta,
  clock: Clock = systemClock,
): boolean {
  const path = healthFilePath(home, provider);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const outcome = withFileLockSync(`${path}.lock`, { timeoutMs: LOCK_WAIT_MS }, () => {
      const now = clock.now().toISOString();
      const before = readProviderHealth(home, provider) ?? emptyHealth(provider, now);
      const after = addHealth(before, delta, now);
      writeFileAtomic(path, `${JSON.stringify(after, null, 2)}\n`, { mode: 0o600, forceMode: 0o600 });
    });
    return outcome.ok;
  } catch {
    return false;
  }
}

export function recordAvailability(
  home: string,
  provider: string,
  found: { readonly available: boolean; readonly reason?: string },
  checkedBy: "setup" | "test" | "activation",
  clock: Clock = systemClock,
): void {
  const availability = { ...found, checked_at: clock.now().toISOString(), checked_by: checkedBy };
  addToHealthFile(home, provider, { availability }, clock);
}

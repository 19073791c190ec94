// The one way from a home's config to a store, so that every entrance applies the same limits.
import { type ConfigError, loadMemoryConfig, type MemoryConfig } from "../config/index.ts";
import { memoriesDirectory, userMemoriesDirectory } from "../home.ts";
import { ok, type Result } from "../lib/index.ts";
import { MemoryStore } from "./store.ts";
import type { MemoryStoreOptions } from "./store-options.ts";
import type { MemoryTarget } from "./types.ts";

/** A user of a gateway; each has a memory directory of their own. */
export type MemoryUser = { readonly platform: string; readonly userId: string };

/** Opens and loads the memory of a home, or of one user in it. A config that cannot be read is an error, not the defaults. */
export async function openMemoryStore(options: {
  home: string;
  user?: MemoryUser;
}): Promise<Result<MemoryStore, ConfigError>> {
  const { home, user } = options;
  const config = await loadMemoryConfig(home);
  if (!config.ok) return config;
  const dir = user ? userMemoriesDirectory(home, user.platform, user.userId) : memoriesDirectory(home);
  const store = new MemoryStore(storeOptionsFrom(config.value, dir));
  await store.load(); // an unreadable file shows in `store.warnings`
  return ok(store);
}

export function storeOptionsFrom(config: MemoryConfig, dir: string): MemoryStoreOptions {
  const disabled: MemoryTarget[] = [];
  if (!config.memoryEnabled) disabled.push("memory");
  if (!config.userProfileEnabled) disabled.push("user");
  return {
    dir,
    memoryCharLimit: config.memoryCharLimit,
    userCharLimit: config.userCharLimit,
    disabled,
    overflow: config.overflow,
    scanAllow: config.scanAllow,
    allowSecrets: config.allowSecrets,
    historyMaxBytes: config.historyMaxBytes,
    historyKeep: config.historyKeep,
    lockTimeoutMs: config.lockTimeoutSeconds * 1000,
  };
}

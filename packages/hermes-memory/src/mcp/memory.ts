// Curated memory for one request: config and files are read anew each time, because a client has no frozen prompt.
import { existsSync } from "node:fs";
import { type ConfigError, loadMemoryConfig, type MemoryConfig } from "@hermes-memory/core/config";
import {
  MEMORY_TARGETS,
  MemoryStore,
  type MemoryTarget,
  storeOptionsFrom,
} from "@hermes-memory/core/curated";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { HermesError } from "@hermes-memory/core/lib";
import type { Dependencies } from "./dependencies.ts";

export type Memory = {
  readonly config: MemoryConfig;
  /** Undefined when config switches memory off. */
  readonly store: MemoryStore | undefined;
};

/** Rejects with a `HermesError` when the config cannot be read: guessed limits would be worse than none. */
export async function openMemory({ home, log }: Dependencies): Promise<Memory> {
  const loaded = await loadMemoryConfig(home);
  if (!loaded.ok) throw configError(loaded.error);
  const config = loaded.value;
  if (!isOn(config)) return { config, store: undefined };
  const options = storeOptionsFrom(config, memoriesDirectory(home));
  const store = new MemoryStore({ ...options, log: (line) => log.warn(line) });
  await store.load();
  return { config, store };
}

/** A config that cannot be read does not hide the tools: they are what tells the client about it. */
export async function isMemoryOn({ home }: Dependencies): Promise<boolean> {
  const config = await loadMemoryConfig(home);
  return !config.ok || isOn(config.value);
}

export async function enabledTargets({ home }: Dependencies): Promise<readonly MemoryTarget[]> {
  const config = await loadMemoryConfig(home);
  return config.ok ? MEMORY_TARGETS.filter((target) => isTargetOn(config.value, target)) : MEMORY_TARGETS;
}

/** The blocks a system prompt would get. Reading does not make a home. */
export async function readBlocks(deps: Dependencies): Promise<ReadonlyMap<MemoryTarget, string>> {
  if (!existsSync(deps.home)) return new Map();
  const { store } = await openMemory(deps);
  const blocks = MEMORY_TARGETS.flatMap((target) => {
    const block = store?.renderSnapshot(target);
    return block === undefined ? [] : [[target, block] as const];
  });
  return new Map(blocks);
}

function isOn(config: MemoryConfig): boolean {
  return MEMORY_TARGETS.some((target) => isTargetOn(config, target));
}

function isTargetOn(config: MemoryConfig, target: MemoryTarget): boolean {
  return target === "user" ? config.userProfileEnabled : config.memoryEnabled;
}

export function configError({ message, path }: ConfigError): HermesError {
  return new HermesError("config", message, {
    hint: `The file is ${path}; 'hermes config check' lists everything that is wrong with it.`,
  });
}

// What every memory command starts with: the store of the chosen home, set up from its config.
import { MEMORY_TARGETS, type MemoryError, MemoryStore, type MemoryTarget } from "../../curated/index.ts";
import { memoriesDirectory } from "../../home.ts";
import type { Result } from "../../lib/index.ts";
import { type CommandContext, CommandFailure, type CommandInput } from "../command.ts";

export async function openStore(input: CommandInput, context: CommandContext): Promise<MemoryStore> {
  const config = await context.memoryConfig();
  const disabled: MemoryTarget[] = [
    ...(config.memoryEnabled ? [] : (["memory"] as const)),
    ...(config.userProfileEnabled ? [] : (["user"] as const)),
  ];
  const store = new MemoryStore({
    dir: typeof input.flags.dir === "string" ? input.flags.dir : memoriesDirectory(context.home.home),
    memoryCharLimit: config.memoryCharLimit,
    userCharLimit: config.userCharLimit,
    disabled,
    overflow: config.overflow,
    scanAllow: config.scanAllow,
    historyMaxBytes: config.historyMaxBytes,
    historyKeep: config.historyKeep,
    lockTimeoutMs: config.lockTimeoutSeconds * 1000,
  });
  unwrap(await store.load());
  return store;
}

/** The target a write goes to. */
export function targetFlag(input: CommandInput): MemoryTarget {
  return input.flags.target === "user" ? "user" : "memory";
}

/** The targets a read covers: the one that was named, or both. */
export function targetsFlag(input: CommandInput): readonly MemoryTarget[] {
  return input.flags.target === undefined ? MEMORY_TARGETS : [targetFlag(input)];
}

export function unwrap<T>(result: Result<T, MemoryError>): T {
  if (result.ok) return result.value;
  const { message, ...details } = result.error;
  throw new CommandFailure(message, { details });
}

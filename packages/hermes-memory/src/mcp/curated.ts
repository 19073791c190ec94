// Curated memory for one request: config and files are read anew each time, because a client has no frozen prompt.
import { existsSync } from "node:fs";
import { MEMORY_TARGETS, type MemoryStore, type MemoryTarget } from "@hermes-memory/core/curated";
import { ifUsable } from "@hermes-memory/core/memory";
import type { Dependencies } from "./dependencies.ts";

/** Undefined when config switches memory off. */
function openCurated({ memory, log }: Dependencies): Promise<MemoryStore | undefined> {
  return memory.owner.curated({ log: (line) => log.warn(line) });
}

/** A config that cannot be read does not hide the tools: they are what tells the client about it. */
export async function enabledTargets({ memory }: Dependencies): Promise<readonly MemoryTarget[]> {
  const config = await ifUsable(memory.memoryConfig());
  if (config === undefined) return MEMORY_TARGETS;
  const isOn = { memory: config.memoryEnabled, user: config.userProfileEnabled };
  return MEMORY_TARGETS.filter((target) => isOn[target]);
}

export async function isMemoryOn(deps: Dependencies): Promise<boolean> {
  return (await enabledTargets(deps)).length > 0;
}

/** The blocks a system prompt would get. Reading does not make a home. */
export async function readBlocks(deps: Dependencies): Promise<ReadonlyMap<MemoryTarget, string>> {
  if (!existsSync(deps.memory.home)) return new Map();
  const store = await openCurated(deps);
  const blocks = MEMORY_TARGETS.flatMap((target) => {
    const block = store?.renderSnapshot(target);
    return block === undefined ? [] : [[target, block] as const];
  });
  return new Map(blocks);
}

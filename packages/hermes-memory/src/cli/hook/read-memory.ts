// The memory of a home as a hook prints it: the blocks of the system prompt in a fence. Loaded for the start of a session only.
import { loadMemoryConfig } from "@hermes-memory/core/internal/config";
import { fenceFrozenBlocks, readFrozenBlocks } from "@hermes-memory/core/internal/frozen-blocks";
import { memoriesDirectory } from "@hermes-memory/core/internal/home";

/** Undefined when nothing is remembered. */
export async function readMemory(home: string): Promise<string | undefined> {
  const config = await loadMemoryConfig(home); // the YAML library is loaded only for an unusual file
  if (!config.ok) throw new Error("config.yaml cannot be used. 'hermes config check' says why.");
  return fenceFrozenBlocks(readFrozenBlocks(memoriesDirectory(home), config.value));
}

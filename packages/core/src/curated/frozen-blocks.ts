// The memory blocks of a system prompt, read straight from the two files. For processes that live for some milliseconds, such as the
// hook that another agent calls at the start of a session: nothing here loads a store, a journal or a lock.
import type { MemoryConfig } from "../config/index.ts";
import { defused, RECALL_TAG, sanitizeContext, writeFence } from "../security/index.ts";
import { buildSnapshot, distinctEntries, scanOptions } from "./entries.ts";
import { readMemoryFile, targetPaths } from "./memory-file.ts";
import { MEMORY_TARGETS } from "./types.ts";

/** Claude Code cuts injected text at 10,000 characters, and Codex moves more than about 2,500 tokens to a file. */
const MOST_CHARS = 8000;
// States facts and gives no orders: clients treat orders in injected text as an attack.
export const HOOK_NOTE =
  "[This is the long-term memory of this user's agents, kept by hermes-memory on this machine. It is background and was not written by the user just now.]";
const CUT = "[The rest of the memory is left out here for its length.]";

/** The same blocks as `MemoryStore.renderSnapshot` returns, without those that are empty, switched off or unreadable. */
export function readFrozenBlocks(directory: string, config: MemoryConfig): readonly string[] {
  const settings = {
    memory: { isOn: config.memoryEnabled, limit: config.memoryCharLimit },
    user: { isOn: config.userProfileEnabled, limit: config.userCharLimit },
  };
  const scan = scanOptions(config.scanAllow, config.allowSecrets);
  return MEMORY_TARGETS.flatMap((target) => {
    const { isOn, limit } = settings[target];
    const file = isOn ? readMemoryFile(targetPaths(directory, target).file) : undefined;
    if (file?.kind !== "text") return [];
    return buildSnapshot(target, distinctEntries(file.text), limit, scan).block ?? [];
  });
}

/** The blocks in the fence that importers and scrubbers remove again; undefined when there are none. */
export function fenceFrozenBlocks(blocks: readonly string[]): string | undefined {
  if (blocks.length === 0) return undefined;
  const text = defused(sanitizeContext(blocks.join("\n\n")));
  const fence = { name: RECALL_TAG, note: `${HOOK_NOTE}\n` };
  const room = MOST_CHARS - writeFence(fence, `\n${CUT}`).length;
  if (text.length <= room) return writeFence(fence, text);
  const lines = text.slice(0, Math.max(0, text.lastIndexOf("\n", room))); // whole lines that fit
  return writeFence(fence, `${lines}\n${CUT}`);
}

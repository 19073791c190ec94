// /memory show: the entries in short, how full the files are, and since when the session knows them.
import {
  entryIds,
  formatUsage,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/curated";
import type { AgentSurface } from "../../surface.ts";
import type { CommandCall, CommandReply } from "../command.ts";
import { short } from "../format.ts";
import { failed, told } from "../reply.ts";

const ENTRY_CHARS = 160;
const TITLES: Readonly<Record<MemoryTarget, string>> = {
  memory: "MEMORY.md, the agent's notes",
  user: "USER.md, about you",
};

export async function show({ agent }: CommandCall, rest: string): Promise<CommandReply> {
  const store = await freshLook(agent);
  if (store === undefined) return noMemory();
  const wanted = rest.replace(/^--/, "").toLowerCase();
  const targets = wanted === "" ? MEMORY_TARGETS : MEMORY_TARGETS.filter((target) => target === wanted);
  if (targets.length === 0) return failed("usage", "Usage: /memory show [memory|user]");
  return told(
    [
      ...targets.flatMap((target) => targetLines(store, target)),
      ...store.warnings,
      "The prompt of this session has memory as it was when the session began; changes count from the next one.",
    ],
    Object.fromEntries(targets.map((target) => [target, targetJson(store, target)])),
  );
}

/** A store of its own: loading the agent's again would change what a rebuilt prompt says. */
export async function freshLook({ memory, person }: AgentSurface): Promise<MemoryStore | undefined> {
  return memory && person.curated();
}

export function noMemory(): CommandReply {
  return failed(
    "unavailable",
    "Curated memory is switched off, or could not be opened.",
    "'hermes memory status' says which; memory.memory_enabled and memory.user_profile_enabled switch it on.",
  );
}

function targetLines(store: MemoryStore, target: MemoryTarget): string[] {
  if (!store.isEnabled(target)) return [`${TITLES[target]}: switched off`];
  const blocked = new Set(store.blockedEntries(target).map(({ index }) => index));
  const entries = store.entries(target).map((text, index) => {
    const mark = blocked.has(index) ? "  [kept out of the prompt]" : "";
    return `  ${index + 1}. ${short(text, ENTRY_CHARS)}${mark}`;
  });
  const head = `${TITLES[target]}: ${formatUsage(store.usage(target))}`;
  return [head, ...(entries.length === 0 ? ["  (empty)"] : entries)];
}

function targetJson(store: MemoryStore, target: MemoryTarget): object {
  const { used, limit } = store.usage(target);
  return {
    enabled: store.isEnabled(target),
    entries: store.entries(target),
    entry_ids: entryIds(target, store.entries(target)),
    used_chars: used,
    char_limit: limit,
  };
}

// The block of a system prompt that shows one target. Exact to the byte: prompt caches depend on it.
import { scanThreats } from "../security/index.ts";
import { formatUsage, measure } from "./budget.ts";
import type { ScanOptions } from "./content-check.ts";
import { fileNameOf, formatEntries } from "./format.ts";
import type { MemoryTarget } from "./types.ts";

const RULE = "═".repeat(46);

const HEADERS: Record<MemoryTarget, string> = {
  memory: "MEMORY (your personal notes)",
  user: "USER PROFILE (who the user is)",
};

export type BlockedEntry = { readonly index: number; readonly ids: readonly string[] };

export type Snapshot = { readonly block: string | undefined; readonly blocked: readonly BlockedEntry[] };

export function buildSnapshot(
  target: MemoryTarget,
  entries: readonly string[],
  limit: number,
  options: ScanOptions,
): Snapshot {
  const blocked: BlockedEntry[] = [];
  const safe = entries.map((entry, index) => {
    const ids = scanThreats(entry, "strict", options).map(({ id }) => id);
    if (ids.length === 0) return entry;
    blocked.push({ index, ids });
    return placeholder(target, ids);
  });
  return { block: renderBlock(target, safe, limit), blocked };
}

function renderBlock(target: MemoryTarget, entries: readonly string[], limit: number): string | undefined {
  if (entries.length === 0) return undefined;
  const header = `${HEADERS[target]} [${formatUsage(measure(entries, limit))}]`;
  return [RULE, header, RULE, formatEntries(entries)].join("\n");
}

/** Stands in the prompt for an entry that must not reach it. Matches no threat pattern itself. */
export function placeholder(target: MemoryTarget, ids: readonly string[]): string {
  return (
    `[BLOCKED: ${fileNameOf(target)} entry contained threat pattern(s): ${ids.join(", ")}. ` +
    "It was left out of this prompt. 'hermes memory show' displays it, and the memory tool's 'remove' deletes it.]"
  );
}

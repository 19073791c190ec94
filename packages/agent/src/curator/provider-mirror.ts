// What the curator wrote to memory goes to the active memory provider too.
import type { MemoryConfig } from "@hermes-memory/core/config";
import type { CommittedWrite } from "@hermes-memory/core/curated";

/** Notes for the report: none when the provider has everything, or there is none. */
export async function tellProvider(
  { home, config }: { readonly home: string; readonly config: { readonly memory: MemoryConfig } },
  writes: readonly CommittedWrite[],
): Promise<readonly string[]> {
  if (writes.length === 0 || config.memory.provider.trim() === "") return [];
  const { mirrorWrites } = await import("@hermes-memory/core/providers");
  const outcome = await mirrorWrites({ home, config: config.memory, writes, origin: "curator" });
  if (outcome.kind !== "failed") return [];
  return [`The memory provider '${outcome.provider}' did not get the changes: ${outcome.reason}`];
}

// One search over what a person's memory holds: live entries, the archive, and the sessions.
import type { Person } from "./types.ts";
import type { MemorySearchAnswer, MemorySearchOptions } from "./user-memory.ts";

export async function searchMemory(
  _person: Person,
  _query: string,
  _options: MemorySearchOptions = {},
): Promise<MemorySearchAnswer> {
  throw new Error("not built");
}

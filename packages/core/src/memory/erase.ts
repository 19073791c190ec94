// Erases everything of a person: files, journal, staged writes, sessions with what they spilled, and the provider's records.
import type { Person } from "./types.ts";
import type { Erased } from "./user-memory.ts";

export async function erasePerson(
  _person: Person,
  _options: { readonly dryRun?: boolean } = {},
): Promise<Erased> {
  throw new Error("not built");
}

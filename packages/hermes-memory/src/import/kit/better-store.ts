// Products that keep one conversation in two stores: whether the better store was already imported.
import type { Reading } from "../reader.ts";

/** The ids that the engine makes for messages without one of their own. */
const MADE_ID = /^n\d+-/;

/**
 * True when this session was imported from a store whose messages have ids of their own. The reader of a store without such ids then leaves
 * the session out, because the two versions cannot be merged.
 */
export function isInBetterStore(nativeId: string, reading: Pick<Reading, "messageIdsOf">): boolean {
  for (const id of reading.messageIdsOf(nativeId)) if (!MADE_ID.test(id)) return true;
  return false;
}

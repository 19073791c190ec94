// Products that keep one conversation in several stores: whether a better store was already imported.
import type { Reading } from "../reader.ts";

/** The ids that the engine makes for messages without one of their own. */
const MADE_ID = /^n\d+-/;

/**
 * True when this session was imported from another store, known by ids of messages that the asking store does not have: `own` tells which
 * it has. The reader then leaves the session out, because two versions of it cannot be merged.
 */
export async function isInBetterStore(
  nativeId: string,
  reading: Pick<Reading, "messageIdsOf">,
  own: RegExp = MADE_ID,
): Promise<boolean> {
  for (const id of await reading.messageIdsOf(nativeId)) if (!own.test(id) && !MADE_ID.test(id)) return true;
  return false;
}

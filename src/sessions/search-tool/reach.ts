// Which sessions and messages a search may show, seen from the conversation that asks.
import { err, ok, type Result } from "../../lib/index.ts";
import type { SearchFilters } from "../search/types.ts";
import type { Reach } from "./arguments.ts";
import type { CurrentConversation, Lookup } from "./port.ts";

export type Bounds = Pick<SearchFilters, "sessionIds" | "excludeSessionIds" | "excludeMessageIds">;

export async function boundsOf(lookup: Lookup, reach: Reach): Promise<Result<Bounds, string>> {
  const { current } = lookup;
  if (current === undefined) return reach === "lineage" ? err(NO_CONVERSATION) : ok({});
  if (reach === "others") return ok({ excludeSessionIds: [...current.lineage] });
  const live = [...(await liveRows(lookup, current))];
  return ok({
    ...(reach === "lineage" ? { sessionIds: [...current.lineage] } : {}),
    ...(live.length === 0 ? {} : { excludeMessageIds: live }),
  });
}

export const NO_CONVERSATION =
  "scope 'lineage' means the current conversation, and there is none here. Leave scope out, or use 'all'.";

/** What the model still sees, and the rows those are copies of: compaction copies the newest messages along. */
async function liveRows(
  { store, scope }: Lookup,
  { id, liveMessageIds }: CurrentConversation,
): Promise<ReadonlySet<number>> {
  if (liveMessageIds === undefined || liveMessageIds.size === 0) return new Set();
  const rows = await store.getMessages(id, scope);
  const origins = rows.flatMap((row) =>
    row.origin_id !== undefined && liveMessageIds.has(row.id) ? [row.origin_id] : [],
  );
  return new Set([...liveMessageIds, ...origins]);
}

// Which sessions and messages a search may show, seen from the conversation that asks.
import { err, ok, type Result } from "../../lib/index.ts";
import { contentText } from "../content.ts";
import type { MessageRow } from "../rows.ts";
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

/** What the model still sees, with every copy of it in the lineage: compaction copies messages along. */
async function liveRows(
  { store, scope }: Lookup,
  { id, lineage, liveMessageIds }: CurrentConversation,
): Promise<ReadonlySet<number>> {
  if (liveMessageIds === undefined || liveMessageIds.size === 0) return new Set();
  const live = (await store.getMessages(id, scope)).filter((row) => liveMessageIds.has(row.id));
  const originIds = live.flatMap(({ origin_id }) => origin_id ?? []);
  const originals = new Map((await store.getMessagesById(originIds, scope)).map((row) => [row.id, row]));
  const keys = new Set(
    live
      .filter((row) => isWhole(row, originals.get(row.origin_id ?? row.id)))
      .map((row) => row.origin_id ?? row.id),
  );
  const rows = await store.listMessageKeys([...lineage], scope);
  return new Set([
    ...liveMessageIds,
    ...rows.flatMap((row) => (keys.has(row.origin_id ?? row.id) ? [row.id] : [])),
  ]);
}

/** A copy that a compaction shortened does not show what its original says. */
function isWhole(copy: MessageRow, original: MessageRow | undefined): boolean {
  if (original === undefined || original.id === copy.id) return true;
  return (
    contentText(copy.content).includes(contentText(original.content)) &&
    JSON.stringify(copy.tool_calls) === JSON.stringify(original.tool_calls)
  );
}

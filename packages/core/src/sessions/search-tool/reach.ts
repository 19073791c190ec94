// Which sessions and messages a search may show, seen from the conversation that asks.
import { err, ok, type Result } from "../../lib/index.ts";
import { contentText } from "../../message/index.ts";
import type { MessageRow, SessionRow } from "../rows.ts";
import type { SearchFilters } from "../search/types.ts";
import type { CurrentConversation, Lookup, Reach } from "./port.ts";

export type Bounds = Pick<SearchFilters, "sessionIds" | "excludeSessionIds" | "excludeMessageIds">;

export async function boundsOf(lookup: Lookup, reach: Reach): Promise<Result<Bounds, string>> {
  const { current } = lookup;
  if (current === undefined) return reach === "lineage" ? err(NO_CONVERSATION) : ok({});
  if (reach === "others" && !followsToday(lookup)) return ok({ excludeSessionIds: [...current.lineage] });
  if (reach === "others") {
    const before = [...(await liveRows(lookup, current)), ...(await openRows(lookup, current))];
    return ok({ excludeMessageIds: [...new Set(before)] });
  }
  const live = [...(await liveRows(lookup, current))];
  return ok({
    ...(reach === "lineage" ? { sessionIds: [...current.lineage] } : {}),
    ...(live.length === 0 ? {} : { excludeMessageIds: live }),
  });
}

export const NO_CONVERSATION =
  "scope 'lineage' means the current conversation, and there is none here. Leave scope out, or use 'all'.";

/** June's Hermes leaves out the whole current lineage; today's only what is in a session that still goes on. */
export function followsToday({ store }: Lookup): boolean {
  return store.rules === "today";
}

/** A compaction or a reset closed it: what it holds is no longer before the model. */
const CLOSED_BY: ReadonlySet<string> = new Set([
  "compression",
  "session_reset",
  "session_switch",
  "idle",
  "daily",
  "suspended",
  "resume_pending_expired",
  "new_session",
]);

export function isClosed({ end_reason }: SessionRow): boolean {
  return end_reason !== null && CLOSED_BY.has(end_reason);
}

/** Rows of the lineage's open sessions. Rows that were compacted in place are not active and not among them. */
async function openRows({ store, scope }: Lookup, { lineage }: CurrentConversation): Promise<number[]> {
  const sessions = await Promise.all([...lineage].map((id) => store.getSession(id, scope)));
  const open = sessions.flatMap((session) => (session === null || isClosed(session) ? [] : [session.id]));
  return (await store.listMessageKeys(open, scope)).map(({ id }) => id);
}

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

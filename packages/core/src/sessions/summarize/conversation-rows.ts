// The whole conversation a session belongs to: what was compacted away before it, and how it went on.
import { readMarks } from "../lineage-marks.ts";
import type { MessageRow, SessionRow } from "../rows.ts";
import type { Scope } from "../scope.ts";
import type { SearchableStore } from "../search-tool/port.ts";

/** Oldest first; a copied message is given once. */
export async function conversationRows(
  store: SearchableStore,
  sessionId: string,
  scope: Scope,
): Promise<MessageRow[]> {
  const tip = await store.getCompressionTip(sessionId, scope);
  const fromTip = await chainTo(store, tip, scope);
  // A session that was continued twice may not be on the way to the tip.
  const chain = fromTip.includes(sessionId) ? fromTip : await chainTo(store, sessionId, scope);
  const rows: MessageRow[] = [];
  const seen = new Set<number>();
  for (const id of chain) {
    for (const row of await store.getMessages(id, scope)) {
      if (row.origin_id !== undefined && seen.has(row.origin_id)) continue;
      seen.add(row.id);
      if (row.origin_id !== undefined) seen.add(row.origin_id);
      rows.push(row);
    }
  }
  return rows;
}

const MAX_CHAIN = 100;

/** The continuations that lead to a session, the first one first. */
async function chainTo(store: SearchableStore, sessionId: string, scope: Scope): Promise<string[]> {
  const chain = [sessionId];
  let child = await store.getSession(sessionId, scope);
  while (child !== null && child.parent_session_id !== null && chain.length < MAX_CHAIN) {
    const parent = await store.getSession(child.parent_session_id, scope);
    if (parent === null || chain.includes(parent.id) || !isContinuation(child, parent)) break;
    chain.unshift(parent.id);
    child = parent;
  }
  return chain;
}

function isContinuation(child: SessionRow, parent: SessionRow): boolean {
  const marks = readMarks(child.model_config);
  if (marks.compressedFrom !== undefined) return true;
  if (marks.branchedFrom !== undefined || marks.delegateFrom !== undefined) return false;
  return parent.end_reason === "compression" && child.started_at >= (parent.ended_at ?? 0);
}

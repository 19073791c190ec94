// Everything the database knows about one conversation over all the sessions it was continued in: its messages, each once
// however often compaction copied it, and the summaries that stand for them. Nothing is remembered between two looks.
import type { MessageKey, Scope, SessionStore, SummaryNode } from "../../sessions/index.ts";
import { type Forest, growForest } from "./forest.ts";

/** A message is known by the row of its first original, its key. Copies have other rows and the same key. */
export type Lineage = {
  /** Root first, the session itself last; empty when the store does not know it. */
  readonly sessions: readonly string[];
  /** Keys of all messages, oldest first. */
  readonly keys: readonly number[];
  readonly forest: Forest;
  positionOf(key: number): number | undefined;
  /** The key of a row. */
  keyOf(rowId: number): number | undefined;
  /** The row that has the message: the original, or the oldest copy when that is gone. */
  rowOf(key: number): number | undefined;
};

export type LineageStore = Pick<SessionStore, "listContinued" | "listMessageKeys" | "listSummaryNodes">;

export async function loadLineage(store: LineageStore, sessionId: string, scope: Scope): Promise<Lineage> {
  const sessions = await store.listContinued(sessionId, scope);
  const rows = await store.listMessageKeys(sessions, scope);
  return toLineage(sessions, rows, await store.listSummaryNodes(sessions, scope));
}

/**
 * `rows` session by session, root first: that is the order of the conversation. Ids alone are not, since an import may number
 * the sessions in any order.
 */
export function toLineage(
  sessions: readonly string[],
  rows: readonly MessageKey[],
  nodes: readonly SummaryNode[],
): Lineage {
  const keys: number[] = [];
  const positions = new Map<number, number>();
  const keyOfRow = new Map<number, number>();
  const rowOfKey = new Map<number, number>();
  for (const { id, origin_id } of rows) {
    const key = origin_id ?? id;
    keyOfRow.set(id, key);
    if (positions.has(key)) continue;
    positions.set(key, keys.length);
    rowOfKey.set(key, id);
    keys.push(key);
  }
  return {
    sessions,
    keys,
    forest: growForest(nodes),
    positionOf: (key) => positions.get(key),
    keyOf: (rowId) => keyOfRow.get(rowId) ?? (positions.has(rowId) ? rowId : undefined),
    rowOf: (key) => rowOfKey.get(key),
  };
}

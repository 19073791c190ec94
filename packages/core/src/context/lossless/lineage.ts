// Everything the database knows about one conversation over all the sessions it was continued in: its messages, each once
// however often compaction copied it, and the summaries that stand for them. Nothing is remembered between two looks.
import type { MessageKey, Scope, SessionStore, SummaryNode } from "../../sessions/index.ts";

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

type LineageStore = Pick<SessionStore, "listContinued" | "listMessageKeys" | "listSummaryNodes">;

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

// ----
// Summary nodes as trees: leaves stand for messages, nodes above for other nodes. Whatever other programs wrote into the
// table, walks end: a child is always less deep than its parent.

export type Forest = {
  readonly nodes: ReadonlyMap<string, SummaryNode>;
  /** The leaf that stands for a message. */
  readonly leafOf: ReadonlyMap<number, SummaryNode>;
  readonly parentOf: ReadonlyMap<string, SummaryNode>;
};

export function growForest(list: readonly SummaryNode[]): Forest {
  const nodes = new Map(list.map((node) => [node.node_id, node]));
  const leafOf = new Map<number, SummaryNode>();
  const parentOf = new Map<string, SummaryNode>();
  for (const node of nodes.values()) {
    for (const key of messageKeys(node)) if (!leafOf.has(key)) leafOf.set(key, node);
    for (const id of childIds(node)) {
      const child = nodes.get(id);
      if (child && child.depth < node.depth && !parentOf.has(id)) parentOf.set(id, node);
    }
  }
  return { nodes, leafOf, parentOf };
}

/** Of a leaf; none of a node above. */
export function messageKeys(node: SummaryNode): readonly number[] {
  return node.depth === 0 ? node.source_ids.filter((id) => typeof id === "number") : [];
}

/** Of a node above; none of a leaf. */
export function childIds(node: SummaryNode): readonly string[] {
  return node.depth === 0 ? [] : node.source_ids.filter((id) => typeof id === "string");
}

/** Those that are still there, in order. */
export function childrenOf({ nodes, parentOf }: Forest, node: SummaryNode): readonly SummaryNode[] {
  return childIds(node).flatMap((id) => (parentOf.get(id) === node ? (nodes.get(id) ?? []) : []));
}

/** How many messages a node stands for, as far as its leaves are known. */
export function messageCount(forest: Forest, node: SummaryNode): number {
  if (node.depth === 0) return node.source_ids.length;
  return childrenOf(forest, node).reduce((sum, child) => sum + messageCount(forest, child), 0);
}

/** Nodes without one above them, oldest first. Messages that are gone count as the oldest. */
export function topNodes(
  { nodes, parentOf }: Forest,
  positionOf: (key: number) => number | undefined,
): readonly SummaryNode[] {
  const place = (node: SummaryNode): number => positionOf(node.first_message_id) ?? -1;
  return [...nodes.values()]
    .filter(({ node_id }) => !parentOf.has(node_id))
    .sort((a, b) => place(a) - place(b) || a.first_message_id - b.first_message_id || b.depth - a.depth);
}

/** The neighbours of one depth that are enough for a node above them: the oldest first, each in one group. */
export function groupsToMerge(
  tops: readonly SummaryNode[],
  depth: number,
  fanout: number,
): readonly (readonly SummaryNode[])[] {
  const level = tops.filter((node) => node.depth === depth);
  const groups: SummaryNode[][] = [];
  for (let at = 0; at + fanout <= level.length; at += fanout) groups.push(level.slice(at, at + fanout));
  return groups;
}

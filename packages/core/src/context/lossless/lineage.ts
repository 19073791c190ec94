// Everything the database knows about one conversation, over all sessions it was continued in: its messages, each once even if
// compaction copied it, and their summaries. Loaded again each time; nothing is cached.
import type { MessageKey, SessionStore, SummaryNode } from "../../sessions/index.ts";

/** The key of a message is the row id of its original. Copies have other rows and the same key. */
export type Lineage = {
  /** Root first, the session itself last; empty when the store does not know it. */
  readonly sessions: readonly string[];
  /** Keys of all messages, oldest first. */
  readonly keys: readonly number[];
  readonly forest: Forest;
  positionOf(key: number): number | undefined;
  keyOf(rowId: number): number | undefined;
  /** The row that holds the message: the original, or the oldest copy if the original is gone. */
  rowOf(key: number): number | undefined;
};

type LineageStore = Pick<SessionStore, "listContinued" | "listMessageKeys" | "summaries">;

export async function loadLineage(store: LineageStore, sessionId: string): Promise<Lineage> {
  const sessions = await store.listContinued(sessionId);
  const rows = await store.listMessageKeys(sessions);
  return toLineage(sessions, rows, await store.summaries.listSummaryNodes(sessions));
}

/**
 * `rows` come session by session, root first, which is the order of the conversation. Ids alone are not ordered, because an
 * import may number the sessions in any order.
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
    forest: toForest(nodes),
    positionOf: (key) => positions.get(key),
    keyOf: (rowId) => keyOfRow.get(rowId) ?? (positions.has(rowId) ? rowId : undefined),
    rowOf: (key) => rowOfKey.get(key),
  };
}

// Summary nodes as trees: a leaf summarises messages, a node above summarises other nodes. A child always has a smaller depth
// than its parent, so walks end whatever other programs wrote into the table.

export type Forest = {
  readonly nodes: ReadonlyMap<string, SummaryNode>;
  /** The leaf that covers a message, by the message's key. */
  readonly leafOf: ReadonlyMap<number, SummaryNode>;
  readonly parentOf: ReadonlyMap<string, SummaryNode>;
};

export function toForest(list: readonly SummaryNode[]): Forest {
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

/** Keys of the messages a leaf covers; empty for a node above. */
export function messageKeys(node: SummaryNode): readonly number[] {
  return node.depth === 0 ? node.source_ids.filter((id) => typeof id === "number") : [];
}

/** Ids of the nodes below a node; empty for a leaf. */
export function childIds(node: SummaryNode): readonly string[] {
  return node.depth === 0 ? [] : node.source_ids.filter((id) => typeof id === "string");
}

/** Nodes below that still exist, in order. */
export function childrenOf({ nodes, parentOf }: Forest, node: SummaryNode): readonly SummaryNode[] {
  return childIds(node).flatMap((id) => (parentOf.get(id) === node ? (nodes.get(id) ?? []) : []));
}

/** How many messages a node covers, as far as its leaves are known. */
export function messageCount(forest: Forest, node: SummaryNode): number {
  if (node.depth === 0) return node.source_ids.length;
  return childrenOf(forest, node).reduce((sum, child) => sum + messageCount(forest, child), 0);
}

/** Nodes without a parent, oldest first. Nodes whose first message is gone come first. */
export function topNodes(
  { nodes, parentOf }: Forest,
  positionOf: (key: number) => number | undefined,
): readonly SummaryNode[] {
  const place = (node: SummaryNode): number => positionOf(node.first_message_id) ?? -1;
  return [...nodes.values()]
    .filter(({ node_id }) => !parentOf.has(node_id))
    .sort((a, b) => place(a) - place(b) || a.first_message_id - b.first_message_id || b.depth - a.depth);
}

/** Groups of `fanout` neighbours of one depth, oldest first; each group gets a node above it. */
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

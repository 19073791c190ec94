// Summary nodes as trees: leaves stand for messages, nodes above for other nodes. Whatever other programs wrote into the
// table, walks end: a child is always less deep than its parent.
import type { SummaryNode } from "../../sessions/index.ts";

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

// lcm_describe and lcm_status: how the compacted part is organised, in figures.
import { err, ok, type Result } from "../../../lib/index.ts";
import type { SummaryNode } from "../../../sessions/index.ts";
import { childrenOf, type Forest, messageCount, messageKeys, topNodes } from "../forest.ts";
import type { Lineage } from "../lineage.ts";
import { type Args, isAbsent, shown, textOf } from "./arguments.ts";
import { expandNodeHint, findNode, unknownNode, type View } from "./view.ts";

/** A node of a very long conversation may have more; expanding lists them all. */
const MOST_CHILDREN = 50;

export async function describe(view: View, args: Args): Promise<Result<object, string>> {
  if (isAbsent(args.node_id)) return ok(overview(view));
  const nodeId = textOf(args.node_id);
  if (nodeId === undefined) return err(`node_id must be a text, but is ${shown(args.node_id)}.`);
  const found = await findNode(view, nodeId);
  return found === undefined ? err(unknownNode(nodeId)) : ok(describeNode(found.node, found.lineage));
}

export function status({ status: engine, store, sessionId, lineage, live }: View): object {
  const { forest, keys, sessions } = lineage;
  const nodes = [...forest.nodes.values()];
  return {
    ...engine,
    engine: "lcm",
    session_id: sessionId,
    lineage_root: sessions[0] ?? sessionId,
    sessions: sessions.length,
    live_messages: live.length,
    messages: keys.length,
    covered_messages: keys.filter((key) => forest.leafOf.has(key)).length,
    nodes: nodes.length,
    depths: depthsOf(nodes),
    excerpt_nodes: nodes.filter(({ method }) => method !== "model").length,
    summary_tokens: sum(topNodes(forest, lineage.positionOf), "tokens"),
    source_tokens: sum(
      nodes.filter(({ depth }) => depth === 0),
      "source_tokens",
    ),
    can_store: !store.readOnly,
  };
}

function overview({ sessionId, lineage }: View): object {
  const { forest, keys, sessions, positionOf } = lineage;
  return {
    session_id: sessionId,
    lineage_root: sessions[0] ?? sessionId,
    messages: keys.length,
    covered_messages: keys.filter((key) => forest.leafOf.has(key)).length,
    depths: depthsOf([...forest.nodes.values()]),
    top_nodes: topNodes(forest, positionOf).map((node) => inShort(node, forest)),
  };
}

function describeNode(node: SummaryNode, { forest, rowOf }: Lineage): object {
  const children = childrenOf(forest, node);
  return {
    ...inShort(node, forest),
    session_id: node.session_id,
    created_at: node.created_at,
    parent: forest.parentOf.get(node.node_id)?.node_id ?? null,
    ...(node.depth === 0
      ? { stored_messages: messageKeys(node).filter((key) => rowOf(key) !== undefined).length }
      : { children: children.slice(0, MOST_CHILDREN).map((child) => inShort(child, forest)) }),
  };
}

function inShort(node: SummaryNode, forest: Forest): object {
  const { node_id, depth, first_message_id, last_message_id, tokens, source_tokens, method } = node;
  return {
    node_id,
    depth,
    first_message_id,
    last_message_id,
    messages: messageCount(forest, node),
    tokens,
    source_tokens,
    method,
    expand_hint: expandNodeHint(node_id),
  };
}

function depthsOf(nodes: readonly SummaryNode[]): readonly object[] {
  const levels = [...Map.groupBy(nodes, ({ depth }) => depth)].sort(([a], [b]) => a - b);
  return levels.map(([depth, level]) => ({
    depth,
    nodes: level.length,
    tokens: sum(level, "tokens"),
    source_tokens: sum(level, "source_tokens"),
  }));
}

function sum(nodes: readonly SummaryNode[], field: "tokens" | "source_tokens"): number {
  return nodes.reduce((total, node) => total + node[field], 0);
}

// Summary nodes to store, where only some of their fields matter.
import type { SummaryNode } from "../../src/sessions/index.ts";

/** Stands for messages of the session. The id follows from the first of them unless it is given. */
export function leafOf(
  session: string,
  messages: readonly number[],
  fields: Partial<SummaryNode> = {},
): SummaryNode {
  return {
    node_id: `lcm_leaf_${messages[0]}`,
    lineage_root: session,
    session_id: session,
    depth: 0,
    first_message_id: messages[0] ?? 0,
    last_message_id: messages.at(-1) ?? 0,
    source_ids: messages,
    summary: `what messages ${messages.join(", ")} said`,
    tokens: 7,
    source_tokens: 70,
    method: "model",
    created_at: 1_770_000_000,
    ...fields,
  };
}

/** One node above others. */
export function nodeAbove(sources: readonly SummaryNode[], fields: Partial<SummaryNode> = {}): SummaryNode {
  const [first] = sources;
  const last = sources.at(-1);
  if (first === undefined || last === undefined) throw new Error("a node above nothing");
  return {
    ...first,
    node_id: `lcm_above_${first.first_message_id}`,
    depth: first.depth + 1,
    last_message_id: last.last_message_id,
    source_ids: sources.map(({ node_id }) => node_id),
    source_tokens: sources.reduce((sum, { source_tokens }) => sum + source_tokens, 0),
    ...fields,
  };
}

// Parts that were excerpted while no model answered get a model's summary when one answers again.
import type { SummaryNode } from "../../sessions/index.ts";
import { childrenOf, messageKeys } from "./forest.ts";
import type { Lineage } from "./lineage.ts";
import { sourceTexts, toMessage } from "./sources.ts";
import type { Workplace } from "./workplace.ts";
import type { ToWrite } from "./writer.ts";

/** At one compaction: the new parts matter more to the user who is waiting. */
const MOST_AT_ONCE = 8;

/** The nodes as they are now. Those above others come last, because they are made of them. */
export async function improveExcerpts(lineage: Lineage, place: Workplace): Promise<readonly SummaryNode[]> {
  const improved = new Map<string, SummaryNode>();
  const excerpts = [...lineage.forest.nodes.values()]
    .filter(({ method }) => method !== "model")
    .sort((a, b) => a.depth - b.depth || a.first_message_id - b.first_message_id)
    .slice(0, MOST_AT_ONCE);
  for (const level of Map.groupBy(excerpts, ({ depth }) => depth).values()) {
    if (!place.writer.isReady) break;
    const sources = await Promise.all(level.map((node) => sourceOf(node, lineage, improved, place)));
    const written = await place.writer.writeAll(sources);
    for (const [at, node] of level.entries()) {
      const { text: summary, tokens, method } = written[at] ?? { text: "", tokens: 0, method: "extract" };
      // Without sources what it was made of is gone, and the excerpt is all there is.
      if (method !== "model" || sources[at]?.texts.length === 0) continue;
      if (await place.store.improveSummaryNode(node.node_id, { summary, tokens, method }))
        improved.set(node.node_id, { ...node, summary, tokens, method });
    }
  }
  return [...improved.values()];
}

async function sourceOf(
  node: SummaryNode,
  { forest, rowOf }: Lineage,
  improved: ReadonlyMap<string, SummaryNode>,
  { store, scope, redact }: Workplace,
): Promise<ToWrite> {
  const { source_tokens: sourceTokens } = node;
  if (node.depth > 0) {
    const children = childrenOf(forest, node).map((child) => improved.get(child.node_id) ?? child);
    return { kind: "summaries", texts: children.map(({ summary }) => summary), sourceTokens };
  }
  const rows = await store.getMessagesById(
    messageKeys(node).flatMap((key) => rowOf(key) ?? []),
    scope,
  );
  const texts = sourceTexts(rows.map(toMessage), (id) => forest.nodes.has(id), redact);
  return { kind: "messages", texts, sourceTokens };
}

// The tools of the lossless engine: their schemas, the dispatch of a call, and the two small tools lcm_describe and
// lcm_status.
import { describeCause, err, isAbsent, isRecord, ok, type Result } from "../../../lib/index.ts";
import type { SummaryNode } from "../../../sessions/index.ts";
import type { ToolDefinition } from "../../../tools/index.ts";
import { childrenOf, type Forest, type Lineage, messageCount, messageKeys, topNodes } from "../lineage.ts";
import {
  type Args,
  type ConversationView,
  expandNodeHint,
  findNode,
  openView,
  shown,
  type ToolContext,
  textOf,
  unknownNode,
} from "./conversation-view.ts";
import { expand } from "./expand.ts";
import { grep } from "./grep.ts";

// Plain object schemas, because strict model servers refuse more complex ones.

const QUERY_SYNTAX =
  'Plain words or a question are enough. For exact control: OR between words, "quoted phrase", NOT to exclude, AND, and a prefix with * (deploy*).';

export const LCM_TOOLS: readonly ToolDefinition[] = [
  tool(
    "lcm_grep",
    "Search this conversation from its very beginning, also the parts that were compacted and that you only see as summaries. " +
      "Gives messages (store_id) and summaries (node_id) with the place of the match between >>> and <<<; covered_by names the part a message belongs to, null while it is not compacted. " +
      `Use expand_hint to read on. ${QUERY_SYNTAX}`,
    {
      query: { type: "string", description: "What to look for." },
      limit: { type: "integer", description: "How many results, 1 to 200. Default 10." },
      sort: {
        type: "string",
        enum: ["recency", "relevance", "hybrid"],
        description: "recency: newest first (default). relevance: best match first. hybrid: both count.",
      },
      session_scope: {
        type: "string",
        enum: ["current", "session", "all"],
        description:
          "current: this conversation (default). session: one session. all: every stored conversation of this user.",
      },
      session_id: {
        type: "string",
        description: "With session_scope 'session': which one. Default: this one.",
      },
      role: {
        type: "string",
        description: "Only messages of this role (user, assistant, tool). Leaves summaries out.",
      },
    },
    ["query"],
  ),
  tool(
    "lcm_describe",
    "Show how the compacted part of this conversation is organised, without its content: how many summaries there are at each depth, and which of them you see in the overview. With node_id: one of them, what it stands for and what it is made of.",
    { node_id: { type: "string", description: "A summary, such as lcm_0123456789ab." } },
    [],
  ),
  tool(
    "lcm_expand",
    "Read a compacted part again. A node_id at depth 0 gives the messages it stands for, word for word; a deeper one gives the summaries it is made of, which can be expanded in turn. A store_id gives one message. " +
      "Pass exactly one of them. When the answer carries next_source_offset or next_content_offset, there is more: call again with them as source_offset and content_offset.",
    {
      node_id: { type: "string", description: "A summary, such as lcm_0123456789ab." },
      store_id: { type: "integer", description: "A message of this conversation." },
      max_tokens: { type: "integer", description: "How much to give at once. Default 4000." },
      source_offset: {
        type: "integer",
        description: "Where to begin among the messages or summaries. Default 0.",
      },
      source_limit: { type: "integer", description: "How many of them at most." },
      content_offset: {
        type: "integer",
        description: "Where to begin in the text of the first one, in characters. Default 0.",
      },
    },
    [],
  ),
  tool(
    "lcm_status",
    "Show how full the context is, how much of this conversation is compacted, and by how many summaries.",
    {},
    [],
  ),
];

function tool(
  name: string,
  description: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): ToolDefinition {
  return { name, description, parameters: { type: "object", properties, required } };
}

// Untyped arguments in, JSON out. Never rejects.

type Tool = (view: ConversationView, args: Args) => Promise<Result<object, string>>;

const TOOLS: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ["lcm_grep", grep],
  ["lcm_describe", describe],
  ["lcm_expand", expand],
  ["lcm_status", async (view) => ok(status(view))],
]);

export async function lcmTool(name: string, args: unknown, place: ToolContext): Promise<string> {
  const tool = TOOLS.get(name);
  if (tool === undefined) return failure(`Unknown context engine tool: ${name}`);
  try {
    const answer = await tool(await openView(place), isRecord(args) ? args : {});
    return answer.ok ? JSON.stringify(answer.value) : failure(answer.error);
  } catch (cause) {
    return failure(`${name} failed: ${describeCause(cause)}`);
  }
}

function failure(text: string): string {
  return JSON.stringify({ error: text });
}

// lcm_describe and lcm_status: figures about the compacted part.

/** A node of a very long conversation may have more children; lcm_expand lists them all. */
const MOST_CHILDREN = 50;

async function describe(view: ConversationView, args: Args): Promise<Result<object, string>> {
  if (isAbsent(args.node_id)) return ok(overview(view));
  const nodeId = textOf(args.node_id);
  if (nodeId === undefined) return err(`node_id must be a text, but is ${shown(args.node_id)}.`);
  const found = await findNode(view, nodeId);
  return found === undefined ? err(unknownNode(nodeId)) : ok(describeNode(found.node, found.lineage));
}

function status({ status: engine, store, sessionId, lineage, live }: ConversationView): object {
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

function overview({ sessionId, lineage }: ConversationView): object {
  const { forest, keys, sessions, positionOf } = lineage;
  return {
    session_id: sessionId,
    lineage_root: sessions[0] ?? sessionId,
    messages: keys.length,
    covered_messages: keys.filter((key) => forest.leafOf.has(key)).length,
    depths: depthsOf([...forest.nodes.values()]),
    top_nodes: topNodes(forest, positionOf).map((node) => nodeFigures(node, forest)),
  };
}

function describeNode(node: SummaryNode, { forest, rowOf }: Lineage): object {
  const children = childrenOf(forest, node);
  return {
    ...nodeFigures(node, forest),
    session_id: node.session_id,
    created_at: node.created_at,
    parent: forest.parentOf.get(node.node_id)?.node_id ?? null,
    ...(node.depth === 0
      ? { stored_messages: messageKeys(node).filter((key) => rowOf(key) !== undefined).length }
      : { children: children.slice(0, MOST_CHILDREN).map((child) => nodeFigures(child, forest)) }),
  };
}

function nodeFigures(node: SummaryNode, forest: Forest): object {
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

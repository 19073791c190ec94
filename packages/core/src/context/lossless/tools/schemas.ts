// What a language model is told about the tools of the lossless engine. Plain object schemas: strict backends refuse
// anything cleverer.
import type { ToolDefinition } from "../../../tools/index.ts";

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

// Whose tools take the room, in words, for errors about a request that does not fit. Pure.
import { groupThousands } from "@hermes-memory/core/lib";
import type { AgentTool } from "../tools/tool.ts";
import { mcpServerOf } from "../tools/toolsets.ts";

/** A set with less than this share of the window is not why it is full. */
const WORTH_NAMING = 0.1;
const NAMED = 3;

/** "" when no set of tools takes a part of the window worth naming. `count`: tokens of a text, as the error beside it counts them. */
export function toolWeights(
  tools: readonly AgentTool[],
  windowTokens: number,
  count: (text: string) => number,
): string {
  const sets = Map.groupBy(tools, ({ toolset }) => toolset);
  const heavy = [...sets]
    .map(([set, members]) => {
      const schemas = members.map(({ schema }) => schema);
      return {
        set,
        count: members.length,
        tokens: count(JSON.stringify(schemas)),
      };
    })
    .filter(({ tokens }) => tokens >= windowTokens * WORTH_NAMING)
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, NAMED);
  return heavy.map(inWords).join(" ");
}

function inWords({ set, count, tokens }: { set: string; count: number; tokens: number }): string {
  const size = `${groupThousands(count)} ${count === 1 ? "tool" : "tools"}`;
  const room = `about ${groupThousands(tokens)} tokens`;
  const server = mcpServerOf(set);
  if (server === undefined)
    return `The toolset '${set}' brings ${size} (${room}): switch it off with agent.disabled_toolsets.`;
  return (
    `The MCP server '${server}' brings ${size} (${room}): name those you need in mcp_servers.${server}.tools.include, ` +
    `or those you do not need in mcp_servers.${server}.tools.exclude.`
  );
}

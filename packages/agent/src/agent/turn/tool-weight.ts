// Whose tools take the room, in words, for errors about a request that does not fit. Pure.
import { groupThousands } from "@hermes-memory/core/lib";
import { definitionOf, type Tool, type ToolOwner } from "@hermes-memory/core/tools";

/** A set with less than this share of the window is not why it is full. */
const WORTH_NAMING = 0.1;
const NAMED = 3;

/** "" when no set of tools takes a part of the window worth naming. `count`: tokens of a text, as the error beside it counts them. */
export function toolWeights(
  tools: readonly Tool[],
  windowTokens: number,
  count: (text: string) => number,
): string {
  const sets = Map.groupBy(tools, ({ policy }) => policy.toolset);
  const heavy = [...sets]
    .map(([set, members]) => {
      return {
        set,
        owner: members[0]?.owner,
        count: members.length,
        tokens: count(JSON.stringify(members.map(definitionOf))),
      };
    })
    .filter(({ tokens }) => tokens >= windowTokens * WORTH_NAMING)
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, NAMED);
  return heavy.map(inWords).join(" ");
}

type Weight = {
  readonly set: string;
  readonly owner: ToolOwner | undefined;
  readonly count: number;
  readonly tokens: number;
};

function inWords({ set, owner, count, tokens }: Weight): string {
  const size = `${groupThousands(count)} ${count === 1 ? "tool" : "tools"}`;
  const room = `about ${groupThousands(tokens)} tokens`;
  if (owner?.kind !== "mcp")
    return `The toolset '${set}' brings ${size} (${room}): switch it off with agent.disabled_toolsets.`;
  const { server } = owner;
  return (
    `The MCP server '${server}' brings ${size} (${room}): name those you need in mcp_servers.${server}.tools.include, ` +
    `or those you do not need in mcp_servers.${server}.tools.exclude.`
  );
}

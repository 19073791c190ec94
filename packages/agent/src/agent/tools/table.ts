// The one tool table: what an agent has, in order, found by name. A name that a model has slightly wrong is found too.
import { foldName } from "@hermes-memory/core/lib";
import { isCoreTool } from "./core-names.ts";
import { type NamedTool, repairName } from "./repair-name.ts";
import type { AgentTool, ToolSchema } from "./tool.ts";
import { mcpServerOf } from "./toolsets.ts";

/** A tool that is not in the table, because its name reads like another owner's. */
export type LeftOutTool = { readonly name: string; readonly owner: string; readonly kept: NamedTool };

export class ToolTable {
  readonly #tools: ReadonlyMap<string, AgentTool>;
  readonly #definitions: readonly ToolSchema[];
  /** Names, sorted; for messages. */
  readonly names: readonly string[];
  readonly leftOut: readonly LeftOutTool[];
  readonly #owned: readonly NamedTool[];
  /** Spellings that belong to tools which are not here. */
  readonly #foreign: ReadonlySet<string>;

  /**
   * Of two tools with the same name the first one stays, and of two owners' tools whose names read alike too. `refused`: names that
   * somebody offered and did not get; a model that writes one means that tool, and gets no other.
   */
  constructor(tools: readonly AgentTool[], { refused = [] }: { readonly refused?: Iterable<string> } = {}) {
    const byName = new Map<string, AgentTool>();
    const byFold = new Map<string, NamedTool>();
    const leftOut: LeftOutTool[] = [];
    for (const tool of tools) {
      const { name } = tool.schema;
      const owner = ownerOf(tool);
      const kept = byFold.get(foldName(name));
      if (byName.has(name)) continue;
      if (kept !== undefined && kept.owner !== owner) {
        leftOut.push({ name, owner, kept });
        continue;
      }
      byName.set(name, tool);
      if (kept === undefined) byFold.set(foldName(name), { name, owner });
    }
    this.leftOut = leftOut;
    this.#tools = byName;
    this.#owned = [...byName].map(([name, tool]) => ({ name, owner: ownerOf(tool) }));
    this.#foreign = new Set([...refused, ...leftOut.map(({ name }) => name)]);
    this.names = [...byName.keys()].sort();
    this.#definitions = this.names.flatMap((name) => {
      const schema = byName.get(name)?.schema;
      return schema === undefined
        ? []
        : [{ name, description: schema.description, parameters: schema.parameters }];
    });
  }

  get tools(): readonly AgentTool[] {
    return [...this.#tools.values()];
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  get(name: string): AgentTool | undefined {
    return this.#tools.get(name);
  }

  /** For requests. By name, so that the same tools give the same bytes however they were put together. */
  definitions(): readonly ToolSchema[] {
    return this.#definitions;
  }

  /** The tool that is meant, or undefined when no name is close enough. */
  resolveName(name: string): string | undefined {
    return this.#tools.has(name) ? name : repairName(name, this.#owned, this.#foreign);
  }
}

/** In words, for messages. A tool of the provider is in the toolset `memory`, as the agent's own is. */
function ownerOf({ schema, toolset }: AgentTool): string {
  if (isCoreTool(schema.name)) return "the agent";
  const server = mcpServerOf(toolset);
  if (server !== undefined) return `the MCP server '${server}'`;
  return OWNERS[toolset] ?? `the toolset '${toolset}'`;
}

const OWNERS: Readonly<Record<string, string>> = {
  memory: "the memory provider",
  context_engine: "the context engine",
  user: "the program",
};

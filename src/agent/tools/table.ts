// The one tool table: what an agent has, in order, found by name. A name that a model has slightly wrong is found too.
import { repairName } from "./repair-name.ts";
import type { AgentTool, ToolSchema } from "./tool.ts";

export class ToolTable {
  readonly #tools: ReadonlyMap<string, AgentTool>;
  readonly #definitions: readonly ToolSchema[];
  /** Names, sorted; for messages. */
  readonly names: readonly string[];

  /** Of two tools with the same name the first one stays. */
  constructor(tools: readonly AgentTool[]) {
    const byName = new Map<string, AgentTool>();
    for (const tool of tools) if (!byName.has(tool.schema.name)) byName.set(tool.schema.name, tool);
    this.#tools = byName;
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
    return this.#tools.has(name) ? name : repairName(name, this.names);
  }
}

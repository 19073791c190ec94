// Which provider tools an agent gets. They come with the `memory` toolset, all or none.
import type { ToolSchema } from "../contract.ts";

export type ToolGate = {
  /** Names of the tools the agent has already. */
  readonly present: readonly string[];
  /** Null: everything is allowed. An empty list: nothing is. */
  readonly enabledToolsets: readonly string[] | null;
  /** Config `agent.disabled_toolsets`; it always wins. */
  readonly disabledToolsets?: readonly string[];
  /** Tool names of a toolset, sets within it included. Unknown names give an empty list or throw. */
  readonly resolveToolset?: (name: string) => readonly string[];
};

export type FunctionTool = { readonly type: "function"; readonly function: ToolSchema };

const MEMORY = "memory";

export function isGateOpen(gate: ToolGate): boolean {
  if ((gate.disabledToolsets ?? []).some((name) => bringsMemory(name, gate))) return false;
  if (gate.present.includes(MEMORY) || gate.enabledToolsets === null) return true;
  return gate.enabledToolsets.some((name) => bringsMemory(name, gate));
}

/** The tools to append: those with a usable name that the agent does not have yet. */
export function toolsToInject(schemas: readonly ToolSchema[], gate: ToolGate): FunctionTool[] {
  if (!isGateOpen(gate)) return [];
  const taken = new Set(gate.present);
  const added: FunctionTool[] = [];
  for (const schema of schemas) {
    // A caller may bring schemas of its own, straight from a plugin.
    if (typeof schema?.name !== "string" || schema.name === "" || taken.has(schema.name)) continue;
    taken.add(schema.name);
    added.push({ type: "function", function: schema });
  }
  return added;
}

function bringsMemory(toolset: string, { resolveToolset }: ToolGate): boolean {
  if (toolset === MEMORY) return true;
  try {
    return resolveToolset?.(toolset).includes(MEMORY) ?? false;
  } catch {
    return false; // a set nobody knows opens nothing
  }
}

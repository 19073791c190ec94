// Which tools an agent gets: sets are switched on by name, and switched off last.
import { CORE_TOOL_NAMES, CORE_TOOLSETS } from "./core-names.ts";
import type { AgentTool } from "./tool.ts";

export type ToolsetChoice = {
  /** Null: everything. An empty list: nothing. */
  readonly enabled: readonly string[] | null;
  /** Wins over `enabled`, also for a part of a composite set. */
  readonly disabled: readonly string[];
};

/** Composites are sets of sets. */
const EVERYTHING: readonly string[] = ["all", "*"];
const COMPOSITES: Readonly<Record<string, readonly string[]>> = {
  "hermes-cli": Object.keys(CORE_TOOLSETS), // not the engine's tools: they are asked for by their own set
};

/** The order of the tools stays. */
export function selectTools(tools: readonly AgentTool[], { enabled, disabled }: ToolsetChoice): AgentTool[] {
  const isOn = (tool: AgentTool): boolean => enabled === null || enabled.some((set) => holds(set, tool));
  return tools.filter((tool) => isOn(tool) && !disabled.some((set) => holds(set, tool)));
}

/** Names of the agent's own tools in a set, sets within it included; for the gate of provider tools. */
export function resolveToolset(set: string): readonly string[] {
  if (EVERYTHING.includes(set)) return CORE_TOOL_NAMES;
  return setsIn(set).flatMap((name) => coreTools(name));
}

/** Of `names`: those that no tool belongs to and that we do not know either. */
export function unknownToolsets(
  names: readonly string[],
  tools: readonly AgentTool[],
  servers: readonly string[],
): readonly string[] {
  const others = [...tools.map(({ toolset }) => toolset), ...servers.map(mcpToolset)];
  const known = new Set([...knownToolsets(), ...others]);
  return names.filter((name) => !known.has(name));
}

export function knownToolsets(): readonly string[] {
  return [...Object.keys(CORE_TOOLSETS), "context_engine", "user", ...Object.keys(COMPOSITES), ...EVERYTHING];
}

export function mcpToolset(server: string): string {
  return `mcp-${server}`;
}

/** Of a server's toolset. */
export function mcpServerOf(toolset: string): string | undefined {
  return /^mcp-(.+)$/s.exec(toolset)?.[1];
}

/** A tool is in the set it names, and a core tool in the set the agent gives it whatever it names. */
function holds(set: string, tool: AgentTool): boolean {
  if (EVERYTHING.includes(set)) return true;
  return setsIn(set).some((name) => tool.toolset === name || coreTools(name).includes(tool.schema.name));
}

function setsIn(set: string): readonly string[] {
  return Object.hasOwn(COMPOSITES, set) ? (COMPOSITES[set] ?? []) : [set];
}

function coreTools(set: string): readonly string[] {
  const sets: Readonly<Record<string, readonly string[]>> = CORE_TOOLSETS;
  return Object.hasOwn(sets, set) ? (sets[set] ?? []) : [];
}

// Which tools an agent gets: sets are switched on by name, and switched off last.
import { OWN_TOOLSETS, type Tool } from "@hermes-memory/core/tools";

export type ToolsetChoice = {
  /** Null: everything. An empty list: nothing. */
  readonly enabled: readonly string[] | null;
  /** Wins over `enabled`, also for a part of a composite set. */
  readonly disabled: readonly string[];
};

/** Composites are sets of sets. */
const EVERYTHING: readonly string[] = ["all", "*"];
const COMPOSITES: Readonly<Record<string, readonly string[]>> = {
  "hermes-cli": Object.keys(OWN_TOOLSETS), // not the engine's tools: they are asked for by their own set
};

/** The order of the tools stays. */
export function selectTools(tools: readonly Tool[], { enabled, disabled }: ToolsetChoice): Tool[] {
  const isOn = (tool: Tool): boolean => enabled === null || enabled.some((set) => holds(set, tool));
  return tools.filter((tool) => isOn(tool) && !disabled.some((set) => holds(set, tool)));
}

/** Of `names`: those that no tool belongs to and that we do not know either. */
export function unknownToolsets(
  names: readonly string[],
  tools: readonly Tool[],
  servers: readonly string[],
): readonly string[] {
  const others = [...tools.map(({ policy }) => policy.toolset), ...servers.map(mcpToolset)];
  const known = new Set([...knownToolsets(), ...others]);
  return names.filter((name) => !known.has(name));
}

export function knownToolsets(): readonly string[] {
  return [...Object.keys(OWN_TOOLSETS), "context_engine", "user", ...Object.keys(COMPOSITES), ...EVERYTHING];
}

export function mcpToolset(server: string): string {
  return `mcp-${server}`;
}

function holds(set: string, { policy }: Tool): boolean {
  return EVERYTHING.includes(set) || setsIn(set).includes(policy.toolset);
}

function setsIn(set: string): readonly string[] {
  return Object.hasOwn(COMPOSITES, set) ? (COMPOSITES[set] ?? []) : [set];
}

// Which tools an agent gets: toolsets are enabled by name; disabled ones are removed last.
import { OWN_TOOLSETS, type Tool } from "@hermes-memory/core/internal/tools";

export type ToolsetChoice = {
  /** Null: everything. An empty list: nothing. */
  readonly enabled: readonly string[] | null;
  /** Wins over `enabled`, also for a part of a composite set. */
  readonly disabled: readonly string[];
};

const EVERYTHING: readonly string[] = ["all", "*"];
/** Sets that consist of other sets. */
const COMPOSITES: Readonly<Record<string, readonly string[]>> = {
  "hermes-cli": Object.keys(OWN_TOOLSETS), // without the context engine's tools, which have their own set
};

/** Keeps the order of the tools. */
export function selectTools(tools: readonly Tool[], { enabled, disabled }: ToolsetChoice): Tool[] {
  const isOn = (tool: Tool): boolean => enabled === null || enabled.some((set) => holds(set, tool));
  return tools.filter((tool) => isOn(tool) && !disabled.some((set) => holds(set, tool)));
}

/** The names that are neither the set of one of these tools nor known to us. */
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

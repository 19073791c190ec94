// The names of the agent's own tools, the ones to come included: nobody else may take them.
import { foldName } from "@hermes-memory/core/lib";

export const CORE_TOOLSETS = {
  memory: ["memory"],
  session_search: ["session_search"],
  todo: ["todo"],
  results: ["read_result"],
  skills: ["skills_list", "skill_view", "skill_manage"],
  delegation: ["delegate_task"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export const CORE_TOOL_NAMES: readonly string[] = Object.values(CORE_TOOLSETS).flat();

export function isCoreTool(name: string): boolean {
  return CORE_TOOL_NAMES.includes(name);
}

/** The one of the agent's own tools that a name could be taken for: `Memory`, `skill-manage`. */
export function coreToolLike(name: string): string | undefined {
  const folded = foldName(name);
  return CORE_TOOL_NAMES.find((core) => foldName(core) === folded);
}

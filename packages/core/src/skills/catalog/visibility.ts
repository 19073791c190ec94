// Which skills an agent gets to see: not those switched off, made for another system, or of use only elsewhere. Pure.
import type { Skill } from "../types.ts";

export type Surroundings = {
  /** `skills.disabled`, with what `skills.platform_disabled` adds for the platform. */
  readonly disabled: ReadonlySet<string>;
  /** As `process.platform` has it. */
  readonly system: string;
  /** Of `kanban`, `docker`, `s6`. */
  readonly environments: ReadonlySet<string>;
};

export type HiddenReason = "disabled" | "platform" | "environment";

const SYSTEMS: Readonly<Record<string, string>> = { macos: "darwin", linux: "linux", windows: "win32" };

/** `environment` hides from lists only. */
export function hiddenReason(
  { name, directoryName, header }: Skill,
  around: Surroundings,
): HiddenReason | undefined {
  if (around.disabled.has(name) || around.disabled.has(directoryName)) return "disabled";
  const { platforms, environments } = header;
  if (platforms.length > 0 && !platforms.some((each) => isSystem(each, around.system))) return "platform";
  if (environments.length > 0 && !environments.some((each) => around.environments.has(each.toLowerCase())))
    return "environment";
  return undefined;
}

export type AvailableTools = { readonly tools: readonly string[]; readonly toolsets: readonly string[] };

/** False for a skill whose tools are missing, and for a makeshift where the real thing is there. */
export function suitsTools({ header }: Skill, { tools, toolsets }: AvailableTools): boolean {
  return (
    header.requiresTools.every((each) => tools.includes(each)) &&
    header.requiresToolsets.every((each) => toolsets.includes(each)) &&
    !header.fallbackForTools.some((each) => tools.includes(each)) &&
    !header.fallbackForToolsets.some((each) => toolsets.includes(each))
  );
}

function isSystem(named: string, system: string): boolean {
  const word = named.toLowerCase();
  return (SYSTEMS[word] ?? word) === system;
}

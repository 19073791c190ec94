// What time does to a skill nobody uses: stale, then archived; and active again once it is used. Pure.
import type { CuratorConfig } from "@hermes-memory/core/config";
import type { Provenance, SkillUsage } from "@hermes-memory/core/skills";

export type Transition = "seed" | "stale" | "active" | "archive";

/** Skills other programs rely on by name. */
const PROTECTED: ReadonlySet<string> = new Set(["plan"]);
const DAY_MS = 86_400_000;

/**
 * Only what an agent wrote is looked after: people's own skills and those of others are theirs. A record of an archived skill
 * says nothing about the one that has its name now.
 */
export function isCandidate(name: string, provenance: Provenance, usage: SkillUsage | undefined): boolean {
  if (provenance !== "agent" || PROTECTED.has(name)) return false;
  return usage?.created_by === "agent" && usage.state !== "archived";
}

export function transitionOf(
  usage: SkillUsage,
  now: Date,
  { staleAfterDays, archiveAfterDays }: Pick<CuratorConfig, "staleAfterDays" | "archiveAfterDays">,
): Transition | undefined {
  if (usage.pinned) return undefined;
  const anchor = anchorOf(usage);
  if (anchor === undefined) return "seed";
  const idleDays = (now.getTime() - anchor) / DAY_MS;
  if (idleDays > archiveAfterDays) return "archive";
  if (idleDays > staleAfterDays) return usage.state === "stale" ? undefined : "stale";
  return usage.state === "active" ? undefined : "active";
}

/** The newest sign of life, else the day it was made. */
function anchorOf(usage: SkillUsage): number | undefined {
  const times = [usage.last_used_at, usage.last_viewed_at, usage.last_patched_at].flatMap(timeOf);
  if (times.length > 0) return Math.max(...times);
  return timeOf(usage.created_at)[0];
}

function timeOf(text: string | null): number[] {
  const time = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? [] : [time];
}

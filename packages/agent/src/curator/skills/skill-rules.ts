import type { CuratorConfig } from "@hermes-memory/core/config";
import { pyStrip } from "@hermes-memory/core/lib";
import type { Provenance, SkillUsage } from "@hermes-memory/core/skills";

// ----
// What time does to a skill nobody uses: stale, then archived; and active again once it is used. Pure.

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

// ----
// A skill that may become part of another one, or already is.

/** A skill that may take part: written by an agent, not pinned, SKILL.md and nothing else. */
export type Member = {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  readonly body: string;
};

/** A skill whose whole text another one holds word for word has been taken in. */
export function hasAbsorbed(host: Member, part: Member): boolean {
  const body = pyStrip(part.body);
  return host.name !== part.name && body.length >= LEAST_BODY && host.body.includes(body);
}

/** A sentence or two may well be in several skills. */
const LEAST_BODY = 80;

/** Why an umbrella that the model proposed was dropped. */
export type UmbrellaDropped = "bad-name" | "unknown-member" | "used-twice" | "too-large" | "name-taken";

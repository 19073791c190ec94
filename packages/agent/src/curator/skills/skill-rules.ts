// Rules for skills: when one becomes stale, archived or active again, and which may become part of another one. Pure.
import type { CuratorConfig } from "@hermes-memory/core/internal/config";
import { pyStrip } from "@hermes-memory/core/internal/lib";
import type { Provenance, SkillUsage } from "@hermes-memory/core/internal/skills";

export type Transition = "seed" | "stale" | "active" | "archive";

/** Skills that other programs use by name. */
const PROTECTED: ReadonlySet<string> = new Set(["plan"]);
const DAY_MS = 86_400_000;

/**
 * Only skills that an agent wrote are curated, not those of the user or of other sources. The usage record of an archived skill does
 * not apply to a new skill of the same name.
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

/** The time of the last use, else of its creation. */
function anchorOf(usage: SkillUsage): number | undefined {
  const times = [usage.last_used_at, usage.last_viewed_at, usage.last_patched_at].flatMap(timeOf);
  if (times.length > 0) return Math.max(...times);
  return timeOf(usage.created_at)[0];
}

function timeOf(text: string | null): number[] {
  const time = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? [] : [time];
}

/** A skill that may become part of an umbrella: written by an agent, not pinned, with SKILL.md as its only file. */
export type Member = {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  readonly body: string;
};

/** Whether `host` contains the whole text of `part`, word for word. */
export function hasAbsorbed(host: Member, part: Member): boolean {
  const body = pyStrip(part.body);
  return host.name !== part.name && body.length >= LEAST_BODY && host.body.includes(body);
}

/** A shorter text, of a sentence or two, may occur in several skills by chance. */
const LEAST_BODY = 80;

/** Why an umbrella that the model proposed was dropped. */
export type UmbrellaDropped = "bad-name" | "unknown-member" | "used-twice" | "too-large" | "name-taken";

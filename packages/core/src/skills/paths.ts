// Where a home keeps its skills and what belongs to them.
import { join, relative, sep } from "node:path";

export function skillsDirectory(home: string): string {
  return join(home, "skills");
}

/** Skill changes that wait for approval. */
export function pendingSkillsDirectory(home: string): string {
  return join(home, "pending", "skills");
}

/** What the last look at the skills found, so that the next one need not read them again. */
export function snapshotPath(home: string): string {
  return join(home, ".skills_prompt_snapshot.json");
}

/** Every change of a skill is made while this is held. */
export function changeLockPath(skills: string): string {
  return join(skills, ".skills.lock");
}

export function historyDirectory(skills: string): string {
  return join(skills, ".history");
}

export function archiveDirectory(skills: string): string {
  return join(skills, ".archive");
}

/** Skills deleted outright, for as long as the history can bring them back. Inside of a folder no program looks into. */
export function deletedDirectory(skills: string): string {
  return join(archiveDirectory(skills), ".deleted");
}

/** `inner` below `outer`, with `/` on every system; undefined when it is not below it. */
export function pathWithin(outer: string, inner: string): string | undefined {
  const path = relative(outer, inner);
  const parts = path.split(sep);
  return parts[0] === ".." || path === inner ? undefined : parts.join("/");
}

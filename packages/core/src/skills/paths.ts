// Paths of a home's skills and of the files that belong to them.
import { join, relative, sep } from "node:path";

export function skillsDirectory(home: string): string {
  return join(home, "skills");
}

/** Skill changes that wait for approval. */
export function pendingSkillsDirectory(home: string): string {
  return join(home, "pending", "skills");
}

/** Headers of all skills, cached between processes. */
export function snapshotPath(home: string): string {
  return join(home, ".skills_prompt_snapshot.json");
}

/** Held during every change of a skill. */
export function changeLockPath(skills: string): string {
  return join(skills, ".skills.lock");
}

export function historyDirectory(skills: string): string {
  return join(skills, ".history");
}

export function archiveDirectory(skills: string): string {
  return join(skills, ".archive");
}

/** Deleted skills, as long as the history can restore them. Below `.archive`, which no program searches for skills. */
export function deletedDirectory(skills: string): string {
  return join(archiveDirectory(skills), ".deleted");
}

/** `inner` relative to `outer`, with `/` on every system; undefined when it is not below `outer`. */
export function pathWithin(outer: string, inner: string): string | undefined {
  const path = relative(outer, inner);
  const parts = path.split(sep);
  return parts[0] === ".." || path === inner ? undefined : parts.join("/");
}

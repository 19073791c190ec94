// Paths of a home's skills and of the files that belong to them.
import { join, relative, sep } from "node:path";
import { isWithin } from "../lib/index.ts";

export function skillsDirectory(home: string): string {
  return join(home, "skills");
}

/** Skill changes that wait for approval. */
export function pendingSkillsDirectory(home: string): string {
  return join(home, "pending", "skills");
}

/** A cache of skill headers, which Hermes Agent and version 0.3 keep; nothing here reads or writes it. */
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
  return isWithin(outer, inner) ? relative(outer, inner).split(sep).join("/") : undefined;
}

// Archived skills: moving a skill to skills/.archive, listing the archive, restoring.
import { join } from "node:path";
import { err, namesIn, ok, type Result } from "../../lib/index.ts";
import { loadFrontmatterParser } from "../frontmatter.ts";

import { newChange, type SkillChange } from "../history.ts";
import { archiveDirectory } from "../paths.ts";
import { provenanceOf, readOrigins } from "../provenance.ts";
import { SKILL_FILE, type Skill, type SkillError, shownName } from "../skill.ts";
import { exists } from "../skill-files.ts";
import { findIn, type SkillStore } from "../store.ts";
import { changeUsage, markActive, markArchived, readUsage, usageProblem } from "../usage.ts";
import { applyPlan, type ChangeContext, draftOf, moveSkill } from "./apply-plan.ts";
import { cannotMove } from "./change-plan.ts";
import { underLock } from "./change-skill.ts";

/** A skill in the archive. */
export type ArchivedSkill = {
  /** Name of its folder in the archive; the argument of `restoreSkill`. */
  readonly name: string;
  readonly directory: string;
};

export type ArchiveOptions = ChangeContext & {
  /** Shipped skills may be archived too (`curator.prune_builtins`). */
  readonly isBundledIncluded?: boolean;
};

/** Refuses skills that are pinned, from the hub, or outside of the home. Returns the change in the history. */
export async function archiveSkill(
  store: SkillStore,
  asked: string,
  options: ArchiveOptions,
): Promise<Result<SkillChange, SkillError>> {
  const parse = await loadFrontmatterParser();
  const done = await underLock(store, () => {
    const contents = store.catalog.refreshSync(parse);
    const found = findIn(contents, asked);
    if (!found.ok) return found;
    const skill = found.value;
    const refusal = archiveProblem(skill, store, options) ?? cannotMove(skill, store, contents);
    if (refusal) return err(refusal);
    const plan = {
      kind: "delete",
      action: "archive",
      place: skill,
      destination: "archive",
      reply: {},
    } as const;
    return applyPlan(store, plan, options);
  });
  if (!done.ok) return done;
  const { change } = done.value;
  await changeUsage(store, new Map([[change.skill, markArchived]]));
  return ok(change);
}

/** Restored directly under the root, under its former name, unless a skill has that name. */
export async function restoreSkill(
  store: SkillStore,
  archived: string,
  context: ChangeContext,
): Promise<Result<SkillChange, SkillError>> {
  const parse = await loadFrontmatterParser();
  const done = await underLock(store, (): Result<SkillChange, SkillError> => {
    const source = listArchivedSkills(store).find(({ name }) => name === archived);
    if (source === undefined) {
      const message = `The archive has no skill '${shownName(archived)}'.`;
      return err({ kind: "not_found", message });
    }
    const name = archived.replace(/-\d{14}(-[0-9a-f]{8})?$/, "");
    const { skills } = store.catalog.refreshSync(parse);
    const isTaken = skills.some((skill) => skill.directoryName.toLowerCase() === name.toLowerCase());
    if (isTaken || readOrigins(store).hub.has(name) || exists(join(store.directory, name))) {
      const message = `There is a skill '${name}' already. Rename or archive that one first.`;
      return err({ kind: "exists", message });
    }
    const moved = { from: `.archive/${archived}`, to: name };
    const place = { directoryName: name, relativePath: name, root: store.directory, isExternal: false };
    const draft = draftOf(store, place, { ...context, action: "restore" });
    const change: SkillChange = { ...newChange(draft, { before: undefined, after: undefined }), moved };
    moveSkill(store, moved, change);
    return ok(change);
  });
  if (done.ok) await changeUsage(store, new Map([[done.value.skill, markActive]]));
  return done;
}

/** Sorted by name. */
export function listArchivedSkills(store: SkillStore): readonly ArchivedSkill[] {
  const archive = archiveDirectory(store.directory);
  return namesIn(archive)
    .filter((name) => !name.startsWith(".") && exists(join(archive, name, SKILL_FILE)))
    .sort()
    .map((name) => ({ name, directory: join(archive, name) }));
}

function archiveProblem(
  skill: Skill,
  store: SkillStore,
  { isBundledIncluded = false, origin }: ArchiveOptions,
): SkillError | undefined {
  const origins = readOrigins(store);
  const provenance = provenanceOf(skill, origins);
  const isOurs = provenance === "agent" || (provenance === "bundled" && isBundledIncluded);
  if (skill.isFlat || !origins.isReliable || !isOurs) {
    const message = `The skill '${skill.name}' (${skill.isFlat ? "a single file" : provenance}) is not archived.`;
    return { kind: "protected", message };
  }
  const problem = origin === "cli" ? undefined : usageProblem(store);
  if (problem !== undefined)
    return { kind: "protected", message: `${problem} '${skill.name}' may be pinned and was left alone.` };
  if (readUsage(store).get(skill.directoryName)?.pinned)
    return { kind: "protected", message: `The skill '${skill.name}' is pinned. Unpin it first.` };
  return undefined;
}

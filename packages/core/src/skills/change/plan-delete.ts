// Taking a whole skill away. Unattended writers put it into the archive; for the others the history keeps it.
import { lstatSync } from "node:fs";
import { sep } from "node:path";
import { err, ok, type Result } from "../../lib/index.ts";
import type { CatalogContents } from "../catalog/catalog.ts";
import { shownName } from "../names.ts";
import { findIn, type SkillStore } from "../store.ts";
import type { Skill, SkillError } from "../types.ts";
import type { SkillCall } from "./call.ts";
import { isReallyAt } from "./file-path.ts";
import type { Plan, Scene } from "./plan-types.ts";

export function planDelete(
  call: Extract<SkillCall, { action: "delete" }>,
  skill: Skill,
  { store, contents, origin }: Scene,
): Result<Plan, SkillError> {
  const { absorbedInto } = call;
  const inWay = cannotMove(skill, store, contents);
  if (inWay) return err(inWay);
  if (absorbedInto) {
    const other = findIn(contents, absorbedInto);
    const shown = shownName(absorbedInto);
    if (!other.ok) {
      const message = `absorbed_into names '${shown}', which is no skill. Create it first, or leave the argument out.`;
      return err({ kind: "invalid", message });
    }
    if (other.value.directory === skill.directory)
      return err({ kind: "invalid", message: `A skill cannot be absorbed into itself ('${shown}').` });
  }
  const isArchived = origin === "review" || origin === "curator";
  const where = absorbedInto ? ` Its content was absorbed into '${shownName(absorbedInto)}'.` : "";
  return ok({
    kind: "delete",
    action: "delete",
    place: skill,
    destination: isArchived ? "archive" : "deleted",
    ...(absorbedInto === undefined ? {} : { absorbedInto }),
    reply: { message: `Skill '${skill.name}' ${isArchived ? "archived" : "deleted"}.${where}` },
  });
}

/** What is reached through a link, or holds another skill, stays where it is. */
export function cannotMove(
  skill: Skill,
  store: SkillStore,
  contents: CatalogContents,
): SkillError | undefined {
  const isLink = lstatSync(skill.directory).isSymbolicLink();
  if (isLink || !isReallyAt(store.directory, skill.relativePath, skill.directory)) {
    const message = `The skill '${skill.name}' is reached through a symbolic link. Remove the link by hand.`;
    return { kind: "protected", message };
  }
  const nested = contents.skills.find((other) => other.directory.startsWith(`${skill.directory}${sep}`));
  if (nested) {
    const message = `The directory of '${skill.name}' holds another skill, '${nested.name}'. Move that one first.`;
    return { kind: "protected", message };
  }
  return undefined;
}

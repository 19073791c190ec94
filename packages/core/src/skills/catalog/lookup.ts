// Which skill somebody means. Two that fit are never decided between. Pure.
import type { Skill } from "../types.ts";

export type Lookup =
  | { readonly kind: "one"; readonly skill: Skill }
  | { readonly kind: "none" }
  | { readonly kind: "many"; readonly skills: readonly Skill[] };

/**
 * With a `/` it is a path below a root (`./name` for one directly under it), the home's own root first. Otherwise a
 * directory's name, a name in a frontmatter, or a flat file's name.
 */
export function lookUp(skills: readonly Skill[], flatSkills: readonly Skill[], asked: string): Lookup {
  const isPath = asked.includes("/");
  const path = asked.replace(/^\.\//, "").replace(/\/(SKILL\.md)?$/, "");
  const fits = isPath
    ? (skill: Skill) => skill.relativePath === path
    : (skill: Skill) => skill.directoryName === asked || skill.name === asked;
  const found = skills.filter(fits);
  const all = found.length > 0 ? found : flatSkills.filter(fits);
  const [first] = all;
  if (first === undefined) return { kind: "none" };
  // Roots are searched in order, so a whole path is no guess.
  return all.length === 1 || isPath ? { kind: "one", skill: first } : { kind: "many", skills: all };
}

/** How to name this one and no other. */
export function pathOf(skill: Skill): string {
  return skill.relativePath.includes("/") ? skill.relativePath : `./${skill.relativePath}`;
}

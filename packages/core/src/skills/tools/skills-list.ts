// The `skills_list` tool.
import { screened } from "../prompt-index.ts";
import type { SkillStore } from "../store.ts";
import type { Skill } from "../types.ts";
import { answered, textArgument, UNAVAILABLE } from "./result.ts";

/** Never throws. */
export function skillsListTool(store: SkillStore | undefined, args: unknown): Promise<object> {
  return answered(async () => {
    if (!store) return UNAVAILABLE;
    const { skills } = await store.visible();
    if (skills.length === 0) {
      const message = `There are no skills yet. They live in ${store.directory}; skill_manage creates one.`;
      return { success: true, skills: [], categories: [], message };
    }
    const wanted = textArgument(args, "category");
    const listed = skills
      .filter(({ category }) => wanted === undefined || category === wanted)
      .sort(byCategory);
    const categories = new Set(skills.flatMap(({ category }) => (category === null ? [] : [category])));
    return {
      success: true,
      skills: listed.map(({ name, header, category }) => ({
        name: screened(name, "skill name"),
        description: screened(header.description, "description"),
        category: category === null ? null : screened(category, "category name"),
      })),
      categories: [...categories].sort().map((category) => screened(category, "category name")),
      count: listed.length,
      hint: "skill_view with a name loads the whole skill, with its tags and linked files.",
    };
  });
}

function byCategory(a: Skill, b: Skill): number {
  const first = a.category ?? "";
  const second = b.category ?? "";
  if (first !== second) return first < second ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

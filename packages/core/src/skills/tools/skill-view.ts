// The `skill_view` tool: a skill, or one of its files. Counts what it shows.
import type { SkillStore } from "../store.ts";
import { changeUsage, countView } from "../usage.ts";
import { findUsable, viewSkill, viewSkillFile } from "../view/view.ts";
import { answered, failure, textArgument, UNAVAILABLE } from "./result.ts";

export type SkillViewContext = {
  /** For `${HERMES_SESSION_ID}` in a skill. */
  readonly sessionId?: string;
};

/** Never throws. */
export function skillViewTool(
  store: SkillStore | undefined,
  args: unknown,
  context: SkillViewContext = {},
): Promise<object> {
  return answered(async () => {
    if (!store) return UNAVAILABLE;
    const name = textArgument(args, "name");
    if (name === undefined) return failure({ kind: "missing_arg", message: "name is required." });
    const pathProblem = climbing(name);
    if (pathProblem !== undefined) return failure({ kind: "invalid", message: pathProblem });
    const skill = await findUsable(store, name);
    if (!skill.ok) return failure(skill.error);
    const file = textArgument(args, "file_path");
    const view =
      file === undefined || file === "SKILL.md"
        ? await viewSkill(store, skill.value, context)
        : viewSkillFile(skill.value, file);
    if (!view.ok) return failure(view.error);
    // Counting must not keep anybody from reading.
    if (!skill.value.isFlat) await changeUsage(store, new Map([[skill.value.directoryName, countView]]));
    return { success: true, ...view.value };
  });
}

function climbing(name: string): string | undefined {
  const isAbsolute = name.startsWith("/") || /^[A-Za-z]:[\\/]/.test(name);
  if (!isAbsolute && !name.split(/[/\\]/).includes("..")) return undefined;
  return "A skill is named by its name, or by its path below the skills directory, without '..'.";
}

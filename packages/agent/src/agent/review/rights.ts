// What a review may do. It runs unattended, so the rights are per operation: it adds and corrects, and takes nothing away.
import { isRecord, preview } from "@hermes-memory/core/lib";
import type { ToolArguments } from "@hermes-memory/core/tools";

export type ReviewScope = { readonly memory: boolean; readonly skills: boolean };

/** `actions`: the values of the argument `action` that are allowed; undefined where a tool only looks. */
type Right = { readonly for: keyof ReviewScope | "either"; readonly actions?: readonly string[] };

const RIGHTS: Readonly<Record<string, Right>> = {
  read_result: { for: "either" }, // a long skill has to be read in parts
  memory: { for: "memory", actions: ["add", "replace", "search_archive"] },
  skills_list: { for: "skills" },
  skill_view: { for: "skills" },
  skill_manage: { for: "skills", actions: ["create", "patch", "edit", "write_file"] },
};

/** Undefined when the call may run; otherwise what the model is told. */
export function refusal(name: string, args: ToolArguments, scope: ReviewScope): string | undefined {
  const right = Object.hasOwn(RIGHTS, name) ? RIGHTS[name] : undefined;
  if (right === undefined) return notAllowed(name);
  if (right.for !== "either" && !scope[right.for])
    return `This review is about ${scope.memory ? "memory" : "skills"} only, so '${name}' was not run.`;
  const { action, operations } = args;
  if (name === "memory" && operations !== undefined && operations !== null) {
    const steps: readonly unknown[] = Array.isArray(operations) ? operations : [operations];
    // Every operation of a batch needs the right by itself; an empty one is the tool's to refuse.
    const refused = steps
      .map((step) => refusal(name, { action: isRecord(step) ? step.action : undefined }, scope))
      .find((answer) => answer !== undefined);
    if (refused !== undefined || steps.length > 0) return refused;
  }
  if (right.actions === undefined || (typeof action === "string" && right.actions.includes(action)))
    return undefined;
  const asked = typeof action === "string" ? `action '${preview(action, SHOWN_CHARS)}'` : "no action";
  return `A review may not use '${name}' with ${asked}; allowed are: ${right.actions.join(", ")}. Nothing was changed.`;
}

/** The wording is matched by other programs. */
export function notAllowed(name: string): string {
  return `Background review denied non-whitelisted tool: ${name}. Only memory/skill tools are allowed.`;
}

const SHOWN_CHARS = 40;

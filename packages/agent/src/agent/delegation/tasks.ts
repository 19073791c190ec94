// The arguments of `delegate_task` as tasks, or the reason why there are none. Pure.
import { err, isRecord, ok, pyStrip, type Result } from "@hermes-memory/core/lib";
import type { ToolArguments } from "@hermes-memory/core/tools";

export type ChildTask = {
  readonly goal: string;
  readonly context: string;
  /** Undefined: the parent's. */
  readonly toolsets: readonly string[] | undefined;
  readonly role: "leaf" | "orchestrator";
};

export type DelegationLimits = {
  readonly maxChildren: number;
  readonly maxDepth: number;
};

/** `depth`: of the agent that delegates; 0 for the one the user talks to. */
export function readTasks(
  args: ToolArguments,
  { maxChildren, maxDepth }: DelegationLimits,
  depth: number,
): Result<readonly ChildTask[], string> {
  if (depth >= maxDepth)
    return err(
      `Delegation depth limit reached (${maxDepth}): do this work yourself. delegation.max_spawn_depth sets the limit.`,
    );
  const given: readonly unknown[] = Array.isArray(args.tasks) && args.tasks.length > 0 ? args.tasks : [args];
  if (given.length > maxChildren)
    return err(
      `${given.length} tasks are more than the ${maxChildren} that may run at once. Hand over fewer; delegation.max_concurrent_children sets the limit.`,
    );
  const tasks = given.map((entry) => readTask(isRecord(entry) ? entry : {}));
  const empty = tasks.findIndex(({ goal }) => goal === "");
  if (empty < 0) return ok(tasks);
  return err(
    given.length === 1 ? "goal is required: say what is to be done." : `Task ${empty + 1} has no goal.`,
  );
}

function readTask(entry: Readonly<Record<string, unknown>>): ChildTask {
  return {
    goal: text(entry.goal),
    context: text(entry.context),
    toolsets: names(entry.toolsets),
    role: entry.role === "orchestrator" ? "orchestrator" : "leaf",
  };
}

/** The child's first and only message. */
export function childMessage({ goal, context }: ChildTask): string {
  const task = `Your task:\n${goal}`;
  const known = context === "" ? [] : [`What you need to know:\n${context}`];
  const answer =
    "Work on your own: nobody can answer questions. End with a summary of what you did, what you found, what you changed and what is left open. Only that summary is read.";
  return [task, ...known, answer].join("\n\n");
}

/** Models fill in an empty list where they mean nothing in particular. */
function names(value: unknown): readonly string[] | undefined {
  const given: readonly unknown[] = Array.isArray(value) ? value : [];
  const texts = given.filter((name): name is string => typeof name === "string" && pyStrip(name) !== "");
  return texts.length === 0 ? undefined : texts.map((name) => pyStrip(name));
}

function text(value: unknown): string {
  return typeof value === "string" ? pyStrip(value) : "";
}

// The `delegate_task` tool: reads the tasks, runs the children, tells the providers, adds up the costs.
import { preview } from "@hermes-memory/core/lib";
import { described, errorOutcome, jsonOutcome, onOneLine, type Tool } from "@hermes-memory/core/tools";
import type { AgentCore } from "../core.ts";
import { type FinishedChild, runChildren, type SpawnChild } from "./children.ts";
import { delegateToolSchema } from "./schema.ts";
import { type ChildTask, readTasks } from "./tasks.ts";

/** Below this a child could not even be asked once. */
const LEAST_TIMEOUT_SECONDS = 30;

export function delegateEntry(core: AgentCore, spawn: SpawnChild, depth: number): Tool {
  const { delegation } = core.parts.config;
  return {
    ...described(delegateToolSchema),
    owner: { kind: "own" },
    policy: { toolset: "delegation", effect: "write" },
    preview: ({ goal, tasks }) =>
      Array.isArray(tasks) && tasks.length > 0
        ? `${tasks.length} tasks`
        : preview(typeof goal === "string" ? onOneLine(goal.replace(/\s+/g, " ")) : "", 80),
    run: async (args, { signal }) => {
      const limits = { maxChildren: delegation.maxConcurrentChildren, maxDepth: delegation.maxSpawnDepth };
      const tasks = readTasks(args, limits, depth);
      if (!tasks.ok) return errorOutcome(tasks.error);
      const startedAt = performance.now();
      const timeout = delegation.childTimeoutSeconds;
      const children = await runChildren(tasks.value, spawn, {
        signal,
        timeoutMs: timeout > 0 ? Math.max(timeout, LEAST_TIMEOUT_SECONDS) * 1000 : undefined,
      });
      report(core, tasks.value, children);
      return jsonOutcome({
        results: children.map(({ result }) => result),
        total_duration_seconds: Math.round((performance.now() - startedAt) / 10) / 100,
      });
    },
  };
}

/** In the order of the tasks. A child that failed without a word is nothing to remember. */
function report(core: AgentCore, tasks: readonly ChildTask[], children: readonly FinishedChild[]): void {
  for (const { result, sessionId, costUsd } of children) {
    core.parts.totals.addForeignCost(costUsd);
    const goal = tasks[result.task_index]?.goal ?? "";
    const hasWords = result.summary !== null || result.status === "completed";
    if (hasWords)
      core.parts.manager?.onDelegation(goal, result.summary ?? "", { child_session_id: sessionId ?? "" });
  }
}

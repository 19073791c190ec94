// A child agent for a delegated task: the parent's model, database and tools, without its memory, its context files and the
// tools a child never gets.
import type { SessionStore } from "@hermes-memory/core/sessions";
import type { Agent } from "../agent.ts";
import type { AgentCore } from "../core.ts";
import type { Child, ChildTask, SpawnChild } from "../delegation/delegate-task.ts";
import type { AgentOptions } from "../options.ts";

/** Nobody can answer its questions, and what it learns goes through its parent. */
const NEVER = ["clarify", "memory", "code_execution"];

export function childSpawner(
  core: AgentCore,
  options: AgentOptions,
  create: (options: AgentOptions) => Promise<Agent>,
): SpawnChild {
  return async (task) => {
    const store = await storeOfParent(core);
    return asChild(await create({ ...childOptions(core, options, task), store }));
  };
}

/** A child is stored below its parent, so not at all while the parent has no row: a database that fails must not stop the work. */
async function storeOfParent({ parts: { store }, sessionId }: AgentCore): Promise<SessionStore | null> {
  const mark = await store?.getSessionMark(sessionId).catch(() => null);
  return store === undefined || mark === null ? null : store;
}

function childOptions(core: AgentCore, options: AgentOptions, task: ChildTask): AgentOptions {
  const { home, config, env, log, clock, user } = core.parts;
  const { tools, readOnlyTools, cwd, hooks, waitForRetry } = options;
  const disabled = [
    ...config.agent.disabledToolsets,
    ...NEVER,
    ...(task.role === "orchestrator" ? [] : ["delegation"]),
  ];
  const toolsets = task.toolsets ?? options.toolsets ?? null;
  return {
    home,
    config: { ...config, agent: { ...config.agent, disabledToolsets: disabled } },
    env,
    log,
    clock,
    model: core.model,
    platform: "subagent",
    delegatedBy: {
      sessionId: core.sessionId,
      depth: (options.delegatedBy?.depth ?? 0) + 1,
      tools: core.table.names,
    },
    skipMemory: true,
    skipContextFiles: true,
    titles: false,
    review: false,
    maxTurns: config.delegation.maxIterations,
    toolsets,
    ...(tools === undefined || !sharesUserTools(task) ? {} : { tools }),
    ...(readOnlyTools === undefined ? {} : { readOnlyTools }),
    ...(user === undefined ? {} : { user }), // with its own platform: the child's source is `subagent`
    ...(cwd === undefined ? {} : { cwd }),
    ...(waitForRetry === undefined ? {} : { waitForRetry }),
    // What the parent may not do, its child may not either.
    ...(hooks?.preToolCall === undefined ? {} : { hooks: { preToolCall: hooks.preToolCall } }),
  };
}

/** A child that is given certain sets gets the program's own tools only when they are among them. */
function sharesUserTools({ toolsets }: ChildTask): boolean {
  return toolsets === undefined || toolsets.some((set) => ["user", "all", "*"].includes(set));
}

function asChild(agent: Agent): Child {
  return {
    sessionId: agent.sessionId,
    model: agent.model.model,
    run: (message, signal) => agent.run(message, { signal }),
    close: () => agent.close(),
  };
}

// The `delegate_task` tool: reads the tasks, runs a child agent for each, reports the results and adds up the costs.
import {
  describeCause,
  err,
  isRecord,
  ok,
  preview,
  pyStrip,
  type Result,
} from "@hermes-memory/core/internal/lib";
import { toolCallsOf } from "@hermes-memory/core/internal/message";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import {
  described,
  errorOutcome,
  jsonOutcome,
  onOneLine,
  type Tool,
  type ToolArguments,
  textOutcome,
} from "@hermes-memory/core/internal/tools";
import type { AgentParts } from "../parts.ts";
import type { Session } from "../session/session.ts";
import type { TurnResult } from "../turn-result.ts";

export const delegateToolSchema = {
  name: "delegate_task",
  description: [
    "Hand a piece of work to a fresh agent with a context of its own and get back its summary. Worth it for work that needs many steps or much reading whose details you do not need afterwards, and for several independent pieces at once (tasks).",
    "The child knows nothing of this conversation: put everything it needs into goal and context, and say what the answer should contain. It cannot ask back, cannot delegate any further unless its role is orchestrator, and cannot write to memory.",
    "Give either goal (one task) or tasks (several, which run side by side).",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      goal: { type: "string", description: "What is to be done, and what the answer should say." },
      context: {
        type: "string",
        description: "What the child has to know: paths, facts, decisions, limits.",
      },
      toolsets: {
        type: "array",
        items: { type: "string" },
        description: "Toolsets the child may use. Left out: yours, without those a child never gets.",
      },
      tasks: {
        type: "array",
        description: "Several tasks instead of one.",
        items: {
          type: "object",
          properties: {
            goal: { type: "string" },
            context: { type: "string" },
            toolsets: { type: "array", items: { type: "string" } },
            role: { type: "string", enum: ["leaf", "orchestrator"] },
          },
          required: ["goal"],
        },
      },
      role: {
        type: "string",
        enum: ["leaf", "orchestrator"],
        description: "orchestrator: it may delegate too, where the depth limit allows. Default leaf.",
      },
    },
    required: [],
  },
} as const;

/** With less time a child could not finish a single model call. */
const LEAST_TIMEOUT_SECONDS = 30;

export type DelegateDeps = Pick<AgentParts, "config" | "manager"> & {
  readonly session: Session;
  readonly spawn: SpawnChild;
  /** 0 for the agent that the user talks to. */
  readonly depth: number;
};

export function delegateEntry(deps: DelegateDeps): Tool {
  const { spawn, depth } = deps;
  const { delegation } = deps.config;
  return {
    ...described(delegateToolSchema),
    owner: { kind: "own" },
    policy: { toolset: "delegation", effect: "write" },
    preview: ({ goal, tasks }) =>
      Array.isArray(tasks) && tasks.length > 0
        ? `${tasks.length} tasks`
        : preview(typeof goal === "string" ? onOneLine(goal.replace(/\s+/g, " ")) : "", 80),
    run: async (args, { signal }) => {
      const tasks = readTasks(args, delegation, depth);
      if (!tasks.ok) return errorOutcome(tasks.error);
      const startedAt = performance.now();
      const timeout = delegation.childTimeoutSeconds;
      const timeoutMs = timeout > 0 ? Math.max(timeout, LEAST_TIMEOUT_SECONDS) * 1000 : undefined;
      const children = await runChildren(tasks.value, spawn, { signal, timeoutMs });
      report(deps, tasks.value, children);
      const results = children.map(({ result }) => result);
      return jsonOutcome({ results, total_duration_seconds: seconds(startedAt) });
    },
  };
}

/** Adds up the costs and tells the memory provider, in the order of the tasks. A failed child without a summary is not reported. */
function report(
  { session, manager }: DelegateDeps,
  tasks: readonly ChildTask[],
  children: readonly FinishedChild[],
): void {
  for (const { result, sessionId, costUsd } of children) {
    session.usage.addCost(costUsd);
    const goal = tasks[result.task_index]?.goal ?? "";
    const hasWords = result.summary !== null || result.status === "completed";
    if (hasWords) manager?.onDelegation(goal, result.summary ?? "", { child_session_id: sessionId ?? "" });
  }
}

// Reading the tasks from the arguments (pure)

export type ChildTask = {
  readonly goal: string;
  readonly context: string;
  /** Undefined: the same as the parent's. */
  readonly toolsets: readonly string[] | undefined;
  readonly role: "leaf" | "orchestrator";
};

/** `depth`: the depth of the agent that delegates; 0 for the agent that the user talks to. */
function readTasks(
  args: ToolArguments,
  { maxConcurrentChildren: most, maxSpawnDepth: maxDepth }: AgentParts["config"]["delegation"],
  depth: number,
): Result<readonly ChildTask[], string> {
  if (depth >= maxDepth)
    return err(
      `Delegation depth limit reached (${maxDepth}): do this work yourself. delegation.max_spawn_depth sets the limit.`,
    );
  const given: readonly unknown[] = Array.isArray(args.tasks) && args.tasks.length > 0 ? args.tasks : [args];
  if (given.length > most)
    return err(
      `${given.length} tasks are more than the ${most} that may run at once. Hand over fewer; delegation.max_concurrent_children sets the limit.`,
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
function childMessage({ goal, context }: ChildTask): string {
  const task = `Your task:\n${goal}`;
  const known = context === "" ? [] : [`What you need to know:\n${context}`];
  const answer =
    "Work on your own: nobody can answer questions. End with a summary of what you did, what you found, what you changed and what is left open. Only that summary is read.";
  return [task, ...known, answer].join("\n\n");
}

/** An empty list means the default: models often fill one in without a reason. */
function names(value: unknown): readonly string[] | undefined {
  const given: readonly unknown[] = Array.isArray(value) ? value : [];
  const texts = given.filter((name): name is string => typeof name === "string" && pyStrip(name) !== "");
  return texts.length === 0 ? undefined : texts.map((name) => pyStrip(name));
}

function text(value: unknown): string {
  return typeof value === "string" ? pyStrip(value) : "";
}

// Running the children side by side. A child that fails, hangs or is stopped affects only its own result.

/** The part of a child agent that the parent uses. */
export type Child = {
  readonly sessionId: string;
  readonly model: string;
  run(message: string, signal: AbortSignal): Promise<TurnResult>;
  close(): Promise<void>;
};

export type SpawnChild = (task: ChildTask) => Promise<Child>;

/** JSON for the model. */
type ChildResult = {
  readonly task_index: number;
  readonly status: "completed" | "failed" | "interrupted" | "error";
  readonly summary: string | null;
  readonly api_calls: number;
  readonly duration_seconds: number;
  readonly model: string | null;
  readonly exit_reason: "completed" | "max_iterations" | "interrupted" | "error";
  readonly tokens: { readonly input: number; readonly output: number };
  readonly tool_trace: readonly {
    readonly tool: string;
    readonly result_chars: number;
    readonly status: "ok" | "error";
  }[];
  readonly error?: string;
};

type FinishedChild = {
  readonly result: ChildResult;
  readonly sessionId: string | undefined;
  readonly costUsd: number | null;
};

export async function runChildren(
  tasks: readonly ChildTask[],
  spawn: SpawnChild,
  options: RunOptions,
): Promise<readonly FinishedChild[]> {
  return Promise.all(tasks.map((task, index) => runChild(task, index, spawn, options)));
}

type RunOptions = { readonly signal: AbortSignal; readonly timeoutMs: number | undefined };

async function runChild(
  task: ChildTask,
  task_index: number,
  spawn: SpawnChild,
  { signal, timeoutMs }: RunOptions,
): Promise<FinishedChild> {
  const startedAt = performance.now();
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  let child: Child | undefined;
  try {
    child = await spawn(task);
    const result = await child.run(childMessage(task), late ? AbortSignal.any([signal, late]) : signal);
    const isLate = late?.aborted === true && result.interrupted && !signal.aborted;
    const common = { task_index, duration_seconds: seconds(startedAt), model: child.model };
    return {
      result: { ...common, ...outcomeOf(result, isLate) },
      sessionId: result.session_id,
      costUsd: result.estimated_cost_usd,
    };
  } catch (cause) {
    const status = signal.aborted ? "interrupted" : "error";
    return {
      result: {
        task_index,
        summary: null,
        api_calls: 0,
        model: child?.model ?? null,
        status,
        duration_seconds: seconds(startedAt),
        exit_reason: status,
        tokens: { input: 0, output: 0 },
        tool_trace: [],
        error: redactSecrets(describeCause(cause)),
      },
      sessionId: child?.sessionId,
      costUsd: null,
    };
  } finally {
    await child?.close().catch(() => undefined); // the result does not depend on it
  }
}

function outcomeOf(
  result: TurnResult,
  isLate: boolean,
): Omit<ChildResult, "task_index" | "duration_seconds" | "model"> {
  const { interrupted, failed, exit } = result;
  const error = isLate ? "The child took longer than delegation.child_timeout_seconds allows." : result.error;
  const hasStopped = interrupted && !isLate;
  return {
    status: hasStopped ? "interrupted" : isLate || failed ? "failed" : "completed",
    summary: interrupted || result.final_response === "" ? null : result.final_response,
    api_calls: result.api_calls,
    exit_reason: interrupted
      ? "interrupted"
      : exit === "max_iterations_reached"
        ? "max_iterations"
        : failed
          ? "error"
          : "completed",
    tokens: { input: result.prompt_tokens, output: result.output_tokens },
    tool_trace: traceOf(result),
    error: error === null ? undefined : preview(redactSecrets(error), 500),
  };
}

const MOST_TRACED = 50;

function traceOf({ messages }: TurnResult): ChildResult["tool_trace"] {
  const names = new Map(
    messages.flatMap((message) => toolCallsOf(message).map(({ id, name }) => [id, name])),
  );
  return messages
    .filter((message) => message.role === "tool")
    .slice(-MOST_TRACED)
    .map(({ toolCallId, content }) => {
      const text = typeof content === "string" ? content : "";
      return {
        tool: names.get(toolCallId) ?? "unknown",
        result_chars: text.length,
        status: textOutcome(text).isError ? "error" : "ok",
      };
    });
}

function seconds(startedAt: number): number {
  return Math.round((performance.now() - startedAt) / 10) / 100;
}

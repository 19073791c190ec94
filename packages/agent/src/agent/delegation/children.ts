// Runs child agents side by side and gathers what they have to say. A child that fails, hangs or is stopped costs its own result
// and nobody else's.

import { describeCause, preview } from "@hermes-memory/core/lib";
import { toolCallsOf } from "@hermes-memory/core/message";
import { redactSecrets } from "@hermes-memory/core/security";
import { textOutcome } from "@hermes-memory/core/tools";
import type { TurnResult } from "../result.ts";
import { type ChildTask, childMessage } from "./tasks.ts";

/** An agent as its parent sees it. */
export type Child = {
  readonly sessionId: string;
  readonly model: string;
  run(message: string, signal: AbortSignal): Promise<TurnResult>;
  close(): Promise<void>;
};

export type SpawnChild = (task: ChildTask) => Promise<Child>;

/** Snake case: the model reads it. */
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

export type FinishedChild = {
  readonly result: ChildResult;
  readonly sessionId: string | undefined;
  readonly costUsd: number | null;
};

export async function runChildren(
  tasks: readonly ChildTask[],
  spawn: SpawnChild,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number | undefined },
): Promise<readonly FinishedChild[]> {
  return Promise.all(tasks.map((task, index) => runChild(task, index, spawn, options)));
}

async function runChild(
  task: ChildTask,
  index: number,
  spawn: SpawnChild,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number | undefined },
): Promise<FinishedChild> {
  const startedAt = performance.now();
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  let child: Child | undefined;
  try {
    child = await spawn(task);
    const result = await child.run(childMessage(task), late ? AbortSignal.any([signal, late]) : signal);
    const isLate = late?.aborted === true && result.interrupted && !signal.aborted;
    return finished(result, index, { startedAt, child, isLate });
  } catch (cause) {
    const base = { task_index: index, summary: null, api_calls: 0, model: child?.model ?? null };
    return {
      result: {
        ...base,
        status: signal.aborted ? "interrupted" : "error",
        duration_seconds: seconds(startedAt),
        exit_reason: signal.aborted ? "interrupted" : "error",
        tokens: { input: 0, output: 0 },
        tool_trace: [],
        error: redactSecrets(describeCause(cause)),
      },
      sessionId: child?.sessionId,
      costUsd: null,
    };
  } finally {
    await child?.close().catch(() => undefined); // its result is here already
  }
}

function finished(
  result: TurnResult,
  index: number,
  {
    startedAt,
    child,
    isLate,
  }: { readonly startedAt: number; readonly child: Child; readonly isLate: boolean },
): FinishedChild {
  const summary = result.interrupted || result.final_response === "" ? null : result.final_response;
  const error = isLate ? "The child took longer than delegation.child_timeout_seconds allows." : result.error;
  return {
    result: {
      task_index: index,
      status: isLate ? "failed" : result.interrupted ? "interrupted" : result.failed ? "failed" : "completed",
      summary,
      api_calls: result.api_calls,
      duration_seconds: seconds(startedAt),
      model: child.model,
      exit_reason: result.interrupted
        ? "interrupted"
        : result.exit === "max_iterations_reached"
          ? "max_iterations"
          : result.failed
            ? "error"
            : "completed",
      tokens: { input: result.prompt_tokens, output: result.output_tokens },
      tool_trace: traceOf(result),
      ...(error === null ? {} : { error: preview(redactSecrets(error), 500) }),
    },
    sessionId: result.session_id,
    costUsd: result.estimated_cost_usd,
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

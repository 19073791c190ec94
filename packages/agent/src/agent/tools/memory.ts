// The `memory` tool in the agent's table: curated memory, with a word to the agent about every write that is on disk.
import {
  type ApprovalCallback,
  type CommittedWrite,
  type MemoryStore,
  type MemoryToolContext,
  memoryTool,
  memoryToolPreview,
  memoryToolSchema,
} from "@hermes-memory/core/curated";
import { jsonOutcome } from "./outcome.ts";
import type { AgentTool, ToolArguments, ToolCallContext, ToolOutcome } from "./tool.ts";

export type MemoryAgentToolDeps = {
  /** Undefined: switched off, and the tool says so. */
  readonly store: MemoryStore | undefined;
  readonly home: string;
  readonly writeApproval: boolean | string;
  readonly approve?: ApprovalCallback | undefined;
  readonly sessionId: () => string;
  /** Absent: the assistant itself. */
  readonly origin?: MemoryToolContext["origin"] | undefined;
  /** A write is on disk: not for refused, staged or duplicate ones. For handing it to providers. */
  readonly onWrite: (write: CommittedWrite, call: ToolCallContext) => void;
};

export function memoryAgentTool(deps: MemoryAgentToolDeps): AgentTool {
  const { store, home, writeApproval, approve, origin } = deps;
  let failures = { turn: "", count: 0 };
  const run = async (args: ToolArguments, call: ToolCallContext): Promise<ToolOutcome> => {
    const turn = call.turnId ?? call.taskId;
    if (failures.turn !== turn) failures = { turn, count: 0 };
    const counted = failures;
    const answer = await memoryTool(store, args, {
      home,
      writeApproval,
      sessionId: deps.sessionId(),
      failedBefore: counted.count,
      ...(approve === undefined ? {} : { approve }),
      ...(origin === undefined ? {} : { origin }),
      onCommitted: (write) => deps.onWrite(write, call),
    });
    if ("success" in answer && answer.success === false) counted.count += 1;
    return jsonOutcome(answer);
  };
  return {
    schema: memoryToolSchema,
    toolset: "memory",
    isReadOnly: false,
    isHousekeeping: true,
    preview: memoryToolPreview,
    run,
  };
}

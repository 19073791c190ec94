// A memory write that is on disk goes to the external memory as well, and to whoever watches.
import type { CommittedWrite } from "@hermes-memory/core/curated";
import { writeMetadata } from "@hermes-memory/core/providers";
import type { AgentCore } from "./core.ts";

export type WriteSource = {
  readonly taskId?: string;
  readonly toolCallId?: string;
  /** Of a staged record that was approved now. */
  readonly origin?: string | undefined;
};

export function mirrorWrite(core: AgentCore, { op, target }: CommittedWrite, source: WriteSource = {}): void {
  const { manager, platform } = core.parts;
  core.emit({ type: "memory-write", action: op.action, target });
  manager?.onMemoryWrite(
    op.action,
    target,
    op.action === "remove" ? "" : op.content,
    writeMetadata({
      isBackgroundReview: source.origin === "background_review" || source.origin === "review",
      sessionId: core.sessionId,
      parentSessionId: core.parentSessionId,
      platform,
      taskId: source.taskId,
      toolCallId: source.toolCallId,
      oldText: op.action === "add" ? undefined : op.oldText,
    }),
  );
}

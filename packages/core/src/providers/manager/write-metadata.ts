// Where a mirrored memory write came from. Empty values are left out, so that a provider sees only what is known.
import type { MemoryWriteMetadata } from "../contract.ts";

export type WriteProvenance = {
  /** Who wrote outside a conversation: `cli`, `mcp`, `curator`. Absent: the agent. */
  readonly origin?: string | undefined;
  readonly isBackgroundReview?: boolean;
  readonly sessionId?: string | undefined;
  readonly parentSessionId?: string | undefined;
  readonly platform?: string | undefined;
  readonly taskId?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** A replaced or removed entry as it was. */
  readonly oldText?: string | undefined;
};

export function writeMetadata(from: WriteProvenance): MemoryWriteMetadata {
  const isReview = from.isBackgroundReview ?? false;
  const all = {
    write_origin: from.origin ?? (isReview ? "background_review" : "assistant_tool"),
    execution_context: isReview ? "background_review" : "foreground",
    session_id: from.sessionId,
    parent_session_id: from.parentSessionId,
    platform: from.platform,
    tool_name: "memory",
    task_id: from.taskId,
    tool_call_id: from.toolCallId,
    old_text: from.oldText,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== ""));
}

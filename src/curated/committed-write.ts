// Tells a listener about a write that is on disk.
import type { CommittedWrite, MemoryOp, MemoryOpOutcome, MemoryTarget } from "./types.ts";

export type CommitListener = (write: CommittedWrite) => void;

/** An outcome without a change id changed nothing: the entry was there already. */
export function announce(
  write: { readonly target: MemoryTarget; readonly op: MemoryOp },
  { changeId }: MemoryOpOutcome,
  listener: CommitListener | undefined,
): void {
  if (changeId === undefined) return;
  try {
    listener?.({ ...write, changeId });
  } catch {
    // The write is done and stays done; whoever listens looks after their own failures.
  }
}

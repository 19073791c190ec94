// Tells a listener what a write that is on disk did to the file, entry by entry.
import type { CommittedWrite, MemoryOp, MemoryOpOutcome } from "./types.ts";

export type CommitListener = (write: CommittedWrite) => void;

/** One write for each entry that came, went or was exchanged, with its whole text. None for an outcome that changed nothing. */
export function committedWrites({ target, changeId, changes = [] }: MemoryOpOutcome): CommittedWrite[] {
  if (changeId === undefined) return [];
  return changes.flatMap((change) => {
    const op = operationOf(change);
    return op === undefined ? [] : [{ target, op, changeId }];
  });
}

export function announce(outcome: MemoryOpOutcome, listener: CommitListener | undefined): void {
  for (const write of committedWrites(outcome)) {
    try {
      listener?.(write);
    } catch {
      // The write is done and stays done; whoever listens looks after their own failures.
    }
  }
}

function operationOf({
  before,
  after,
}: {
  before: string | null;
  after: string | null;
}): MemoryOp | undefined {
  if (before === null) return after === null ? undefined : { action: "add", content: after };
  if (after === null) return { action: "remove", oldText: before };
  return { action: "replace", oldText: before, content: after };
}

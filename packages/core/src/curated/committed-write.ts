// Tells a listener what a write that is on disk did to the file, entry by entry.
import type { Change, CommittedWrite, MemoryOp, MemoryOpOutcome } from "./types.ts";

export type CommitListener = (write: CommittedWrite) => void;

/**
 * One write for each entry that came, went or was exchanged, with its whole text. Entries that moved to the archive only to make
 * room are kept, and are not among them. None for an outcome that changed nothing.
 */
export function committedWrites(outcome: MemoryOpOutcome): CommittedWrite[] {
  const { target, changeId, changes = [], archived = [], madeRoom = false } = outcome;
  if (changeId === undefined) return [];
  const isKept = ({ before, after }: Change): boolean =>
    madeRoom && after === null && before !== null && archived.includes(before);
  return changes.flatMap((change) => {
    const op = isKept(change) ? undefined : operationOf(change);
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

function operationOf({ before, after }: Change): MemoryOp | undefined {
  if (before === null) return after === null ? undefined : { action: "add", content: after };
  if (after === null) return { action: "remove", oldText: before };
  return { action: "replace", oldText: before, content: after };
}

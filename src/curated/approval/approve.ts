// Replays a staged write. The gate is behind it; scan, drift check and budget are not.
import { describeCause, err, ok, type Result } from "../../lib/index.ts";
import { announce, type CommitListener } from "../committed-write.ts";
import type { MemoryStore } from "../store.ts";
import type { MemoryError, MemoryOp, MemoryOpOutcome, MemoryTarget } from "../types.ts";
import { claimPending } from "./claims.ts";
import type { PendingRecord } from "./pending.ts";

/** The record goes when its write is committed; after a failure it waits on. */
export async function approvePending(
  store: MemoryStore,
  directory: string,
  id: string,
  options: { readonly onCommitted?: CommitListener } = {},
): Promise<Result<MemoryOpOutcome, MemoryError>> {
  const claim = claimPending(directory, id);
  if (!claim.ok) return claim;
  const { record } = claim.value;
  const op = pendingOperation(record);
  const { curation } = record.payload;
  if (!op && !curation) {
    claim.value.giveBack();
    return err({
      kind: "bad_action",
      message: `Pending write '${id}' holds no usable operation. Reject it.`,
    });
  }
  const target = record.payload.target as MemoryTarget; // the store checks it
  const guard = (): MemoryError | undefined =>
    claim.value.isStillHeld()
      ? undefined
      : {
          kind: "no_match",
          message: `Pending memory write '${id}' was taken away while it was being approved.`,
        };
  const meta = { origin: "approval", reason: `approved ${id}`, ...groupOf(record) } as const;
  const outcome = op
    ? await store.applyAll(target, [op], meta, { guard })
    : await store.curate(target, curation ?? { remove: [] }, meta, { guard });
  if (outcome.ok) announce(outcome.value, options.onCommitted);
  try {
    if (outcome.ok) claim.value.finish();
    else claim.value.giveBack();
  } catch (cause) {
    if (!outcome.ok) return outcome;
    const warning = `Saved, but its pending record could not be removed: ${describeCause(cause)}.`;
    return ok({ ...outcome.value, warning });
  }
  return outcome;
}

function groupOf({ group }: PendingRecord): { group?: string } {
  return group === undefined ? {} : { group };
}

/** The operation a record stands for; undefined when it makes no sense. */
export function pendingOperation({ payload }: PendingRecord): MemoryOp | undefined {
  const { action, content, old_text } = payload;
  const match = payload.match === undefined ? {} : { match: payload.match };
  if (action === "add" && content !== null) return { action, content };
  if (action === "replace" && content !== null && old_text !== null)
    return { action, oldText: old_text, content, ...match };
  if (action === "remove" && old_text !== null) return { action, oldText: old_text, ...match };
  return undefined;
}

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
  const ops = pendingOperations(record);
  const { curation } = record.payload;
  if (!ops && !curation) {
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
  const outcome = ops
    ? await store.applyAll(target, ops, meta, { guard })
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

/** The operations a record stands for, one or those of a batch; undefined when one of them makes no sense. */
export function pendingOperations({ payload }: PendingRecord): readonly MemoryOp[] | undefined {
  const { operations } = payload;
  const ops = payload.action === "batch" ? (operations ?? []).map(operationOf) : [operationOf(payload)];
  return ops.length > 0 && ops.every((op) => op !== undefined) ? ops : undefined;
}

type Step = {
  readonly action: string;
  readonly content?: string | null;
  readonly old_text?: string | null;
  readonly match?: "entry";
};

function operationOf({ action, content = null, old_text = null, match: how }: Step): MemoryOp | undefined {
  const match = how === undefined ? {} : { match: how };
  if (action === "add" && content !== null) return { action, content };
  if (action === "replace" && content !== null && old_text !== null)
    return { action, oldText: old_text, content, ...match };
  if (action === "remove" && old_text !== null) return { action, oldText: old_text, ...match };
  return undefined;
}

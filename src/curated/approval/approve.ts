// Replays a staged write. The gate is behind it; scan, drift check and budget are not.
import { err, type Result } from "../../lib/index.ts";
import type { MemoryStore } from "../store.ts";
import type { MemoryError, MemoryOp, MemoryOpOutcome, MemoryTarget } from "../types.ts";
import { claimPending } from "./claims.ts";
import type { PendingPayload } from "./pending.ts";

/** The record goes when its write is committed; after a failure it waits on. */
export async function approvePending(
  store: MemoryStore,
  directory: string,
  id: string,
): Promise<Result<MemoryOpOutcome, MemoryError>> {
  const claim = claimPending(directory, id);
  if (!claim.ok) return claim;
  const op = opOf(claim.value.record.payload);
  if (!op) {
    claim.value.giveBack();
    return err({
      kind: "bad_action",
      message: `Pending write '${id}' holds no usable operation. Reject it.`,
    });
  }
  const target = claim.value.record.payload.target as MemoryTarget; // the store checks it
  const outcome = await store.apply(target, op, { origin: "approval", reason: `approved ${id}` });
  if (outcome.ok) claim.value.finish();
  else claim.value.giveBack();
  return outcome;
}

function opOf({ action, content, old_text }: PendingPayload): MemoryOp | undefined {
  if (action === "add" && content !== null) return { action, content };
  if (action === "replace" && content !== null && old_text !== null)
    return { action, oldText: old_text, content };
  if (action === "remove" && old_text !== null) return { action, oldText: old_text };
  return undefined;
}

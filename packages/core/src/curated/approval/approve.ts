// The approval of writes, when `memory.write_approval` is on: ask the user or stage the write, and apply a staged write once the
// user approves it.
import {
  describeCause,
  ok,
  pyStrip,
  type Result,
  removeStagedFile,
  takeCodePoints,
} from "../../lib/index.ts";
import type { MemoryStore } from "../memory-store.ts";
import {
  type MemoryCuration,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryTarget,
  memoryError,
  refused,
} from "../types.ts";
import { announce, type CommitListener } from "../write-plan.ts";
import {
  type PendingPayload,
  type PendingRecord,
  type PendingStep,
  readPendingWrite,
  stagePending,
} from "./pending.ts";

// ---- Asking ----

/** Asks the user. `once` and `session` mean yes, `deny` means no; after any other answer the write is staged. */
export type ApprovalCallback = (
  command: string,
  description: string,
  options: { allowPermanent: false },
) => string | Promise<string>;

export type GateDecision = "write" | "stage" | "deny";

const SUMMARY_CHARS = 120;
const VERBS = { add: "add to", replace: "replace in", remove: "remove from" } as const;

/** Without a callback, as in a background review, there is no user to ask, and the write is staged. */
export async function askForApproval(
  target: MemoryTarget,
  ops: readonly MemoryOp[],
  approve: ApprovalCallback | undefined,
): Promise<GateDecision> {
  if (!approve) return "stage";
  const header = headerOf(target, ops);
  try {
    const answer = await approve(detailOf(ops) || header, `Save to memory: ${header}`, {
      allowPermanent: false,
    });
    if (answer === "once" || answer === "session") return "write";
    return answer === "deny" ? "deny" : "stage";
  } catch {
    return "stage"; // the user could not be asked
  }
}

function headerOf(target: MemoryTarget, ops: readonly MemoryOp[]): string {
  const [op] = ops;
  const place = target === "user" ? "user profile" : "memory";
  return op !== undefined && ops.length === 1
    ? `${VERBS[op.action]} ${place}`
    : `apply ${ops.length} changes to ${place}`;
}

function detailOf(ops: readonly MemoryOp[]): string {
  const [op] = ops;
  if (op !== undefined && ops.length === 1) return textOf(op);
  return ops.map((each) => `${each.action}: ${textOf(each)}`).join("\n");
}

function textOf(op: MemoryOp): string {
  if (op.action === "add") return op.content;
  return op.action === "replace" ? `old: ${op.oldText}\nnew: ${op.content}` : op.oldText;
}

// ---- Staging ----

/** Several operations are one record, so that they are approved together or not at all. */
export function stageOperations(
  directory: string,
  target: MemoryTarget,
  ops: readonly MemoryOp[],
  origin: string,
): Result<PendingRecord, MemoryError> {
  const payload = payloadOf(target, ops);
  const summary = pyStrip(`${headerOf(target, ops)}: ${takeCodePoints(detailOf(ops), SUMMARY_CHARS)}`);
  return stagePending(directory, { action: payload.action, summary, origin, payload }, new Date());
}

function payloadOf(target: MemoryTarget, ops: readonly MemoryOp[]): PendingPayload {
  const [op] = ops;
  if (op === undefined || ops.length > 1)
    return { action: "batch", target, content: null, old_text: null, operations: ops.map(stepOf) };
  const { action, content = null, old_text = null, match } = stepOf(op);
  return { action, target, content, old_text, match };
}

function stepOf(op: MemoryOp): PendingStep {
  return {
    action: op.action,
    content: op.action === "remove" ? undefined : op.content,
    old_text: op.action === "add" ? undefined : op.oldText,
    match: op.action !== "add" && op.match === "entry" ? op.match : undefined,
  };
}

type CurationDraft = {
  readonly target: MemoryTarget;
  readonly curation: MemoryCuration;
  readonly summary: string;
  /** Eight hex digits; shared by the records of one run. */
  readonly group: string;
};

/** Stages a tidying step of the curator. It is approved and rejected like every staged write. */
export function stageCuration(
  directory: string,
  { target, curation, summary, group }: CurationDraft,
  now: Date,
): Result<PendingRecord, MemoryError> {
  const payload = {
    action: "curate",
    target,
    // Other programs look at these two when they search for a text.
    content: curation.text ?? null,
    old_text: curation.remove[0] ?? null,
    curation,
  };
  return stagePending(directory, { action: "curate", summary, origin: "curator", payload, group }, now);
}

// ---- Approving ----

/**
 * Scan, drift check and budget apply as to any write. The record is deleted once its write is committed, under the same lock, so that of
 * two approvers only one can act on it; after a failure it stays.
 */
export async function approvePending(
  store: MemoryStore,
  directory: string,
  id: string,
  options: { readonly onCommitted?: CommitListener } = {},
): Promise<Result<MemoryOpOutcome, MemoryError>> {
  const read = readPendingWrite(directory, id);
  if (!read.ok) return read;
  const { payload, group } = read.value;
  const ops = pendingOperations(read.value);
  if (!ops && !payload.curation)
    return refused({
      kind: "bad_action",
      message: `Pending write '${id}' holds no usable operation. Reject it.`,
    });
  let warning: string | undefined;
  const hooks = {
    guard: () => {
      const message = `Pending memory write '${id}' was taken away while it was being approved.`;
      return readPendingWrite(directory, id).ok ? undefined : memoryError({ kind: "no_match", message });
    },
    onDone: () => {
      try {
        removeStagedFile(directory, id);
      } catch (cause) {
        warning = `Saved, but its pending record could not be removed: ${describeCause(cause)}.`;
      }
    },
  };
  const { target } = payload;
  const meta = { origin: "approval", reason: `approved ${id}`, group } as const;
  const outcome = ops
    ? await store.applyAll(target, ops, meta, hooks)
    : await store.curate(target, payload.curation ?? { remove: [] }, meta, hooks);
  if (!outcome.ok) return outcome;
  announce(outcome.value, options.onCommitted);
  return warning === undefined ? outcome : ok({ ...outcome.value, warning });
}

/** The operations of a record, one or those of a batch; undefined when one of them is not valid. */
export function pendingOperations({ payload }: PendingRecord): readonly MemoryOp[] | undefined {
  const { operations = [] } = payload;
  const ops = payload.action === "batch" ? operations.map(operationOf) : [operationOf(payload)];
  return ops.length > 0 && ops.every((op) => op !== undefined) ? ops : undefined;
}

function operationOf(step: PendingStep | PendingPayload): MemoryOp | undefined {
  const { action, content, old_text: oldText, match } = step;
  if (action === "add" && typeof content === "string") return { action, content };
  if (typeof oldText !== "string") return undefined;
  if (action === "replace" && typeof content === "string") return { action, oldText, content, match };
  if (action === "remove") return { action, oldText, match };
  return undefined;
}

// Plans one or several operations as a single change: all of them or none, the budget checked on the final list.
import { err, ok, type Result } from "../lib/index.ts";
import { checkBudget, type Edit, editEntries } from "./change.ts";
import { archivedMessage, makeRoom } from "./overflow.ts";
import { isPinned, type Pins } from "./pins.ts";
import type { Plan } from "./target-store.ts";
import type { MemoryError, MemoryOp, MemoryTarget } from "./types.ts";

export type OpsContext = {
  readonly target: MemoryTarget;
  readonly limit: number;
  readonly overflow: "refuse" | "archive";
};

/** The operations are checked and stripped already. */
export function planOps(
  before: readonly string[],
  ops: readonly MemoryOp[],
  context: OpsContext,
  pins: () => Pins,
): Result<Plan, MemoryError> {
  const edited = editAll(before, ops);
  if (!edited.ok) return edited;
  const edit = edited.value;
  const action = ops.length === 1 ? (ops[0] as MemoryOp).action : "group";
  const tooMuch = checkBudget(before, edit, ops.length === 1 ? ops[0] : undefined, context.limit);
  if (!tooMuch) return ok({ action, ...edit });
  if (context.overflow === "refuse" || !ops.some((op) => op.action === "add")) return err(tooMuch);
  const pinned = pins();
  const written = new Set(edit.changes.map(({ after }) => after));
  const room = makeRoom(
    edit,
    context.limit,
    (entry) => written.has(entry) || isPinned(pinned, context.target, entry),
  );
  if (!room) return err(tooMuch);
  const message = `${edit.message} ${archivedMessage(room.archived.length)}`;
  return ok({ action, ...room.edit, message, archive: room.archived });
}

function editAll(before: readonly string[], ops: readonly MemoryOp[]): Result<Edit, MemoryError> {
  let total: Edit = { entries: before, changes: [], message: "" };
  for (const [index, op] of ops.entries()) {
    const step = editEntries(total.entries, op);
    if (!step.ok) return ops.length === 1 ? step : err(atStep(step.error, index));
    const { entries, changes, message } = step.value;
    total = { entries, changes: [...total.changes, ...changes], message };
  }
  if (ops.length === 1) return ok(total);
  return ok({ ...total, message: `${ops.length} operations applied.` });
}

/** Which of several operations failed. */
export function atStep<E extends Pick<MemoryError, "message">>(error: E, index: number): E {
  return {
    ...error,
    message: `Operation ${index + 1}: ${error.message} None of the operations was applied.`,
  };
}

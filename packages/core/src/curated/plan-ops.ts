// Plans of changes. Several operations are one change: all of them or none, the budget checked on the final list.
import { err, ok, type Result } from "../lib/index.ts";
import type { ArchivedEntry } from "./archive.ts";
import { isOver, measure } from "./budget.ts";
import { applyChange, checkBudget, type Edit, editEntries } from "./change.ts";
import { problemComingBack, type ScanOptions } from "./content-check.ts";
import { isPinned, type Pins } from "./pins.ts";
import type { Plan } from "./target-store.ts";
import type { Change, MemoryError, MemoryOp, MemoryTarget } from "./types.ts";

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

/**
 * Chooses the older entries that move to the archive so that the rest fits. The oldest stand first in the file. Those in `isKept`
 * (pinned, or written by this very change) stay. Undefined when there is no room to be made that way; then nothing moves.
 */
function makeRoom(
  edit: Edit,
  limit: number,
  isKept: (entry: string) => boolean,
): { readonly edit: Edit; readonly archived: readonly string[] } | undefined {
  let entries = edit.entries;
  const changes: Change[] = [...edit.changes];
  const archived: string[] = [];
  while (isOver(measure(entries, limit))) {
    const at = entries.findIndex((entry) => !isKept(entry));
    const before = entries[at];
    if (before === undefined) return undefined;
    const change = { at, before, after: null };
    entries = applyChange(entries, change);
    changes.push(change);
    archived.push(before);
  }
  return { edit: { ...edit, entries, changes }, archived };
}

function archivedMessage(count: number): string {
  const moved = count === 1 ? "1 older entry was" : `${count} older entries were`;
  return `${moved} moved to the archive to make room (the memory tool's 'search_archive' and 'hermes memory archive list' show them, 'hermes memory archive restore' brings them back).`;
}

export function planRestore(
  entries: readonly string[],
  { text }: ArchivedEntry,
  limit: number,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  const problem = problemComingBack(text, scan);
  if (problem) return err(problem);
  const op = { action: "add", content: text } as const;
  const edited = editEntries(entries, op);
  if (!edited.ok) return edited;
  const tooMuch = checkBudget(entries, edited.value, op, limit);
  if (tooMuch) return err(tooMuch);
  return ok({ action: "restore", ...edited.value, message: "Entry restored from the archive." });
}

/** What `undo` would refuse to bring back (the scanner's or the budget's doing) is kept as a backup. */
export function planReset(
  entries: readonly string[],
  hash: string | null,
  limit: number,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  if (hash === null)
    return ok({ action: "reset", entries: [], changes: [], message: "There was no file to delete." });
  const changes = entries.map((before) => ({ at: 0, before, after: null }));
  const canComeBack =
    !isOver(measure(entries, limit)) && entries.every((entry) => !problemComingBack(entry, scan));
  const message = canComeBack
    ? "File deleted."
    : "File deleted. Undo could not bring all of it back, so a backup was kept.";
  return ok({
    action: "reset",
    entries: [],
    changes,
    message,
    isFileRemoved: true,
    isBackedUp: !canComeBack,
  });
}

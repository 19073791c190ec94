// Takes one recorded change back, if the list still allows it.
import { err, ok, preview, type Result } from "../lib/index.ts";
import { applyChange, checkBudget } from "./change.ts";
import { problemComingBack, type ScanOptions } from "./content-check.ts";
import { type ReplayedChange, whyNotUndoable } from "./journal/replay.ts";
import type { Plan, Planner, TargetStore } from "./target-store.ts";
import type { Change, MemoryError } from "./types.ts";

/** Looks the change up again under the lock: another process may have taken it back a moment ago. */
export function undoPlanner(
  store: TargetStore,
  candidate: ReplayedChange,
  scan: ScanOptions,
  options: { readonly isRestoring?: boolean } = {},
): Planner {
  return ({ entries, hash }) => {
    const replay = store.journal.replay(hash);
    const change = replay.change(candidate.id);
    if (!change) return err(refusal(candidate, "it is not in the journal any more"));
    const revived = change.undoes === undefined ? undefined : replay.change(change.undoes);
    // What came out of the archive goes back there, and so does what a change brought to life again had moved there.
    const moved =
      change.action === "restore" ? change.changes.flatMap(({ after }) => after ?? []) : revived?.archived;
    return planUndo(entries, change, { limit: store.limit, scan, moved, ...options });
  };
}

/**
 * Texts that come back are scanned again: what was fine once need not be fine now. `moved` are the texts that the change
 * brought to life again had moved to the archive; they go back there. `isRestoring`: a whole run is taken back, and the file becomes what
 * it was. Its texts stood there before, however many and whatever they say; what must not reach a prompt is kept out when it is built.
 */
export function planUndo(
  entries: readonly string[],
  change: ReplayedChange,
  {
    limit,
    scan,
    moved = [],
    isRestoring = false,
  }: { limit: number; scan: ScanOptions; moved?: readonly string[] | undefined; isRestoring?: boolean },
): Result<Plan, MemoryError> {
  const reason = whyNotUndoable(change);
  if (reason) return err(refusal(change, reason));
  let list = entries;
  const changes: Change[] = [];
  for (const done of change.changes.toReversed()) {
    const step = invert(list, done);
    if (!step.ok) return err(refusal(change, step.error));
    const problem =
      step.value.after === null || isRestoring ? undefined : problemComingBack(step.value.after, scan);
    if (problem) return err(problem);
    list = applyChange(list, step.value);
    changes.push(step.value);
  }
  const archive = moved.filter((text) => entries.includes(text) && !list.includes(text));
  const plan: Plan = {
    action: "undo",
    entries: list,
    changes,
    archive,
    undoes: change.id,
    message: `Took back ${change.action} ${change.id}.`,
  };
  const tooMuch = isRestoring ? undefined : checkBudget(entries, plan, undefined, limit);
  return tooMuch ? err(tooMuch) : ok(plan);
}

function invert(list: readonly string[], { at, before, after }: Change): Result<Change, string> {
  if (after === null) {
    if (before === null) throw new Error("a change without before and after");
    if (list.includes(before)) return err(`${quote(before)} is stored again`);
    return ok({ at: Math.min(at, list.length), before: null, after: before });
  }
  const index = list.indexOf(after);
  if (index < 0) return err(`${quote(after)} is not in memory any more`);
  if (before !== null && list.includes(before)) return err(`${quote(before)} is stored again`);
  return ok({ at: index, before: after, after: before });
}

function refusal(change: ReplayedChange, why: string): MemoryError {
  return {
    kind: "no_match",
    message: `Cannot take back ${change.action} ${change.id}: ${why}. 'hermes memory history' lists the changes.`,
  };
}

function quote(text: string): string {
  return `'${preview(text, 40)}'`;
}

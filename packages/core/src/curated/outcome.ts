// What a committed change comes back as.
import { measure, usageWarning } from "./budget.ts";
import { describeGap } from "./target-lock.ts";
import type { Committed, Plan, TargetStore } from "./target-store.ts";
import type { MemoryOpOutcome } from "./types.ts";

export function outcomeOf(store: TargetStore, committed: Committed): MemoryOpOutcome {
  const { plan, changeId, lockGap } = committed;
  const budget = measure(plan.entries, store.limit);
  const warnings = [committed.warning, usageWarning(budget), lockGap && describeGap(lockGap)].filter(
    (each) => each !== undefined,
  );
  const outcome: { -readonly [K in keyof MemoryOpOutcome]: MemoryOpOutcome[K] } = {
    target: store.target,
    message: plan.message,
    entries: plan.entries.slice(),
    entryCount: plan.entries.length,
    usedChars: budget.used,
    charLimit: budget.limit,
  };
  if (warnings.length > 0) outcome.warning = warnings.join(" ");
  if (plan.archive?.length) outcome.archived = plan.archive;
  if (changeId !== undefined) {
    outcome.changeId = changeId;
    outcome.changes = plan.changes;
    if (isMakingRoom(plan)) outcome.madeRoom = true;
    const removed = textsGone(plan);
    if (removed.length > 0) outcome.removed = removed;
  }
  return outcome;
}

/** A tidying step and an undo archive what they are about; an ordinary write archives whatever is in its way. */
function isMakingRoom({ action, archive = [], isRewritten = false }: Plan): boolean {
  return (
    archive.length > 0 && !isRewritten && (action === "add" || action === "replace" || action === "group")
  );
}

/** In the order they went, each once. What moved to the archive is told apart. */
function textsGone({ changes, entries, archive = [] }: Plan): string[] {
  const gone = changes.flatMap(({ before }) => (before === null ? [] : [before]));
  return [...new Set(gone)].filter((text) => !entries.includes(text) && !archive.includes(text));
}

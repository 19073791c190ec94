// What a committed change comes back as.
import { measure, usageWarning } from "./budget.ts";
import type { Change } from "./change.ts";
import type { Committed, Plan, TargetStore } from "./target-store.ts";
import type { MemoryOpOutcome } from "./types.ts";

export function outcomeOf(store: TargetStore, { plan, changeId }: Committed): MemoryOpOutcome {
  const budget = measure(plan.entries, store.limit);
  const warning = usageWarning(budget);
  const outcome: { -readonly [K in keyof MemoryOpOutcome]: MemoryOpOutcome[K] } = {
    target: store.target,
    message: plan.message,
    entries: plan.entries.slice(),
    entryCount: plan.entries.length,
    usedChars: budget.used,
    charLimit: budget.limit,
  };
  if (warning !== undefined) outcome.warning = warning;
  if (plan.archive?.length) outcome.archived = plan.archive;
  if (changeId !== undefined) outcome.changeId = changeId;
  if (changeId !== undefined) outcome.changes = lastingChanges(plan);
  return outcome;
}

function lastingChanges({ action, changes, archive = [], isRewritten = false }: Plan): readonly Change[] {
  // A tidying step and an undo archive what they are about; an ordinary write archives whatever is in its way.
  const isMakingRoom = !isRewritten && (action === "add" || action === "replace" || action === "group");
  return changes.filter(
    ({ before, after }) => !(isMakingRoom && after === null && before !== null && archive.includes(before)),
  );
}

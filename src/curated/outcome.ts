// What a committed change comes back as.
import { measure, usageWarning } from "./budget.ts";
import type { Change } from "./change.ts";
import { describeGap } from "./target-lock.ts";
import type { Committed, Plan, TargetStore } from "./target-store.ts";
import type { MemoryOpOutcome } from "./types.ts";

export function outcomeOf(store: TargetStore, { plan, changeId, lockGap }: Committed): MemoryOpOutcome {
  const budget = measure(plan.entries, store.limit);
  const warnings = [usageWarning(budget), lockGap && describeGap(lockGap)].filter(
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

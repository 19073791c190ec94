// The curator: keeps memory and skills tidy, and can take back what it did. Importing it loads no zod and no model.
export { tidyUp } from "./leftovers.ts";
export { maybeRunCurator, type ScheduledOptions, type ScheduledOutcome } from "./maybe-run.ts";
export { type RunRecord, readRuns } from "./report.ts";
export {
  findRollback,
  type RollbackPlan,
  type RollbackProblem,
  type RolledBack,
  rollBack,
  rollbackPlans,
} from "./rollback.ts";
export { type CuratorOptions, type CuratorProblem, runCurator } from "./run-curator.ts";
export { currentRunner } from "./run-lock.ts";
export { curatorDue, type Due } from "./schedule.ts";
export { listArchivedSkills, restoreArchivedSkill } from "./skills/archive.ts";
export {
  listSnapshots,
  restoreSnapshot,
  takeSnapshot,
} from "./skills/snapshots.ts";
export { type CuratorState, changeState, readState } from "./state.ts";
export type {
  CuratorMode,
  CuratorRun,
  CuratorScope,
  Decided,
  Finding,
  Outcome,
  SkillMark,
} from "./types.ts";

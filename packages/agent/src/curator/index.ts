// The curator: keeps memory and skills tidy, and can take back what it did. Importing it loads no zod and no model.

export { type CuratorState, changeState, readState } from "./curator-state.ts";
export type {
  CuratorMode,
  CuratorRun,
  CuratorScope,
  Decided,
} from "./proposals.ts";
export {
  findRollback,
  listArchivedSkills,
  type RollbackPlan,
  type RollbackProblem,
  type RolledBack,
  restoreArchivedSkill,
  rollBack,
  rollbackPlans,
} from "./rollback.ts";
export {
  type CuratorOptions,
  type CuratorProblem,
  curatorDue,
  type Due,
  maybeRunCurator,
  runCurator,
  type ScheduledOptions,
  type ScheduledOutcome,
} from "./run-curator.ts";
export { currentRunner, tidyUp } from "./run-lock.ts";
export { readRuns } from "./run-report.ts";
export { listBackups, restoreBackup } from "./skills/skill-backups.ts";

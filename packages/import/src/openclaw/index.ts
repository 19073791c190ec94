// The migration from OpenClaw: discovery, planning, applying, the report, and renaming what is left.
export { applyPlan } from "./apply.ts";
export { expanded, sourceFolder, stateFolders } from "./discover.ts";
export { selectOptions } from "./options.ts";
export { type Plan, planMigration } from "./plan.ts";
export type {
  ImportSessions,
  Item,
  MigrationRequest,
  Status,
} from "./plan-context.ts";
export { connectedPlatforms, openClawProcesses, systemProcesses } from "./processes.ts";
export { hasConflict, type Report, reportOf, writeReport } from "./report.ts";
export { describeLeftover, type Leftover, renameLeftover } from "./runs.ts";
export { snapshotHome } from "./snapshot.ts";

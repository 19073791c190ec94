// The migration from OpenClaw: discovery, planning, applying, the report, and renaming what is left.
export { applyPlan } from "./apply.ts";
export { describeLeftover, type Leftover, renameLeftover } from "./cleanup.ts";
export { expanded, sourceFolder, stateFolders } from "./discover.ts";
export type { ImportSessions, Item, Status } from "./operation.ts";
export { selectOptions } from "./options.ts";
export { type Plan, planMigration } from "./plan.ts";
export { ARCHIVED_REASON, type MigrationRequest } from "./plan-context.ts";
export { connectedPlatforms, openClawProcesses, systemProcesses } from "./processes.ts";
export { hasConflict, type Report, reportOf, writeReport } from "./report.ts";
export { snapshotHome } from "./snapshot.ts";

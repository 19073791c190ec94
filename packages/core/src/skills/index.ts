// Skills: files with instructions for an agent. Importing this loads no YAML library; reading the first skill does.
export {
  approveSkillChange,
  diffSkillChange,
  type PendingSkillChange,
  readPendingSkills,
  rejectSkillChange,
} from "./approval.ts";
export { type ArchivedSkill, archiveSkill, listArchivedSkills, restoreSkill } from "./change/archive.ts";
export { changeSkill } from "./change/change-skill.ts";
export { expectedPath } from "./change/skill-call.ts";
export {
  archiveDirectory,
  changeLockPath,
  pendingSkillsDirectory,
  skillsDirectory,
  snapshotPath,
} from "./paths.ts";
export { type Provenance, provenanceOf, readOrigins } from "./provenance.ts";
export { findingsInSkills, type StoredFinding } from "./scan.ts";
export {
  nameProblem,
  SKILL_ACTIONS,
  type Skill,
  type SkillAction,
  type SkillError,
  type SkillOrigin,
} from "./skill.ts";
export { buildSkillsIndex, SkillStore, type SkillStoreOptions } from "./store.ts";
export {
  type SkillManageContext,
  type SkillViewContext,
  skillManageSchema,
  skillManageTool,
  skillsListSchema,
  skillsListTool,
  skillTools,
  skillViewSchema,
  skillViewTool,
} from "./tools.ts";
export { type HistoryEntry, type SkillUndone, skillHistory, undoSkillChange } from "./undo.ts";
export {
  changeUsage,
  isoTime,
  markReplaced,
  NO_USAGE,
  readUsage,
  type SkillUsage,
  setPinned,
  type UsageChange,
} from "./usage.ts";
export { findUsable, viewSkill, viewSkillFile } from "./view.ts";

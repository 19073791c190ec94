// The door to skills. Importing it loads no YAML: that comes with the first skill that has to be read.
export { approveSkillChange, diffSkillChange, rejectSkillChange } from "./approval/approve.ts";
export {
  type PendingSkillChange,
  readPendingSkills,
} from "./approval/pending.ts";
export { type ArchivedSkill, archiveSkill, listArchivedSkills, restoreSkill } from "./change/archive.ts";
export { expectedPath } from "./change/conditions.ts";
export { changeSkill } from "./change/perform.ts";
export { type HistoryEntry, type SkillUndone, skillHistory, undoSkillChange } from "./history/undo.ts";
export { nameProblem } from "./names.ts";
export {
  archiveDirectory,
  changeLockPath,
  pendingSkillsDirectory,
  skillsDirectory,
  snapshotPath,
} from "./paths.ts";
export { buildSkillsIndex } from "./prompt-index.ts";
export { type Provenance, provenanceOf, readOrigins } from "./provenance.ts";
export { SkillStore, type SkillStoreOptions } from "./store.ts";
export { findingsInSkills, type StoredFinding } from "./stored-findings.ts";
export { skillTools } from "./tools/entries.ts";
export { skillManageSchema, skillsListSchema, skillViewSchema } from "./tools/schemas.ts";
export { type SkillManageContext, skillManageTool } from "./tools/skill-manage.ts";
export { type SkillViewContext, skillViewTool } from "./tools/skill-view.ts";
export { skillsListTool } from "./tools/skills-list.ts";
export {
  SKILL_ACTIONS,
  type Skill,
  type SkillAction,
  type SkillError,
  type SkillOrigin,
} from "./types.ts";
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
export { findUsable, viewSkill, viewSkillFile } from "./view/view.ts";

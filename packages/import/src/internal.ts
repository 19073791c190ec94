// What the command line imports with.
export type { NoteFormat } from "./notes/note-format.ts";
export {
  applyNotes,
  keepOverflow,
  type NoteStatus,
  overflowOf,
  type PlannedNote,
  planNotes,
} from "./notes/plan-notes.ts";
export { NOTE_FORMATS, type NoteSource, notesHere, readNotes } from "./notes/read-notes.ts";
export { applyPlan } from "./openclaw/apply.ts";
export { expanded, sourceFolder, stateFolders } from "./openclaw/discover.ts";
export { selectOptions } from "./openclaw/options.ts";
export { type Plan, planMigration } from "./openclaw/plan.ts";
export type {
  ImportSessions,
  Item,
  MigrationRequest,
  Status,
} from "./openclaw/plan-context.ts";
export { connectedPlatforms, openClawProcesses, systemProcesses } from "./openclaw/processes.ts";
export { hasConflict, type Report, reportOf, writeReport } from "./openclaw/report.ts";
export { describeLeftover, type Leftover, renameLeftover } from "./openclaw/runs.ts";
export { snapshotHome } from "./openclaw/snapshot.ts";
export { readerOf, sampleOf } from "./transcripts/find-reader.ts";
export {
  type Filters,
  type ImportProgress,
  type ImportReport,
  importTranscripts,
  type SourceReport,
  type Wanted,
} from "./transcripts/import-transcripts.ts";
export { DEFAULT_PREPARE, type PrepareOptions } from "./transcripts/prepare.ts";
export type { Place, TranscriptReader } from "./transcripts/reader.ts";
export { openclaw, READERS, readerNamed } from "./transcripts/readers.ts";
export {
  importStateDatabase,
  isSameFile,
  lookInto,
  type StateImported,
  stateDatabaseAt,
} from "./transcripts/state-db.ts";
export { dryTarget, storeTarget } from "./transcripts/target.ts";
export { watchTranscripts } from "./transcripts/watch.ts";

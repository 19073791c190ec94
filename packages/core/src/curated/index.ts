// L1, curated memory: two bounded files, one tool, a journal of every change.
export {
  type ApprovalCallback,
  approvePending,
  pendingOperations,
  stageCuration,
  stageOperations,
} from "./approval/approve.ts";
export {
  type PendingRecord,
  type PendingWrites,
  readPendingWrites,
  rejectPending,
} from "./approval/pending.ts";
export { type ArchivedEntry, hasArchive, rankByWords, withAllWords } from "./archive.ts";
export {
  type BlockedEntry,
  buildSnapshot,
  type Drift,
  ENTRY_DELIMITER,
  entryId,
  entryIds,
  fileNameOf,
  findDrift,
  formatFraction,
  formatUsage,
  looksLikeId,
  measure,
  parseEntries,
  placeholder,
  type ScanOptions,
  scanOptions,
  usageWarning,
  withoutDuplicates,
} from "./entries.ts";
export { eraseMemoryFiles, type Forgotten, type Purged } from "./erase.ts";
export { explainGap, listBackups } from "./file-errors.ts";
export { memoryHistoryEntry } from "./history-tool.ts";
export { Journal } from "./journal.ts";
export type { ReplayedChange } from "./journal-replay.ts";
export {
  listTemps,
  locate,
  pinsPath,
  readMemoryFile,
  STALE_AFTER_MS,
  targetPaths,
} from "./memory-file.ts";
export {
  type Explanation,
  explanationLines,
  type HistoryChange,
  type HistoryLine,
} from "./memory-history.ts";
export { MemoryStore } from "./memory-store.ts";
export {
  curatedTools,
  type MemoryToolContext,
  memoryTool,
  memoryToolPreview,
  type OpenedMemory,
} from "./memory-tool.ts";
export { readPins } from "./pins.ts";
export { memoryToolSchema } from "./tool-schema.ts";
export {
  type Change,
  type CommittedWrite,
  DEFAULT_MEMORY_CHAR_LIMIT,
  DEFAULT_USER_CHAR_LIMIT,
  type EntryMatch,
  type EntryName,
  MEMORY_TARGETS,
  type MemoryCuration,
  type MemoryError,
  type MemoryErrorFields,
  type MemoryErrorKind,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStoreOptions,
  type MemoryTarget,
  type WriteMeta,
  type WriteOrigin,
} from "./types.ts";
export { committedWrites } from "./write-plan.ts";

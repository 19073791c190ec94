// L1, curated memory: two bounded files, one tool, a journal of every change.
export { approvePending, pendingOperations } from "./approval/approve.ts";
export { readPendingWrites, rejectPending, staleClaims } from "./approval/claims.ts";
export { stageCuration } from "./approval/curation.ts";
export type { ApprovalCallback } from "./approval/gate.ts";
export {
  CURATOR_TEMP,
  lookAtPending,
  type PendingRecord,
  type PendingWrites,
} from "./approval/pending.ts";
export type { ArchivedEntry } from "./archive.ts";
export { listBackups } from "./backup.ts";
export { formatFraction, formatUsage, measure, usageWarning } from "./budget.ts";
export { committedWrites } from "./committed-write.ts";
export { scanOptions } from "./content-check.ts";
export { type Drift, findDrift } from "./drift.ts";
export { entryId, entryIds, looksLikeId } from "./entry-id.ts";
export type { Explanation } from "./explain.ts";
export type { Forgotten } from "./forget/sweep-target.ts";
export { ENTRY_DELIMITER, fileNameOf, parseEntries, withoutDuplicates } from "./format.ts";
export type { HistoryChange, HistoryLine } from "./history.ts";
export { Journal } from "./journal/journal.ts";
export type { ReplayedChange } from "./journal/replay.ts";
export { readMemoryFile } from "./memory-file.ts";
export { lockPaths, pinsPath, targetPaths } from "./paths.ts";
export { readPins } from "./pins.ts";
export type { Purged } from "./purge.ts";
export { withAllWords } from "./search-archive.ts";
export { type BlockedEntry, buildSnapshot } from "./snapshot.ts";
export { listTemps, STALE_AFTER_MS } from "./stale-temps.ts";
export { MemoryStore } from "./store.ts";
export type { MemoryStoreOptions } from "./store-options.ts";
export { explainGap } from "./target-lock.ts";
export { type MemoryToolContext, memoryTool } from "./tool.ts";
export { memoryToolSchema } from "./tool-schema.ts";
export { curatedTools, memoryHistoryEntry, memoryToolPreview, type OpenedMemory } from "./tools.ts";
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
  type MemoryErrorKind,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryTarget,
  type WriteMeta,
  type WriteOrigin,
} from "./types.ts";

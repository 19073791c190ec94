// The library's door: every public name, one by one.

export { type ConfigError, loadMemoryConfig, type MemoryConfig } from "./config/index.ts";
export {
  type ApprovalCallback,
  type ArchivedEntry,
  approvePending,
  type BlockedEntry,
  type Change,
  DEFAULT_MEMORY_CHAR_LIMIT,
  DEFAULT_USER_CHAR_LIMIT,
  ENTRY_DELIMITER,
  type Explanation,
  type Forgotten,
  type HistoryLine,
  type MemoryError,
  type MemoryErrorKind,
  type MemoryOp,
  type MemoryOpOutcome,
  MemoryStore,
  type MemoryStoreOptions,
  type MemoryTarget,
  type MemoryToolContext,
  type MemoryUser,
  memoryTool,
  memoryToolPreview,
  memoryToolSchema,
  openMemoryStore,
  type PendingRecord,
  type PendingWrites,
  type Purged,
  type ReplayedChange,
  readPendingWrites,
  rejectPending,
  type WriteMeta,
  type WriteOrigin,
} from "./curated/index.ts";
export {
  type HomeContext,
  memoriesDirectory,
  pendingWritesDirectory,
  resolveHome,
  systemHomeContext,
  userMemoriesDirectory,
} from "./home.ts";
export { type Clock, HermesError, type Result, type TextModel } from "./lib/index.ts";
export {
  redactSecrets,
  scanThreats,
  THREAT_IDS,
  type ThreatFinding,
  type ThreatScope,
} from "./security/index.ts";

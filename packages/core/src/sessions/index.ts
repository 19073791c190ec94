// Layer 2: every conversation, stored in a database.

export { describeHolder, forgetHolder, isDeadHere, newHolder } from "../lib/index.ts";
export type { MessageInput, NewMessage } from "../message/index.ts";
export { describeLoss, type SessionErrorCode, sessionDatabaseUnavailable } from "./errors.ts";
export type { Ask, GatewayRecords, LiveSession } from "./gateway-records.ts";
export {
  checkSessionId,
  newSessionId,
  personKey,
  readMarks,
  readScope,
  type Scope,
  type SessionUser,
  scopeOfUser,
  userOfSession,
  WITHOUT_USER,
} from "./identity.ts";
export { type Maintained, type MaintenanceSettings, maintainSessions } from "./maintain.ts";
export { narrowed, openSessionStore, type SessionStoreOptions } from "./open.ts";
export { longestStart, READ_RESULT, type ResultLimits, readResultEntry } from "./read-result.ts";
export {
  type ActiveSession,
  type AnchoredView,
  type ExportedSession,
  INTERNAL_SOURCES,
  type KeptResult,
  type ListedSession,
  type MessageKey,
  type MessageRow,
  type MessageWindow,
  type SessionRow,
  type SummaryHit,
  type SummaryNode,
  type UserMessagePreview,
} from "./rows.ts";
export { HIDDEN_SOURCES } from "./search/document.ts";
export { isRecallTool } from "./search/ranking.ts";
export { sanitizeFtsQuery } from "./search/sanitize.ts";
export { parseMoment } from "./search/time.ts";
export type {
  EmptyReason,
  SearchAnswer,
  SearchFilters,
  SearchHit,
  SearchOptions,
  SearchRow,
  SearchStage,
} from "./search/types.ts";
export { isStopWord, stem, tokenize } from "./search/words.ts";
export {
  answerJson,
  cleanText,
  leftOutRemark,
  type NamedHit,
  remarksOn,
  shortSnippet,
  weakRemark,
  withTitles,
} from "./search-tool/answer-parts.ts";
export {
  sessionSearchEntry,
  sessionSearchPreview,
  sessionSearchSchema,
  sessionSearchToolSchema,
} from "./search-tool/entry.ts";
export {
  DEFAULT_SESSION_SEARCH_SETTINGS,
  type SessionSearchSettings,
  sessionSearchSettings,
} from "./search-tool/request.ts";
export { type SessionSearchContext, sessionSearchTool } from "./search-tool/tool.ts";
export {
  findOrphans,
  keepResult,
  lostResultNote,
  notedResult,
  type OrphanFile,
  removeKeptResults,
  removeOrphans,
  resultNote,
  STORED_SNAPSHOT,
  withoutResultNote,
} from "./session-files.ts";
export type { RepairOptions, RepairReport } from "./sqlite/repair.ts";
export type {
  AutoMaintenance,
  BetterSummary,
  BranchOptions,
  ContinueOptions,
  ErasedSessions,
  ExportLoss,
  Health,
  HeldLease,
  HomeStore,
  ImportOutcome,
  ListOptions,
  LongWork,
  NewLineageSession,
  NewSession,
  OptimizeOutcome,
  OwnPrompt,
  Progress,
  RewindOutcome,
  SessionFilter,
  SessionMark,
  SessionStore,
  Spend,
  StoreStats,
  TokenUpdate,
  UndoOutcome,
} from "./store.ts";
export { sanitizeTitle } from "./titles.ts";
export { transcriptMark, transcriptSessionId } from "./transcript-id.ts";
export type {
  StoredTranscript,
  TranscriptFinish,
  TranscriptInput,
  TranscriptMerge,
  TranscriptOrigin,
  TranscriptPlace,
  TranscriptRecords,
  TranscriptRow,
  TranscriptState,
  TranscriptWrite,
  UnclaimedChat,
} from "./transcript-records.ts";
export type { RecallTrace, TurnRecord, TurnRecords } from "./turn-records.ts";

/** Loaded when called, like the store itself. */
export async function repairDatabase(
  path: string,
  options?: import("./sqlite/repair.ts").RepairOptions,
): Promise<import("./sqlite/repair.ts").RepairReport> {
  const repair = await import("./sqlite/repair.ts");
  return repair.repairDatabase(path, options);
}

/** A new database with every row of a damaged one that can be read, in a temporary folder until it is disposed of. */
export async function salvageCopy(path: string): Promise<import("./sqlite/salvage/rebuild.ts").SalvageCopy> {
  const { salvageCopy: make } = await import("./sqlite/salvage/rebuild.ts");
  return make(path);
}

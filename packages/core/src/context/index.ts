// Keeps a conversation within the model's window: context engines, token estimates, prompt caching.
export {
  applyPromptCaching,
  type CachingOptions,
  type CachingPolicy,
  cacheTtl,
  cachingPolicy,
} from "./caching.ts";
export {
  type CompressCommand,
  type CompressFeedback,
  compressFeedback,
  parseCompressCommand,
  rejoin,
  splitForPartial,
} from "./compress-command.ts";
export { ContextCompressor, type ContextCompressorOptions } from "./compressor/compressor.ts";
export { handoffBody, isHandoff, isTaskList, withoutHandoff } from "./compressor/handoff.ts";
export { withoutMedia, withShortCalls } from "./compressor/prune.ts";
export {
  type CompressOptions,
  type CompressOutcome,
  type ConfirmDigest,
  type ContextEngine,
  type DigestQuestion,
  ENGINE_CONTRACT,
  type EngineStatus,
  type LeftOut,
  type ModelWindow,
  type Notice,
  type ResponseUsage,
  type SessionStartOptions,
  type Span,
  type StoredMessages,
  type SummaryFailure,
  type UnchangedReason,
} from "./engine.ts";
export { fitMessages, isCutOf } from "./fit.ts";
export { refusedCount, repairPairs, STUB, withoutRefused } from "./list-repair.ts";
export { LosslessEngine, type LosslessEngineOptions } from "./lossless/lossless-engine.ts";
export { losslessSettings } from "./lossless/settings.ts";
export {
  checkEngine,
  type EngineCommand,
  engineTools,
  givenEngine,
  type ListedEngine,
  listEngines,
  type SelectEngineOptions,
  type SelectedEngine,
  selectEngine,
} from "./select-engine.ts";
export { estimateMessage, estimateMessages, estimateRequest, estimateText, leastTokens } from "./tokens.ts";
export {
  type Budgets,
  compressorSettings,
  DEFAULT_SETTINGS,
  deriveBudgets,
  type HygieneDecision,
  type HygieneQuestion,
  hygieneDecision,
  type SummaryFeasibility,
  summaryFeasibility,
  type WindowFit,
  windowFit,
} from "./trigger.ts";

// What keeps a conversation within the model's window.
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
export { handoffBody, isHandoff, isTaskList } from "./compressor/handoff.ts";
export type {
  CompressOutcome,
  LeftOut,
  Notice,
  Span,
  SummaryFailure,
  UnchangedReason,
} from "./engine.ts";
export {
  type CompressOptions,
  type ConfirmDigest,
  type ContextEngine,
  type DigestQuestion,
  ENGINE_CONTRACT,
  type EngineStatus,
  type ModelWindow,
  type ResponseUsage,
  type SessionStartOptions,
} from "./engine.ts";
export type { EngineCommand } from "./engine-plugins.ts";
export { type ListedEngine, listEngines } from "./engine-plugins.ts";
export { fitMessages } from "./fit.ts";
export { compressorSettings, losslessSettings } from "./from-config.ts";
export { refusedCount, repairPairs, withoutRefused } from "./list-repair.ts";
export { LosslessEngine, type LosslessEngineOptions } from "./lossless/engine.ts";
export { engineTools, type SelectEngineOptions, type SelectedEngine, selectEngine } from "./select-engine.ts";
export { estimateMessage, estimateMessages, estimateRequest, estimateText, leastTokens } from "./tokens.ts";
export {
  type Budgets,
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

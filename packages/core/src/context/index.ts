// What keeps a conversation within the model's window.
export { applyPromptCaching, type CachingOptions } from "./caching/apply.ts";
export { type CachingPolicy, cacheTtl, cachingPolicy } from "./caching/policy.ts";
export { ContextCompressor, type ContextCompressorOptions } from "./compressor/compressor.ts";
export { handoffBody, isHandoff, isTaskList } from "./compressor/handoff.ts";
export { repairPairs } from "./compressor/pairs.ts";
export {
  type Budgets,
  DEFAULT_SETTINGS,
  deriveBudgets,
} from "./compressor/settings.ts";
export {
  type CompressOptions,
  type ConfirmDigest,
  type ContextEngine,
  type DigestQuestion,
  ENGINE_CONTRACT,
  type EngineStatus,
  type EngineToolSchema,
  type ModelWindow,
  type ResponseUsage,
  type SessionStartOptions,
} from "./engine.ts";
export type { EngineCommand } from "./engine-commands.ts";
export { type ListedEngine, listEngines } from "./engine-plugins.ts";
export { type SummaryFeasibility, summaryFeasibility, type WindowFit, windowFit } from "./feasibility.ts";
export { fitMessages } from "./fit.ts";
export { compressorSettings, losslessSettings } from "./from-config.ts";
export { type HygieneDecision, type HygieneQuestion, hygieneDecision } from "./hygiene.ts";
export { LosslessEngine, type LosslessEngineOptions } from "./lossless/engine.ts";
export type {
  CompressOutcome,
  LeftOut,
  Notice,
  Span,
  SummaryFailure,
  UnchangedReason,
} from "./outcome.ts";
export {
  type CompressCommand,
  type CompressFeedback,
  compressFeedback,
  parseCompressCommand,
  rejoin,
  splitForPartial,
} from "./partial-compress.ts";
export { refusedCount, withoutRefused } from "./refused.ts";
export { type SelectEngineOptions, type SelectedEngine, selectEngine } from "./select-engine.ts";
export { estimateMessage, estimateMessages, estimateRequest, estimateText, leastTokens } from "./tokens.ts";

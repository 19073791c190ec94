// What keeps a conversation within the model's window.
export { applyPromptCaching, type CachingOptions } from "./caching/apply.ts";
export { type CachingPolicy, cacheTtl, cachingPolicy, type Endpoint } from "./caching/policy.ts";
export { ContextCompressor, type ContextCompressorOptions } from "./compressor/compressor.ts";
export { handoffBody, isHandoff, isTaskList } from "./compressor/handoff.ts";
export { repairPairs } from "./compressor/pairs.ts";
export {
  type Budgets,
  type CompressorSettings,
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
export { findEngine, type ListedEngine, type ListedEngines, listEngines } from "./engine-plugins.ts";
export { type SummaryFeasibility, summaryFeasibility, type WindowFit, windowFit } from "./feasibility.ts";
export { type Fitted, fitMessages, type WhereIs } from "./fit.ts";
export { compressorSettings, type LosslessSettings, losslessSettings } from "./from-config.ts";
export { type HygieneDecision, type HygieneQuestion, hygieneDecision, isStillFull } from "./hygiene.ts";
export { LosslessEngine, type LosslessEngineOptions } from "./lossless/engine.ts";
export { type ContextMessage, type ToolCall, toolCallsOf, toWire } from "./message.ts";
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
  type CompressFigures,
  compressFeedback,
  parseCompressCommand,
  rejoin,
  type SplitHistory,
  splitForPartial,
} from "./partial-compress.ts";
export { refusedCount, withoutRefused } from "./refused.ts";
export { type SelectEngineOptions, type SelectedEngine, selectEngine } from "./select-engine.ts";
export type { SummaryProgress } from "./summary/summarise.ts";
export { estimateMessage, estimateMessages, estimateRequest, estimateText, leastTokens } from "./tokens.ts";

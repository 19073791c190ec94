// L0, the system prompt: what it is made of, in which order, and whether a stored one still serves.
export { buildSystemPrompt, promptHash, withEphemeral } from "./build.ts";
export {
  type ContextFileOptions,
  type ContextFiles,
  type PromptFile,
  readContextFiles,
} from "./context-files.ts";
export { DEFAULT_MAX_CHARS } from "./context-text.ts";
export { chooseTimeZone, dateLine, type PromptDate, type TimeZoneChoice } from "./date-line.ts";
export { DEFAULT_IDENTITY } from "./guidance.ts";
export type { PartLabel, PromptPart, PromptParts, PromptTier, SystemPrompt, TierName } from "./parts.ts";
export { PLATFORMS, platformHint } from "./platform-hints.ts";
export {
  contextDirectory,
  type PromptFileOptions,
  type PromptFiles,
  readPromptFiles,
  readSoul,
  type Soul,
} from "./prompt-files.ts";
export {
  PROMPT_VERSION,
  type PromptMark,
  promptMark,
  type RebuildReason,
  type RestoreDecision,
  type RestoreQuestion,
  restoreDecision,
  type StoredPrompt,
} from "./restore.ts";
export type { PromptWarning } from "./warnings.ts";

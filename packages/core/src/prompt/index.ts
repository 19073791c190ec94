// The system prompt: its parts, their order, and whether a stored prompt can be reused.

export type { PartLabel, PromptParts, PromptTier, SystemPrompt } from "./build.ts";
export { buildSystemPrompt, chooseTimeZone, dateLine, promptHash, withEphemeral } from "./build.ts";
export { DEFAULT_IDENTITY, PLATFORMS, platformHint } from "./guidance.ts";
export type { PromptWarning } from "./prompt-files.ts";
export {
  type ContextFiles,
  contextDirectory,
  type PromptFiles,
  readContextFiles,
  readPromptFiles,
} from "./prompt-files.ts";
export {
  PROMPT_VERSION,
  promptMark,
  type RestoreDecision,
  type RestoreQuestion,
  restoreDecision,
  type StoredPrompt,
} from "./restore.ts";

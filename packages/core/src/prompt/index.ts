// L0, the system prompt: what it is made of, in which order, and whether a stored one still serves.

export type { PartLabel, PromptParts, PromptTier, SystemPrompt } from "./build.ts";
export { buildSystemPrompt, chooseTimeZone, dateLine, promptHash, withEphemeral } from "./build.ts";
export { DEFAULT_IDENTITY, PLATFORMS, platformHint } from "./guidance.ts";
export type { PromptWarning } from "./prompt-files.ts";
export {
  type ContextFiles,
  contextDirectory,
  type PromptFile,
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

// L0, the system prompt: what it is made of, in which order, and whether a stored one still serves.
export { buildSystemPrompt, promptHash, withEphemeral } from "./build.ts";
export {
  type ContextFiles,
  type PromptFile,
  readContextFiles,
} from "./context-files.ts";
export { chooseTimeZone, dateLine } from "./date-line.ts";
export { DEFAULT_IDENTITY } from "./guidance.ts";
export type { PartLabel, PromptParts, PromptTier, SystemPrompt } from "./parts.ts";
export { PLATFORMS, platformHint } from "./platform-hints.ts";
export {
  contextDirectory,
  type PromptFiles,
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
export type { PromptWarning } from "./warnings.ts";

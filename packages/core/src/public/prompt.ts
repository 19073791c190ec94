// The system prompt: its parts, their order, and whether a stored one can be reused.
export {
  buildSystemPrompt,
  type ContextFiles,
  type PromptFiles,
  type PromptParts,
  type PromptTier,
  type PromptWarning,
  promptHash,
  promptMark,
  type RestoreDecision,
  readContextFiles,
  readPromptFiles,
  restoreDecision,
  type StoredPrompt,
  type SystemPrompt,
  withEphemeral,
} from "../prompt/index.ts";

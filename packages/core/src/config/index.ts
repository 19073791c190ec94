// The door to settings. Importing it loads neither zod nor yaml.
export type { AgentConfig, ApprovalsConfig, ToolUseEnforcement } from "./agent-schema.ts";
export type {
  AuxiliaryConfig,
  AuxiliaryModel,
  AuxiliaryModelConfig,
  CompressionModelConfig,
} from "./auxiliary-schema.ts";
export type { ConfigError, ConfigIssue } from "./config-error.ts";
export { configPath } from "./config-file.ts";
export type {
  CompressionConfig,
  ContextConfig,
  LosslessConfig,
  PromptCachingConfig,
} from "./context-schema.ts";
export type { CuratorConfig } from "./curator-schema.ts";
export type { DelegationConfig } from "./delegation-schema.ts";
export {
  type CheckOptions,
  type ConfigChange,
  type ConfigCheck,
  type ConfigValue,
  checkConfig,
  getConfigValue,
  setConfigValue,
  type UnknownKey,
  unsetConfigValue,
} from "./edit.ts";
export {
  type EnvChange,
  type EnvFile,
  type EnvFileError,
  envFilePath,
  readEnvFile,
  removeEnvValue,
  setEnvValue,
  useEnvFile,
} from "./env-file.ts";
export { CONFIG_KEYS, type ConfigKey, findConfigKey, isKnownSection } from "./keys.ts";
export { loadConfig, loadMemoryConfig } from "./load.ts";
export { type McpServerConfig, mcpServerRemarks } from "./mcp-servers.ts";
export { DEFAULT_MEMORY_CONFIG, isApprovalOn, type MemoryConfig } from "./memory-config.ts";
export type { ConfiguredPrice, CustomProvider, ModelConfig } from "./model-schema.ts";
export { nearest } from "./nearest.ts";
export type {
  HermesConfig,
  NotificationLevel,
  SessionSearchConfig,
  SessionsConfig,
  SummarizeMode,
} from "./schema.ts";
export type { SkillsConfig } from "./skills-schema.ts";
export { type ReadFailure, type UpdateRules, updateTextFile } from "./text-file.ts";

// The door to settings. Importing it loads neither zod nor yaml.
export type { ToolUseEnforcement } from "./agent-schema.ts";
export type { AuxiliaryModel } from "./auxiliary-schema.ts";
export type { ConfigError, ConfigIssue } from "./config-error.ts";
export { configPath } from "./config-file.ts";
export type { CuratorConfig } from "./curator-schema.ts";
export {
  checkConfig,
  getConfigValue,
  setConfigValue,
  unsetConfigValue,
} from "./edit.ts";
export type { ConfigChange, UnknownKey } from "./edit-types.ts";
export {
  envFilePath,
  readEnvFile,
  removeEnvValue,
  setEnvValue,
  useEnvFile,
} from "./env-file.ts";
export { CONFIG_KEYS, findConfigKey, isKnownSection } from "./keys.ts";
export { loadConfig, loadMemoryConfig } from "./load.ts";
export { type McpServerConfig, mcpServerRemarks } from "./mcp-servers.ts";
export { DEFAULT_MEMORY_CONFIG, isApprovalOn, type MemoryConfig } from "./memory-config.ts";
export type { ConfiguredPrice, CustomProvider, ModelConfig } from "./model-schema.ts";
export { nearest } from "./nearest.ts";
export type {
  HermesConfig,
  NotificationLevel,
  SummarizeMode,
} from "./schema.ts";
export { updateTextFile } from "./text-file.ts";

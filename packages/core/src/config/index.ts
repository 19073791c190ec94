// The door to settings. Importing it loads no YAML library.
export { type ConfigError, type ConfigIssue, configPath } from "./config-file.ts";
export { checkConfig, getConfigValue, setConfigValue, unsetConfigValue } from "./edit.ts";
export type { ConfigChange, UnknownKey } from "./edit-values.ts";
export {
  envFilePath,
  readEnvFile,
  removeEnvValue,
  setEnvValue,
  useEnvFile,
} from "./env-file.ts";
export { isApprovalOn } from "./key-kinds.ts";
export {
  type AuxiliaryModel,
  CONFIG_KEYS,
  type CuratorConfig,
  findConfigKey,
  type HermesConfig,
  isKnownSection,
  type MemoryConfig,
  type ModelConfig,
  type NotificationLevel,
  type SummarizeMode,
  type ToolUseEnforcement,
} from "./keys.ts";
export { loadConfig, loadMemoryConfig } from "./load.ts";
export { nearest, unknownKey } from "./nearest.ts";
export { DEFAULT_MEMORY_CONFIG } from "./read.ts";
export { type CustomProvider, type McpServerConfig, mcpServerRemarks } from "./servers.ts";
export { updateTextFile } from "./text-file.ts";

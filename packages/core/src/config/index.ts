// config.yaml and .env. Importing this file does not load the YAML library.

export { updateTextFile } from "../lib/index.ts";
export type { ConfigChange, UnknownKey } from "./edit-values.ts";
export {
  envFilePath,
  environmentOf,
  readEnvFile,
  setEnvValue,
  useEnvFile,
} from "./env-file.ts";
export { type ConfigIssue, isApprovalOn } from "./key-kinds.ts";
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
export {
  checkConfig,
  getConfigValue,
  loadConfig,
  loadMemoryConfig,
  setConfigValue,
  unsetConfigValue,
} from "./load.ts";
export { type ConfigError, configPath, DEFAULT_MEMORY_CONFIG, nearest, unknownKey } from "./read.ts";
export { type CustomProvider, type McpServerConfig, mcpServerRemarks } from "./servers.ts";

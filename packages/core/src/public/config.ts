// Settings: config.yaml of a home.
export {
  type ConfigError,
  type HermesConfig,
  loadConfig,
  loadMemoryConfig,
  type MemoryConfig,
} from "../config/index.ts";

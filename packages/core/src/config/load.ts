// Loading config.yaml. A missing file means the defaults. The YAML library and the schema are imported only when the
// quick reader cannot vouch for the file.
import { ok, type Result } from "../lib/index.ts";
import type { ConfigError } from "./config-error.ts";
import { configPath, readConfigText } from "./config-file.ts";
import { DEFAULT_MEMORY_CONFIG, type MemoryConfig } from "./memory-config.ts";
import { quickReadMemoryConfig } from "./quick-read.ts";
import type { HermesConfig } from "./schema.ts";

/** Looks at the `memory:` section only: a mistake in another section does not stop memory from working. */
export async function loadMemoryConfig(home: string): Promise<Result<MemoryConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  if (text.value === undefined) return ok(DEFAULT_MEMORY_CONFIG);
  const quick = quickReadMemoryConfig(text.value);
  if (quick !== undefined) return ok(quick);
  const { fullReadMemoryConfig } = await import("./full-read.ts");
  return fullReadMemoryConfig(text.value, configPath(home));
}

export async function loadConfig(home: string): Promise<Result<HermesConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  const { fullReadConfig } = await import("./full-read.ts");
  return fullReadConfig(text.value ?? "", configPath(home));
}

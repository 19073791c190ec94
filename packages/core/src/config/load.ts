// Loads config.yaml, and opens `hermes config get|set|unset|check`. A missing file means the defaults. The YAML library is
// imported only when a file is more than the quick reader understands, or is edited.
import { ok, type Result } from "../lib/index.ts";
import type { CheckOptions, ConfigChange, ConfigCheck, ConfigValue } from "./edit-values.ts";
import type { HermesConfig, MemoryConfig } from "./keys.ts";
import { quickReadMemoryConfig } from "./quick-read.ts";
import { type ConfigError, configPath, DEFAULT_MEMORY_CONFIG, readConfigText } from "./read.ts";

/** Reads the `memory:` section only, so that a mistake in another section does not stop memory commands. */
export async function loadMemoryConfig(home: string): Promise<Result<MemoryConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  if (text.value === undefined) return ok(DEFAULT_MEMORY_CONFIG);
  const quick = quickReadMemoryConfig(text.value);
  if (quick !== undefined) return ok(quick);
  const { fullReadMemoryConfig } = await import("./yaml-file.ts");
  return fullReadMemoryConfig(text.value, configPath(home));
}

/** Reads config.yaml of a home. A missing file gives the defaults. */
export async function loadConfig(home: string): Promise<Result<HermesConfig, ConfigError>> {
  const text = readConfigText(home);
  if (!text.ok) return text;
  const { fullReadConfig } = await import("./yaml-file.ts");
  return fullReadConfig(text.value ?? "", configPath(home));
}

/** The value in the file, or else the default; `source` says which. */
export async function getConfigValue(
  home: string,
  dottedKey: string,
): Promise<Result<ConfigValue, ConfigError>> {
  const { getValue } = await import("./edit-values.ts");
  return getValue(home, dottedKey);
}

/** `text` is a YAML scalar or flow value. Writes nothing if the config would become invalid. */
export async function setConfigValue(
  home: string,
  dottedKey: string,
  text: string,
): Promise<Result<ConfigChange, ConfigError>> {
  const { setValue } = await import("./edit-values.ts");
  return setValue(home, dottedKey, text);
}

export async function unsetConfigValue(
  home: string,
  dottedKey: string,
): Promise<Result<ConfigChange, ConfigError>> {
  const { unsetValue } = await import("./edit-values.ts");
  return unsetValue(home, dottedKey);
}

export async function checkConfig(home: string, options: CheckOptions = {}): Promise<ConfigCheck> {
  const { checkValues } = await import("./edit-values.ts");
  return checkValues(home, options);
}

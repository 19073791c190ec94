// `hermes config get|set|unset|check`. The heavy parts are imported when a function is called, so this door stays light.
import type { Result } from "../lib/index.ts";
import type { ConfigError } from "./config-file.ts";
import type { CheckOptions, ConfigChange, ConfigCheck, ConfigValue } from "./edit-values.ts";

/** The explicit value, or the default and that it is the default. */
export async function getConfigValue(
  home: string,
  dottedKey: string,
): Promise<Result<ConfigValue, ConfigError>> {
  const { getValue } = await import("./edit-values.ts");
  return getValue(home, dottedKey);
}

/** `text` is a YAML scalar or flow value. Writes nothing when the config would become invalid. */
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

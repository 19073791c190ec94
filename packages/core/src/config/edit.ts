// `hermes config get|set|unset|check`. The heavy parts are imported when a function is called, so this door stays light.
import type { Result } from "../lib/index.ts";
import type { ConfigError, ConfigIssue } from "./config-error.ts";

export type ConfigValue =
  | { readonly source: "file" | "default"; readonly key: string; readonly value: unknown }
  | { readonly source: "unset"; readonly key: string };

export type ConfigChange = {
  /** The file. */
  readonly path: string;
  readonly key: string;
  /** Absent after `unset`. */
  readonly value?: unknown;
  /** Absent when the key was not set before. */
  readonly previous?: unknown;
  readonly changed: boolean;
  /** Something the user should know, such as that nothing here reads the key. */
  readonly note?: string;
};

export type UnknownKey = { readonly key: string; readonly line?: number; readonly suggestion?: string };

export type ConfigCheck = {
  readonly path: string;
  readonly exists: boolean;
  /** What keeps the file from being used. */
  readonly errors: readonly ConfigIssue[];
  /** What works, but probably not as it was meant. */
  readonly warnings: readonly ConfigIssue[];
  readonly unknownKeys: readonly UnknownKey[];
};

export type CheckOptions = { readonly isThreatId?: (id: string) => boolean };

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
  const { checkValues } = await import("./check-values.ts");
  return checkValues(home, options);
}

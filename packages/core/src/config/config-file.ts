// Where config.yaml is, and its text.
import { join } from "node:path";
import { err, type Result } from "../lib/index.ts";
import { type ConfigError, configError } from "./config-error.ts";
import { type ReadFailure, readTextFile } from "./text-file.ts";

export function configPath(home: string): string {
  return join(home, "config.yaml");
}

/** Undefined when the file does not exist, which means the defaults. */
export function readConfigText(home: string): Result<string | undefined, ConfigError> {
  const text = readTextFile(configPath(home));
  return text.ok ? text : err(unreadable(text.error));
}

export function unreadable(failure: ReadFailure): ConfigError {
  const message = `cannot be read: ${failure.reason} (${failure.path})`;
  return configError("unreadable", failure.path, [{ key: "", message }]);
}

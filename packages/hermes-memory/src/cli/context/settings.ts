// The settings these commands work with; a mistake in them ends the command.
import { type ConfigError, type HermesConfig, loadConfig } from "@hermes-memory/core/config";
import type { Result } from "@hermes-memory/core/lib";
import { CommandFailure } from "../command.ts";

export async function configOf(home: string): Promise<HermesConfig> {
  return unwrap(await loadConfig(home));
}

export function unwrap<T>(result: Result<T, ConfigError>): T {
  if (result.ok) return result.value;
  const { message, ...details } = result.error;
  throw new CommandFailure(message, { hint: "Look at every mistake with 'hermes config check'.", details });
}

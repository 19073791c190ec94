// Writes the `model` section of config.yaml, key by key, so that comments stay.
import { chmodSync, statSync } from "node:fs";
import {
  type ConfigChange,
  type ConfigError,
  configPath,
  setConfigValue,
  unsetConfigValue,
} from "@hermes-memory/core/config";
import type { Result } from "@hermes-memory/core/lib";
import { CommandFailure } from "../command.ts";
import type { SettingsPlan } from "./settings-plan.ts";

export type SavedSettings = {
  readonly path: string;
  readonly written: readonly string[];
  readonly removed: readonly string[];
};

const PRIVATE = 0o600;

/** `raw` is the `model` key as it is in the file: a section, or a name alone. */
export async function saveSettings(home: string, plan: SettingsPlan, raw: unknown): Promise<SavedSettings> {
  const path = configPath(home);
  const done = (change: Result<ConfigChange, ConfigError>): void => {
    if (change.ok) return;
    const { message, ...details } = change.error;
    throw new CommandFailure(message, { hint: "'hermes config check' lists every mistake.", details });
  };
  if (typeof raw === "string" && plan.set.length > 0)
    done(await setConfigValue(home, "model", JSON.stringify({ default: raw })));
  for (const key of plan.unset) done(await unsetConfigValue(home, `model.${key}`));
  for (const [key, value] of plan.set) {
    if (key === "api_key") keepPrivate(path);
    done(await setConfigValue(home, `model.${key}`, JSON.stringify(value)));
  }
  return {
    path,
    written: plan.set.map(([key]) => `model.${key}`),
    removed: plan.unset.map((key) => `model.${key}`),
  };
}

/** Before a key is in there. A file that is not there yet will be made so. */
function keepPrivate(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats && (stats.mode & 0o077) !== 0) chmodSync(path, PRIVATE);
}

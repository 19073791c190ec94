// The one way from a home's config to its skills, so that every entrance sees the same ones.
import { type ConfigError, loadConfig, type SkillsConfig } from "../config/index.ts";
import { ok, type Result } from "../lib/index.ts";
import { SkillStore, type SkillStoreOptions } from "./store.ts";

/** A config that cannot be read is an error, not the defaults. */
export async function openSkillStore(
  options: Omit<SkillStoreOptions, keyof SkillsConfig>,
): Promise<Result<SkillStore, ConfigError>> {
  const config = await loadConfig(options.home);
  if (!config.ok) return config;
  return ok(new SkillStore({ ...options, ...skillOptionsFrom(config.value.skills) }));
}

export function skillOptionsFrom(
  config: SkillsConfig,
): Pick<SkillStoreOptions, "externalDirs" | "disabled" | "platformDisabled" | "templateVars"> {
  const { externalDirs, disabled, platformDisabled, templateVars } = config;
  return { externalDirs, disabled, platformDisabled, templateVars };
}

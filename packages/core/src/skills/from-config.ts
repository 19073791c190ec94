// The one way from a home's config to its skills, so that every entrance sees the same ones.
import { type ConfigError, loadConfig, type SkillsConfig } from "../config/index.ts";
import { ok, type Result } from "../lib/index.ts";
import { SkillStore, type SkillStoreOptions } from "./store.ts";

/** A config that cannot be read is an error, not the defaults. `allowSecrets` adds to what the config allows. */
export async function openSkillStore(
  options: Omit<SkillStoreOptions, keyof SkillsConfig> & { readonly allowSecrets?: boolean },
): Promise<Result<SkillStore, ConfigError>> {
  const config = await loadConfig(options.home);
  if (!config.ok) return config;
  const settings = skillOptionsFrom(config.value.skills);
  const allowSecrets = options.allowSecrets === true || settings.allowSecrets === true;
  return ok(new SkillStore({ ...options, ...settings, allowSecrets }));
}

export function skillOptionsFrom(
  config: SkillsConfig,
): Pick<
  SkillStoreOptions,
  "externalDirs" | "disabled" | "platformDisabled" | "templateVars" | "allowSecrets"
> {
  const { externalDirs, disabled, platformDisabled, templateVars, allowSecrets } = config;
  return { externalDirs, disabled, platformDisabled, templateVars, allowSecrets };
}

// Whether a model is configured, for `hermes` without a command. Does not check that the model answers.
import { envFilePath, readEnvFile } from "@hermes-memory/core/internal/config";
import { ifUsable, openHome } from "@hermes-memory/core/internal/memory";

export async function hasModel(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  if (env.HERMES_MODEL?.trim()) return true;
  const file = readEnvFile(envFilePath(home));
  if (file.ok && file.value.values.get("HERMES_MODEL")?.trim()) return true;
  const config = await ifUsable(openHome({ home }).config());
  return config !== undefined && config.model.default !== "";
}

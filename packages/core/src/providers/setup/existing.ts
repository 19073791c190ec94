// What an earlier setup left behind, so that a second one can offer it again. Reading forgives: what cannot be read is not there.
import { envFilePath, loadConfig, readEnvFile } from "../../config/index.ts";
import { isRecord, type Result } from "../../lib/index.ts";
import type { ConfigField, MemoryProvider } from "../contract.ts";
import { runForeign } from "../discovery/foreign-code.ts";
import { readSettings } from "../kit/settings-file.ts";
import { DEADLINES_MS } from "../manager/deadlines.ts";
import type { Existing } from "./answers.ts";
import { variableOf } from "./fields.ts";

export type ExistingSource = {
  readonly home: string;
  /** The provider. */
  readonly name: string;
  readonly fields: readonly ConfigField[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly provider?: MemoryProvider;
};

/** What the provider itself says it is set to; nothing when it cannot tell. */
export async function currentSettings(
  provider: MemoryProvider,
  home: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (!provider.readConfig) return {};
  const rules = { timeoutMs: DEADLINES_MS.availability };
  const told: Result<unknown, unknown> = await runForeign<unknown>(rules, () => provider.readConfig?.(home));
  return told.ok && isRecord(told.value) ? told.value : {};
}

/**
 * Settings from the provider itself, from `<provider>.json` or the config section `memory.<provider>`; secrets from the environment
 * or `.env`.
 */
export async function readExisting(source: ExistingSource): Promise<Existing> {
  const { home, name, fields, env, provider } = source;
  const told = provider ? await currentSettings(provider, home) : {};
  const { values: file } = readSettings(home, `${name}.json`);
  const section = await configSection(home, name);
  const dotEnv = readEnvFile(envFilePath(home));
  const settings = new Map<string, string>();
  const secrets = new Map<string, string>();
  for (const field of fields) {
    const variable = variableOf(name, field);
    const fromEnv =
      variable === undefined
        ? undefined
        : env[variable] || (dotEnv.ok ? dotEnv.value.values.get(variable) : undefined);
    const value =
      field.secret === true
        ? fromEnv
        : (scalarAt(told, field.key) ?? scalarAt(file, field.key) ?? scalarAt(section, field.key) ?? fromEnv);
    if (value !== undefined && value !== "")
      (field.secret === true ? secrets : settings).set(field.key, value);
  }
  return { settings, secrets };
}

async function configSection(home: string, name: string): Promise<unknown> {
  const config = await loadConfig(home);
  const memory = config.ok ? config.value.raw.memory : undefined;
  return isRecord(memory) && Object.hasOwn(memory, name) ? memory[name] : undefined;
}

function scalarAt(holder: unknown, key: string): string | undefined {
  if (!isRecord(holder) || !Object.hasOwn(holder, key)) return undefined;
  const value = holder[key];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

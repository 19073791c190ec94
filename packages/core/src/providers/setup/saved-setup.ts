// Saving the answers of a setup, and reading those of an earlier one. Settings and secrets are saved first and the provider is activated
// last, so that the old provider stays active until everything is saved. (The Python original activates first; a failed save then leaves
// a provider active that cannot work.)
import {
  type ConfigChange,
  type ConfigError,
  configPath,
  envFilePath,
  readEnvFile,
  setConfigValue,
  setEnvValue,
} from "../../config/index.ts";
import { describeCause, err, HermesError, isRecord, ok, type Result } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { type ConfigField, DEADLINES_MS, type MemoryProvider } from "../contract.ts";
import { runForeign } from "../kit/foreign-code.ts";
import { readSettings, writeSettings } from "../kit/settings.ts";
import { type EnvAnswer, type Existing, type SplitAnswers, variableOf } from "./questions.ts";

type SetupToSave = SplitAnswers & {
  readonly home: string;
  /** The name config selects the provider by. */
  readonly name: string;
  readonly provider: MemoryProvider;
};

type SetupStep = "settings" | "secrets" | "activation";

export type SetupOutcome = {
  readonly activated: boolean;
  readonly written: readonly SetupWrite[];
  readonly failed: readonly { readonly step: SetupStep; readonly message: string }[];
  /** Keys of settings that could not be saved, because the provider has no `saveConfig`. */
  readonly unsaved: readonly string[];
};

export type SetupWrite =
  | { readonly step: "settings"; readonly keys: readonly string[] }
  | { readonly step: "secrets"; readonly path: string; readonly variables: readonly string[] }
  | { readonly step: "activation"; readonly path: string };

/** Never rejects. If saving the settings fails, the secrets are saved all the same, so that a second attempt asks for less. */
export async function saveSetup(
  setup: SetupToSave,
  options: { readonly timeoutMs?: number } = {},
): Promise<SetupOutcome> {
  const written: SetupWrite[] = [];
  const failed: { step: SetupStep; message: string }[] = [];

  const keys = Object.keys(setup.settings);
  const keepsSettings = setup.provider.saveConfig != null;
  if (keys.length > 0 && keepsSettings) {
    const saved = await saveSettings(setup, options.timeoutMs ?? DEADLINES_MS.saveConfig);
    if (saved.ok) written.push({ step: "settings", keys });
    else failed.push({ step: "settings", message: saved.error });
  }
  const secrets = setup.secrets.map((answer) => ({ answer, outcome: saveSecret(setup.home, answer) }));
  const variables = secrets.filter(({ outcome }) => outcome.ok).map(({ answer }) => answer.variable);
  if (variables.length > 0) written.push({ step: "secrets", path: envFilePath(setup.home), variables });
  const dropped = dropOldSecrets(setup);
  for (const outcome of [...secrets.map((each) => each.outcome), dropped])
    if (!outcome.ok) failed.push({ step: "secrets", message: outcome.error });

  const inEnvironment = new Set(setup.secrets.map(({ key }) => key));
  const unsaved = keepsSettings ? [] : keys.filter((key) => !inEnvironment.has(key));
  if (failed.length > 0) return { activated: false, written, failed, unsaved };

  const activation = await activate(setup.home, setup.name);
  if (activation.ok) written.push({ step: "activation", path: configPath(setup.home) });
  else failed.push({ step: "activation", message: activation.error });
  return { activated: activation.ok, written, failed, unsaved };
}

/** Switches to the built-in memory only. The provider's settings and data are kept. */
export function deactivate(home: string): Promise<Result<ConfigChange, ConfigError>> {
  return setConfigValue(home, "memory.provider", "");
}

async function saveSettings(
  { provider, name, settings, home }: SetupToSave,
  timeoutMs: number,
): Promise<Result<void, string>> {
  const saved = await runForeign({ timeoutMs }, () => provider.saveConfig?.(settings, home));
  return saved.ok
    ? ok(undefined)
    : err(`The settings of '${name}' are not saved: it ${saved.error.message}.`);
}

function saveSecret(home: string, { variable, value }: EnvAnswer): Result<void, string> {
  // Programs that read `.env` disagree about values with several lines.
  if (/[\r\n]/.test(value))
    return err(`${variable} is not saved: a value in .env has one line. Enter it without line breaks.`);
  try {
    const set = setEnvValue(envFilePath(home), variable, value);
    return set.ok ? ok(undefined) : err(`${variable} is not saved. ${set.error.message}`);
  } catch (cause) {
    return err(`${variable} is not saved. ${explain(cause)}`);
  }
}

/** A key in the provider's own file, where the Python edition lets people keep it, may win over the new one in `.env`. */
function dropOldSecrets({ home, name, secrets }: SetupToSave): Result<unknown, string> {
  const fileName = `${name}.json`;
  const { values } = readSettings(home, fileName);
  const old = secrets.filter(({ key, isSecret }) => isSecret && Object.hasOwn(values, key));
  if (old.length === 0) return ok(undefined);
  return writeSettings(home, fileName, Object.fromEntries(old.map(({ key }) => [key, undefined])));
}

async function activate(home: string, name: string): Promise<Result<void, string>> {
  try {
    const set = await setConfigValue(home, "memory.provider", name);
    return set.ok ? ok(undefined) : err(`'${name}' is not switched on. ${set.error.message}`);
  } catch (cause) {
    return err(`'${name}' is not switched on. ${explain(cause)}`);
  }
}

function explain(cause: unknown): string {
  const hint = cause instanceof HermesError && cause.hint !== undefined ? ` ${cause.hint}` : "";
  return redactSecrets(describeCause(cause)) + hint;
}

// ---- Reading an earlier setup, to offer its values again. An unreadable file counts as missing. ----

type ExistingSource = {
  readonly home: string;
  /** The name config selects the provider by. */
  readonly name: string;
  readonly fields: readonly ConfigField[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly provider?: MemoryProvider;
  /** `memory.<provider>` of config.yaml. */
  readonly section?: unknown;
};

/** The settings that the provider itself reports; empty without `readConfig`. */
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
  const { home, name, fields, env, provider, section } = source;
  const told = provider ? await currentSettings(provider, home) : {};
  const { values: file } = readSettings(home, `${name}.json`);
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

function scalarAt(holder: unknown, key: string): string | undefined {
  if (!isRecord(holder) || !Object.hasOwn(holder, key)) return undefined;
  const value = holder[key];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

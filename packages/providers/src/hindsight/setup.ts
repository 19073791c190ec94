// `hermes memory setup hindsight`: where Hindsight runs, then only the questions of that place. An empty answer keeps the value that is
// there. Keys go into `.env`, everything else into `hindsight/config.json`.
import { join } from "node:path";
import { envFilePath, setConfigValue, setEnvValue } from "@hermes-memory/core/internal/config";
import { err, HermesError, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import type { ConfigField, PostSetupOptions } from "@hermes-memory/core/internal/providers";
import { checkAnswer, readSettings, writeSettings } from "@hermes-memory/core/internal/providers";
import type { Environment } from "../kit/networked/service.ts";
import {
  type Deployment,
  FIELDS,
  readHindsightSettings,
  SETTINGS_FILE,
  SOURCES,
  savedAnswers,
  savedValues,
  saveHindsightSettings,
} from "./settings.ts";

/** Asked at the terminal, after the mode. The other settings have defaults that few users change; `--set` changes them. */
const ASKED: Readonly<Record<Deployment, readonly string[]>> = {
  cloud: ["api_key"],
  local_external: ["api_url", "api_key"],
  local_embedded: ["llm_provider", "llm_model", "llm_base_url", "llm_api_key", "profile"],
};
const ASKED_ALWAYS = ["bank_id", "memory_mode", "recall_budget"];

export async function setUpHindsight(
  home: string,
  options: PostSetupOptions,
  env: Environment,
): Promise<void> {
  const { print } = options;
  const answers = await collectAnswers({ home, env, options });
  const fields = FIELDS.filter(({ key }) => answers.has(key));
  const settings = fields.filter(({ secret }) => secret !== true);
  adoptOldSettings(home, env);
  saveHindsightSettings(Object.fromEntries(settings.map(({ key }) => [key, answers.get(key) ?? ""])), home);
  for (const { key, env_var, secret } of fields) {
    const value = answers.get(key) ?? "";
    if (env_var === undefined || value === "") continue;
    saveVariable(home, env, env_var, value);
    if (secret === true) removeSavedKey(key, home);
  }
  const now = readHindsightSettings({ home, env });
  // The daemon's profile is written at its start, which compares the two to see whether a running daemon needs a restart.
  if (now.deployment === "local_embedded" && now.embedded.program === undefined)
    print(
      "Neither hindsight-embed nor uvx is on the PATH. Install one of them: until then Hindsight stays off.",
    );
  const activated = await setConfigValue(home, "memory.provider", "hindsight");
  if (!activated.ok) throw new HermesError("config-not-saved", activated.error.message);
  print(`The settings are in ${join(home, SETTINGS_FILE)}.`);
}

type Collecting = { readonly home: string; readonly env: Environment; readonly options: PostSetupOptions };

/** New values by key. A question that was answered with nothing has none, unless it is new and has a default. */
async function collectAnswers({ home, env, options }: Collecting): Promise<ReadonlyMap<string, string>> {
  const { ask, print, values } = options;
  const answers = new Map<string, string>();
  for (const [key, text] of Object.entries(values)) {
    const checked = check(key, text);
    if (!checked.ok) throw new HermesError("bad-setting", `${key} ${checked.error}. Nothing was saved.`);
    answers.set(key, checked.value);
  }
  const saved = savedAnswers({ home, env });
  const current = (key: string): string => answers.get(key) ?? String(saved[key] ?? "");
  const question = async (key: string): Promise<void> => {
    const field = fieldOf(key);
    if (field === undefined || answers.has(key)) return;
    const standard = current(key) || standardOf(field, current);
    const answer = ask === undefined ? standard : await askUntilFit(field, standard, ask, print);
    if (answer !== "" && answer !== String(saved[key] ?? "")) answers.set(key, answer);
  };
  await question("mode");
  const deployment = readDeployment(current("mode"));
  for (const key of [...ASKED[deployment], ...ASKED_ALWAYS]) await question(key);
  return answers;
}

async function askUntilFit(
  field: ConfigField,
  standard: string,
  ask: NonNullable<PostSetupOptions["ask"]>,
  print: PostSetupOptions["print"],
): Promise<string> {
  const choices = field.choices === undefined ? "" : ` (${field.choices.join(", ")})`;
  if (field.url !== undefined) print(`A key is made at ${field.url}.`);
  const kept = field.secret === true ? "; empty keeps the one that is saved" : "";
  for (;;) {
    const asked = `${field.description ?? field.key}${choices}${kept}`;
    const isSecret = field.secret === true;
    const answer = pyStrip(await ask(asked, isSecret ? { secret: true } : { default: standard }));
    if (answer === "") return isSecret ? "" : standard;
    const checked = check(field.key, answer);
    if (checked.ok) return checked.value;
    print(`${field.key} ${checked.error}.`);
  }
}

function fieldOf(key: string): ConfigField | undefined {
  return FIELDS.find((field) => field.key === key);
}

function standardOf({ default: standard, default_from }: ConfigField, current: (key: string) => string) {
  return default_from === undefined
    ? (standard ?? "")
    : (default_from.map[current(default_from.field)] ?? "");
}

function readDeployment(mode: string): Deployment {
  if (mode === "local") return "local_embedded";
  return mode === "local_external" || mode === "local_embedded" ? mode : "cloud";
}

/** `local` is the older name of a mode. Only a text may be emptied. */
function check(key: string, text: string): Result<string, string> {
  const field = fieldOf(key);
  if (field === undefined) return err("is no setting of Hindsight");
  const isAlias = key === "mode" && pyStrip(text).toLowerCase() === "local";
  const required = field.choices !== undefined || field.type !== undefined;
  return checkAnswer({ ...field, required }, isAlias ? "local_embedded" : text);
}

// ---- Saving ----

/** Before the first save: the file of an older installation would no longer be read once there is one in the home. */
function adoptOldSettings(home: string, env: Environment): void {
  const { values, problem } = readSettings(home, SETTINGS_FILE);
  if (problem !== undefined || Object.keys(values).length > 0) return;
  saveRaw(savedValues(home, env).values, home);
}

/** A key in the file would win over the one that setup saves in `.env`. */
function removeSavedKey(key: string, home: string): void {
  const names = [key, ...(SOURCES[key]?.also ?? [])];
  saveRaw(Object.fromEntries(names.map((name) => [name, undefined])), home);
}

function saveRaw(changes: Readonly<Record<string, unknown>>, home: string): void {
  if (Object.keys(changes).length === 0) return;
  const written = writeSettings(home, SETTINGS_FILE, changes);
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}

/** Also for this process: the check after setup reads its environment. */
function saveVariable(home: string, env: Environment, name: string, value: string): void {
  const saved = setEnvValue(envFilePath(home), name, value);
  if (!saved.ok) throw new HermesError("settings-not-saved", `${name} is not saved. ${saved.error.message}`);
  Object.assign(env, { [name]: value });
}

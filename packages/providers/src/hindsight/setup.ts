// `hermes memory setup hindsight`: where Hindsight runs, then only the questions of that place. An empty answer keeps the value that is
// there. Keys go into `.env`, everything else into `hindsight/config.json`.
import { join } from "node:path";
import { envFilePath, setEnvValue } from "@hermes-memory/core/internal/config";
import { err, HermesError, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import type { ConfigField, PostSetupOptions } from "@hermes-memory/core/internal/providers";
import { checkAnswer, readSettings, writeSettings } from "@hermes-memory/core/internal/providers";
import type { Place, Values } from "../kit/networked/settings.ts";
import { activate, askField } from "../kit/networked/setup.ts";
import {
  DEPLOYMENTS,
  type Deployment,
  FIELDS,
  HINDSIGHT_SETTINGS,
  SETTINGS_FILE,
  savedValues,
} from "./settings.ts";

/** Asked at the terminal, after the mode. The other settings have defaults that few users change; `--set` changes them. */
const ASKED: Readonly<Record<Deployment, readonly string[]>> = {
  cloud: ["api_key"],
  local_external: ["api_url", "api_key"],
  local_embedded: ["llm_provider", "llm_model", "llm_base_url", "llm_api_key", "profile"],
};
const ASKED_ALWAYS = ["bank_id", "memory_mode", "recall_budget"];

export async function setUpHindsight(place: Place, options: PostSetupOptions): Promise<void> {
  const { home, env } = place;
  const answers = await collectAnswers(place, options);
  const fields = FIELDS.filter(({ key }) => answers.has(key));
  const settings = fields.filter(({ secret }) => secret !== true);
  const own = readSettings(home, SETTINGS_FILE);
  // The file of an older installation would no longer be read once there is one in the home.
  if (own.problem === undefined && Object.keys(own.values).length === 0)
    saveRaw(savedValues(home, env).values, home);
  const texts = settings.map(({ key }) => [key, answers.get(key) ?? ""] as const);
  HINDSIGHT_SETTINGS.save(Object.fromEntries(texts), home);
  for (const { key, env_var, secret } of fields) {
    const value = answers.get(key) ?? "";
    if (env_var === undefined || value === "") continue;
    const saved = setEnvValue(envFilePath(home), env_var, value);
    if (!saved.ok)
      throw new HermesError("settings-not-saved", `${env_var} is not saved. ${saved.error.message}`);
    Object.assign(env, { [env_var]: value }); // the check after setup reads this environment
    // A key in the file would win over the one in `.env`.
    if (secret === true) saveRaw({ [key]: undefined, [camelCase(key)]: undefined }, home);
  }
  const { deployment, embedded } = HINDSIGHT_SETTINGS.read(place);
  // The daemon's profile is written at its start, which compares the two to see whether a running daemon needs a restart.
  if (deployment === "local_embedded" && embedded.program === undefined)
    options.print(
      "Neither hindsight-embed nor uvx is on the PATH. Install one of them: until then Hindsight stays off.",
    );
  await activate(home, "hindsight");
  options.print(`The settings are in ${join(home, SETTINGS_FILE)}.`);
}

/** The older name of a secret in the file. */
function camelCase(key: string): string {
  return key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** New values by key. A question that was answered with nothing has none, unless it is new and has a default. */
async function collectAnswers(
  place: Place,
  { ask, print, values }: PostSetupOptions,
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const [key, text] of Object.entries(values)) {
    const checked = check(key, text);
    if (!checked.ok) throw new HermesError("bad-setting", `${key} ${checked.error}. Nothing was saved.`);
    answers.set(key, checked.value);
  }
  const saved = HINDSIGHT_SETTINGS.saved(place);
  const current = (key: string): string => answers.get(key) ?? String(saved[key] ?? "");
  const question = async (key: string): Promise<void> => {
    const field = FIELDS.find((each) => each.key === key);
    if (field === undefined || answers.has(key)) return;
    const standard = current(key) || standardOf(field, current);
    const answer =
      ask === undefined
        ? standard
        : await askField(field, standard, { ask, print }, (text) => check(key, text));
    if (answer !== "" && answer !== String(saved[key] ?? "")) answers.set(key, answer);
  };
  await question("mode");
  const mode = current("mode") === "local" ? "local_embedded" : current("mode");
  const deployment = DEPLOYMENTS.find((each) => each === mode) ?? "cloud";
  for (const key of [...ASKED[deployment], ...ASKED_ALWAYS]) await question(key);
  return answers;
}

function standardOf({ default: standard, default_from }: ConfigField, current: (key: string) => string) {
  return default_from === undefined
    ? (standard ?? "")
    : (default_from.map[current(default_from.field)] ?? "");
}

/** `local` is the older name of a mode. Only a text may be emptied. */
function check(key: string, text: string): Result<string, string> {
  const field = FIELDS.find((each) => each.key === key);
  if (field === undefined) return err("is no setting of Hindsight");
  const isAlias = key === "mode" && pyStrip(text).toLowerCase() === "local";
  const required = field.choices !== undefined || field.type !== undefined;
  return checkAnswer({ ...field, required }, isAlias ? "local_embedded" : text);
}

function saveRaw(changes: Values, home: string): void {
  if (Object.keys(changes).length === 0) return;
  const written = writeSettings(home, SETTINGS_FILE, changes);
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}

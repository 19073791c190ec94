// `hermes memory setup byterover`, and the settings in `<home>/byterover.json`. It replaces the generic wizard because of the API key: brv
// reads no variable, so a key in `.env` would have no effect. The key is passed to `brv login` once, which keeps it in brv's own store;
// this program does not store it.
import { join } from "node:path";
import { envFilePath, readEnvFile, setConfigValue } from "@hermes-memory/core/internal/config";
import { err, HermesError, ok, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import type { ConfigField, PostSetupOptions } from "@hermes-memory/core/internal/providers";
import { readNumber, readSettings, readText, writeSettings } from "@hermes-memory/core/internal/providers";
import { PROVIDER_MODES, type ProviderMode, parseMode } from "../kit/provider-mode.ts";
import {
  type BinaryFinder,
  type BrvClient,
  type Environment,
  type Limits,
  loginCommand,
  NOT_FOUND,
} from "./brv-client.ts";
import { modelLine, readModelProvider } from "./tools.ts";

type SetupContext = {
  readonly client: BrvClient;
  readonly finder: BinaryFinder;
  readonly env: Environment;
  readonly limits: Limits;
};

type Values = Readonly<Record<string, string>>;

/** Asked at the terminal. The other settings have defaults that few users change; `--set` changes them. */
const ASKED = ["mode", "prefetch_command"];

export async function setUpByterover(
  home: string,
  options: PostSetupOptions,
  { client, finder, env, limits }: SetupContext,
): Promise<void> {
  const { ask, print, values } = options;
  const unknown = Object.keys(values).filter((key) => !CONFIG_FIELDS.some((field) => field.key === key));
  if (unknown.length > 0) throw refusal(unknown[0] ?? "", "is no setting of ByteRover");
  const isInstalled = finder.look() !== undefined;
  if (!isInstalled) print(`${NOT_FOUND} (until then ByteRover stays silent)`);

  const settings = await collectSettings(home, options);
  const key = pyStrip(values[API_KEY_FIELD] ?? ((await askForKey(ask, print)) || knownKey(home, env)));
  saveSettings(settings, home);

  if (key !== "" && isInstalled) {
    const login = await client.call(loginCommand(key, limits));
    print(login.ok ? "brv is logged in." : `brv login failed: ${withoutKey(login.error.message, key)}.`);
  } else if (key !== "") print("The API key was not used. Run 'brv login' once brv is installed.");

  const activated = await setConfigValue(home, "memory.provider", "byterover");
  if (!activated.ok) throw new HermesError("config-not-saved", activated.error.message);
  print(`The settings are in ${join(home, SETTINGS_FILE)}.`);
  if (!isInstalled) return;
  const model = await readModelProvider(client, limits);
  print(model.ok ? modelLine(model.value) : `brv does not answer yet: ${model.error.message}.`);
}

/** For setup and `saveConfig`. Saves nothing if one of the values is refused. */
export function saveSettings(values: Values, home: string): void {
  const checked = Object.entries(values).map(([key, text]) => {
    const value = checkSetting(key, text);
    if (!value.ok) throw refusal(key, value.error);
    return [key, value.value] as const;
  });
  const written = writeSettings(home, SETTINGS_FILE, Object.fromEntries(checked));
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}

/** Given values are used; the others are asked for, or keep their saved value. */
async function collectSettings(home: string, { ask, print, values }: PostSetupOptions): Promise<Values> {
  const current = currentAnswers(home);
  const settings: Record<string, string> = {};
  for (const field of CONFIG_FIELDS) {
    if (field.secret === true) continue;
    const given = values[field.key];
    const standard = current[field.key] ?? field.default ?? "";
    if (given !== undefined) settings[field.key] = given;
    else if (ask !== undefined && ASKED.includes(field.key))
      settings[field.key] = await askFor(field, standard, ask, print);
    else settings[field.key] = standard;
  }
  return settings;
}

async function askFor(
  field: ConfigField,
  standard: string,
  ask: NonNullable<PostSetupOptions["ask"]>,
  print: PostSetupOptions["print"],
): Promise<string> {
  for (;;) {
    const answer = pyStrip(await ask(field.description ?? field.key, { default: standard })) || standard;
    const checked = checkSetting(field.key, answer);
    if (checked.ok) return answer;
    print(`${field.key} ${checked.error}.`);
  }
}

async function askForKey(ask: PostSetupOptions["ask"], print: PostSetupOptions["print"]): Promise<string> {
  const field = CONFIG_FIELDS.find(({ key }) => key === API_KEY_FIELD);
  if (ask === undefined || field === undefined) return "";
  print(
    `A key is made at ${field.url}. It is given to 'brv login' on its command line, where other users of this`,
  );
  print("machine can see it for a moment; 'brv login' in a terminal of your own uses the browser instead.");
  return pyStrip(await ask(field.description ?? field.key, { secret: true }));
}

/** A key in the variable that the Python edition asks for. */
function knownKey(home: string, env: Environment): string {
  const file = readEnvFile(envFilePath(home));
  return env[API_KEY_VARIABLE] ?? (file.ok ? file.value.values.get(API_KEY_VARIABLE) : undefined) ?? "";
}

/** The saved settings as answers. */
function currentAnswers(home: string): Values {
  const now = readByteroverSettings(readSettings(home, SETTINGS_FILE).values);
  return {
    mode: now.mode,
    prefetch_command: now.prefetchCommand,
    search_limit: String(now.searchLimit),
    max_chars: String(now.maxChars),
    query_timeout: String(now.queryTimeoutSeconds),
  };
}

function withoutKey(message: string, key: string): string {
  return message.replaceAll(key, "[the key]");
}

function refusal(key: string, reason: string): HermesError {
  return new HermesError("bad-setting", `${key} ${reason}. Nothing was saved.`);
}

// ---- The settings file: reading uses the default for an unusable value, setup refuses it ----

export const SETTINGS_FILE = "byterover.json";
const API_KEY_FIELD = "api_key";
const API_KEY_VARIABLE = "BRV_API_KEY";

type PrefetchCommand = "search" | "query";

export type ByteroverSettings = {
  readonly mode: ProviderMode;
  /** Most characters added to one turn. */
  readonly maxChars: number;
  readonly prefetchCommand: PrefetchCommand;
  /** Hits of one search. */
  readonly searchLimit: number;
  /** Time limit of `brv_query`. */
  readonly queryTimeoutSeconds: number;
};

const PREFETCH_COMMANDS: readonly PrefetchCommand[] = ["search", "query"];
const NUMBERS = {
  // Enough for five hits: an excerpt of brv has up to 800 characters.
  max_chars: { standard: 5_000, min: 0, max: 100_000 },
  search_limit: { standard: 5, min: 1, max: 50 },
  // At most the 120 s of a tool call, less the time brv needs to start and to report.
  query_timeout: { standard: 10, min: 10, max: 110 },
} as const;

export function readByteroverSettings(values: Readonly<Record<string, unknown>>): ByteroverSettings {
  const whole = (key: keyof typeof NUMBERS): number =>
    Math.trunc(readNumber(values[key], NUMBERS[key].standard, NUMBERS[key]));
  return {
    mode: parseMode(values.mode),
    maxChars: whole("max_chars"),
    prefetchCommand:
      readText(values.prefetch_command, "search").toLowerCase() === "query" ? "query" : "search",
    searchLimit: whole("search_limit"),
    queryTimeoutSeconds: whole("query_timeout"),
  };
}

export const CONFIG_FIELDS: readonly ConfigField[] = [
  {
    key: API_KEY_FIELD,
    description: "ByteRover API key, only for sync with the cloud; empty for local use",
    secret: true,
    env_var: API_KEY_VARIABLE,
    url: "https://app.byterover.dev",
  },
  {
    key: "mode",
    description: "Recall and tools (hybrid), recall only (context), or tools only (tools)",
    default: "hybrid",
    choices: PROVIDER_MODES,
  },
  {
    key: "prefetch_command",
    description: "Recall by word search (search: no model needed) or by a model's answer (query: slower)",
    default: "search",
    choices: PREFETCH_COMMANDS,
  },
  numberField("search_limit", "Hits of one search"),
  numberField("max_chars", "Most characters added to one turn"),
  numberField("query_timeout", "Seconds brv_query may take"),
];

/** The value to save, or why it is refused, as the continuation of a sentence after the key: `must be ...`. */
export function checkSetting(key: string, text: string): Result<string | number, string> {
  const answer = text.trim();
  const range = Object.hasOwn(NUMBERS, key) ? NUMBERS[key as keyof typeof NUMBERS] : undefined;
  if (range !== undefined) {
    const number = answer === "" ? Number.NaN : Number(answer);
    const fits = Number.isInteger(number) && number >= range.min && number <= range.max;
    return fits ? ok(number) : err(`must be a whole number from ${range.min} to ${range.max}`);
  }
  const choices = CONFIG_FIELDS.find((field) => field.key === key)?.choices;
  if (choices === undefined) return err("is no setting of ByteRover");
  const choice = choices.find((word) => word === answer.toLowerCase());
  return choice === undefined ? err(`must be one of ${choices.join(", ")}`) : ok(choice);
}

function numberField(key: keyof typeof NUMBERS, what: string): ConfigField {
  const { standard, min, max } = NUMBERS[key];
  return { key, description: `${what}, ${min} to ${max}`, default: String(standard) };
}

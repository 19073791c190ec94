// Setting a provider up: the questions that it asks, which answers they take, saving the answers, reading an earlier setup, and whether
// its service can be reached.
import {
  type ConfigChange,
  type ConfigError,
  configPath,
  envFilePath,
  type MemoryConfig,
  readEnvFile,
  setConfigValue,
  setEnvValue,
} from "../../config/index.ts";
import {
  codePointLength,
  describeCause,
  err,
  HermesError,
  isRecord,
  ok,
  pyStrip,
  type Result,
  randomHex,
  takeCodePoints,
} from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { type ConfigField, DEADLINES_MS, type MemoryProvider } from "../contract.ts";
import { describeForeign, oneLine, runForeign } from "../kit/foreign-code.ts";
import { readBoolean, readSettings, writeSettings } from "../kit/settings.ts";

/** Answers given so far, by the field's key. */
export type Answers = ReadonlyMap<string, string>;

const SHOWN_OF_SECRET = 4;

/** A field with `when` is asked only if every field named there has the given answer. */
export function isAsked(field: ConfigField, answers: Answers): boolean {
  return Object.entries(field.when ?? {}).every(([key, wanted]) => answers.get(key) === wanted);
}

/**
 * The value of an empty answer: the saved value, or the default that an earlier answer selects, or the fixed default; "" for none. A field
 * with choices always has one: the first choice if nothing else fits.
 */
export function defaultAnswer(field: ConfigField, answers: Answers, current?: string): string {
  if (current !== undefined && current !== "" && isAllowed(field, current)) return current;
  const { field: sourceKey = "", map = {} } = field.default_from ?? {};
  const chosen = answers.get(sourceKey);
  const selected = chosen !== undefined && Object.hasOwn(map, chosen) ? map[chosen] : undefined;
  const standard = selected ?? field.default ?? "";
  return isAllowed(field, standard) ? standard : (field.choices?.[0] ?? "");
}

/** Index of the preselected choice. */
export function preselected(field: ConfigField, answers: Answers, current?: string): number {
  return Math.max(0, (field.choices ?? []).indexOf(defaultAnswer(field, answers, current)));
}

export function labelOf(field: ConfigField): string {
  return field.description || field.key;
}

/** Variable in `.env`; undefined for a setting that only the provider saves. */
export function variableOf(provider: string, field: ConfigField): string | undefined {
  if (field.env_var !== undefined) return field.env_var;
  if (field.secret !== true) return undefined;
  const name = `${provider}_${field.key}`.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  return /^[0-9]/.test(name) ? `_${name}` : name; // a variable cannot start with a digit
}

/** The variables without which it cannot work, by its own account. */
export function neededVariables(provider: MemoryProvider): string[] {
  const needed = fieldsOf(provider).fields.filter(
    ({ required, secret }) => required === true || secret === true,
  );
  return needed.flatMap((field) => variableOf(provider.name, field) ?? []);
}

/** How a saved secret is shown. */
export function maskSecret(value: string): string {
  const length = codePointLength(value);
  if (length === 0) return "";
  if (length <= SHOWN_OF_SECRET) return "set";
  return `...${value.slice(takeCodePoints(value, length - SHOWN_OF_SECRET).length)}`;
}

/** The requirements of setup, in a few words. */
export function setupHint(fields: readonly ConfigField[]): string {
  if (fields.length === 0) return "no setup needed";
  const secrets = fields.filter((field) => field.secret === true).length;
  if (secrets === 0) return "local";
  return secrets === fields.length ? "requires API key" : "API key / local";
}

function isAllowed(field: ConfigField, answer: string): boolean {
  if (field.choices !== undefined) return field.choices.includes(answer);
  return answer === "" || checkTyped(field, answer).ok;
}

// ---- Reading the questions of a plugin, whose fields may have any type ----

type ReadFields = {
  readonly fields: readonly ConfigField[];
  /** About fields that were left out or repaired. */
  readonly warnings: readonly string[];
};

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Never throws. A provider without a schema has no fields. */
export function fieldsOf(provider: MemoryProvider): ReadFields {
  try {
    return readFields(provider.getConfigSchema?.() ?? []);
  } catch (cause) {
    return none(`getConfigSchema() failed: ${describeForeign(cause)}. Nothing is asked.`);
  }
}

export function readFields(schema: unknown): ReadFields {
  if (!Array.isArray(schema)) return none("The setup schema is no list of fields. Nothing is asked.");
  const fields: ConfigField[] = [];
  const warnings: string[] = [];
  for (const [index, item] of schema.entries()) {
    const field = readField(item);
    const isTwice = field.ok && fields.some(({ key }) => key === field.value.field.key);
    if (!field.ok) warnings.push(`Field ${index + 1} of the setup schema is left out: ${field.error}.`);
    else if (isTwice)
      warnings.push(`Field ${index + 1} of the setup schema is left out: its key is there already.`);
    else {
      fields.push(field.value.field);
      warnings.push(...field.value.warnings);
    }
  }
  return { fields, warnings };
}

type OneField = { readonly field: ConfigField; readonly warnings: readonly string[] };

function readField(item: unknown): Result<OneField, string> {
  if (!isRecord(item)) return err("it is no object");
  const key = scalar(item.key);
  if (key === undefined || key === "") return err("it has no key");
  const isSecret = readBoolean(item.secret, Boolean(item.secret)); // an unclear value counts as true
  const choices = Array.isArray(item.choices) ? item.choices.flatMap((choice) => scalar(choice) ?? []) : [];
  const variable = scalar(item.env_var);
  const isVariable = variable !== undefined && VARIABLE_NAME.test(variable);
  const isUnusable = variable !== undefined && variable !== "" && !isVariable;
  const field: ConfigField = {
    key,
    secret: isSecret || undefined,
    required: readBoolean(item.required, false) || undefined,
    choices: choices.length > 0 && !isSecret ? choices : undefined,
    env_var: isVariable ? variable : undefined,
    description: scalar(item.description),
    default: scalar(item.default),
    url: scalar(item.url),
    when: scalars(item.when),
    default_from: defaultFrom(item.default_from),
    type: isSecret ? undefined : TYPES.find((type) => type === item.type),
    minimum: finite(item.minimum),
    maximum: finite(item.maximum),
    step: positive(item.step),
  };
  const warning = `The field '${key}' names the variable '${variable}', which no environment can have; the name is not used.`;
  return ok({ field, warnings: isUnusable ? [warning] : [] });
}

const TYPES = ["text", "number", "integer", "boolean"] as const;

function finite(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function positive(value: unknown): number | undefined {
  const number = finite(value);
  return number !== undefined && number > 0 ? number : undefined;
}

function defaultFrom(value: unknown): ConfigField["default_from"] {
  if (!isRecord(value)) return undefined;
  const field = scalar(value.field);
  const map = scalars(value.map);
  return field === undefined || map === undefined ? undefined : { field, map };
}

/** Answers are texts, so values that they are compared with become text too: `when: { auto: true }`. */
function scalar(value: unknown): string | undefined {
  if (typeof value === "string") return pyStrip(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function scalars(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).flatMap(([key, item]): [string, string][] => {
    const text = scalar(item);
    return text === undefined ? [] : [[key, text]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function none(warning: string): ReadFields {
  return { fields: [], warnings: [warning] };
}

// ---- Answers without asking: from `--set`, an earlier setup, and defaults ----

/** Saved by an earlier setup, by the field's key. */
export type Existing = {
  readonly settings: Answers;
  readonly secrets: Answers;
};

type Collected = {
  readonly answers: Answers;
  /** Required, but neither given nor saved. */
  readonly missing: readonly ConfigField[];
  /** Given, but refused. The message continues a sentence after the key. */
  readonly invalid: readonly { readonly key: string; readonly message: string }[];
  /** Given keys that no field has. */
  readonly unknown: readonly string[];
  /** Given for fields that are not asked because of their `when`. They are not saved. */
  readonly unasked: readonly string[];
};

/** A saved secret counts as answered, but is not among the answers, because it need not be written again. */
export function collectAnswers(
  fields: readonly ConfigField[],
  given: Answers,
  existing: Existing,
): Collected {
  const answers = new Map<string, string>();
  const missing: ConfigField[] = [];
  const invalid: { key: string; message: string }[] = [];
  const unasked: string[] = [];
  for (const field of fields) {
    const answer = given.get(field.key);
    if (!isAsked(field, answers)) {
      if (answer !== undefined) unasked.push(field.key);
      continue;
    }
    const isKept = field.secret === true && (existing.secrets.get(field.key) ?? "") !== "";
    const current = field.secret === true ? undefined : existing.settings.get(field.key);
    const text = answer ?? (isKept ? "" : defaultAnswer(field, answers, current));
    if (isKept && text === "") continue;
    const checked = checkAnswer(field, text);
    if (checked.ok) {
      if (checked.value !== "") answers.set(field.key, checked.value);
    } else if (answer === undefined && text === "") missing.push(field);
    else invalid.push({ key: field.key, message: checked.error });
  }
  const unknown = [...given.keys()].filter((key) => !fields.some((field) => field.key === key));
  return { answers, missing, invalid, unknown, unasked };
}

/** One line of `.env`. */
export type EnvAnswer = {
  readonly key: string;
  readonly variable: string;
  readonly value: string;
  readonly isSecret: boolean;
};

export type SplitAnswers = {
  /** For the provider's `saveConfig`. */
  readonly settings: Readonly<Record<string, string>>;
  /** For `.env`: every secret, and settings with a variable. */
  readonly secrets: readonly EnvAnswer[];
};

export function splitAnswers(
  provider: string,
  fields: readonly ConfigField[],
  answers: Answers,
): SplitAnswers {
  const settings: [string, string][] = [];
  const secrets: EnvAnswer[] = [];
  for (const field of fields) {
    const value = answers.get(field.key) ?? "";
    if (value === "") continue;
    const isSecret = field.secret === true;
    if (!isSecret) settings.push([field.key, value]);
    const variable = variableOf(provider, field);
    if (variable !== undefined) secrets.push({ key: field.key, variable, value, isSecret });
  }
  return { settings: Object.fromEntries(settings), secrets };
}

// ---- Which answers a field takes ----

/** The answer to save, or why it is refused, as the continuation of a sentence after the field's name: `must be ...`. */
export function checkAnswer(field: ConfigField, text: string): Result<string, string> {
  const answer = pyStrip(text);
  if (answer === "") return field.required === true ? err("must not be empty") : ok("");
  if (/[\r\n\0]/.test(answer)) return err("must be a single line");
  const { choices } = field;
  if (choices === undefined) return checkTyped(field, answer);
  const folded =
    choices.find((choice) => choice === answer) ??
    choices.find((choice) => choice.toLowerCase() === answer.toLowerCase());
  return folded === undefined ? err(`must be one of ${choices.join(", ")}`) : ok(folded);
}

/** A boolean becomes `true` or `false`; a number stays as it was written. */
function checkTyped(field: ConfigField, answer: string): Result<string, string> {
  switch (field.type) {
    case "boolean": {
      const word = YES_NO[answer.toLowerCase()] ?? answer;
      const value = readBoolean(word, true);
      return value === readBoolean(word, false) ? ok(String(value)) : err("must be yes or no");
    }
    case "number":
    case "integer":
      return isInBounds(field, answer) ? ok(answer) : err(`must be ${boundsText(field)}`);
    default:
      return ok(answer);
  }
}

const YES_NO: Readonly<Record<string, string>> = { y: "yes", n: "no" };
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;
/** For steps such as 0.1, which no double has exactly. */
const TOLERANCE = 1e-9;

function isInBounds({ type, minimum, maximum, step }: ConfigField, answer: string): boolean {
  const value = Number(answer);
  if (!NUMBER.test(answer) || !Number.isFinite(value)) return false;
  if (type === "integer" && !Number.isSafeInteger(value)) return false;
  if (value < (minimum ?? -Infinity) || value > (maximum ?? Infinity)) return false;
  if (step === undefined) return true;
  const steps = (value - (minimum ?? 0)) / step;
  return Math.abs(steps - Math.round(steps)) < TOLERANCE * Math.max(1, Math.abs(steps));
}

function boundsText({ type, minimum, maximum, step }: ConfigField): string {
  const kind = type === "integer" ? "a whole number" : "a number";
  const steps = step === undefined ? "" : ` in steps of ${step}`;
  if (minimum !== undefined && maximum !== undefined) return `${kind} from ${minimum} to ${maximum}${steps}`;
  if (minimum !== undefined) return `${kind} of at least ${minimum}${steps}`;
  return maximum === undefined ? `${kind}${steps}` : `${kind} of at most ${maximum}${steps}`;
}

// ---- Saving ----

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

// ---- Whether the service can be reached, for `hermes doctor --network` and setup ----
// The provider is started for inspection only, which creates and sends nothing, and is shut down afterwards.

export type ConnectionCheck =
  /** `message` is the provider's line. */
  | { readonly kind: "reached"; readonly message: string }
  /** `message` is a sentence. */
  | { readonly kind: "failed"; readonly message: string }
  /** It has no service to ask, or cannot be started for inspection. */
  | { readonly kind: "unsupported" };

export type ConnectionRequest = {
  readonly home: string;
  readonly config: Pick<MemoryConfig, "outbox" | "outboxMaxItems">;
  /** For the request alone; starting and stopping have their own deadlines. */
  readonly timeoutMs?: number;
};

const REQUEST_MS = 15_000;

/** Never rejects. */
export async function inspectConnection(
  provider: MemoryProvider,
  { home, config, timeoutMs = REQUEST_MS }: ConnectionRequest,
): Promise<ConnectionCheck> {
  if (provider.checkConnection == null || provider.initializeForInspection == null)
    return { kind: "unsupported" };
  try {
    const started = await runForeign({ timeoutMs: DEADLINES_MS.initialize }, (signal) =>
      provider.initializeForInspection?.(`inspection-${randomHex(6)}`, {
        hermes_home: home,
        platform: "cli",
        agent_context: "primary",
        outbox: config.outbox,
        outbox_max_items: config.outboxMaxItems,
        signal,
      }),
    );
    if (!started.ok)
      return { kind: "failed", message: `Starting it for inspection ${started.error.message}.` };
    const asked = await runForeign<unknown>({ timeoutMs }, (signal) => provider.checkConnection?.(signal));
    if (!asked.ok) return { kind: "failed", message: `The check of its service ${asked.error.message}.` };
    const said = typeof asked.value === "string" ? oneLine(asked.value) : "";
    return { kind: "reached", message: said === "" ? "The service answered." : said };
  } finally {
    await runForeign({ timeoutMs: DEADLINES_MS.shutdown }, (signal) => provider.shutdown?.({ signal }));
  }
}

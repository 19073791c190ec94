// The questions of a provider's setup: reading them from the provider, when each is asked, which answers it accepts, and where the answers
// are saved. Pure, apart from the call of `getConfigSchema`.
import { codePointLength, err, isRecord, ok, pyStrip, type Result, takeCodePoints } from "../../lib/index.ts";
import type { ConfigField, MemoryProvider } from "../contract.ts";
import { describeForeign } from "../kit/foreign-code.ts";
import { checkAnswer, checkTyped, readBoolean } from "../kit/settings.ts";

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

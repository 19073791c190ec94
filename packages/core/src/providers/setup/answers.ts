// Answers without a person: from `--set` values, what is there already, and defaults. And where answers go afterwards. Pure.
import type { ConfigField } from "../contract.ts";
import { type Answers, checkAnswer, defaultAnswer, isAsked, variableOf } from "./fields.ts";

/** What an earlier setup left, by the field's key. */
export type Existing = {
  readonly settings: Answers;
  readonly secrets: Answers;
};

export type Collected = {
  readonly answers: Answers;
  /** Required, and neither given nor there. */
  readonly missing: readonly ConfigField[];
  /** Given, but not accepted. The message reads on after the key. */
  readonly invalid: readonly { readonly key: string; readonly message: string }[];
  /** Keys of no field. */
  readonly unknown: readonly string[];
  /** Given for fields that these answers leave out (`when`). They are not kept. */
  readonly unasked: readonly string[];
};

/** A secret that is there already counts as answered, but is no answer: it need not be written again. */
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
    const said = given.get(field.key);
    if (!isAsked(field, answers)) {
      if (said !== undefined) unasked.push(field.key);
      continue;
    }
    const isKept = field.secret === true && (existing.secrets.get(field.key) ?? "") !== "";
    const current = field.secret === true ? undefined : existing.settings.get(field.key);
    const text = said ?? (isKept ? "" : defaultAnswer(field, answers, current));
    if (isKept && text === "") continue;
    const checked = checkAnswer(field, text);
    if (checked.ok) {
      if (checked.value !== "") answers.set(field.key, checked.value);
    } else if (said === undefined && text === "") missing.push(field);
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
  /** For `.env`: every secret, and plain settings that have a variable too. */
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

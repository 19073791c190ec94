// The rules of one setup question: whether it is asked, what it offers, what it accepts, where the answer goes. Pure.
import { codePointLength, err, ok, pyStrip, type Result, takeCodePoints } from "../../lib/index.ts";
import type { ConfigField } from "../contract.ts";

/** Answers so far, by the field's key. */
export type Answers = ReadonlyMap<string, string>;

const SHOWN_OF_SECRET = 4;

/** A field with `when` is asked only if every answer it names is the one given. */
export function isAsked(field: ConfigField, answers: Answers): boolean {
  return Object.entries(field.when ?? {}).every(([key, wanted]) => answers.get(key) === wanted);
}

/**
 * What an empty answer means: the present value, what an earlier answer suggests, or the fixed default; "" for none. A choice
 * always has one, its first where nothing else fits.
 */
export function defaultAnswer(field: ConfigField, answers: Answers, current?: string): string {
  if (current !== undefined && current !== "" && isAllowed(field, current)) return current;
  const source = field.default_from;
  const chosen = source && answers.get(source.field);
  const suggested =
    source !== undefined && chosen !== undefined && Object.hasOwn(source.map, chosen)
      ? source.map[chosen]
      : undefined;
  const standard = suggested ?? field.default ?? "";
  return isAllowed(field, standard) ? standard : (field.choices?.[0] ?? "");
}

/** Which row of a choice is preselected. */
export function preselected(field: ConfigField, answers: Answers, current?: string): number {
  return Math.max(0, (field.choices ?? []).indexOf(defaultAnswer(field, answers, current)));
}

/** What the person is asked. */
export function labelOf(field: ConfigField): string {
  return field.description || field.key;
}

/** Name in `.env`; undefined for a setting that goes nowhere but to the provider. */
export function variableOf(provider: string, field: ConfigField): string | undefined {
  if (field.env_var !== undefined) return field.env_var;
  if (field.secret !== true) return undefined;
  const name = `${provider}_${field.key}`.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  return /^[0-9]/.test(name) ? `_${name}` : name; // no variable starts with a digit
}

/** How a secret that is there already is shown. */
export function maskSecret(value: string): string {
  const length = codePointLength(value);
  if (length === 0) return "";
  if (length <= SHOWN_OF_SECRET) return "set";
  return `...${value.slice(takeCodePoints(value, length - SHOWN_OF_SECRET).length)}`;
}

/** The answer as it is kept, or why it cannot be. Reads on after the field's name: `must be ...`. */
export function checkAnswer(field: ConfigField, text: string): Result<string, string> {
  const answer = pyStrip(text);
  if (answer === "") return field.required === true ? err("must not be empty") : ok("");
  if (/[\r\n\0]/.test(answer)) return err("must be a single line");
  if (isAllowed(field, answer)) return ok(answer);
  const choices = field.choices ?? [];
  const folded = choices.find((choice) => choice.toLowerCase() === answer.toLowerCase());
  return folded === undefined ? err(`must be one of ${choices.join(", ")}`) : ok(folded);
}

/** One or two words about what setting it up takes. */
export function setupHint(fields: readonly ConfigField[]): string {
  if (fields.length === 0) return "no setup needed";
  const secrets = fields.filter((field) => field.secret === true).length;
  if (secrets === 0) return "local";
  return secrets === fields.length ? "requires API key" : "API key / local";
}

function isAllowed({ choices }: ConfigField, answer: string): boolean {
  return choices === undefined || choices.includes(answer);
}

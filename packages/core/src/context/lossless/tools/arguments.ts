// What a model wrote as arguments. Numbers are forgiven; what cannot be understood is refused, because an answer without
// it would look like an answer with it.
import { err, ok, preview, pyStrip, type Result } from "../../../lib/index.ts";

export type Args = Readonly<Record<string, unknown>>;

const SHOWN_CHARS = 200;

/** Trimmed; undefined when it is blank or no text. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? pyStrip(value) : typeof value === "number" ? String(value) : "";
  return text === "" ? undefined : text;
}

/** Python's `int()`: fractions are cut off, numerals count, anything else is nothing. */
export function numberOf(value: unknown): number | undefined {
  const isNumeral = typeof value === "string" && /^[+-]?\d+$/.test(pyStrip(value));
  const number = typeof value === "number" ? Math.trunc(value) : isNumeral ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

/** A count that may be left out; refused when it is there and is none. */
export function countOf(args: Args, name: string, standard: number): Result<number, string> {
  if (isAbsent(args[name])) return ok(standard);
  const number = numberOf(args[name]);
  return number === undefined || number < 0
    ? err(`${name} must be a whole number from 0 on, but is ${shown(args[name])}.`)
    : ok(number);
}

export function choiceOf<T extends string>(
  args: Args,
  name: string,
  choices: readonly [T, ...T[]],
): Result<T, string> {
  if (isAbsent(args[name])) return ok(choices[0]);
  const word = textOf(args[name])?.toLowerCase();
  const chosen = choices.find((choice) => choice === word);
  return chosen === undefined
    ? err(
        `${name} must be ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}, but is ${shown(args[name])}.`,
      )
    : ok(chosen);
}

/** Recognisable, and never a whole page. */
export function shown(value: unknown): string {
  try {
    return preview(
      typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? "nothing"),
      SHOWN_CHARS,
    );
  } catch {
    return "a value that cannot be shown";
  }
}

// `<home>/.env`: secrets for providers and models. One assignment is changed at a time, every other byte stays, and the
// file is never readable by others.
import { join } from "node:path";
import { err, hasLoneSurrogate, ok, type Result } from "../lib/index.ts";
import { type EnvBinding, parseEnvText, quoteEnvValue } from "./env-syntax.ts";
import { type ReadFailure, readTextFile, type Update, updateTextFile } from "./text-file.ts";

export type EnvFile = {
  readonly values: ReadonlyMap<string, string>;
  /** Lines that say nothing anybody understands. They are ignored when reading and kept when writing. */
  readonly malformedLines: readonly number[];
};

export type EnvFileError = {
  readonly kind: "unreadable" | "bad-name" | "bad-value" | "malformed";
  readonly path: string;
  readonly message: string;
};

export type EnvChange = { readonly changed: boolean };

const SECRET_MODES = { mode: 0o600, forceMode: 0o600 };

export function envFilePath(home: string): string {
  return join(home, ".env");
}

/** A missing file has no values. */
export function readEnvFile(path: string): Result<EnvFile, EnvFileError> {
  const text = readTextFile(path);
  if (!text.ok) return err(unreadable(text.error));
  const { bindings, malformedLines } = parseEnvText(text.value ?? "");
  return ok({ values: toValues(bindings), malformedLines });
}

/**
 * Puts what `.env` of the home holds where programs look for it. What the process was started with goes first. A file that cannot be
 * read gives nothing; `hermes doctor` tells about it.
 */
export function useEnvFile(home: string, env: Record<string, string | undefined> = process.env): void {
  const file = readEnvFile(envFilePath(home));
  if (!file.ok) return;
  for (const [name, value] of file.value.values) env[name] ||= value;
}

export function setEnvValue(path: string, name: string, value: string): Result<EnvChange, EnvFileError> {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    const message = `'${name}' cannot be the name of a variable. Use letters, digits and '_', not starting with a digit.`;
    return err({ kind: "bad-name", path, message });
  }
  if (value.includes("\0") || hasLoneSurrogate(value)) {
    const message = `The value of ${name} has a character that no environment variable can hold.`;
    return err({ kind: "bad-value", path, message });
  }
  return update(
    path,
    (text) => {
      const found = parseEnvText(text).bindings.findLast((binding) => binding.name === name);
      return found === undefined ? append(text, name, value) : replace(text, found, value);
    },
    (values) => values.set(name, value),
  );
}

/** Removes every line that sets the name. */
export function removeEnvValue(path: string, name: string): Result<EnvChange, EnvFileError> {
  return update(
    path,
    (text) => {
      const found = parseEnvText(text).bindings.filter((binding) => binding.name === name);
      return found.reduceRight(
        (rest, binding) => rest.slice(0, binding.start) + rest.slice(binding.end),
        text,
      );
    },
    (values) => values.delete(name),
  );
}

function update(
  path: string,
  edit: (text: string) => string,
  expect: (values: Map<string, string>) => void,
): Result<EnvChange, EnvFileError> {
  return updateTextFile<EnvChange, EnvFileError>(path, {
    unreadable,
    modes: SECRET_MODES,
    change: (before): Result<Update<EnvChange>, EnvFileError> => {
      const text = before ?? "";
      const next = edit(text);
      const parsed = parseEnvText(text);
      const expected = toValues(parsed.bindings);
      expect(expected);
      // A quote left open further up can swallow the new line, or the new line can close it.
      const isSafe = !meetsOpenQuote(text, next) && isSame(toValues(parseEnvText(next).bindings), expected);
      if (isSafe) return ok({ text: next, outcome: { changed: next !== text } });
      const lines = parsed.malformedLines.join(", ");
      const message = `Cannot change ${path} safely: line ${lines} is not a complete assignment. Repair it, then try again.`;
      return err({ kind: "malformed", path, message });
    },
  });
}

function replace(text: string, binding: EnvBinding, value: string): string {
  const rest = text.slice(binding.valueEnd);
  const gap = rest.startsWith("#") ? " " : ""; // `NAME= # note`: the note must not become part of the value
  return text.slice(0, binding.valueStart) + quoteEnvValue(value) + gap + rest;
}

function append(text: string, name: string, value: string): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const isLineOpen = text !== "" && text !== "\ufeff" && !/[\r\n]$/.test(text);
  return `${text}${isLineOpen ? newline : ""}${name}=${quoteEnvValue(value)}${newline}`;
}

/** Programs recover differently from a quote that is never closed, so no quote of its kind may be added below it. */
function meetsOpenQuote(text: string, next: string): boolean {
  return ["'", '"'].some((quote) => {
    const isOpen = new RegExp(`^[^=#\\r\\n]*=[^\\S\\r\\n]*${quote}[^${quote}\\r\\n]*$`, "m");
    const count = (part: string) => part.split(quote).length;
    return parseEnvText(text).malformedLines.length > 0 && isOpen.test(text) && count(next) > count(text);
  });
}

function toValues(bindings: readonly EnvBinding[]): Map<string, string> {
  return new Map(bindings.map((binding) => [binding.name, binding.value]));
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}

function unreadable(failure: ReadFailure): EnvFileError {
  const message = `Cannot read ${failure.path}: ${failure.reason}.`;
  return { kind: "unreadable", path: failure.path, message };
}

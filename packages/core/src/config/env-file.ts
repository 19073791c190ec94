// `<home>/.env`: secrets for providers and models. An edit changes one assignment and no other byte; the file has mode 0600.
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  err,
  ok,
  type ReadFailure,
  type Result,
  readTextFile,
  type TextUpdate,
  updateTextFile,
} from "../lib/index.ts";

export type EnvFile = {
  readonly values: ReadonlyMap<string, string>;
  /** Numbers of lines that cannot be parsed. They are ignored when reading and kept when writing. */
  readonly malformedLines: readonly number[];
};

export type EnvFileError = {
  readonly kind: "unreadable" | "bad-name" | "bad-value" | "malformed";
  readonly path: string;
  readonly message: string;
};

export type EnvChange = { readonly changed: boolean };

// Parsed as python-dotenv does, with positions, so that a single value can be replaced.
type EnvBinding = {
  readonly name: string;
  readonly value: string;
  /** The whole assignment including its line end. */
  readonly start: number;
  readonly end: number;
  /** The value as written, quotes included. */
  readonly valueStart: number;
  readonly valueEnd: number;
};

type EnvSyntax = {
  readonly bindings: readonly EnvBinding[];
  /** Lines (from 1) that are neither an assignment, a comment nor blank. */
  readonly malformedLines: readonly number[];
};

const BLANK_OR_COMMENT = /[^\S\r\n]*(?:#[^\r\n]*)?(?:\r\n|\n|\r|$)/y;
const ASSIGNMENT = /[^\S\r\n]*(?:export[^\S\r\n]+)?([^=#\s'"]+)[^\S\r\n]*=[^\S\r\n]*/y;
const NAME_ALONE = /[^\S\r\n]*(?:export[^\S\r\n]+)?[^=#\s'"]+[^\S\r\n]*(?:#[^\r\n]*)?(?:\r\n|\n|\r|$)/y;
const SINGLE_QUOTED = /'((?:[^'\\]|\\[\s\S])*)'/y;
const DOUBLE_QUOTED = /"((?:[^"\\]|\\[\s\S])*)"/y;
const UNQUOTED = /[^\r\n]*/y;
const REST_OF_LINE = /[^\r\n]*(?:\r\n|\n|\r|$)/y;

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

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
 * Copies the values of the home's `.env` into `env`. Variables that are already set win. A file that cannot be read is ignored
 * here; `hermes doctor` reports it.
 */
export function useEnvFile(home: string, env: Record<string, string | undefined> = process.env): void {
  const file = readEnvFile(envFilePath(home));
  if (!file.ok) return;
  for (const [name, value] of file.value.values) {
    if (env[name]) continue;
    env[name] = value;
    if (env === process.env) fromEnvFiles.set(name, value);
  }
}

/** Variables of this process that came from the `.env` of some home. */
const fromEnvFiles = new Map<string, string>();

/**
 * The environment as one home has it: variables of the process win, except those that the `.env` of another home has put there. A
 * process may have several homes open, each with keys of its own.
 */
export function environmentOf(
  home: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string | undefined>> {
  const file = readEnvFile(envFilePath(home));
  const own = file.ok ? Object.fromEntries(file.value.values) : {};
  const isOfAHome = ([name, value]: [string, string | undefined]) =>
    env === process.env && value !== undefined && fromEnvFiles.get(name) === value;
  const given = Object.entries(env).filter(
    (entry) => entry[1] !== undefined && entry[1] !== "" && !isOfAHome(entry),
  );
  return { ...own, ...Object.fromEntries(given) };
}

export function setEnvValue(path: string, name: string, value: string): Result<EnvChange, EnvFileError> {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    const message = `'${name}' cannot be the name of a variable. Use letters, digits and '_', not starting with a digit.`;
    return err({ kind: "bad-name", path, message });
  }
  if (value.includes("\0") || !value.isWellFormed()) {
    const message = `The value of ${name} has a character that no environment variable can hold.`;
    return err({ kind: "bad-value", path, message });
  }
  return updateTextFile<EnvChange, EnvFileError>(path, {
    unreadable,
    modes: SECRET_MODES,
    change: (text = ""): Result<TextUpdate<EnvChange>, EnvFileError> => {
      const parsed = parseEnvText(text);
      const found = parsed.bindings.findLast((binding) => binding.name === name);
      const next = found === undefined ? append(text, name, value) : replace(text, found, value);
      const expected = toValues(parsed.bindings).set(name, value);
      // An unclosed quote further up can swallow the new line, or the new line can close it.
      const isSafe =
        !meetsOpenQuote(text, next) && isDeepStrictEqual(toValues(parseEnvText(next).bindings), expected);
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

/** Programs recover differently from an unclosed quote, so no quote of the same kind may be added after one. */
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

function unreadable(failure: ReadFailure): EnvFileError {
  const message = `Cannot read ${failure.path}: ${failure.reason}.`;
  return { kind: "unreadable", path: failure.path, message };
}

function parseEnvText(text: string): EnvSyntax {
  const bindings: EnvBinding[] = [];
  const malformedAt: number[] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length) {
    const skipped = matchAt(BLANK_OR_COMMENT, text, at);
    if (skipped) {
      at += skipped[0].length;
      continue;
    }
    const binding = readBinding(text, at);
    if (binding) bindings.push(binding);
    else if (!matchAt(NAME_ALONE, text, at)) malformedAt.push(at); // `export NAME` alone sets no value, but is valid
    at = binding?.end ?? at + (matchAt(REST_OF_LINE, text, at)?.[0].length ?? 1);
  }
  return { bindings, malformedLines: lineNumbers(text, malformedAt) };
}

/** The value, quoted so that this parser and python-dotenv read it back unchanged. */
function quoteEnvValue(value: string): string {
  if (/^[A-Za-z0-9_./:@%+,=~^-]*$/.test(value)) return value;
  if (!/['\\\r\n]/.test(value)) return `'${value}'`; // a shell that sources the file does not expand `$` in single quotes
  const escaped = value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r");
  return `"${escaped}"`;
}

function readBinding(text: string, start: number): EnvBinding | undefined {
  const head = matchAt(ASSIGNMENT, text, start);
  const name = head?.[1];
  if (head === null || name === undefined) return undefined;
  const valueStart = start + head[0].length;
  const value = readValue(text, valueStart, /\s$/.test(head[0]));
  if (value === undefined) return undefined;
  const rest = matchAt(BLANK_OR_COMMENT, text, value.end);
  if (rest === null) return undefined; // something follows the closing quote
  return {
    name,
    value: value.text,
    start,
    end: value.end + rest[0].length,
    valueStart,
    valueEnd: value.end,
  };
}

function readValue(text: string, at: number, isSpaced: boolean): { text: string; end: number } | undefined {
  if (text[at] === "'" || text[at] === '"') {
    const isSingle = text[at] === "'";
    const match = matchAt(isSingle ? SINGLE_QUOTED : DOUBLE_QUOTED, text, at);
    if (match === null) return undefined; // never closed
    return { text: decode(match[1] ?? "", isSingle), end: at + match[0].length };
  }
  const line = matchAt(UNQUOTED, text, at)?.[0] ?? "";
  if (isSpaced && line.startsWith("#")) return { text: "", end: at };
  const comment = line.search(/\s#/);
  const value = (comment === -1 ? line : line.slice(0, comment)).trimEnd();
  return { text: value, end: at + value.length };
}

function decode(body: string, isSingle: boolean): string {
  const pattern = isSingle ? /\\([\\'])/g : /\\([\\'"abfnrtv])/g;
  return body.replace(pattern, (whole, letter: string) => ESCAPES[letter] ?? whole);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function lineNumbers(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  let at = 0;
  return offsets.map((offset) => {
    for (; at < offset; at += 1) if (text[at] === "\n") line += 1;
    return line;
  });
}

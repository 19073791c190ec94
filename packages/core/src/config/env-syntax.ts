// The grammar of a `.env` file, as python-dotenv reads it, kept with positions so that one value can be changed alone.

export type EnvBinding = {
  readonly name: string;
  readonly value: string;
  /** The whole assignment with its line end(s). */
  readonly start: number;
  readonly end: number;
  /** The value as written, quotes included. */
  readonly valueStart: number;
  readonly valueEnd: number;
};

export type EnvSyntax = {
  readonly bindings: readonly EnvBinding[];
  /** Lines (from 1) that are neither assignment, comment nor blank. */
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

export function parseEnvText(text: string): EnvSyntax {
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
    else if (!matchAt(NAME_ALONE, text, at)) malformedAt.push(at); // `export NAME` alone is no value, but no mistake
    at = binding?.end ?? at + (matchAt(REST_OF_LINE, text, at)?.[0].length ?? 1);
  }
  return { bindings, malformedLines: lineNumbers(text, malformedAt) };
}

/** The value as it has to be written so that it reads back the same, here and in python-dotenv. */
export function quoteEnvValue(value: string): string {
  if (/^[A-Za-z0-9_./:@%+,=~^-]*$/.test(value)) return value;
  if (!/['\\\r\n]/.test(value)) return `'${value}'`; // a shell that sources the file leaves `$` alone in there
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

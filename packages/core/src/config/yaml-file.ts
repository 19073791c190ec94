// config.yaml as YAML text: parsing with line numbers, and changing one value in place. Loads the YAML library, so it is imported
// on demand.
import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Pair,
  type ParsedNode,
  parseDocument,
  type YAMLMap,
} from "yaml";
import { describeCause, err, isRecord, ok, type Result } from "../lib/index.ts";
import { type ConfigIssue, shown } from "./key-kinds.ts";
import type { HermesConfig, MemoryConfig } from "./keys.ts";
import {
  type ConfigError,
  configError,
  type Finding,
  findingText,
  type RawConfig,
  readConfig,
  readMemoryConfig,
} from "./read.ts";

export type ParsedConfig = {
  readonly document: Document.Parsed<ParsedNode>;
  readonly raw: RawConfig;
  /** Line of the key at this path, or of the nearest section above it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
};

// Merge keys belong to YAML 1.1, which the Python original reads; `compat` quotes values that 1.1 and 1.2 read differently.
export const YAML_OPTIONS = { merge: true, compat: "yaml-1.1", logLevel: "error" } as const;

export function parseConfigText(text: string, path: string): Result<ParsedConfig, ConfigError> {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...YAML_OPTIONS, lineCounter: lines });
  // After another error the parser may also report that it ran out of its own limits; that tells the user nothing.
  const errors = document.errors.filter(({ code }, index) => index === 0 || code !== "RESOURCE_EXHAUSTION");
  const issues = errors.map((error): ConfigIssue => {
    // The library appends an excerpt of the file, which may contain a secret.
    const message = error.message.replace(/ at line \d+, column \d+:?[\s\S]*$/, "");
    return { key: "", message, line: lines.linePos(error.pos[0]).line };
  });
  if (issues.length > 0) return err(configError("syntax", path, issues));

  const raw = toPlain(document);
  if (!raw.ok) return err(configError("syntax", path, [{ key: "", message: raw.error }]));
  if (!isRecord(raw.value)) {
    const message = `must hold keys and values, but is ${shown(raw.value)}`;
    return err(configError("invalid", path, [{ key: "", message, line: 1 }]));
  }
  const lineOf = (wanted: readonly PropertyKey[]) => findLine(document, wanted, lines);
  return ok({ document, raw: raw.value, lineOf });
}

export function fullReadMemoryConfig(text: string, path: string): Result<MemoryConfig, ConfigError> {
  return fullRead(text, path, readMemoryConfig);
}

export function fullReadConfig(text: string, path: string): Result<HermesConfig, ConfigError> {
  return fullRead(text, path, readConfig);
}

function fullRead<T>(
  text: string,
  path: string,
  read: (raw: RawConfig) => { readonly config: T; readonly findings: readonly Finding[] },
): Result<T, ConfigError> {
  const parsed = parseConfigText(text, path);
  if (!parsed.ok) return parsed;
  const { config, findings } = read(parsed.value.raw);
  const refused = findings.filter(({ kind }) => kind === "refused");
  if (refused.length === 0) return ok(config);
  return err(
    configError(
      "invalid",
      path,
      refused.map((finding) => toIssue(finding, parsed.value)),
    ),
  );
}

export function toIssue(finding: Finding, parsed: Pick<ParsedConfig, "raw" | "lineOf">): ConfigIssue {
  const line = parsed.lineOf(finding.path);
  const message = findingText(finding, parsed.raw);
  return { key: finding.path.join("."), message, line };
}

function toPlain(document: Document.Parsed<ParsedNode>): Result<unknown, string> {
  try {
    return ok(document.toJS() ?? {});
  } catch (cause) {
    return err(describeCause(cause)); // unresolvable aliases, or an alias bomb
  }
}

function findLine(
  document: Document.Parsed<ParsedNode>,
  path: readonly PropertyKey[],
  lines: LineCounter,
): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isPair(item) && keyText(item.key) === String(part));
    if (pair === undefined) break;
    offset = rangeStart(pair.key) ?? offset;
    node = pair.value;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

function keyText(key: unknown): string {
  const value = typeof key === "object" && key !== null && "value" in key ? key.value : key;
  return String(value);
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== "object" || node === null || !("range" in node)) return undefined;
  return Array.isArray(node.range) && typeof node.range[0] === "number" ? node.range[0] : undefined;
}

// Changing one value keeps every other byte. If the text is too unusual for that (flow mappings, several keys on a line), the
// YAML library rewrites the file, which keeps comments but may change spacing.

type Path = readonly string[];
type RangedNode = { readonly range: readonly [number, number, number] };

/** The text with the value set, or undefined if neither way produces exactly the wanted content. */
export function spliceValue(
  text: string,
  parsed: ParsedConfig,
  edit: { path: Path; value: unknown; wanted: RawConfig },
): string | undefined {
  const spliced = placeValue(text, parsed, edit.path, edit.value);
  if (spliced !== undefined && holds(spliced, edit.wanted)) return spliced;
  // The library cannot set a key below `memory: ~`, only below a mapping or an empty value.
  const isNull = (depth: number) => parsed.document.getIn(edit.path.slice(0, depth)) === null;
  const depth = edit.path.findIndex((_part, index) => index > 0 && isNull(index));
  if (depth > 0) parsed.document.deleteIn(edit.path.slice(0, depth));
  parsed.document.setIn(edit.path, edit.value);
  return rewritten(parsed, [edit.wanted]);
}

/** `wanted` may list several contents with the same meaning. */
export function spliceRemoval(
  text: string,
  parsed: ParsedConfig,
  edit: { path: Path; wanted: readonly RawConfig[] },
): string | undefined {
  const found = findPair(parsed, edit.path);
  if (found !== undefined) {
    const start = lineStart(text, keyRange(found.pair).start);
    const end = nextLineStart(text, valueEnd(found.pair));
    const isAlone = /^ *$/.test(text.slice(start, keyRange(found.pair).start));
    const spliced = text.slice(0, start) + text.slice(end);
    if (isAlone && edit.wanted.some((wanted) => holds(spliced, wanted))) return spliced;
  }
  parsed.document.deleteIn(edit.path);
  return rewritten(parsed, edit.wanted);
}

/** A one-line value that YAML 1.1 and 1.2 read the same. */
function renderInline(value: unknown): string {
  if (typeof value === "string") return renderText(value);
  if (Array.isArray(value)) return `[${value.map(renderInline).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).map(([key, item]) => `${renderText(key)}: ${renderInline(item)}`);
    return `{${pairs.join(", ")}}`;
  }
  if (value === Number.POSITIVE_INFINITY) return ".inf";
  if (value === Number.NEGATIVE_INFINITY) return "-.inf";
  return Number.isNaN(value) ? ".nan" : String(value);
}

function renderText(text: string): string {
  const isTyped = /^(true|false|yes|no|on|off|y|n|null)$/i.test(text);
  if (/^[A-Za-z_][A-Za-z0-9_./-]*$/.test(text) && !isTyped) return text;
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, escaped);
}

function placeValue(text: string, parsed: ParsedConfig, path: Path, value: unknown): string | undefined {
  const existing = findPair(parsed, path);
  if (existing !== undefined) return replaceValue(text, existing.pair, renderInline(value));
  const root = parsed.document.contents;
  if (root === null) return append(text, nestedLines(path, value, "", newlineOf(text)));

  let depth = path.length - 1;
  while (depth > 0 && findPair(parsed, path.slice(0, depth)) === undefined) depth -= 1;
  const holder = depth === 0 ? root : findPair(parsed, path.slice(0, depth))?.pair.value;
  if (isMap(holder) && !holder.flow && holder.items.length > 0) {
    return insertIntoMap(text, holder, path.slice(depth), value);
  }
  const section = findPair(parsed, path.slice(0, depth))?.pair;
  const isEmpty = section !== undefined && (section.value === null || isBlankScalar(text, section.value));
  if (!isEmpty) return undefined;
  // `memory:` without a value
  const start = keyRange(section).start;
  const indent = `${text.slice(lineStart(text, start), start)}  `;
  if (!/^ *$/.test(indent)) return undefined;
  const at = nextLineStart(text, keyRange(section).end);
  return insertAt(text, at, nestedLines(path.slice(depth), value, indent, newlineOf(text)));
}

function replaceValue(text: string, pair: Pair, rendered: string): string | undefined {
  const key = keyRange(pair);
  const colon = text.indexOf(":", key.end) + 1;
  const value = pair.value;
  if (colon === 0 || !isRanged(value)) return undefined;
  const [start, end] = value.range;
  if (start === end) return `${text.slice(0, colon)} ${rendered}${text.slice(colon)}`;
  const isOneLine = !text.slice(colon, end).includes("\n");
  if (isOneLine) return text.slice(0, start) + rendered + text.slice(end);
  const tail = text[end - 1] === "\n" ? newlineOf(text) : "";
  return `${text.slice(0, colon)} ${rendered}${tail}${text.slice(end)}`;
}

function insertIntoMap(text: string, map: YAMLMap, path: Path, value: unknown): string | undefined {
  const first = map.items[0];
  const last = map.items.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const start = keyRange(first).start;
  const indent = " ".repeat(start - lineStart(text, start));
  const lines = nestedLines(path, value, indent, newlineOf(text));
  return insertAt(text, nextLineStart(text, valueEnd(last)), lines);
}

function nestedLines(path: Path, value: unknown, indent: string, newline: string): string {
  return path
    .map((part, i) => {
      const isLast = i === path.length - 1;
      return `${indent}${"  ".repeat(i)}${renderText(part)}:${isLast ? ` ${renderInline(value)}` : ""}${newline}`;
    })
    .join("");
}

function append(text: string, lines: string): string {
  return insertAt(text, text.length, lines);
}

function insertAt(text: string, at: number, lines: string): string {
  const before = text.slice(0, at);
  const isLineOpen = before !== "" && before !== "\ufeff" && !before.endsWith("\n");
  return before + (isLineOpen ? newlineOf(text) : "") + lines + text.slice(at);
}

function rewritten(parsed: ParsedConfig, wanted: readonly RawConfig[]): string | undefined {
  try {
    const text = parsed.document.toString({ lineWidth: 0 });
    return wanted.some((content) => holds(text, content)) ? text : undefined;
  } catch {
    return undefined; // e.g. an alias whose anchor was replaced: the caller asks for an edit by hand
  }
}

function holds(text: string, wanted: RawConfig): boolean {
  const parsed = parseConfigText(text, "");
  return parsed.ok && isDeepStrictEqual(parsed.value.raw, wanted);
}

function findPair(parsed: ParsedConfig, path: Path): { pair: Pair } | undefined {
  let node: unknown = parsed.document.contents;
  let pair: Pair | undefined;
  for (const part of path) {
    if (!isMap(node)) return undefined;
    pair = node.items.find((item) => keyText(item.key) === part);
    if (pair === undefined) return undefined;
    node = pair.value;
  }
  return pair === undefined ? undefined : { pair };
}

function isRanged(node: unknown): node is RangedNode {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}

function isBlankScalar(text: string, node: unknown): boolean {
  return isScalar(node) && isRanged(node) && text.slice(node.range[0], node.range[1]).trim() === "";
}

function keyRange(pair: Pair): { start: number; end: number } {
  if (!isRanged(pair.key)) throw new Error("a parsed key without a position");
  return { start: pair.key.range[0], end: pair.key.range[1] };
}

function valueEnd(pair: Pair): number {
  return isRanged(pair.value) ? pair.value.range[1] : keyRange(pair).end;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** The start of the line after the one that holds the character before `at`. */
function nextLineStart(text: string, at: number): number {
  if (at > 0 && text[at - 1] === "\n") return at;
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline + 1;
}

function newlineOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

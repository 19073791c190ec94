// config.yaml as YAML text: parsing with line numbers, and changing one value in place. Loads the YAML library, so it is imported
// on demand.
import { isDeepStrictEqual } from "node:util";
import { type Document, isMap, isScalar, LineCounter, type Pair, type ParsedNode, parseDocument } from "yaml";
import { describeCause, err, isRecord, ok, type Result } from "../lib/index.ts";
import { type ConfigIssue, shown } from "./key-kinds.ts";
import { type ConfigError, configError, type Finding, findingText, type RawConfig, valueAt } from "./read.ts";

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

export function fullRead<T>(
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
    const pair: Pair | undefined = isMap(node)
      ? node.items.find((item) => keyText(item.key) === String(part))
      : undefined;
    if (pair === undefined) break;
    if (isRanged(pair.key)) offset = pair.key.range[0];
    node = pair.value;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

function keyText(key: unknown): string {
  const value = typeof key === "object" && key !== null && "value" in key ? key.value : key;
  return String(value);
}

// Changing one value keeps every other byte of the user's file. So the text is spliced where the library's positions say; the library's
// own output would change spacing and line ends elsewhere.

type Path = readonly string[];
type RangedNode = { readonly range: readonly [number, number, number] };

/** The text with what `wanted` has at the path; undefined if no splice gives exactly the wanted content. */
export function spliceValue(
  text: string,
  parsed: ParsedConfig,
  edit: { readonly path: Path; readonly wanted: RawConfig },
): string | undefined {
  const { path, wanted } = edit;
  // The value itself, or a line below the nearest section, or else that section's value, when it has one line (flow, null).
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const at = path.slice(0, depth);
    const pair = findPair(parsed, at);
    if (pair === undefined && depth > 0) continue;
    const value = valueAt(wanted, path);
    const lines =
      depth < path.length ? insertBelow(text, parsed, { at, below: path.slice(depth), value }) : undefined;
    if (lines !== undefined && holds(lines, wanted)) return lines;
    const spliced =
      pair && replaceValue(text, pair, { value: valueAt(wanted, at), isOwn: depth === path.length });
    if (spliced !== undefined && holds(spliced, wanted)) return spliced;
  }
  // A file that is one flow: `{}`, or `{memory: {...}}`.
  const root: unknown = parsed.document.contents;
  if (!isMap(root) || !root.flow || !isRanged(root)) return undefined;
  const [start, end] = root.range;
  const whole = text.slice(0, start) + renderInline(wanted) + text.slice(end);
  return text.slice(start, end).includes("#") || !holds(whole, wanted) ? undefined : whole;
}

/** The text without the key. `wanted` may list several contents with the same meaning. */
export function spliceRemoval(
  text: string,
  parsed: ParsedConfig,
  edit: { readonly path: Path; readonly wanted: readonly RawConfig[] },
): string | undefined {
  const pair = findPair(parsed, edit.path);
  if (pair === undefined) return undefined;
  const { start } = keyRange(pair);
  const from = lineStart(text, start);
  const cut = text.slice(0, from) + text.slice(nextLineStart(text, valueEnd(pair)));
  if (/^ *$/.test(text.slice(from, start)) && edit.wanted.some((wanted) => holds(cut, wanted))) return cut;
  const above = edit.path.slice(0, -1);
  for (const wanted of edit.wanted) {
    const spliced = above.length === 0 ? undefined : spliceValue(text, parsed, { path: above, wanted });
    if (spliced !== undefined) return spliced;
  }
  return undefined;
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

/** `isOwn`: the value of the key that is set. Another one is replaced only where it has one line, or is a flow without comments. */
function replaceValue(
  text: string,
  pair: Pair,
  { value, isOwn }: { readonly value: unknown; readonly isOwn: boolean },
): string | undefined {
  const colon = text.indexOf(":", keyRange(pair).end) + 1;
  if (colon === 0 || !isRanged(pair.value)) return undefined;
  const [start, end] = pair.value.range;
  if (start === end) return `${text.slice(0, colon)} ${renderInline(value)}${text.slice(colon)}`;
  const isOneLine = !text.slice(colon, end).includes("\n");
  const isFlow = isMap(pair.value) && pair.value.flow === true && !text.slice(colon, end).includes("#");
  if (!isOwn && !isOneLine && !isFlow) return undefined;
  if (isOneLine) return text.slice(0, start) + renderInline(value) + text.slice(end);
  const tail = text[end - 1] === "\n" ? newlineOf(text) : "";
  return `${text.slice(0, colon)} ${renderInline(value)}${tail}${text.slice(end)}`;
}

/** With lines for `below` at the end of the block section at `at`, or as its first ones. */
function insertBelow(
  text: string,
  parsed: ParsedConfig,
  { at, below, value }: { readonly at: Path; readonly below: Path; readonly value: unknown },
): string | undefined {
  const pair = findPair(parsed, at);
  const holder = pair === undefined ? parsed.document.contents : pair.value;
  const items = isMap(holder) && !holder.flow ? holder.items : [];
  const last = items.at(-1);
  if (last !== undefined) {
    // The column of a key that has its line for itself; another may stand behind `? ` or a byte order mark.
    const indents = items.map((item) =>
      text.slice(lineStart(text, keyRange(item).start), keyRange(item).start),
    );
    const indent = pair === undefined ? "" : indents.find((each) => /^ *$/.test(each));
    if (indent === undefined) return undefined;
    return withLines(text, nextLineStart(text, valueEnd(last)), { path: below, value, indent });
  }
  if (pair === undefined)
    return holder === null ? withLines(text, text.length, { path: below, value, indent: "" }) : undefined;
  const isBlank =
    holder === null || (isScalar(holder) && isRanged(holder) && holder.range[0] === holder.range[1]);
  const { start, end } = keyRange(pair);
  const indent = `${text.slice(lineStart(text, start), start)}  `;
  if (!isBlank || !/^ *$/.test(indent)) return undefined;
  return withLines(text, nextLineStart(text, end), { path: below, value, indent }); // `memory:` without a value
}

function withLines(
  text: string,
  at: number,
  { path, value, indent }: { readonly path: Path; readonly value: unknown; readonly indent: string },
): string {
  const newline = newlineOf(text);
  const before = text.slice(0, at);
  const isLineOpen = before !== "" && before !== "\ufeff" && !before.endsWith("\n");
  const lines = path.map((part, i) => {
    const held = i === path.length - 1 ? ` ${renderInline(value)}` : "";
    return `${indent}${"  ".repeat(i)}${renderText(part)}:${held}${newline}`;
  });
  return before + (isLineOpen ? newline : "") + lines.join("") + text.slice(at);
}

function holds(text: string, wanted: RawConfig): boolean {
  const parsed = parseConfigText(text, "");
  return parsed.ok && isDeepStrictEqual(parsed.value.raw, wanted);
}

/** Undefined for the file itself, and for a key that is not there. */
function findPair(parsed: ParsedConfig, path: Path): Pair | undefined {
  let node: unknown = parsed.document.contents;
  let pair: Pair | undefined;
  for (const part of path) {
    pair = isMap(node) ? node.items.find((item) => keyText(item.key) === part) : undefined;
    if (pair === undefined) return undefined;
    node = pair.value;
  }
  return pair;
}

function isRanged(node: unknown): node is RangedNode {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
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

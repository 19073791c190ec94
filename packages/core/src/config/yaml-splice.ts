// Changes one value in YAML text and leaves every other byte alone. Where the text is too unusual for that (flow
// mappings, several keys on a line) the YAML library rewrites the file, which keeps comments but may change spacing.
import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, type Pair, type YAMLMap } from "yaml";
import { keyText, type ParsedConfig, parseConfigText } from "./full-read.ts";
import type { RawConfig } from "./read.ts";

type Path = readonly string[];
type RangedNode = { readonly range: readonly [number, number, number] };

/** The text with the value set, or undefined when neither way gives exactly the wanted content. */
export function spliceValue(
  text: string,
  parsed: ParsedConfig,
  edit: { path: Path; value: unknown; wanted: RawConfig },
): string | undefined {
  const spliced = placeValue(text, parsed, edit.path, edit.value);
  if (spliced !== undefined && holds(spliced, edit.wanted)) return spliced;
  // `memory: ~` holds no keys: the library sets a key only below a mapping, or below nothing.
  const isNull = (depth: number) => parsed.document.getIn(edit.path.slice(0, depth)) === null;
  const depth = edit.path.findIndex((_part, index) => index > 0 && isNull(index));
  if (depth > 0) parsed.document.deleteIn(edit.path.slice(0, depth));
  parsed.document.setIn(edit.path, edit.value);
  return rewritten(parsed, [edit.wanted]);
}

/** `wanted` may list several contents that mean the same. */
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

/** A value on one line that YAML 1.1 and 1.2 read alike. */
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
  // `memory:` with nothing below it yet
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

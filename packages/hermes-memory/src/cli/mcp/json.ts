// JSON settings of other programs: their values, and edits by path in the layout of the file that keep every other byte.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@hermes-memory/core/internal/lib";
import {
  createScanner,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  type SyntaxKind,
} from "jsonc-parser";
import { EditError, newlineOf, shapeError, splice, type TextRange } from "./config-edit.ts";

export type Path = readonly (string | number)[];

/** `jsonc`: with comments and commas behind the last part, which some programs allow in their settings. */
type Grammar = "json" | "jsonc";

/** The members of the object that the text is; none for an empty text. */
export function readJson(text: string, grammar: Grammar = "jsonc"): Readonly<Record<string, unknown>> {
  return dataOf(open(text, grammar).root) as Record<string, unknown>;
}

/** With another value at a path, written as far as it differs. `undefined` removes it; objects and lists that are missing are made. */
export function withJson(text: string, path: Path, value: unknown): string {
  const document = open(text, "jsonc");
  let node = document.root;
  for (const [depth, key] of path.entries()) {
    const below = partOf(node, key);
    if (below === undefined) {
      if (value === undefined) return text;
      const nested = path
        .slice(depth + 1)
        .reduceRight((inner, step) => (typeof step === "number" ? [inner] : { [step]: inner }), value);
      return append(document, node, typeof key === "string" ? key : undefined, nested);
    }
    node = below;
  }
  if (value === undefined) return withoutPart(text, node.parent?.type === "property" ? node.parent : node);
  const present = dataOf(node);
  if (isDeepStrictEqual(present, value)) return text;
  if (isRecord(present) && isRecord(value))
    return Object.keys({ ...present, ...value }).reduce(
      (now, key) => withJson(now, [...path, key], value[key]),
      text,
    );
  if (Array.isArray(present) && Array.isArray(value) && present.length === value.length)
    return value.reduce((now: string, item, at) => withJson(now, [...path, at], item), text);
  const style = styleOf(document);
  return splice(text, rangeOf(node), render(value, style, indentAt(text, node.offset)));
}

/** A document whose root is an object; one for an empty text too. */
type JsonDocument = { readonly text: string; readonly root: Node };

function open(text: string, grammar: Grammar): JsonDocument {
  const source = text.trim() === "" ? "{}\n" : text;
  const errors: ParseError[] = [];
  const root = parseTree(source.replace(/^\ufeff/, " "), errors, {
    disallowComments: grammar === "json",
    allowTrailingComma: grammar === "jsonc",
  });
  const [error] = errors;
  if (error) {
    const words = printParseErrorCode(error.error).replace(
      /\B[A-Z]/g,
      (letter) => ` ${letter.toLowerCase()}`,
    );
    throw syntaxError(source, error.offset, words.toLowerCase());
  }
  if (root?.type !== "object") throw shapeError("it holds no JSON object");
  return { text: source, root };
}

function syntaxError(text: string, offset: number, reason: string): EditError {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return new EditError({ kind: "syntax", line, column: offset - before.lastIndexOf("\n"), reason });
}

/** The last one of a key wins, as in every JSON parser. */
function partOf(node: Node, key: string | number): Node | undefined {
  if (typeof key === "number") return node.children?.[key];
  return node.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1];
}

/** A copy, because the parser's objects have no prototype and would equal none of ours. */
function dataOf(node: Node): unknown {
  return structuredClone(getNodeValue(node));
}

function rangeOf({ offset, length }: Node): TextRange {
  return { start: offset, end: offset + length };
}

/** Without a member or an item, and without its comma. Undoes an append; comments around it stay. */
function withoutPart(text: string, part: Node): string {
  const cut = (from: number, to: number): string => splice(text, { start: from, end: to }, "");
  const { start, end } = rangeOf(part);
  const around = part.parent ? rangeOf(part.parent) : { start, end };
  const parts = part.parent?.children ?? [];
  const at = parts.indexOf(part);
  const before = parts[at - 1] && rangeOf(parts[at - 1] ?? part).end;
  if (before !== undefined && /^\s*,\s*$/.test(text.slice(before, start))) return cut(before, end);
  const stop = (commaBehind(text, end) ?? end - 1) + 1;
  if (parts[at + 1]) return cut(start, stop + (/^\s*/.exec(text.slice(stop))?.[0].length ?? 0));
  if (before !== undefined) {
    const comma = commaBehind(text, before) ?? start;
    return splice(cut(start, end), { start: comma, end: comma + 1 }, "");
  }
  // The last part goes with the line breaks that its container got for it.
  const hasLead = /\S/.test(text.slice(around.start + 1, start));
  const hasTail = /\S/.test(text.slice(stop, around.end - 1));
  return cut(hasLead ? start : around.start + 1, hasLead || hasTail ? stop : around.end - 1);
}

function commaBehind(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return scanner.scan() === (5 satisfies SyntaxKind.CommaToken) ? scanner.getTokenOffset() : undefined;
}

type Style = { readonly unit: string; readonly newline: string; readonly isOneLine: boolean };

function styleOf({ text, root }: JsonDocument): Style {
  const [first] = root.children ?? [];
  const lead = first && text.slice(root.offset + 1, first.offset);
  return {
    unit: (lead?.includes("\n") && lastLine(lead)) || "  ",
    newline: newlineOf(text),
    isOneLine: lead !== undefined && !lead.includes("\n"),
  };
}

/** With a last member in an object, or a last item in a list. */
function append(document: JsonDocument, into: Node, key: string | undefined, value: unknown): string {
  const { text } = document;
  const style = styleOf(document);
  const own = indentAt(text, into.offset);
  const { start, end } = rangeOf(into);
  const [first] = into.children ?? [];
  const last = into.children?.at(-1);
  const lead = first ? text.slice(start + 1, first.offset) : "";
  const isOneLine = first ? !lead.includes("\n") : style.isOneLine;
  const indent = first && !isOneLine ? lastLine(lead) : own + style.unit;
  const name = key === undefined ? "" : `${JSON.stringify(key)}:${isOneLine ? "" : " "}`;
  const piece = name + render(value, { ...style, isOneLine }, indent);
  const line = isOneLine ? piece : `${style.newline}${indent}${piece}`;
  if (last) return splice(text, { start: rangeOf(last).end, end: rangeOf(last).end }, `,${line}`);
  // A comment stays behind the new part.
  if (/\S/.test(text.slice(start + 1, end - 1)))
    return splice(text, { start: start + 1, end: start + 1 }, line);
  return splice(text, { start: start + 1, end: end - 1 }, isOneLine ? line : `${line}${style.newline}${own}`);
}

function render(value: unknown, { unit, newline, isOneLine }: Style, indent: string): string {
  if (isOneLine) return JSON.stringify(value);
  return JSON.stringify(value, null, unit).replaceAll("\n", `${newline}${indent}`);
}

/** The white space at the beginning of the line that contains the offset. */
function indentAt(text: string, offset: number): string {
  return lastLine(text.slice(0, offset));
}

/** The white space at the beginning of the last line. */
function lastLine(text: string): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n") + 1))?.[0] ?? "";
}

// JSON settings of other programs: their values with places, and edits in the indentation of the file that keep every other byte.
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

export type { Node };

/** `jsonc`: with comments and commas behind the last part, which some programs allow in their settings. */
export type Grammar = "json" | "jsonc";

/** A document whose root is an object; one for an empty text too. */
export type JsonDocument = { readonly text: string; readonly root: Node };

export function openJson(text: string, grammar: Grammar): JsonDocument {
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

/** The value of a key. The last one wins, as in every JSON parser. */
export function memberOf(node: Node | undefined, key: string): Node | undefined {
  if (node?.type !== "object") return undefined;
  return node.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1];
}

export function itemsOf(node: Node | undefined): readonly Node[] {
  return (node?.type === "array" && node.children) || [];
}

/** A copy, because the parser's objects have no prototype and would equal none of ours. */
export function dataOf(node: Node): unknown {
  return structuredClone(getNodeValue(node));
}

function rangeOf({ offset, length }: Node): TextRange {
  return { start: offset, end: offset + length };
}

/** The text with a last member in an object. */
export function withMember({ text, root }: JsonDocument, into: Node, key: string, value: unknown): string {
  const style = styleOf(text, root);
  return append(
    text,
    into,
    (shape, indent) => `${JSON.stringify(key)}:${style.gap}${render(value, shape, indent)}`,
    style,
  );
}

/** The text with a last item in an array. */
export function withItem({ text, root }: JsonDocument, into: Node, value: unknown): string {
  return append(text, into, (shape, indent) => render(value, shape, indent), styleOf(text, root));
}

/** The text with another value of a member or an item. */
export function withValue({ text, root }: JsonDocument, node: Node, value: unknown): string {
  return splice(text, rangeOf(node), render(value, styleOf(text, root), indentAt(text, node.offset)));
}

/** The text without a member or an item, and without its comma. Undoes an append; comments around it stay. */
export function withoutPart({ text }: JsonDocument, part: Node): string {
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

type Style = {
  readonly unit: string;
  readonly newline: string;
  readonly isOneLine: boolean;
  readonly gap: string;
};

function styleOf(text: string, root: Node): Style {
  const [first] = root.children ?? [];
  const lead = first && text.slice(root.offset + 1, first.offset);
  const isOneLine = lead !== undefined && !lead.includes("\n");
  const value = first?.children?.[1];
  const isDense = isOneLine && first && value && /":\S/.test(text.slice(first.offset, value.offset + 1));
  return {
    unit: (lead?.includes("\n") && lastLine(lead)) || "  ",
    newline: newlineOf(text),
    isOneLine,
    gap: isDense ? "" : " ",
  };
}

function append(
  text: string,
  into: Node,
  part: (style: Style, indent: string) => string,
  style: Style,
): string {
  const own = indentAt(text, into.offset);
  const { start, end } = rangeOf(into);
  const [first] = into.children ?? [];
  const last = into.children?.at(-1);
  const lead = first ? text.slice(start + 1, first.offset) : "";
  const isOneLine = first ? !lead.includes("\n") : style.isOneLine;
  const indent = first && !isOneLine ? lastLine(lead) : own + style.unit;
  const piece = part({ ...style, isOneLine }, indent);
  if (last) {
    const joint = isOneLine ? `,${style.gap}` : `,${style.newline}${indent}`;
    const at = rangeOf(last).end;
    return splice(text, { start: at, end: at }, joint + piece);
  }
  const line = isOneLine ? piece : `${style.newline}${indent}${piece}`;
  // A comment stays behind the new part.
  if (/\S/.test(text.slice(start + 1, end - 1)))
    return splice(text, { start: start + 1, end: start + 1 }, line);
  return splice(text, { start: start + 1, end: end - 1 }, isOneLine ? line : `${line}${style.newline}${own}`);
}

function render(value: unknown, { unit, newline, isOneLine, gap }: Style, indent: string): string {
  if (isOneLine) return gap === "" ? JSON.stringify(value) : spaced(value);
  return JSON.stringify(value, null, unit).replaceAll("\n", `${newline}${indent}`);
}

/** `{"a": 1, "b": [2, 3]}` */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`)
    .join(", ")}}`;
}

/** The white space at the beginning of the line that contains the offset. */
function indentAt(text: string, offset: number): string {
  return lastLine(text.slice(0, offset));
}

/** The white space at the beginning of the last line. */
function lastLine(text: string): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n") + 1))?.[0] ?? "";
}

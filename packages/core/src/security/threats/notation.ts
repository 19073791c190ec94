// The pattern notation. Small on purpose: everything that can be written in it runs in linear time.
//
//   abc        those characters, upper or lower case          blank       one or more whitespace characters
//   (a|b)      one of the alternatives                        LINE        any run of characters without a line feed
//   [name]     one character of a set of alphabet.ts          FILL        any number of words, each with its whitespace
//   x?  x*     optional, any number                           FILL{0,3}   at most that many words
//   x{20}      exactly that many                              {b}         word boundary
//
// FILL takes the blank behind it along: `ignore FILL rules` covers `ignore rules` with a single blank.
import { classSet } from "./alphabet.ts";
import type { Shape } from "./shape.ts";

export function parseShape(source: string): Shape {
  const cursor = { source, at: 0 };
  const shape = parseChoice(cursor);
  if (cursor.at < source.length) throw new Error(`Unexpected '${source[cursor.at]}' in pattern '${source}'.`);
  return shape;
}

const MARKS = " {LF([|)?*";

type Cursor = { readonly source: string; at: number };

function parseChoice(cursor: Cursor): Shape {
  const options = [parseSequence(cursor)];
  while (take(cursor, "|")) options.push(parseSequence(cursor));
  const [only] = options;
  return only !== undefined && options.length === 1 ? only : { kind: "choice", options };
}

function parseSequence(cursor: Cursor): Shape {
  const parts: Shape[] = [];
  while (cursor.at < cursor.source.length && !"|)".includes(cursor.source.charAt(cursor.at))) {
    const part = parseCount(cursor, parseAtom(cursor));
    const last = parts.at(-1);
    if (part.kind === "literal" && last?.kind === "literal")
      parts[parts.length - 1] = { kind: "literal", text: last.text + part.text };
    else parts.push(part);
  }
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? only : { kind: "sequence", parts };
}

function parseAtom(cursor: Cursor): Shape {
  const plain = plainRun(cursor);
  if (plain !== "") return { kind: "literal", text: plain };
  if (take(cursor, " ")) return atLeastOnce(named("space"));
  if (take(cursor, "{b}")) return { kind: "boundary" };
  if (take(cursor, "LINE")) return repeat(named("line"), 0, Number.POSITIVE_INFINITY);
  if (take(cursor, "FILL")) return parseFill(cursor);
  if (take(cursor, "(")) {
    const inner = parseChoice(cursor);
    expect(cursor, ")");
    return inner;
  }
  if (take(cursor, "[")) return named(takeUntil(cursor, "]"));
  cursor.at += 1; // an L, F or { that begins none of the above
  return { kind: "literal", text: cursor.source.charAt(cursor.at - 1) };
}

/** Characters without a meaning of their own, up to the one that a count follows. In one go: patterns consist of them. */
function plainRun(cursor: Cursor): string {
  const from = cursor.at;
  while (cursor.at < cursor.source.length && !MARKS.includes(cursor.source.charAt(cursor.at))) cursor.at += 1;
  if (cursor.at - from > 1 && isCountAhead(cursor)) cursor.at -= 1;
  return cursor.source.slice(from, cursor.at);
}

function parseFill(cursor: Cursor): Shape {
  const most = take(cursor, "{0,") ? Number(takeUntil(cursor, "}")) : Number.POSITIVE_INFINITY;
  expect(cursor, " ");
  const group: Shape = { kind: "sequence", parts: [atLeastOnce(named("word")), atLeastOnce(named("space"))] };
  return repeat(group, 0, most);
}

function parseCount(cursor: Cursor, part: Shape): Shape {
  if (!isCountAhead(cursor)) return part;
  if (take(cursor, "?")) return repeat(part, 0, 1);
  if (take(cursor, "*")) return repeat(part, 0, Number.POSITIVE_INFINITY);
  expect(cursor, "{");
  const count = Number(takeUntil(cursor, "}"));
  return repeat(part, count, count);
}

function isCountAhead({ source, at }: Cursor): boolean {
  const mark = source.charAt(at);
  if (mark !== "{") return mark === "?" || mark === "*";
  const digit = source.charAt(at + 1); // tells a count from the boundary {b} and from a brace that is meant
  return digit >= "0" && digit <= "9";
}

function named(name: string): Shape {
  return { kind: "set", set: classSet(name) };
}

function repeat(part: Shape, least: number, most: number): Shape {
  return { kind: "repeat", part, least, most };
}

function atLeastOnce(part: Shape): Shape {
  return repeat(part, 1, Number.POSITIVE_INFINITY);
}

function take(cursor: Cursor, token: string): boolean {
  if (!cursor.source.startsWith(token, cursor.at)) return false;
  cursor.at += token.length;
  return true;
}

function expect(cursor: Cursor, token: string): void {
  if (!take(cursor, token))
    throw new Error(`Expected '${token}' at ${cursor.at} in pattern '${cursor.source}'.`);
}

function takeUntil(cursor: Cursor, token: string): string {
  const end = cursor.source.indexOf(token, cursor.at);
  if (end < 0) throw new Error(`Expected '${token}' after ${cursor.at} in pattern '${cursor.source}'.`);
  const taken = cursor.source.slice(cursor.at, end);
  cursor.at = end + token.length;
  return taken;
}

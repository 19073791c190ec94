// Pieces of text with a style, and how they fall into the rows of a terminal.
import type { Paint, Style } from "../../command.ts";
import { displayWidth } from "../../sessions/text-layout.ts";
import { graphemesOf } from "../editor/graphemes.ts";

export type Span = { readonly text: string; readonly style?: Style | undefined };
export type Row = readonly Span[];

const TAB_COLUMNS = 8;
const PLAIN = /^[\x20-\x7e]*$/;

export function widthOf(row: Row): number {
  return row.reduce((sum, { text }) => sum + displayWidth(text), 0);
}

export function painted(row: Row, paint: Paint): string {
  return row
    .map(({ text, style }) => (style === undefined || text === "" ? text : paint(style, text)))
    .join("");
}

/** Lines at their newlines; always at least one. */
export function linesOfSpans(spans: readonly Span[]): Row[] {
  const lines: Span[][] = [[]];
  for (const { text, style } of spans) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ text: part, style });
    }
  }
  return lines;
}

/** Tabs as blanks up to the next stop, so that every character has a width. `start` is where in its line this begins. */
export function untabbed(line: Row, start = 0): Row {
  if (!line.some(({ text }) => text.includes("\t"))) return line;
  let column = start;
  return line.map(({ text, style }) => {
    const parts = text.split("\t").map((part, index, all) => {
      column += displayWidth(part);
      if (index === all.length - 1) return part;
      const blanks = TAB_COLUMNS - (column % TAB_COLUMNS);
      column += blanks;
      return part + " ".repeat(blanks);
    });
    return { text: parts.join(""), style };
  });
}

/** Neighbours of one style as one: a character may come in two pieces, and a line in thousands. */
export function merged(line: Row): Row {
  const spans: Span[] = [];
  for (const span of line) {
    const last = spans.at(-1);
    if (last !== undefined && last.style === span.style)
      spans[spans.length - 1] = { text: last.text + span.text, style: span.style };
    else if (span.text !== "") spans.push(span);
  }
  return spans;
}

/** The rows a line takes in `columns`, as terminals break it: a wide character that does not fit goes to the next row. */
export function rowsOfLine(line: Row, columns: number): Row[] {
  const rows: Span[][] = [[]];
  let used = 0;
  const put = (text: string, style: Span["style"]): void => void rows.at(-1)?.push({ text, style });
  for (const { text, style } of line) {
    if (PLAIN.test(text)) {
      for (let at = 0; at < text.length; ) {
        if (used >= columns) {
          rows.push([]);
          used = 0;
        }
        const part = text.slice(at, at + columns - used);
        put(part, style);
        used += part.length;
        at += part.length;
      }
      continue;
    }
    let part = "";
    for (const grapheme of graphemesOf(text)) {
      const width = displayWidth(grapheme);
      if (used + width > columns && used > 0) {
        put(part, style);
        rows.push([]);
        part = "";
        used = 0;
      }
      part += grapheme;
      used += width;
    }
    put(part, style);
  }
  return rows;
}

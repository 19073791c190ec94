// The input line as rows of a terminal: a mark in front of the first one, blanks in front of the others.
import type { Style } from "../../command.ts";
import { printable } from "../../printing.ts";
import { displayWidth } from "../../sessions/text-layout.ts";
import type { Footer } from "../view/live-view.ts";
import type { Row, Span } from "../view/span.ts";
import { graphemesOf } from "./graphemes.ts";
import type { Editor } from "./state.ts";

const MARK = "> ";
const TAB = "    ";
const PLAIN = /^[\x20-\x7e]*$/;

export type InputLook = { readonly columns: number; readonly markStyle?: Style | undefined };

export function inputFooter({ text, cursor }: Editor, { columns, markStyle }: InputLook): Footer {
  const room = Math.max(2, columns - MARK.length - 1); // the last column is the cursor's, behind a full row
  const rows: string[] = [];
  let place = { row: 0, column: 0 };
  let start = 0;
  for (const line of text.split("\n")) {
    const broken = brokenLine(line, cursor - start, room);
    if (broken.cursor !== undefined)
      place = { row: rows.length + broken.cursor.row, column: MARK.length + broken.cursor.column };
    rows.push(...broken.rows);
    start += line.length + 1;
  }
  const marked = rows.map((row, index): Row => {
    const mark: Span = index === 0 ? { text: MARK, style: markStyle } : { text: " ".repeat(MARK.length) };
    return [mark, { text: row }];
  });
  return { rows: marked, cursor: place };
}

type Broken = {
  readonly rows: readonly string[];
  readonly cursor?: { readonly row: number; readonly column: number };
};

/** `cursor` counts from the beginning of the line and may be outside of it. */
function brokenLine(line: string, cursor: number, room: number): Broken {
  if (PLAIN.test(line)) return brokenPlain(line, cursor, room);
  const rows = [""];
  let used = 0;
  let index = 0;
  let place: Broken["cursor"];
  for (const grapheme of graphemesOf(line)) {
    const shown = grapheme === "\t" ? TAB : printable(grapheme);
    const width = displayWidth(shown);
    if (used + width > room && used > 0) {
      rows.push("");
      used = 0;
    }
    if (index === cursor) place = { row: rows.length - 1, column: used };
    rows[rows.length - 1] += shown;
    used += width;
    index += grapheme.length;
  }
  if (index === cursor) place = { row: rows.length - 1, column: used };
  return { rows, ...(place === undefined ? {} : { cursor: place }) };
}

function brokenPlain(line: string, cursor: number, room: number): Broken {
  const rows = [line.slice(0, room)];
  for (let at = room; at < line.length; at += room) rows.push(line.slice(at, at + room));
  if (cursor < 0 || cursor > line.length) return { rows };
  const row = cursor === line.length ? rows.length - 1 : Math.floor(cursor / room);
  return { rows, cursor: { row, column: cursor - row * room } };
}

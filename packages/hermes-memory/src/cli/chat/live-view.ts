// A conversation that grows downwards, with a footer (input line, spinner) always at the bottom. New text goes above the footer, even in
// the middle of a line, while the user types.
import type { Paint, Style } from "../command.ts";
import { displayWidth, graphemesOf, type Size } from "../printing.ts";

export type Footer = {
  /** Each one narrower than the terminal. */
  readonly rows: readonly Row[];
  readonly cursor: { readonly row: number; readonly column: number };
};

type ViewDevice = { size(): Size; write(text: string): void };

const NOTHING: Footer = { rows: [], cursor: { row: 0, column: 0 } };
// Synchronized update, which terminals without it ignore, and a hidden cursor while drawing.
const BEGIN = "\u001b[?2026h\u001b[?25l";
const END = "\u001b[?25h\u001b[?2026l";
const ERASE_BELOW = "\u001b[J";
const CLEAR = "\u001b[2J\u001b[H";

export class LiveView {
  readonly #device: ViewDevice;
  readonly #paint: Paint;
  /** The unfinished line from its beginning, because it wraps elsewhere after a resize. */
  #line: Row = [];
  #width = 0;
  /** The last row of that line, where text continues. */
  #tail: Row = [];
  #columns: number;
  #footer: Footer = NOTHING;
  /** The footer on the terminal, and whether an unfinished row is above it. */
  #drawn: { readonly footer: Footer; readonly hasTail: boolean } = { footer: NOTHING, hasTail: false };

  constructor(device: ViewDevice, paint: Paint) {
    this.#device = device;
    this.#paint = paint;
    this.#columns = device.size().columns;
  }

  /** Text and footer change in one update. */
  print(spans: readonly Span[], footer: Footer = this.#footer): void {
    this.#footer = footer;
    const said = spans.filter(({ text }) => text !== "");
    if (said.length > 0) this.#draw(said);
  }

  /** Call it after a resize as well. */
  setFooter(footer: Footer): void {
    this.#footer = footer;
    this.#draw([]);
  }

  clearScreen(): void {
    this.#device.write(CLEAR);
    this.redrawFresh();
  }

  /** After another program used the terminal: the cursor is at the beginning of an empty row. */
  redrawFresh(): void {
    this.#drawn = { footer: NOTHING, hasTail: false };
    this.#draw([]);
  }

  /** Removes the footer and ends the line. */
  close(): void {
    this.#footer = NOTHING;
    this.#draw(this.#line.length === 0 ? [] : [{ text: "\n" }]);
  }

  #draw(spans: readonly Span[]): void {
    const { columns, rows: height } = this.#device.size();
    if (columns !== this.#columns) {
      this.#columns = columns;
      this.#tail = lastRow(this.#line, columns);
    }
    const above = this.#toTail();
    // The unfinished row is written again from its beginning: that puts the cursor after it, even if the row is full.
    let out = `${BEGIN}${above}\r${ERASE_BELOW}`;
    const [first = [], ...more] = linesOfSpans(spans).map((line, index) =>
      index === 0 ? [...this.#tail, ...untabbed(line, this.#width)] : untabbed(line),
    );
    out += [first, ...more].map((line) => painted(merged(line), this.#paint)).join("\r\n");
    const last = more.at(-1);
    const added = last ?? first.slice(this.#tail.length);
    this.#line = last ?? merged([...this.#line, ...added]);
    this.#width = last ? widthOf(last) : this.#width + widthOf(added);
    this.#tail = lastRow(merged(last ?? first), columns);
    const hasTail = this.#tail.length > 0;
    const footer = fitted(this.#footer, height - (hasTail ? 1 : 0));
    if (footer.rows.length > 0) out += `${hasTail ? "\r\n" : ""}${this.#footerText(footer)}`;
    this.#drawn = { footer, hasTail };
    this.#device.write(`${out}${END}`);
  }

  #footerText({ rows, cursor }: Footer): string {
    const text = rows.map((row) => painted(row, this.#paint)).join("\r\n");
    return `${text}${up(rows.length - 1 - cursor.row)}\r${right(cursor.column)}`;
  }

  /** Moves the cursor to the unfinished row. After a resize, footer rows may take more rows than when they were drawn. */
  #toTail(): string {
    const { footer, hasTail } = this.#drawn;
    if (footer.rows.length === 0) return "";
    const { row, column } = footer.cursor;
    const rows = footer.rows
      .slice(0, row)
      .reduce((sum, each) => sum + rowCount(widthOf(each), this.#columns), 0);
    return up((hasTail ? 1 : 0) + rows + Math.floor(column / this.#columns));
  }
}

/** As many rows as fit, including the one with the cursor. */
function fitted({ rows, cursor }: Footer, height: number): Footer {
  const room = Math.max(1, height);
  if (rows.length <= room) return { rows, cursor };
  const top = Math.min(Math.max(0, cursor.row - room + 1), rows.length - room);
  return { rows: rows.slice(top, top + room), cursor: { row: cursor.row - top, column: cursor.column } };
}

function lastRow(line: Row, columns: number): Row {
  return rowsOfLine(line, columns).at(-1) ?? [];
}

function rowCount(width: number, columns: number): number {
  return Math.max(1, Math.ceil(width / columns));
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : "";
}

function right(columns: number): string {
  return columns > 0 ? `\u001b[${columns}C` : "";
}

// Styled text, and how terminals break it into rows.

export type Span = { readonly text: string; readonly style?: Style | undefined };
export type Row = readonly Span[];

const TAB_COLUMNS = 8;
const PLAIN = /^[\x20-\x7e]*$/;

export function widthOf(row: Row): number {
  return row.reduce((sum, { text }) => sum + displayWidth(text), 0);
}

function painted(row: Row, paint: Paint): string {
  return row
    .map(({ text, style }) => (style === undefined || text === "" ? text : paint(style, text)))
    .join("");
}

/** Splits at newlines; always at least one line. */
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

/** Replaces tabs by blanks up to the next tab stop. `start` is the column where the text begins. */
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

/** Joins neighbours of the same style: a character may arrive in two pieces, and a line in thousands. */
function merged(line: Row): Row {
  const spans: Span[] = [];
  for (const span of line) {
    const last = spans.at(-1);
    if (last !== undefined && last.style === span.style)
      spans[spans.length - 1] = { text: last.text + span.text, style: span.style };
    else if (span.text !== "") spans.push(span);
  }
  return spans;
}

/** Breaks a line as terminals do: a wide character that does not fit goes to the next row. */
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

// A conversation that grows downwards, and below it a footer (input line, spinner) that is always the last thing on the
// terminal. What is said goes above the footer, also in the middle of a line, while somebody types.
import type { Paint } from "../../command.ts";
import type { Size } from "../../screen.ts";
import { linesOfSpans, merged, painted, type Row, rowsOfLine, type Span, untabbed, widthOf } from "./span.ts";

export type Footer = {
  /** Each narrower than the terminal. */
  readonly rows: readonly Row[];
  readonly cursor: { readonly row: number; readonly column: number };
};

export type ViewDevice = { size(): Size; write(text: string): void };

const NOTHING: Footer = { rows: [], cursor: { row: 0, column: 0 } };
// Terminals that know the first pair show each change at once; the others ignore it. The second keeps the cursor from flying about.
const BEGIN = "\u001b[?2026h\u001b[?25l";
const END = "\u001b[?25h\u001b[?2026l";
const ERASE_BELOW = "\u001b[J";
const CLEAR = "\u001b[2J\u001b[H";

export class LiveView {
  readonly #device: ViewDevice;
  readonly #paint: Paint;
  /** The line that has not ended yet, from its beginning: after a change of size it breaks elsewhere. */
  #line: Row = [];
  #width = 0;
  /** Its last row, where it goes on. */
  #tail: Row = [];
  #columns: number;
  #footer: Footer = NOTHING;
  /** What the terminal shows of the footer, and whether a row that has not ended is above it. */
  #drawn: { readonly footer: Footer; readonly hasTail: boolean } = { footer: NOTHING, hasTail: false };

  constructor(device: ViewDevice, paint: Paint) {
    this.#device = device;
    this.#paint = paint;
    this.#columns = device.size().columns;
  }

  /** With `footer` both change at once. */
  print(spans: readonly Span[], footer: Footer = this.#footer): void {
    this.#footer = footer;
    const said = spans.filter(({ text }) => text !== "");
    if (said.length > 0) this.#draw(said);
  }

  /** Also after the size has changed. */
  setFooter(footer: Footer): void {
    this.#footer = footer;
    this.#draw([]);
  }

  clearScreen(): void {
    this.#device.write(CLEAR);
    this.redrawFresh();
  }

  /** The terminal was somebody else's for a while; the cursor is at the beginning of an empty row. */
  redrawFresh(): void {
    this.#drawn = { footer: NOTHING, hasTail: false };
    this.#draw([]);
  }

  /** Takes the footer away; what comes next begins on a line of its own. */
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
    // The row that goes on is written again from its beginning: that puts the cursor behind it, also where the row is full.
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

  /** From the cursor to the row that goes on. Footer rows may take more rows by now than when they were drawn. */
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

/** As many rows as there is room for, the cursor's among them. */
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

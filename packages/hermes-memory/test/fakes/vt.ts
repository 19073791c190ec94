// A terminal in memory: what a person would see after these bytes. Knows what the chat uses, and fails on anything else.
import { displayWidth } from "../../src/cli/printing.ts";

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });

export class FakeTerminal {
  columns: number;
  rows: number;
  /** Everything that was ever on it, scrolled off or not. Wide characters are followed by an empty cell. */
  #cells: string[][] = [[]];
  /** First row of the screen in `#cells`. */
  #top = 0;
  #row = 0;
  #column = 0;
  /** The last column is written, and the next character goes to the next row. */
  #isWrapPending = false;
  /** Rows that continue the one above. */
  readonly #wrapped = new Set<number>();

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    for (const [part] of text.matchAll(/\u001b\[[?\d;]*[A-Za-z]|[\r\n]|[^\u001b\r\n]+/g)) {
      if (part === "\r") this.#moveTo(this.#row, 0);
      else if (part === "\n") this.#lineFeed();
      else if (part.startsWith("\u001b")) this.#obey(part);
      else for (const { segment } of GRAPHEMES.segment(part)) this.#put(segment);
    }
  }

  /** Rows as they are on screen and above it, without blanks at their ends. */
  lines(): string[] {
    return this.#cells.map((row) =>
      Array.from(row, (cell) => cell ?? " ")
        .join("")
        .trimEnd(),
    );
  }

  /** The same with rows joined where a line only broke because it was too long. */
  text(): string {
    return this.lines().reduce(
      (all, line, row) => (row === 0 ? line : this.#wrapped.has(row) ? all + line : `${all}\n${line}`),
      "",
    );
  }

  get cursor(): { row: number; column: number } {
    return { row: this.#top + this.#row, column: this.#column };
  }

  #put(grapheme: string): void {
    const width = displayWidth(grapheme);
    if (width === 0) {
      const row = this.#here();
      const at = Math.max(0, this.#column - (this.#isWrapPending ? 0 : 1));
      row[at] = `${row[at] ?? ""}${grapheme}`;
      return;
    }
    if (this.#isWrapPending || this.#column + width > this.columns) {
      this.#lineFeed();
      this.#wrapped.add(this.#top + this.#row);
      this.#column = 0;
    }
    const row = this.#here();
    while (row.length < this.#column) row.push(" ");
    row[this.#column] = grapheme;
    for (let i = 1; i < width; i += 1) row[this.#column + i] = "";
    this.#isWrapPending = this.#column + width >= this.columns;
    this.#column = this.#isWrapPending ? this.columns - 1 : this.#column + width;
  }

  #obey(sequence: string): void {
    const [, mark = "", digits = "", final = ""] = /^\u001b\[(\??)([\d;]*)([A-Za-z])$/.exec(sequence) ?? [];
    const count = digits === "" ? 1 : Number(digits);
    if (final === "m" || mark === "?") return; // colours; modes that change nothing here
    if (final === "A") this.#moveTo(Math.max(0, this.#row - count), this.#column);
    else if (final === "C") this.#moveTo(this.#row, Math.min(this.columns - 1, this.#column + count));
    else if (final === "H") this.#moveTo(0, 0);
    else if (final === "J" && digits === "2") this.#erase(this.#top, 0);
    else if (final === "J") this.#erase(this.#top + this.#row, this.#column);
    else throw new Error(`A sequence this terminal does not know: ${JSON.stringify(sequence)}`);
  }

  #erase(row: number, column: number): void {
    const first = this.#cells[row] ?? [];
    this.#cells.length = Math.max(row + 1, this.#top + this.#row + 1);
    this.#cells[row] = first.slice(0, column);
    for (let i = row + 1; i < this.#cells.length; i += 1) this.#cells[i] = [];
    for (const wrapped of this.#wrapped) if (wrapped > row) this.#wrapped.delete(wrapped);
  }

  #lineFeed(): void {
    if (this.#row + 1 < this.rows) this.#row += 1;
    else this.#top += 1;
    this.#isWrapPending = false;
    this.#here();
  }

  #moveTo(row: number, column: number): void {
    this.#row = row;
    this.#column = column;
    this.#isWrapPending = false;
  }

  #here(): string[] {
    const at = this.#top + this.#row;
    while (this.#cells.length <= at) this.#cells.push([]);
    return this.#cells[at] ?? [];
  }
}

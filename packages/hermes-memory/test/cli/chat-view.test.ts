import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startEditor, withText } from "../../src/cli/chat/editor.ts";
import { inputFooter } from "../../src/cli/chat/footer.ts";
import {
  type Footer,
  LiveView,
  linesOfSpans,
  rowsOfLine,
  untabbed,
  widthOf,
} from "../../src/cli/chat/live-view.ts";
import { displayWidth } from "../../src/cli/printing.ts";
import { painter } from "../../src/cli/terminal.ts";
import { FakeTerminal } from "../fakes/vt.ts";

function viewOn(columns: number, rows: number): { view: LiveView; terminal: FakeTerminal } {
  const terminal = new FakeTerminal(columns, rows);
  const device = { size: () => ({ columns, rows }), write: (text: string) => terminal.write(text) };
  return { view: new LiveView(device, painter(true)), terminal };
}

const input = (text: string, columns: number): Footer =>
  inputFooter(withText(startEditor(), text), { columns });

/** Letters, wide characters, line ends and tabs, as models write them. */
const said = fc
  .array(fc.constantFrom("a", "b ", "longer words ", "\n", "\n\n", "界", "é", "\t", "x".repeat(30)), {
    maxLength: 12,
  })
  .map((parts) => parts.join(""));

describe("the view", () => {
  it("shows text above the input line, however it is split into pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(said, fc.constantFrom("dim", "red", undefined), fc.option(said)), { maxLength: 8 }),
        fc.integer({ min: 10, max: 50 }),
        fc.integer({ min: 6, max: 30 }),
        (steps, columns, rows) => {
          const { view, terminal } = viewOn(columns, rows);
          let all = "";
          let typed = "";
          for (const [text, style, draft] of steps) {
            view.print([{ text, style }]);
            all += text;
            if (draft === null) continue;
            typed = draft.replaceAll("\t", " ").slice(0, 40);
            view.setFooter(input(typed, columns));
          }
          view.setFooter(input("end of input", columns));
          const lines = linesOfSpans([{ text: all }]).map((line) => untabbed(line));
          const isOpen = widthOf(lines.at(-1) ?? []) > 0;
          const expected = (isOpen ? lines : lines.slice(0, -1)).flatMap((line) =>
            rowsOfLine(line, columns).map((row) =>
              row
                .map(({ text }) => text)
                .join("")
                .trimEnd(),
            ),
          );
          const footer = input("end of input", columns).rows.map((row) =>
            row.map(({ text }) => text).join(""),
          );
          const shown = terminal.lines();
          while (shown.length > expected.length + footer.length) expect(shown.pop()).toBe("");
          expect(shown).toEqual([...expected, ...footer.map((row) => row.trimEnd())]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("keeps the cursor in the input line while a line above it grows", () => {
    const { view, terminal } = viewOn(20, 10);
    view.setFooter(input("typing", 20));
    for (const piece of ["The answer ", "is longer than ", "one row of this ", "terminal."])
      view.print([{ text: piece }]);
    expect(terminal.text()).toBe("The answer is longer than one row of this terminal.\n> typing");
    expect(terminal.cursor).toEqual({ row: 3, column: 8 });
  });

  it("breaks long lines without a line end, so that they can be copied as one", () => {
    const { view, terminal } = viewOn(10, 10);
    view.print([{ text: "https://example.org/a/long/address\n" }]);
    view.setFooter(input("", 10));
    expect(terminal.lines().length).toBeGreaterThan(4);
    expect(terminal.text()).toContain("https://example.org/a/long/address\n");
  });

  it("goes on behind a row that is exactly full", () => {
    const { view, terminal } = viewOn(10, 10);
    view.setFooter(input("", 10));
    view.print([{ text: "0123456789" }]);
    expect(terminal.lines()).toEqual(["0123456789", ">"]);
    view.print([{ text: "ab" }]);
    expect(terminal.lines()).toEqual(["0123456789", "ab", ">"]);
    expect(terminal.text()).toBe("0123456789ab\n>");
  });

  it("shows the part of a tall input that the cursor is in", () => {
    const { view, terminal } = viewOn(20, 5);
    view.print([{ text: "before\n" }]);
    view.setFooter(input("1\n2\n3\n4\n5\n6\n7\n8", 20));
    expect(terminal.lines().slice(-5)).toEqual(["  4", "  5", "  6", "  7", "  8"]);
    view.setFooter(input("", 20));
    expect(terminal.lines().filter((line) => line !== "")).toEqual(["before", ">"]);
  });

  it("leaves nothing of the input line behind when it is closed", () => {
    const { view, terminal } = viewOn(20, 10);
    view.setFooter(input("half a thought", 20));
    view.print([{ text: "said" }]);
    view.close();
    expect(terminal.text()).toBe("said\n");
    expect(terminal.cursor).toEqual({ row: 1, column: 0 });
  });
});

describe("the input line on a terminal", () => {
  it("puts the cursor where the next character will appear", () => {
    fc.assert(
      fc.property(said, fc.integer({ min: 10, max: 40 }), fc.nat(), (text, columns, at) => {
        const places = [
          0,
          ...Array.from(new Intl.Segmenter().segment(text), ({ index }) => index),
          text.length,
        ];
        const cursor = places[at % places.length] ?? 0;
        const { rows, cursor: place } = inputFooter({ ...startEditor(), text, cursor }, { columns });
        for (const row of rows) expect(widthOf(row)).toBeLessThan(columns);
        const before = inputFooter({ ...startEditor(), text: text.slice(0, cursor), cursor }, { columns });
        const last = before.rows.at(-1) ?? [];
        // A character that no longer fits takes the cursor along to the next row.
        const isMoved = place.row === before.rows.length && place.column === 2;
        if (!isMoved) expect(place).toEqual({ row: before.rows.length - 1, column: widthOf(last) });
      }),
    );
  });

  it("shows a direction-changing character as its number", () => {
    const { rows } = inputFooter(withText(startEditor(), "a\u202eb"), { columns: 40 });
    expect(rows[0]?.map(({ text }) => text).join("")).toBe("> a\\u202eb");
    expect(displayWidth("> a\\u202eb")).toBe(10);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cancelled, type Terminal } from "../../src/cli/command.ts";
import {
  type ChoiceList,
  choiceFrame,
  choose,
  startChoice,
  stepChoice,
} from "../../src/cli/prompts/choose.ts";
import type { Screen, ScreenEvent } from "../../src/cli/screen.ts";
import { displayWidth } from "../../src/cli/sessions/text-layout.ts";

const QUESTION = {
  title: "Which memory?",
  labels: ["byterover - local", "holographic - no setup needed", "記憶 - requires API key", "Built-in only"],
  preselected: 3,
};

const key = (name: string, isCtrl = false): ScreenEvent => ({ kind: "key", name, isCtrl });

function play(events: readonly ScreenEvent[], size = { columns: 60, rows: 12 }): ChoiceList {
  return events.reduce(stepChoice, startChoice(QUESTION, size));
}

describe("the keys of the list", () => {
  it.each<[string, readonly ScreenEvent[], number]>([
    ["Enter chooses the preselected row", [key("return")], 3],
    ["Space chooses too", [key("up"), key("space")], 2],
    ["up moves", [key("up"), key("up"), key("return")], 1],
    ["down stops at the last row", [key("down"), key("down"), key("return")], 3],
    ["Home goes to the first", [key("home"), key("return")], 0],
    ["up stops at the first row", [key("home"), key("up"), key("return")], 0],
    ["End comes back", [key("home"), key("end"), key("return")], 3],
    ["k and j move like the arrows", [key("k"), key("k"), key("j"), key("return")], 2],
    ["Escape means the preselected row, wherever the cursor is", [key("home"), key("escape")], 3],
    ["q means the same", [key("home"), key("q")], 3],
    ["keys after the end change nothing", [key("return"), key("home"), key("return")], 3],
  ])("%s", (_name, events, index) => {
    expect(play(events).end).toEqual({ kind: "chosen", index });
  });

  it("Ctrl-C interrupts, other control keys do nothing, a lost terminal ends it", () => {
    expect(play([key("c", true)]).end).toEqual({ kind: "interrupted" });
    expect(play([key("q", true), key("j", true)]).end).toBeUndefined();
    expect(play([{ kind: "end" }]).end).toEqual({ kind: "gone" });
  });

  it("keeps every line within the terminal and the cursor in sight, whatever is pressed", () => {
    const names = ["up", "down", "home", "end", "pageup", "pagedown", "j", "k", "x"];
    const event = fc.oneof(
      fc.constantFrom(...names).map((name) => key(name)),
      fc.record({
        kind: fc.constant("resize" as const),
        columns: fc.integer({ min: 1, max: 80 }),
        rows: fc.integer({ min: 1, max: 9 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const list = play(events, { columns: 40, rows: 4 });
        const lines = choiceFrame(list);
        expect(lines.length).toBeLessThanOrEqual(list.rows);
        expect(lines.filter((line) => line.startsWith("\u001b[7m>"))).toHaveLength(list.columns > 2 ? 1 : 0);
        for (const line of lines) {
          const plain = line.replaceAll(/\u001b\[\d+m/g, "");
          expect(displayWidth(plain)).toBeLessThanOrEqual(Math.max(1, list.columns - 1));
        }
      }),
    );
  });
});

describe("choosing", () => {
  function terminal(over: Partial<Terminal>): { io: Terminal; notes: () => string } {
    let notes = "";
    const io = {
      isInteractive: false,
      screen: undefined,
      note: (text: string) => {
        notes += text;
      },
      ...over,
    } as Terminal;
    return { io, notes: () => notes };
  }

  it.each([
    ["2\n", 1],
    ["1", 0],
    ["", 3],
    ["\n1\n", 3],
    ["0\n", 3],
    ["5\n", 3],
    ["two\n", 3],
  ])("takes %j from a pipe as row %i", async (input, index) => {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(input);
    }
    const { io, notes } = terminal({ inputChunks: chunks });
    expect(await choose(io, QUESTION)).toBe(index);
    expect(notes()).toContain("  2. holographic - no setup needed\n");
    expect(notes()).toContain("Number (1-4, empty for 4): ");
  });

  it("asks for a number on a terminal that cannot draw", async () => {
    const { io } = terminal({ isInteractive: true, ask: async () => " 3 " });
    expect(await choose(io, QUESTION)).toBe(2);
  });

  it("restores the screen and reports the interruption", async () => {
    let isClosed = false;
    const screen: Screen = {
      size: () => ({ columns: 80, rows: 20 }),
      open: async (onEvent) => ({
        draw: () => void setImmediate(() => onEvent(key("c", true))),
        close: () => {
          isClosed = true;
        },
      }),
    };
    await expect(choose(terminal({ screen }).io, QUESTION)).rejects.toThrow(Cancelled);
    expect(isClosed).toBe(true);
  });
});

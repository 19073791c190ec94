import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visibleRows } from "../../src/cli/prompts/scrolling-list.ts";
import type { ScreenEvent } from "../../src/cli/screen.ts";
import { type Picker, pickerFrame, startPicker, stepPicker } from "../../src/cli/sessions/session-picker.ts";
import { displayWidth } from "../../src/cli/sessions/text-layout.ts";
import { listed } from "./sessions-rows.ts";

const NOW = new Date(1_700_000_000_000 + 3_600_000);
const SESSIONS = [
  listed({ id: "20260101_a1", title: "Harbour crane", preview: "the crane is blue", source: "cli" }),
  listed({ id: "20260102_b2", title: "记忆系统", preview: "通信协议 works", source: "telegram" }),
  listed({ id: "20260103_c3", preview: "Quiet words", source: "discord" }),
  ...Array.from({ length: 40 }, (_, index) => listed({ id: `filler_${index}`, preview: `row ${index}` })),
];

function key(name: string, more: { isCtrl?: boolean } = {}): ScreenEvent {
  return { kind: "key", name, ...more };
}

function typed(text: string): ScreenEvent[] {
  return [...text].map((each) => ({ kind: "key", name: each, text: each }));
}

function play(events: readonly ScreenEvent[], size = { columns: 100, rows: 12 }): Picker {
  return events.reduce(stepPicker, startPicker(SESSIONS, size));
}

function chosen(events: readonly ScreenEvent[]): string | undefined {
  const { end } = play(events);
  return end?.kind === "chosen" ? end.session.id : end?.kind;
}

describe("the keys of the picker", () => {
  it.each<[string, readonly ScreenEvent[], string]>([
    ["Enter chooses the first line", [key("return")], "20260101_a1"],
    ["down moves on", [key("down"), key("return")], "20260102_b2"],
    ["up stops at the first line", [key("up"), key("up"), key("return")], "20260101_a1"],
    ["End goes to the last", [key("end"), key("return")], "filler_39"],
    ["down stops at the last", [key("end"), key("down"), key("return")], "filler_39"],
    ["Home comes back", [key("end"), key("home"), key("return")], "20260101_a1"],
    ["PageDown goes on by a screen", [key("pagedown"), key("return")], "filler_7"],
    ["PageUp comes back", [key("pagedown"), key("pagedown"), key("pageup"), key("return")], "filler_7"],
    ["Ctrl-N and Ctrl-P move too", [key("n", { isCtrl: true }), key("return")], "20260102_b2"],
    ["a title is found", [...typed("CRANE"), key("return")], "20260101_a1"],
    ["a preview is found", [...typed("words qui"), key("return")], "20260103_c3"],
    ["a source is found", [...typed("discord"), key("return")], "20260103_c3"],
    ["an id is found", [...typed("_39"), key("return")], "filler_39"],
    ["Chinese is found", [...typed("系统"), key("return")], "20260102_b2"],
    ["words may stand in any order", [...typed("blue harb"), key("return")], "20260101_a1"],
    ["a q inside a filter is a letter", [...typed("zq"), key("return")], "undefined"],
    ["Backspace takes a character back", [...typed("crx"), key("backspace"), key("return")], "20260101_a1"],
    [
      "Esc clears the filter first",
      [...typed("telegram"), key("escape"), key("home"), key("return")],
      "20260101_a1",
    ],
    ["Esc quits when there is nothing to clear", [key("escape")], "quit"],
    ["q quits", typed("q"), "quit"],
    ["keys after the end change nothing", [...typed("quiet"), key("return")], "quit"],
    ["Ctrl-C interrupts", [key("c", { isCtrl: true })], "interrupted"],
    ["the end of input quits", [{ kind: "end" }], "quit"],
    ["Ctrl-U clears the filter", [...typed("zz"), key("u", { isCtrl: true }), key("return")], "20260101_a1"],
    ["a key without a meaning does nothing", [key("f5"), key("return")], "20260101_a1"],
  ])("%s", (_name, events, expected) => {
    expect(String(chosen(events))).toBe(expected);
  });

  it("stays on the session it was on when the filter changes around it", () => {
    const picker = play([...typed("filler"), key("end"), ...typed("_3")]);
    expect(picker.matches[picker.cursor]?.id).toBe("filler_39");
  });

  it("finds words that are typed in another letter case or width", () => {
    expect(play(typed("ｃｒａｎｅ")).matches.map(({ id }) => id)).toEqual(["20260101_a1"]);
  });
});

describe("the picture of the picker", () => {
  const anyKey = fc.constantFrom<ScreenEvent>(
    key("up"),
    key("down"),
    key("pageup"),
    key("pagedown"),
    key("home"),
    key("end"),
    key("backspace"),
    ...typed("row1 系"),
    { kind: "key", name: "escape" },
  );
  const anySize = fc.record({
    columns: fc.integer({ min: 1, max: 160 }),
    rows: fc.integer({ min: 1, max: 60 }),
  });
  const anyEvent = fc.oneof(
    anyKey,
    anySize.map((size) => ({ kind: "resize" as const, ...size })),
  );

  it("always fits the terminal, with the chosen line in it", () => {
    fc.assert(
      fc.property(anySize, fc.array(anyEvent, { maxLength: 30 }), (size, events) => {
        const picker = play(events, size);
        const lines = pickerFrame(picker, NOW);
        expect(lines.length).toBeLessThanOrEqual(Math.max(1, picker.rows));
        for (const line of lines)
          expect(displayWidth(line.replaceAll(/\u001b\[\d+m/g, ""))).toBeLessThanOrEqual(
            Math.max(1, picker.columns - 1),
          );
        expect(picker.cursor).toBeGreaterThanOrEqual(picker.top);
        expect(picker.cursor).toBeLessThan(picker.top + visibleRows(picker));
        if (picker.matches.length > 0)
          expect(lines.filter((line) => line.includes("\u001b[7m"))).toHaveLength(1);
      }),
    );
  });

  it("shows title, preview, age, source and id where there is room, and the name alone where there is none", () => {
    const wide = pickerFrame(play([], { columns: 160, rows: 12 }), NOW)[1] ?? "";
    for (const part of ["Harbour crane", "the crane is blue", "1h ago", "cli", "20260101_a1"])
      expect(wide).toContain(part);
    const narrow = pickerFrame(play([], { columns: 20, rows: 12 }), NOW)[1] ?? "";
    expect(narrow).toContain("Harbour crane");
    expect(narrow).not.toContain("ago");
  });

  it("says so when nothing fits the filter", () => {
    expect(pickerFrame(play(typed("zzz")), NOW).join("\n")).toContain("No match");
  });

  it("passes no control character of a stored text on", () => {
    const evil = listed({
      id: "e\u001b]0;x\u0007",
      title: "a\u001b[2Jb\nc",
      preview: "p\u009b31m",
      source: "s\r",
    });
    const lines = pickerFrame(startPicker([evil], { columns: 160, rows: 5 }), NOW);
    const text = lines.join("").replaceAll("\u001b[7m", "").replaceAll("\u001b[27m", "");
    expect(text).not.toMatch(/\p{Cc}/u);
    expect(text).toContain("\\x1b[2J");
  });
});

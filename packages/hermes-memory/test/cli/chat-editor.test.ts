import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_INTERRUPTS, pressInterrupt, pressOther } from "../../src/cli/chat/chat-ui.ts";
import {
  completed,
  type Editor,
  type EditorKey,
  type EditorStep,
  remembered,
  startEditor,
  startQuestion,
  stepEditor,
  stepQuestion,
  withText,
} from "../../src/cli/chat/editor.ts";
import { keyReader } from "../../src/cli/chat/tty.ts";

const key = (name: string): EditorKey => ({ kind: "key", name });
const ctrl = (name: string): EditorKey => ({ kind: "key", name, isCtrl: true });
const alt = (name: string): EditorKey => ({ kind: "key", name, isMeta: true });
const typed = (text: string): EditorKey[] => [...text].map((letter) => ({ kind: "key", text: letter }));

function press(editor: Editor, ...keys: readonly EditorKey[]): EditorStep {
  return keys.reduce<EditorStep>((step, each) => stepEditor(step.editor, each), { editor });
}

/** The text with `|` where the cursor is. */
function shown({ text, cursor }: Editor): string {
  return `${text.slice(0, cursor)}|${text.slice(cursor)}`;
}

const at = (marked: string): Editor => {
  const cursor = marked.indexOf("|");
  return { ...startEditor(), text: marked.replace("|", ""), cursor };
};

describe("the input line", () => {
  it("sends the text and is empty afterwards", () => {
    const { editor, request } = press(startEditor(), ...typed("hello"), key("return"));
    expect(request).toEqual({ kind: "submit", text: "hello" });
    expect(shown(editor)).toBe("|");
  });

  it("sends nothing when only blanks are written", () => {
    expect(press(startEditor(), ...typed("  "), key("return"))).toEqual({ editor: startEditor() });
  });

  it.each([
    ["Ctrl-J", key("enter")],
    ["Ctrl-J of a terminal that names it", ctrl("j")],
    ["Alt-Enter", alt("return")],
  ])("begins a new line with %s", (_name, newline) => {
    const { request } = press(startEditor(), ...typed("one"), newline, ...typed("two"), key("return"));
    expect(request).toEqual({ kind: "submit", text: "one\ntwo" });
  });

  it("takes a backslash at the end for a new line, and one in the middle for a backslash", () => {
    const { editor, request } = press(startEditor(), ...typed("one\\"), key("return"));
    expect(request).toBeUndefined();
    expect(shown(editor)).toBe("one\n|");
    expect(press(startEditor(), ...typed("a\\b"), key("return")).request).toEqual({
      kind: "submit",
      text: "a\\b",
    });
  });

  it("keeps the line ends of a pasted text and drops control characters", () => {
    const { editor, request } = press(startEditor(), {
      kind: "paste",
      text: "a\r\nb\rc\u001b[2J\u0007\td\ud800",
    });
    expect(request).toBeUndefined();
    expect(editor.text).toBe("a\nb\nc[2J\td\ufffd");
  });

  it.each([
    ["left over a whole emoji", "a👩‍🚀|b", key("left"), "a|👩‍🚀b"],
    ["right over a letter with a mark", "|e\u0301x", key("right"), "e\u0301|x"],
    ["backspace over a flag", "🇩🇪|", key("backspace"), "|"],
    ["delete joins lines", "a|\nb", key("delete"), "a|b"],
    ["Ctrl-A to the beginning of the line", "one\ntw|o", ctrl("a"), "one\n|two"],
    ["End to the end of the line", "o|ne\ntwo", key("end"), "one|\ntwo"],
    ["Ctrl-Left by a word", "one two-three|", ctrl("left"), "one two-|three"],
    ["Alt-F by a word", "|one, two", alt("f"), "one|, two"],
    ["Ctrl-W takes up to the blank", "see /a/b.txt |now", ctrl("w"), "see |now"],
    ["Alt-Backspace takes a word", "see /a/b.txt|", alt("backspace"), "see /a/b.|"],
    ["Ctrl-U takes the beginning of the line", "one\ntwo |three", ctrl("u"), "one\n|three"],
    ["Ctrl-K takes the rest of the line", "o|ne\ntwo", ctrl("k"), "o|\ntwo"],
    ["Ctrl-K at the end of a line joins the next", "one|\ntwo", ctrl("k"), "one|two"],
    ["Ctrl-D deletes", "a|bc", ctrl("d"), "a|c"],
    ["up within the text", "first line\nsec|ond", key("up"), "fir|st line\nsecond"],
    ["down to a shorter line", "first li|ne\nab", key("down"), "first line\nab|"],
  ])("%s", (_name, before, pressed, after) => {
    expect(shown(press(at(before), pressed).editor)).toBe(after);
  });

  it("inserts the cut text again", () => {
    expect(shown(press(at("one two|"), ctrl("w"), ctrl("a"), ctrl("y")).editor)).toBe("two|one ");
  });

  it("goes back to sent messages and returns to the unfinished text", () => {
    const editor = withText(remembered(remembered(startEditor(), "first"), "two\nlines"), "draft");
    const once = press(editor, key("up")).editor;
    expect(shown(once)).toBe("two\nlines|");
    const twice = press(once, key("up"), key("up")).editor; // first within the text, then beyond it
    expect(shown(twice)).toBe("first|");
    expect(shown(press(twice, key("up")).editor)).toBe("first|");
    expect(shown(press(twice, key("down"), key("down")).editor)).toBe("draft|");
  });

  it("remembers a text that is sent twice in a row once", () => {
    expect(remembered(remembered(startEditor(["a"]), "b"), "b").history).toEqual(["a", "b"]);
  });

  it("wants to leave at Ctrl-D only when nothing is written", () => {
    expect(press(startEditor(), ctrl("d")).request).toEqual({ kind: "end" });
    expect(press(at("a|"), ctrl("d")).request).toBeUndefined();
  });

  it("never has its cursor inside a character, for any keys", () => {
    const keys = fc.oneof(
      fc.constantFrom("left", "right", "up", "down", "home", "end", "backspace", "delete").map(key),
      fc.constantFrom("a", "e", "b", "f", "k", "u", "w", "y", "left", "right", "h", "j").map(ctrl),
      fc.constantFrom("b", "f", "d", "backspace", "return").map(alt),
      fc
        .constantFrom("a", " ", "é", "界", "👩‍🚀", "e\u0301")
        .map((text): EditorKey => ({ kind: "paste", text })),
    );
    fc.assert(
      fc.property(fc.array(keys, { maxLength: 40 }), (pressed) => {
        const { text, cursor } = press(startEditor(["one\ntwo", "👩‍🚀"]), ...pressed).editor;
        const places = Array.from(new Intl.Segmenter().segment(text), ({ index }) => index);
        expect([...places, text.length]).toContain(cursor);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe("Tab", () => {
  const names = ["/help", "/history", "/memory", "/memory show", "/model"];
  const complete = (written: string): string[] => names.filter((name) => name.startsWith(written));

  it("fills up a command that can only be one", () => {
    expect(shown(completed(at("/he|"), complete).editor)).toBe("/help |");
  });

  it("fills in the common beginning of several candidates, and lists them", () => {
    const { editor, choices } = completed(at("/m|"), complete);
    expect(shown(editor)).toBe("/m|");
    expect(choices).toEqual(["/memory", "/memory show", "/model"]);
    expect(shown(completed(at("/me|"), complete).editor)).toBe("/memory|");
  });

  it("does nothing in a message", () => {
    expect(completed(at("say /he|"), complete).editor).toEqual(at("say /he|"));
  });
});

describe("keys as a terminal sends them", () => {
  it("reports a paste as one text", () => {
    const seen: EditorKey[] = [];
    const onKey = keyReader(
      (each) => seen.push(each),
      () => false,
    );
    onKey(undefined, { name: "paste-start" });
    for (const letter of ["a", "\r", "b"]) onKey(letter, { name: letter, sequence: letter });
    onKey(undefined, { name: "paste-end" });
    expect(seen).toEqual([{ kind: "paste", text: "a\rb" }]);
  });

  it("takes a newline that was typed before anybody listened for Enter, and a later one for Ctrl-J", () => {
    const seen: EditorKey[] = [];
    let isEarly = true;
    const onKey = keyReader(
      (each) => seen.push(each),
      () => isEarly,
    );
    onKey("\n", { name: "enter" });
    isEarly = false;
    onKey("\n", { name: "enter" });
    expect(seen).toMatchObject([{ name: "return" }, { name: "enter" }]);
  });
});

describe("Ctrl-C", () => {
  const busy = { isBusy: true, isEmpty: true };
  const idle = { isBusy: false, isEmpty: true };

  it("stops the running turn, and leaves when pressed again within two seconds", () => {
    const first = pressInterrupt(NO_INTERRUPTS, { ...busy, atMs: 1000 });
    expect(first.meaning).toBe("stop");
    expect(pressInterrupt(first.interrupts, { ...busy, atMs: 3000 }).meaning).toBe("leave");
    expect(pressInterrupt(first.interrupts, { ...idle, atMs: 2500 }).meaning).toBe("leave");
    expect(pressInterrupt(first.interrupts, { ...busy, atMs: 3001 }).meaning).toBe("stop");
  });

  it("empties the line first, then warns, then leaves", () => {
    const cleared = pressInterrupt(NO_INTERRUPTS, { isBusy: false, isEmpty: false, atMs: 0 });
    expect(cleared.meaning).toBe("clear");
    const warned = pressInterrupt(cleared.interrupts, { ...idle, atMs: 1 });
    expect(warned.meaning).toBe("warn");
    expect(pressInterrupt(warned.interrupts, { ...idle, atMs: 60_000 }).meaning).toBe("leave");
  });

  it("warns again when something else was pressed in between", () => {
    const { interrupts } = pressInterrupt(NO_INTERRUPTS, { ...idle, atMs: 0 });
    expect(pressInterrupt(pressOther(interrupts), { ...idle, atMs: 1 }).meaning).toBe("warn");
  });
});

describe("a question", () => {
  const answerTo = (...keys: EditorKey[]) =>
    keys.reduce(
      (step, each) => (step.answer === undefined ? stepQuestion(step.question, each) : step),
      stepQuestion(startQuestion("Really?"), key("left")),
    ).answer;

  it.each([
    ["y", "yes"],
    ["YES", "yes"],
    ["n", "no"],
    ["", "no"],
  ])("takes '%s' and Enter for %s", (text, answer) => {
    expect(answerTo(...typed(text), key("return"))).toBe(answer);
  });

  it("is not answered by a sentence the user was typing, nor by a single key", () => {
    expect(answerTo(...typed("y"))).toBeUndefined();
    expect(answerTo(...typed("by the way"), key("return"))).toBeUndefined();
    expect(answerTo(...typed("by the way"), key("return"), ...typed("y"), key("return"))).toBe("yes");
  });

  it("is left open by Ctrl-C and Ctrl-D", () => {
    expect(answerTo(ctrl("c"))).toBe("none");
    expect(answerTo(ctrl("d"))).toBe("none");
  });
});

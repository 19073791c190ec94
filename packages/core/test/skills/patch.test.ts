import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findText, patchText, replaceAt } from "../../src/skills/change/patch-text.ts";
import { failedAs } from "../fakes/answers.ts";

function patch(text: string, oldText: string, newText: string, replaceAll = false) {
  return patchText(text, { file: "SKILL.md", oldText, newText, replaceAll });
}

const word = fc.stringMatching(/^[a-z]{1,3}$/);
const text = fc
  .array(fc.oneof(word, fc.constantFrom(" ", "  ", "\t", "\n", "\n\n", "é", "😀")), { maxLength: 40 })
  .map((parts) => parts.join(""));

describe("finding the text of a patch", () => {
  it("takes the exact text first, then lines without the blanks around them, then blanks as one", () => {
    expect(findText("a b\n  a b\n", "  a b")).toEqual([{ start: 4, end: 9 }]);
    expect(findText("if x:\n\tdo  it\t\n", "if x:\n    do  it\n")).toEqual([{ start: 0, end: 15 }]);
    expect(findText("say:  run \t make now", "run make")).toEqual([{ start: 6, end: 16 }]);
    expect(findText("abc", "x")).toEqual([]);
    expect(findText("abc", "  \n")).toEqual([]);
  });

  it("finds every part of a text that is really there, exactly as often as it occurs", () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (whole, a, b) => {
        const start = whole.length === 0 ? 0 : a % whole.length;
        const part = whole.slice(start, start + 1 + (b % 12));
        fc.pre(part !== "");
        const places = findText(whole, part);
        expect(places.length).toBe(whole.split(part).length - 1);
        for (const place of places) expect(whole.slice(place.start, place.end)).toBe(part);
      }),
    );
  });

  it("gives places in order that do not overlap and are the text, blanks aside", () => {
    const bare = (value: string): string => value.replace(/\s+/g, "");
    fc.assert(
      fc.property(text, text, (whole, wanted) => {
        fc.pre(wanted !== "");
        let done = 0;
        for (const { start, end } of findText(whole, wanted)) {
          expect(start).toBeGreaterThanOrEqual(done);
          expect(end).toBeGreaterThan(start);
          expect(bare(whole.slice(start, end))).toBe(bare(wanted));
          done = end;
        }
      }),
    );
  });

  it("replaces by what was given, whatever signs it holds", () => {
    fc.assert(
      fc.property(text, text, fc.string(), (whole, wanted, replacement) => {
        fc.pre(wanted !== "");
        const places = findText(whole, wanted);
        const kept = whole.length - places.reduce((sum, { start, end }) => sum + end - start, 0);
        expect(replaceAt(whole, places, replacement).length).toBe(kept + places.length * replacement.length);
      }),
    );
    expect(replaceAt("a b", [{ start: 0, end: 1 }], "$&$1")).toBe("$&$1 b");
  });

  it.each([
    ["a ".repeat(200_000), `b${"a  ".repeat(90_000)}`],
    ["a\n".repeat(200_000), `${"a \n".repeat(90_000)}b`],
    ["a\n".repeat(200_000), `b\n${" a\n".repeat(90_000)}`],
  ])("ends soon with a text that nearly fits everywhere", (whole, wanted) => {
    expect(findText(whole, wanted)).toEqual([]); // a quadratic search would exceed the test's time limit
  });
});

describe("a patch", () => {
  it("wants one place, or all of them", () => {
    expect(patch("x\ny\nx\n", "x", "z")).toMatchObject({
      ok: false,
      error: { kind: "ambiguous", details: { match_count: 2 } },
    });
    expect(patch("x\ny\nx\n", "x", "z", true)).toEqual({ ok: true, value: { text: "z\ny\nz\n", count: 2 } });
    expect(patch("x\ny\n", "y\n", "")).toEqual({ ok: true, value: { text: "x\n", count: 1 } });
  });

  it("shows the beginning of the file when nothing fits", () => {
    const outcome = patch("é".repeat(600), "nowhere", "z");
    expect(outcome).toMatchObject(failedAs("no_match"));
    if (!outcome.ok) expect(outcome.error.details).toEqual({ file_preview: "é".repeat(500) });
  });

  it("keeps Windows line ends", () => {
    expect(patch("a\r\nb\r\nc\r\n", "a\nb", "1\n2")).toEqual({
      ok: true,
      value: { text: "1\r\n2\r\nc\r\n", count: 1 },
    });
  });

  it("says so when it would change nothing", () => {
    expect(patch("  a\n", "a  ", "  a")).toMatchObject(failedAs("no_match"));
  });
});

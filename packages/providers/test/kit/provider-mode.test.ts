import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codePointLength } from "../../../core/src/lib/index.ts";
import {
  fitChars,
  fitTokens,
  hasContext,
  hasTools,
  modeSentence,
  PROVIDER_MODES,
  parseMode,
} from "../../src/kit/provider-mode.ts";

describe("budget", () => {
  it("leaves a text alone that fits, counted in code points", () => {
    expect(fitChars("abc", 3)).toBe("abc");
    expect(fitChars("😀😀😀", 3)).toBe("😀😀😀");
    expect(fitChars("", 3)).toBe("");
  });

  it("cuts at a blank when that keeps four fifths, else within the word", () => {
    expect(fitChars("one two three four five", 20)).toBe("one two three four …");
    expect(fitChars("one twothreefourfivesix", 20)).toBe("one twothreefourfi …");
  });

  it("gives nothing for no room, and no mark where there is only room for the mark", () => {
    expect([0, -1, Number.NaN, 0.5].map((limit) => fitChars("abcdef", limit))).toEqual(["", "", "", ""]);
    expect([1, 2, 3].map((limit) => fitChars("abcdef", limit))).toEqual(["a", "ab", "a …"]);
  });

  it("takes a broken number for the whole one below it", () => {
    expect(codePointLength(fitChars("abcdefghijklm", 5.9))).toBe(5);
  });

  it("never exceeds the room, never cuts a character in half, and keeps the beginning", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 80 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), (value, limit) => {
        const cut = fitChars(value, limit);
        expect(codePointLength(cut)).toBeLessThanOrEqual(limit);
        expect(cut.isWellFormed()).toBe(true);
        expect(value.startsWith(cut.replace(/ …$/, "")) || cut === value).toBe(true);
        if (codePointLength(value) <= limit) expect(cut).toBe(value);
      }),
    );
  });

  it("counts a token as four characters", () => {
    expect(fitTokens("x".repeat(40), 10)).toBe("x".repeat(40));
    expect(fitTokens("x".repeat(41), 10)).toBe(`${"x".repeat(38)} …`);
  });
});

describe("modes", () => {
  it("understands the three modes and takes anything else for hybrid", () => {
    expect([" Context ", "TOOLS", "hybrid"].map(parseMode)).toEqual(["context", "tools", "hybrid"]);
    expect(["both", "", undefined, null, 1, ["tools"]].map(parseMode)).toEqual(Array(6).fill("hybrid"));
  });

  it("gives context and tools as the table of the modes says", () => {
    expect(PROVIDER_MODES.map((mode) => [mode, hasContext(mode), hasTools(mode)])).toEqual([
      ["hybrid", true, true],
      ["context", true, false],
      ["tools", false, true],
    ]);
  });

  it("says something else for each mode", () => {
    expect(new Set(PROVIDER_MODES.map(modeSentence)).size).toBe(3);
  });
});

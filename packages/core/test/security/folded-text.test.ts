// Folding: the text as a model reads it, and the offsets in the original.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldText, originalSpan, readings } from "../../src/security/folded-text.ts";
import { lookAlike, otherLookAlike } from "../../src/security/look-alikes.ts";
import { tags } from "../fakes/disguises.ts";

describe("folding", () => {
  it("leaves what reads as it is written alone", () => {
    for (const text of ["", "plain ASCII\n\t~", "日本語の文章", "한국어", "★ → ≥"])
      expect(foldText(text)).toBeUndefined();
  });

  it.each([
    ["ａｂｃ１２３：＄｛", "abc123:${"],
    ["𝐢𝗀𝓃ℴ𝓻ⓔ", "ignore"],
    ["іgnоrе", "ignore"],
    ["“don’t” – ok", '"don\'t" - ok'],
    ["ﬁle №2 Ⅳ", "file No2 IV"],
    ["naïve Łódź øl", "naive Lodz ol"],
    ["a\u00adb\u200bc\ufeffd", "abcd"],
    ["a\u0001b\u007fc\ue000d\uffffe\ufffcf", "abcdef"],
    ["a\u001b[1;31mb\u009b0mc", "abc"],
    ["ⓘ⒢⒩", "ign"],
    ["Ꮎ𐐬סهဝഠ०ⵔ〇○", "Ooooooooooo".slice(0, 10)],
    [`x${tags("hi")}y`, "xhiy"],
    [`\u{1f3f4}${tags("gbsct")}\u{e007f}!`, "\u{1f3f4}!"],
    ["wait…env", "wait…env"],
  ])("reads %s as %s", (text, read) => {
    expect(foldText(text)?.text ?? text).toBe(read);
  });

  it("has a second reading where characters can be read in two ways", () => {
    expect(readings("a\u3164b\u2800").map(({ text }) => text)).toEqual(["a b ", "ab"]);
    expect(readings("ни").map(({ text }) => text)).toEqual(["hn", "nu"]);
    expect(readings("a\u001b]0;t\u0007b").map(({ text }) => text)).toEqual(["a]0;tb", "ab"]);
    expect(readings("ａ").map(({ text }) => text)).toEqual(["a"]);
    expect(readings("plain")).toEqual([]);
  });

  it("knows for every span where it stands in the original", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.constantFrom(
        "ａ",
        "ﷺ",
        "é",
        "е",
        "\u00ad",
        "\u{1d41a}",
        tags("ab"),
        "ﬁ",
        "日",
        "\ufe0f\ufe0f\ufe0f",
        "\u001b[1m",
        "\u3164",
        "ab",
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(), fc.nat(), (pieces, a, b) => {
        const text = pieces.join("");
        const folded = foldText(text);
        if (folded === undefined) return;
        expect(folded.offsets.length).toBe(folded.text.length + 1);
        expect(folded.offsets.at(-1)).toBe(text.length);
        expect([...folded.offsets].every((at, i, all) => i === 0 || at >= (all[i - 1] ?? 0))).toBe(true);
        if (folded.text === "") return;
        const start = a % folded.text.length;
        const end = start + 1 + (b % (folded.text.length - start));
        const span = originalSpan(folded, start, end);
        expect(span.start).toBeLessThan(span.end);
        expect(span.end).toBeLessThanOrEqual(text.length);
        // The same span, folded alone, contains the same text.
        const again = text.slice(span.start, span.end);
        expect(foldText(again)?.text ?? again).toContain(folded.text.slice(start, end));
      }),
      { numRuns: 300 },
    );
  });
});

describe("the table of look-alikes", () => {
  it("has ASCII for characters outside ASCII, and nothing for ASCII itself", () => {
    const wrong: string[] = [];
    for (let codePoint = 0; codePoint <= 0x1ffff; codePoint += 1)
      for (const plain of [lookAlike(codePoint), otherLookAlike(codePoint)])
        if (plain !== undefined && (codePoint < 0x80 || !/^[ -~]*$/.test(plain)))
          wrong.push(`U+${codePoint.toString(16)} ${plain}`);
    expect(wrong).toEqual([]);
  });

  it("has a second reading only for characters that have a first one", () => {
    expect([lookAlike(0x0443), otherLookAlike(0x0443)]).toEqual(["y", "u"]);
    expect([lookAlike(0x3164), otherLookAlike(0x3164)]).toEqual([" ", ""]);
    expect([lookAlike(0x00e9), otherLookAlike(0x00e9)]).toEqual([undefined, undefined]);
  });
});

// Invisible characters, and the two joiners that some scripts need.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanThreats } from "../../src/security/index.ts";

const INVISIBLE = [
  0x200b, 0x200c, 0x200d, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2062, 0x2063, 0x2064, 0x2066,
  0x2067, 0x2068, 0x2069, 0xfeff,
];

const idOf = (codePoint: number): string => `invisible_unicode_U+${codePoint.toString(16).toUpperCase()}`;
const idsOf = (text: string): string[] => scanThreats(text, "all").map((finding) => finding.id);

describe("invisible characters", () => {
  it.each(INVISIBLE.map((codePoint) => [idOf(codePoint), codePoint] as const))(
    "%s is found in every scope",
    (id, codePoint) => {
      const text = `tea${String.fromCharCode(codePoint)}pot${String.fromCharCode(codePoint)}`;
      for (const scope of ["all", "context", "strict"] as const)
        expect(scanThreats(text, scope)).toEqual([{ id, start: 3, end: 4 }]);
    },
  );

  it("come ascending, before patterns, each once", () => {
    const text = `${[...INVISIBLE, ...INVISIBLE]
      .reverse()
      .map((unit) => String.fromCharCode(unit))
      .join("")} ~/.ssh`;
    expect(scanThreats(text, "strict").map((finding) => finding.id)).toEqual([
      ...INVISIBLE.map(idOf),
      "ssh_access",
    ]);
  });

  it("are these and no neighbours of them", () => {
    for (let unit = 0x2000; unit <= 0x206f; unit += 1)
      expect(idsOf(`a${String.fromCharCode(unit)}b`)).toEqual(INVISIBLE.includes(unit) ? [idOf(unit)] : []);
    expect(idsOf("a\u00adb\u180ec\u061cd\ufe0fe\u{e0041}")).toEqual([]);
  });

  it("are no word characters and no whitespace to the patterns", () => {
    expect(scanThreats("havoc\u200b", "context").map((finding) => finding.id)).toContain(
      "known_c2_framework",
    );
    expect(scanThreats("c2\ufeffserver", "context").map((finding) => finding.id)).not.toContain(
      "c2_explicit",
    );
  });
});

describe("joiners pass where writing needs them", () => {
  it.each([
    ["Persian", "\u0645\u06cc\u200c\u0631\u0648\u0645"],
    ["Persian after a vowel mark", "\u0645\u06cc\u0650\u200c\u0631"],
    ["Persian after a mark of no script", "\u0645\u034f\u200c\u0631"],
    ["Hindi conjunct", "\u0930\u094d\u200d\u092f"],
    ["Hindi without conjunct", "\u0915\u094d\u200c\u0937"],
    ["Bengali", "\u09b0\u200d\u09cd\u09af"],
    ["Malayalam", "\u0d28\u0d4d\u200d\u0d2e"],
    ["Sinhala", "\u0d9a\u0dca\u200d\u0dbb"],
    ["Mongolian", "\u1820\u200d\u1828"],
    ["Adlam, outside the BMP", "\u{1e900}\u200c\u{1e901}"],
    ["a family", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"],
    ["skin tone", "\u{1f469}\u{1f3fd}\u200d\u{1f680}"],
    ["presentation selector", "\u{1f3f3}\ufe0f\u200d\u{1f308}"],
    ["skin tone on both sides", "\u{1f9d1}\u{1f3fb}\u200d\u{1f91d}\u200d\u{1f9d1}\u{1f3ff}"],
  ])("%s", (_, text) => expect(idsOf(text)).toEqual([]));
});

describe("joiners stay blocked", () => {
  it.each([
    ["in Latin", "tea\u200cpot", [0x200c]],
    ["at the start", "\u200d\u0645", [0x200d]],
    ["at the end", "\u0645\u200c", [0x200c]],
    ["before a blank", "\u0645\u200c \u0631", [0x200c]],
    ["between two scripts", "\u0645\u200c\u0930", [0x200c]],
    ["between a joining script and Latin", "\u0645\u200dx", [0x200d]],
    ["between digits", "\u0664\u200c\u0665", [0x200c]],
    ["two in a row", "\u0645\u200c\u200c\u0631", [0x200c]],
    ["two kinds in a row", "\u0930\u094d\u200d\u200c\u092f", [0x200c, 0x200d]],
    ["two in an emoji", "\u{1f468}\u200d\u200d\u{1f469}", [0x200d]],
    ["after an emoji only", "\u{1f468}\u200dx", [0x200d]],
    ["before an emoji only", "x\u200d\u{1f468}", [0x200d]],
    ["the other joiner in an emoji", "\u{1f468}\u200c\u{1f469}", [0x200c]],
    ["after a selector without emoji", "x\ufe0f\u200d\u{1f469}", [0x200d]],
    ["between marks of no script", "x\u0301\u200c\u0301", [0x200c]],
    ["next to half a pair", "\ud83d\u200d\ude00", [0x200d]],
  ])("%s", (_, text, codePoints) => expect(idsOf(text)).toEqual(codePoints.map(idOf)));

  it("even when another one is allowed, and the span names the blocked one", () => {
    const text = "\u0645\u06cc\u200c\u0631\u0648 tea\u200cpot";
    expect(scanThreats(text, "all")).toEqual([{ id: idOf(0x200c), start: 9, end: 10 }]);
  });

  it("in any text made of ASCII, wherever they stand", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("\u200c", "\u200d"), fc.string(), (before, joiner, after) => {
        expect(idsOf(before + joiner + after)).toContain(idOf(joiner.charCodeAt(0)));
      }),
    );
  });
});

// Text measured and cut as Python does it, compared with slow but obvious ways to do the same.
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  codePointLength,
  groupThousands,
  isWhitespaceUnit,
  normalizeNewlines,
  percentOf,
  preview,
  pyStrip,
  takeCodePoints,
} from "../../src/lib/index.ts";

/** Any UTF-16 at all: pairs, halves of pairs in any order, plain characters. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom("\ud83d", "\ude00", "\ud83d\ude00", "\ude00\ud83d"),
      fc.string({ unit: "binary" }),
    ),
  )
  .map((parts) => parts.join(""));

const spaces =
  "\u0009\u000a\u000b\u000c\u000d\u001c\u001d\u001e\u001f\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";

const hasPython = spawnSync("python3", ["-c", "pass"]).status === 0;

describe("length", () => {
  it("counts code points, lone halves of a pair as one each", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(codePointLength(text)).toBe([...text].length);
      }),
    );
  });
});

describe("cutting", () => {
  it("takes the first code points and never half a pair", () => {
    fc.assert(
      fc.property(anyText, fc.nat(40), (text, count) => {
        expect(takeCodePoints(text, count)).toBe([...text].slice(0, count).join(""));
      }),
    );
  });

  it("shows that something was cut, and only then", () => {
    fc.assert(
      fc.property(anyText, fc.nat(40), (text, count) => {
        const points = [...text];
        const wanted = points.length > count ? `${points.slice(0, count).join("")}...` : text;
        expect(preview(text, count)).toBe(wanted);
      }),
    );
  });
});

describe("stripping", () => {
  it("takes away exactly Python's whitespace at both ends", () => {
    const piece = fc.oneof(fc.constantFrom(...spaces, "\ufeff", "\u200b", "\u180e", "§", "a"), fc.string());
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join("");
        const points = text.split("");
        while (points.length > 0 && spaces.includes(points[0]!)) points.shift();
        while (points.length > 0 && spaces.includes(points.at(-1)!)) points.pop();
        expect(pyStrip(text)).toBe(points.join(""));
      }),
    );
  });

  it.skipIf(!hasPython)("agrees with a real Python about every character of the first plane", () => {
    const code =
      "print(','.join(str(c) for c in range(0x10000) if not 0xD800 <= c < 0xE000 and chr(c).strip() == ''))";
    const asked = spawnSync("python3", ["-c", code], { encoding: "utf8" })
      .stdout.trim()
      .split(",")
      .map(Number);
    const ours = Array.from({ length: 0x10000 }, (_, unit) => unit).filter(isWhitespaceUnit);
    expect(ours).toEqual(asked);
  });
});

describe("line ends", () => {
  it("all become LF, and nothing else changes", () => {
    const piece = fc.constantFrom("\r", "\n", "\r\n", "a", "§", "\u2028", "\u0085");
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join("");
        const wanted = text.split("\r\n").join("\n").split("\r").join("\n");
        expect(normalizeNewlines(text)).toBe(wanted);
      }),
    );
  });
});

describe("numbers in messages", () => {
  it("have a comma every three digits", () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (value) => {
        expect(groupThousands(value)).toBe(value.toLocaleString("en-US"));
      }),
    );
  });

  it.each([
    [29, 100, 28], // 0.29 * 100 lies just below 29 in doubles, and the format keeps that
    [0, 2200, 0],
    [1759, 2200, 79],
    [1760, 2200, 80],
    [2200, 2200, 100],
    [9000, 2200, 100],
    [5, 0, 0],
    [5, -1, 0],
  ])("%i of %i is %i percent", (current, limit, percent) => {
    expect(percentOf(current, limit)).toBe(percent);
  });
});

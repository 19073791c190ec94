import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunkTurns } from "../../../src/context/summary/summarise.ts";
import {
  cutMiddle,
  estimateText,
  fairLimit,
  lastCodePoints,
  shortenSections,
} from "../../../src/context/tokens.ts";

const length = (text: string): number => [...text].length;
const turn = fc.integer({ min: 0, max: 5_000 }).map((size) => "abc ".repeat(size).slice(0, size));

describe("pieces of a long window", () => {
  it("hold all turns in order, none too large, never more of them than allowed", () => {
    fc.assert(
      fc.property(
        fc.array(turn, { maxLength: 80 }),
        fc.integer({ min: 400, max: 3_000 }),
        (turns, capacity) => {
          const { chunks, shortenedTurns } = chunkTurns(turns, capacity, 6);
          expect(chunks.length).toBeLessThanOrEqual(6);
          expect(chunks.flat()).toHaveLength(turns.length);
          for (const chunk of chunks) expect(estimateText(chunk.join("\n\n"))).toBeLessThanOrEqual(capacity);
          const changed = chunks.flat().filter((text, index) => text !== turns[index]).length;
          expect(changed).toBe(shortenedTurns);
        },
      ),
    );
  });
});

describe("shortening", () => {
  it("finds the size to which only the larger ones come down", () => {
    expect(fairLimit([10, 20, 1_000], 130)).toBe(100);
    expect(fairLimit([10, 20], 100)).toBe(20);
    expect(fairLimit([50, 50], 60)).toBe(30);
    expect(fairLimit([], 10)).toBe(0);
  });

  it("never exceeds the limit and leaves what fits alone", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), fc.nat(300), (text, limit) => {
        const marked = text.replaceAll("a", "\n## ");
        for (const shorter of [shortenSections(marked, limit), cutMiddle(marked, limit)]) {
          expect(length(shorter)).toBeLessThanOrEqual(limit);
          if (length(marked) <= limit) expect(shorter).toBe(marked);
        }
      }),
    );
  });

  it("splits no character in two", () => {
    expect(lastCodePoints("a😀😀😀", 2)).toBe("😀😀");
    expect(lastCodePoints("😀b", 5)).toBe("😀b");
    expect(lastCodePoints("abc", 0)).toBe("");
  });
});

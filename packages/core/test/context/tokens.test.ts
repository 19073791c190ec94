import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cutMiddle,
  estimateText,
  fitTokens,
  leastTokens,
  shortenSections,
} from "../../src/context/tokens.ts";

const PROSE =
  "The harbour was quiet that morning, and the boats lay at their moorings as if nobody had slept aboard. ";
const JSON_TEXT = JSON.stringify({
  items: Array.from({ length: 40 }, (_, id) => ({ id, name: `boat-${id}`, tags: ["red", "old"], ok: true })),
});
const CODE = `export function sum(list: readonly number[]): number {\n  return list.reduce((a, b) => a + b, 0);\n}\n`;

/** Characters per token. */
const density = (text: string): number => [...text].length / estimateText(text);

describe("the first estimate of a text", () => {
  it("takes four characters of prose for a token", () => {
    expect(density(PROSE.repeat(40))).toBeCloseTo(4, 1);
    expect(density("Größe und Maß der Überfahrt sind bekannt. ".repeat(40))).toBeCloseTo(4, 1);
  });

  it("takes three characters of JSON and of code for a token", () => {
    expect(density(JSON_TEXT)).toBeCloseTo(3, 1);
    expect(density(CODE.repeat(30))).toBeCloseTo(3, 1);
  });

  it.each(["港口今天早上很安静", "みなとはしずかだった", "항구는 조용했다".replaceAll(" ", "")])(
    "takes one character for a token in %s",
    (text) => {
      expect(estimateText(text)).toBe(text.length);
    },
  );

  it("is never below what a refusal is based on, and never above two per character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 3_000 }), (text) => {
        const tokens = estimateText(text);
        expect(tokens).toBeGreaterThanOrEqual(leastTokens(text));
        expect(tokens).toBeLessThanOrEqual(2 * [...text].length);
      }),
    );
  });
});

describe("cutting to a number of tokens", () => {
  it.each([
    ["from the end", undefined],
    ["in the middle", cutMiddle],
    ["section by section", shortenSections],
  ])("%s gives a text that costs no more, of any script", (_, cut) => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant(PROSE), fc.constant("港口今天早上很安静。"), fc.constant(JSON_TEXT)), {
          maxLength: 12,
        }),
        fc.nat(4_000),
        (parts, tokens) => {
          const text = parts.join("\n");
          const piece = fitTokens(text, tokens, cut);
          expect(estimateText(piece)).toBeLessThanOrEqual(tokens);
          if (estimateText(text) <= tokens) expect(piece).toBe(text);
        },
      ),
    );
  });
});

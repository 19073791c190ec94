import { describe, expect, it } from "vitest";
import { parseShape, requiredLiterals } from "../../src/security/threats/notation.ts";
import { THREAT_PATTERNS } from "../../src/security/threats/patterns.ts";
import { mayMatch, SIGNS } from "../../src/security/threats/threat-scan.ts";

describe("the first look at a text", () => {
  it.each(THREAT_PATTERNS.map(({ id, shape }) => [id, shape] as const))(
    "lets no text through that %s could match",
    (_id, shape) => {
      const places = requiredLiterals(parseShape(shape));
      const isCovered = (literal: string): boolean => SIGNS.some((sign) => literal.includes(sign));
      expect(places.some((literals) => literals.every(isCovered))).toBe(true);
    },
  );

  it("holds only signs that some pattern needs", () => {
    const literals = THREAT_PATTERNS.flatMap(({ shape }) => requiredLiterals(parseShape(shape)).flat());
    for (const sign of SIGNS)
      expect(
        literals.some((literal) => literal.includes(sign)),
        sign,
      ).toBe(true);
  });

  it("does not care about case and knows the letters Python folds", () => {
    expect(mayMatch("Keep the kiln below 1240 degrees")).toBe(false);
    expect(mayMatch("a TOKEN of thanks")).toBe(true);
    expect(mayMatch("D\u0131SREGARD")).toBe(true);
    expect(mayMatch("pass the \u017falt")).toBe(true);
  });
});

// Rules that hold for all vectors. Their numbers are among the golden vectors.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bind, bundle, Encoder, TAU, unbind, VectorSum } from "../../src/holographic/phase-vectors.ts";

/** Largest difference of two angles at the same index. */
function apart(a: Float64Array, b: Float64Array): number {
  const differences = [...a].map((angle, i) => Math.abs(angle - (b[i] ?? 0)) % TAU);
  return Math.max(0, ...differences.map((each) => Math.min(each, TAU - each)));
}

describe("for all vectors", () => {
  const word = fc.string({ unit: "grapheme", maxLength: 12 });
  const dim = fc.integer({ min: 1, max: 200 });

  it("unbinding undoes binding", () => {
    fc.assert(
      fc.property(word, word, dim, (one, other, length) => {
        const small = new Encoder(length);
        const [a, b] = [small.text(one), small.atom(other)];
        expect(apart(unbind(bind(a, b), a), b)).toBeLessThan(1e-12);
      }),
    );
  });

  it("the order of a bundle does not matter", () => {
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 6 }), dim, (words, length) => {
        const small = new Encoder(length);
        const atoms = words.map((each) => small.atom(each));
        expectBundle(bundle(atoms.toReversed()), atoms);
      }),
    );
  });

  it("a fact is the bundle of its content and its entities, each bound to a role", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), fc.array(word, { maxLength: 4 }), (content, names) => {
        const small = new Encoder(48);
        const parts = [small.content(content), ...names.map((name) => small.entity(name))];
        expectBundle(small.fact(content, names), parts);
      }),
    );
  });
});

/** Where the parts cancel each other out, a bundle has no direction. */
function expectBundle(found: Float64Array, parts: readonly Float64Array[]): void {
  const sum = new VectorSum(found.length);
  for (const part of parts) sum.add(part);
  const expected = sum.angles();
  for (const [i, angle] of found.entries())
    if (Math.hypot(sum.cos[i] ?? 0, sum.sin[i] ?? 0) > 1e-9)
      expect(Math.cos(angle - (expected[i] ?? 0))).toBeGreaterThan(1 - 1e-12);
}

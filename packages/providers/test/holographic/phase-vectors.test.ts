// The numbers of the specification, and rules that hold for all vectors.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  atomLevels,
  bind,
  bundle,
  Encoder,
  MIN_SNR,
  similarity,
  snrEstimate,
  TAU,
  unbind,
  VectorSum,
  vectorBytes,
} from "../../src/holographic/phase-vectors.ts";

const encoder = new Encoder(1024);
const alice = encoder.atom("alice");
const bob = encoder.atom("bob");
const carol = encoder.atom("carol");

/** Stricter than the specification. */
const DIGITS = 12;

function expectStart(vector: Float64Array, start: readonly number[]): void {
  for (const [i, angle] of start.entries()) expect(vector[i]).toBeCloseTo(angle, DIGITS);
}

/** Largest difference of two angles at the same index. */
function apart(a: Float64Array, b: Float64Array): number {
  const differences = [...a].map((angle, i) => Math.abs(angle - (b[i] ?? 0)) % TAU);
  return Math.max(0, ...differences.map((each) => Math.min(each, TAU - each)));
}

describe("atoms", () => {
  it.each([
    ["alice", [64586, 37542, 23150, 58851, 40369, 18545, 50672, 64695]],
    ["bob", [30310, 38458, 58022, 10801]],
    ["h\u00e9llo", [14670, 47260, 42013, 27907]],
    ["__hrr_role_content__", [63283, 38019, 61337, 16588]],
    ["__hrr_role_entity__", [14178, 718, 3645, 4195]],
    ["__hrr_empty__", [41624, 30435, 54302, 49003]],
  ])("of '%s' come from its hashes", (word, start) => {
    expect([...atomLevels(word, 1024).slice(0, start.length)]).toEqual(start);
  });

  it("are the original's angles to the last bit", () => {
    expect([...alice.slice(0, 4)]).toEqual([
      6.192105197898877, 3.5992941711751714, 2.2194784524720372, 5.642268959241116,
    ]);
    expect([...alice.slice(-2)]).toEqual([3.356158216295297, 5.967760507670601]);
    expect(Buffer.from(vectorBytes(alice)).subarray(0, 16).toString("hex")).toBe(
      "19789939b7c41840da0b0fbe5acb0c40",
    );
  });

  it("are the same however often they are made, and for the empty word too", () => {
    for (const word of ["", "h\u00e9llo", "\u9676\u74f7", "\u{1f600}"])
      expect(new Encoder(64).atom(word)).toEqual(new Encoder(64).atom(word));
  });

  it("of a length that is no multiple of 16 are the beginning of longer ones", () => {
    expect([...atomLevels("kiln", 33)]).toEqual([...atomLevels("kiln", 1024).slice(0, 33)]);
  });

  it("survive being pushed out of the cache", () => {
    const small = new Encoder(16);
    const before = small.atom("first");
    for (let i = 0; i < 9000; i += 1) small.atom(`w${i}`);
    expect(small.atom("first")).toEqual(before);
  });
});

describe("operations", () => {
  it("give the specified numbers", () => {
    expectStart(
      bind(alice, bob),
      [2.814854745770152, 1.00322343527721, 1.4990827249612426, 0.3946165576835803],
    );
    expectStart(
      unbind(alice, bob),
      [3.286170342848015, 6.195364907073133, 2.939874179982832, 4.606736053619066],
    );
    expectStart(
      bundle([alice, bob]),
      [1.407427372885076, 3.6432043712283977, 0.7495413624806213, 0.19730827884179028],
    );
    expectStart(bundle([alice, bob, carol]), [4.392464020778505, 4.012338105431094]);
    expectStart(encoder.text("The quick brown fox"), [5.312128374094362, 3.236239486466681]);
    expectStart(
      encoder.fact("John Doe uses Rust", ["John Doe"]),
      [0.8442958972679503, 6.170667156854631, 0.793318611138354, 0.4054252666263401],
    );
    expectStart(encoder.fact("John Doe uses Rust", []), [0.18701635079434364, 0.2643994444848534]);
  });

  it.each([
    ["alice and itself", alice, alice, 1],
    ["alice and bob", alice, bob, 0.000242686904447],
    ["a bundle of two and its part", bundle([alice, bob]), alice, 0.639553417415311],
    ["a bundle of three and its part", bundle([alice, bob, carol]), alice, 0.511482278521279],
    ["a binding and its part", bind(alice, bob), alice, 0.005130422395543],
    ["the same words in another order", text("The quick brown fox"), text("fox brown quick the"), 1],
    ["some of the words", text("The quick brown fox"), text("quick fox"), 0.573144078781573],
    ["none of the words", text("The quick brown fox"), text("lazy dog"), 0.011870218273343],
  ])("similarity of %s", (_, a, b, value) => {
    expect(similarity(a, b)).toBeCloseTo(value, DIGITS);
  });

  it("take a text without words for the empty one", () => {
    for (const empty of ["", "  ...  ", "\u2003\n"])
      expect(apart(text(empty), encoder.atom("__hrr_empty__"))).toBeLessThan(1e-12);
  });

  it("estimate how many facts a bundle can hold", () => {
    expect([1, 100, 256, 0].map((count) => snrEstimate(1024, count))).toEqual([
      32,
      3.2,
      MIN_SNR,
      Number.POSITIVE_INFINITY,
    ]);
    expect(snrEstimate(1024, 257)).toBeCloseTo(1.996105156965777, DIGITS);
  });
});

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

  it("similarity is the mean cosine of the differences", () => {
    const angles = fc.array(fc.double({ min: 0, max: 6.28, noNaN: true }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(angles, angles, (a, b) => {
        const mean = a.reduce((sum, angle, i) => sum + Math.cos(angle - (b[i] ?? 0)), 0) / 8;
        expect(similarity(Float64Array.from(a), Float64Array.from(b))).toBeCloseTo(mean, 13);
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
  for (const part of parts) sum.addPhases(part);
  const expected = sum.angles();
  for (const [i, angle] of found.entries())
    if (Math.hypot(sum.cos[i] ?? 0, sum.sin[i] ?? 0) > 1e-9)
      expect(Math.cos(angle - (expected[i] ?? 0))).toBeGreaterThan(1 - 1e-12);
}

function text(words: string): Float64Array {
  return encoder.text(words);
}

// The scan takes linear time: few states, one step per unit and pattern, and a cache that may be dropped at any time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanThreats } from "../../src/security/index.ts";
import {
  beginSearch,
  buildAutomaton,
  DEAD_ROW,
  findStart,
  finishSearch,
  LazyDfa,
  LiteralIndex,
  readTogether,
  work,
} from "../../src/security/threats/automaton.ts";
import {
  CLASS_COUNT,
  CONTINUATION,
  classify,
  END,
  parseShape,
  requiredLiterals,
  reversed,
} from "../../src/security/threats/notation.ts";
import { THREAT_PATTERNS } from "../../src/security/threats/patterns.ts";
import { mayMatch, SIGNS } from "../../src/security/threats/threat-scan.ts";

const LITERALS = THREAT_PATTERNS.flatMap(({ shape }) => requiredLiterals(parseShape(shape)).flat());
const EVERY_LITERAL = LITERALS.map((literal) => `${literal},>\n`).join("");

const HOSTILE = [
  ..."never write file |ignore all |<!-- ignore |act as if you have no you don't have ".split("|"),
  ...`translate x into y and |send it to post at |you must you must |api_key='token="`.split("|"),
  "\u{1f469}\u200d\u{1f467}\u0645\u200c\u0631\ufe0f ",
];

function workOf(text: string): typeof work {
  const before = { ...work };
  scanThreats(text, "strict");
  return {
    units: work.units - before.units,
    transitionsBuilt: work.transitionsBuilt - before.transitionsBuilt,
  };
}

describe("the work of a scan", () => {
  it.each(HOSTILE)("is at most two steps per unit and pattern for %j repeated", (unit) => {
    for (const count of [100, 10_000]) {
      const text = EVERY_LITERAL + unit.repeat(count);
      expect(workOf(text).units).toBeLessThanOrEqual(2 * THREAT_PATTERNS.length * text.length);
    }
  });

  it.each(HOSTILE)("needs nothing new from a longer text of %j", (unit) => {
    workOf(EVERY_LITERAL + unit.repeat(50));
    expect(workOf(EVERY_LITERAL + unit.repeat(5_000)).transitionsBuilt).toBe(0);
  });

  it("is nothing for patterns whose literals are missing", () => {
    expect(workOf("never write file ".repeat(100))).toEqual({ units: 0, transitionsBuilt: 0 });
  });
});

describe("the automata", () => {
  it.each(THREAT_PATTERNS.map(({ id, shape }) => [id, shape] as const))(
    "%s stays small in both directions",
    (_, source) => {
      const shape = parseShape(source);
      const mostStates = 5_000;
      for (const [direction, anchored] of [
        [shape, false],
        [reversed(shape), true],
      ] as const)
        expect(countStates(new LazyDfa(buildAutomaton(direction), { anchored, mostStates }))).toBeLessThan(
          512,
        );
    },
  );

  it("find the same when every few states the cache is dropped", () => {
    const words = [..."you must|never|write|a|file|disk|report|one|only use|liners|,|-".split("|")];
    const text = fc.array(fc.constantFrom(...words), { maxLength: 20 }).map((list) => list.join(" "));
    const sources = THREAT_PATTERNS.filter(({ id }) => /^(forced|anti)/.test(id)).map(({ shape }) => shape);
    const roomy = sources.map((source) => span(source, 5_000));
    const tight = sources.map((source) => span(source, 3));
    fc.assert(
      fc.property(text, (sample) => {
        const classes = new Uint8Array(sample.length);
        classify(sample, classes);
        expect(tight.map((find) => find(classes))).toEqual(roomy.map((find) => find(classes)));
      }),
      { numRuns: 500 },
    );
  });
});

describe("the literal index", () => {
  it("finds the first occurrence of every literal, overlapping ones too", () => {
    const literals = ["a", "aba", "bab", "ab", "b-b", "-"];
    const index = new LiteralIndex(literals);
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "b", "-", "\u{1d417}", " ") }), (text) => {
        const classes = new Uint8Array(text.length);
        classify(text, classes);
        expect([...index.firstStarts(classes)]).toEqual(literals.map((literal) => text.indexOf(literal)));
      }),
    );
  });
});

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

describe("the notation", () => {
  it.each([
    ["(open", /Expected '\)'/],
    ["close)", /Unexpected '\)'/],
    ["a[nothing]", /no set named 'nothing'/],
    ["a FILLb", /Expected ' '/],
  ])("refuses %j", (source, message) => expect(() => parseShape(source)).toThrow(message));

  it("wants a literal first and characters the alphabet keeps apart", () => {
    expect(() => requiredLiterals(parseShape("[word]x"))).toThrow(/begin with a literal/);
    expect(() => buildAutomaton(parseShape("a7"))).toThrow(/no separate class for '7'/);
  });
});

function countStates(dfa: LazyDfa): number {
  const rows = new Set([dfa.start(false), dfa.start(true)]);
  for (const row of rows)
    for (let symbol = 0; symbol < CLASS_COUNT && row !== DEAD_ROW; symbol += 1)
      if (symbol !== CONTINUATION && symbol !== END) rows.add(Math.abs(dfa.advance(row, symbol)));
  return dfa.stateCount;
}

/** Searches in a pair, as a scan does: both searches of the pair have the same pattern. */
function span(source: string, mostStates: number): (classes: Uint8Array) => readonly number[] {
  const shape = parseShape(source);
  const [one, two] = [0, 1].map(() => new LazyDfa(buildAutomaton(shape), { anchored: false, mostStates }));
  const backward = new LazyDfa(buildAutomaton(reversed(shape)), { anchored: true, mostStates });
  return (classes) => {
    const first = beginSearch(one!, classes, 0);
    const second = beginSearch(two!, classes, Math.min(7, classes.length));
    readTogether(first, second, classes);
    const ends = [finishSearch(first, classes), finishSearch(second, classes)];
    return ends.flatMap((end) => (end < 0 ? [end] : [findStart(backward, classes, end), end]));
  };
}

// The scan takes linear time: few states, one step per unit and pattern, and a cache that may be dropped at any time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scanThreats } from "../../src/security/index.ts";
import {
  buildAutomaton,
  DEAD_ROW,
  findEnd,
  findStart,
  LazyDfa,
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
        const classes = classify(sample);
        expect(tight.map((find) => find(classes))).toEqual(roomy.map((find) => find(classes)));
      }),
      { numRuns: 500 },
    );
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

/** Searches from the start, and from within the text. */
function span(source: string, mostStates: number): (classes: Uint8Array) => readonly number[] {
  const shape = parseShape(source);
  const forward = new LazyDfa(buildAutomaton(shape), { anchored: false, mostStates });
  const backward = new LazyDfa(buildAutomaton(reversed(shape)), { anchored: true, mostStates });
  return (classes) => {
    const ends = [0, Math.min(7, classes.length)].map((from) => findEnd(forward, classes, from));
    return ends.flatMap((end) => (end < 0 ? [end] : [findStart(backward, classes, end), end]));
  };
}

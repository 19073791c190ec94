// The compiled threat table. Reading it costs a fraction of a millisecond, once; automata follow when a text asks for them.
import { buildAutomaton } from "./automaton.ts";
import { LazyDfa } from "./lazy-dfa.ts";
import { LiteralIndex } from "./literal-index.ts";
import { parseShape } from "./notation.ts";
import { THREAT_PATTERNS, type ThreatPattern, type ThreatScope } from "./patterns.ts";
import { beginSearch, findStart, finishSearch, readTogether, type Search } from "./search.ts";
import { requiredLiterals, reversed, type Shape } from "./shape.ts";

export type Found = { readonly id: string; readonly start: number; readonly end: number };

export type Matcher = {
  readonly id: string;
  readonly scope: ThreatScope;
  readonly shape: Shape;
  /** What `requiredLiterals` says, as numbers of the literal index. */
  readonly required: readonly (readonly number[])[];
  forward?: LazyDfa;
  backward?: LazyDfa;
};

export type Matchers = { readonly literals: LiteralIndex; readonly matchers: readonly Matcher[] };

let compiled: Matchers | undefined;

export function threatMatchers(): Matchers {
  compiled ??= compile(THREAT_PATTERNS);
  return compiled;
}

/** For each matcher that applies, in the order given, the match that ends first with its leftmost start. */
export function findMatches(
  matchers: readonly Matcher[],
  literals: LiteralIndex,
  classes: Uint8Array,
): Found[] {
  const starts = literals.firstStarts(classes);
  const searches: { readonly matcher: Matcher; readonly search: Search }[] = [];
  for (const matcher of matchers) {
    const from = firstPossibleStart(matcher, starts);
    if (from < 0) continue;
    matcher.forward ??= new LazyDfa(buildAutomaton(matcher.shape), { anchored: false });
    searches.push({ matcher, search: beginSearch(matcher.forward, classes, from) });
  }
  for (let i = 0; i + 1 < searches.length; i += 2) {
    const [one, two] = searches.slice(i, i + 2);
    if (one !== undefined && two !== undefined) readTogether(one.search, two.search, classes);
  }
  return searches.flatMap(({ matcher, search }) => {
    const end = finishSearch(search, classes);
    if (end < 0) return [];
    matcher.backward ??= new LazyDfa(buildAutomaton(reversed(matcher.shape)), { anchored: true });
    return { id: matcher.id, start: findStart(matcher.backward, classes, end), end };
  });
}

/** -1 when a literal is missing without which the pattern cannot match. */
function firstPossibleStart({ required }: Matcher, starts: Int32Array): number {
  for (const group of required) if (!group.some((literal) => starts[literal] !== -1)) return -1;
  const opening = (required[0] ?? []).map((literal) => starts[literal] as number);
  return Math.min(...opening.filter((start) => start !== -1));
}

function compile(patterns: readonly ThreatPattern[]): Matchers {
  const numbers = new Map<string, number>();
  const numberOf = (literal: string): number => {
    const number = numbers.get(literal) ?? numbers.size;
    numbers.set(literal, number);
    return number;
  };
  const matchers = patterns.map(({ id, scope, shape: source }): Matcher => {
    const shape = parseShape(source);
    return { id, scope, shape, required: requiredLiterals(shape).map((group) => group.map(numberOf)) };
  });
  return { literals: new LiteralIndex([...numbers.keys()]), matchers };
}

// Runs the threat patterns over a text in linear time. Each pattern becomes a nondeterministic automaton, which a lazy DFA makes
// deterministic state by state. The literals that a pattern needs rule most patterns out before that.
import {
  CLASS_COUNT,
  CLASS_SHIFT,
  type ClassSet,
  CONTINUATION,
  classify,
  END,
  including,
  isWordClass,
  literalClass,
  ODD_LETTERS,
  parseShape,
  requiredLiterals,
  reversed,
  type Shape,
} from "./notation.ts";
import { THREAT_PATTERNS, type ThreatPattern, type ThreatScope } from "./patterns.ts";

type Found = { readonly id: string; readonly start: number; readonly end: number };

type Matcher = {
  readonly id: string;
  readonly scope: ThreatScope;
  readonly shape: Shape;
  /** Every match begins with one of these literals. */
  readonly opening: RegExp;
  /** Each finds something in every text that has a match. */
  readonly needed: readonly RegExp[];
  forward?: LazyDfa;
  backward?: LazyDfa;
};

/** `sign`: for each pattern its longest needed literals. Most notes have none of them, and then nothing else has to be looked at. */
type Matchers = { readonly sign: RegExp; readonly matchers: readonly Matcher[] };

/** Parsed once, in a fraction of a millisecond; automata are built when a text needs them. */
let compiled: Matchers | undefined;

/** For each wanted pattern that matches, in the order of the table, the match that ends first with its leftmost start. */
export function findMatches(
  text: string,
  isWanted: (pattern: Pick<ThreatPattern, "id" | "scope">) => boolean,
): Found[] {
  compiled ??= compile(THREAT_PATTERNS);
  const plain = text.replace(ODD_LETTER, (letter) => ODD_LETTERS.get(letter.charCodeAt(0)) ?? letter);
  if (!compiled.sign.test(plain)) return [];
  const possible = compiled.matchers.filter(
    (matcher) => isWanted(matcher) && matcher.needed.every((literals) => literals.test(plain)),
  );
  const classes = possible.length === 0 ? new Uint8Array() : classify(text);
  return possible.flatMap((matcher) => {
    const from = plain.search(matcher.opening);
    if (from < 0) return [];
    matcher.forward ??= new LazyDfa(buildAutomaton(matcher.shape), { anchored: false });
    const end = findEnd(matcher.forward, classes, from);
    if (end < 0) return [];
    matcher.backward ??= new LazyDfa(buildAutomaton(reversed(matcher.shape)), { anchored: true });
    return { id: matcher.id, start: findStart(matcher.backward, classes, end), end };
  });
}

const ODD_LETTER = new RegExp(`[${String.fromCharCode(...ODD_LETTERS.keys())}]`, "g");

function compile(patterns: readonly ThreatPattern[]): Matchers {
  const signs: string[] = [];
  const matchers = patterns.map(({ id, scope, shape: source }): Matcher => {
    const shape = parseShape(source);
    const [opening, ...needed] = requiredLiterals(shape);
    signs.push(
      ...[opening, ...needed].reduce((best, group) => (shortest(group) > shortest(best) ? group : best)),
    );
    return { id, scope, shape, opening: anyOf(opening), needed: needed.map(anyOf) };
  });
  return { sign: anyOf(signs), matchers };
}

function shortest(literals: readonly string[]): number {
  return Math.min(...literals.map((literal) => literal.length));
}

function anyOf(literals: readonly string[]): RegExp {
  return new RegExp(literals.map((literal) => literal.replace(/[.$+]/g, "\\$&")).join("|"), "i");
}

// ---- Nondeterministic automaton: nodes that refer to each other by index ----

type AutomatonNode =
  | { readonly kind: "read"; readonly set: ClassSet; readonly next: number }
  | { readonly kind: "boundary"; readonly next: number }
  | { readonly kind: "fork"; readonly nexts: number[] }
  | { readonly kind: "match" };

type Automaton = { readonly nodes: readonly AutomatonNode[]; readonly entry: number };

export function buildAutomaton(shape: Shape): Automaton {
  const nodes: AutomatonNode[] = [{ kind: "match" }];
  return { entry: emit(nodes, shape, 0), nodes };
}

/** All nodes reachable without reading, forks resolved, in ascending order. */
function closure(automaton: Automaton, from: readonly number[], crossesBoundary: boolean): number[] {
  const visited = new Set<number>();
  const open = [...from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (visited.has(id)) continue;
    visited.add(id);
    const node = automaton.nodes[id];
    if (node?.kind === "fork") open.push(...node.nexts);
    if (node?.kind === "boundary" && crossesBoundary) open.push(node.next);
  }
  return [...visited].filter((id) => automaton.nodes[id]?.kind !== "fork").sort((a, b) => a - b);
}

// Built from the end: each part gets the node that follows it and returns the node it starts at.
function emit(nodes: AutomatonNode[], shape: Shape, next: number): number {
  switch (shape.kind) {
    case "literal":
      return Array.from(shape.text).reduceRight(
        (following, character) => read(nodes, including([literalClass(character)]), following),
        next,
      );
    case "set":
      return read(nodes, shape.set, next);
    case "boundary":
      return nodes.push({ kind: "boundary", next }) - 1;
    case "sequence":
      return shape.parts.reduceRight((following, part) => emit(nodes, part, following), next);
    case "choice":
      return (
        nodes.push({ kind: "fork", nexts: shape.options.map((option) => emit(nodes, option, next)) }) - 1
      );
    case "repeat":
      return emitRepeat(nodes, shape, next);
    default:
      return shape satisfies never;
  }
}

function emitRepeat(nodes: AutomatonNode[], shape: Shape & { kind: "repeat" }, next: number): number {
  let entry = next;
  if (shape.most === Number.POSITIVE_INFINITY) {
    const nexts = [next];
    entry = nodes.push({ kind: "fork", nexts }) - 1;
    nexts.push(emit(nodes, shape.part, entry));
  } else {
    // Every optional round leads to `next` directly, so that x{0,3} does not nest three deep.
    for (let round = shape.least; round < shape.most; round += 1)
      entry = nodes.push({ kind: "fork", nexts: [next, emit(nodes, shape.part, entry)] }) - 1;
  }
  for (let round = 0; round < shape.least; round += 1) entry = emit(nodes, shape.part, entry);
  return entry;
}

function read(nodes: AutomatonNode[], set: ClassSet, next: number): number {
  return nodes.push({ kind: "read", set, next }) - 1;
}

// ---- Lazy DFA ----
// A state is the set of nodes alive at once; a transition is computed the first time a text needs it. One table lookup per unit of
// text, whatever the text.

/** The state without live nodes. Only an anchored search can reach it. */
export const DEAD_ROW = 1 << CLASS_SHIFT;
const FIRST_ROWS = 32;
/** Twice the number that the largest pattern can reach. At the limit all states are dropped, so memory stays bounded. */
const MOST_STATES = 1024;

type State = { readonly alive: readonly number[]; readonly afterWord: boolean };

type LazyDfaOptions = { readonly anchored: boolean; readonly mostStates?: number };

/**
 * A state is a row offset into `table`. An entry of the table is 0 while unknown, otherwise the next row, negated when a match ends
 * just before the unit read. A match is detected one unit late, because a word boundary depends on the next unit; at the end of the
 * text the next unit is END.
 */
export class LazyDfa {
  table: Int32Array = new Int32Array(FIRST_ROWS << CLASS_SHIFT);
  readonly #automaton: Automaton;
  readonly #initial: readonly number[]; // nodes alive before anything is read
  readonly #anchored: boolean;
  readonly #mostStates: number;
  readonly #rows = new Map<string, number>();
  #states: State[] = [];

  constructor(automaton: Automaton, options: LazyDfaOptions) {
    this.#automaton = automaton;
    this.#anchored = options.anchored;
    this.#mostStates = options.mostStates ?? MOST_STATES;
    this.#initial = closure(automaton, [automaton.entry], false);
    this.#dropStates();
  }

  get stateCount(): number {
    return this.#states.length - 1;
  }

  /** The first row, given whether the unit before the first one is part of a word. */
  start(afterWord: boolean): number {
    return this.#rowOf(this.#initial, afterWord);
  }

  /** Computes one entry of the table and stores it. May replace `table` by a larger array. */
  advance(row: number, symbol: number): number {
    const { alive, afterWord } = this.#states[row >> CLASS_SHIFT] as State;
    const { nodes, entry } = this.#automaton;
    const reachable = closure(this.#automaton, alive, afterWord !== isWordClass(symbol));
    const targets = this.#anchored ? [] : [entry];
    let isMatch = false;
    for (const id of reachable) {
      const node = nodes[id];
      if (node?.kind === "match") isMatch = true;
      if (node?.kind === "read" && node.set[symbol] === 1) targets.push(node.next);
    }
    const states = this.#states;
    const next = this.#rowOf(closure(this.#automaton, targets, false), isWordClass(symbol));
    const value = isMatch ? -next : next;
    if (states === this.#states) this.table[row + symbol] = value; // otherwise the states were dropped, `row` with them
    return value;
  }

  #rowOf(alive: readonly number[], wordBefore: boolean): number {
    // The unit before matters only to a boundary; ignoring it elsewhere halves the number of states.
    const afterWord = wordBefore && alive.some((id) => this.#automaton.nodes[id]?.kind === "boundary");
    const key = `${alive.join()}${afterWord ? "w" : ""}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    if (this.#states.length > this.#mostStates) this.#dropStates();
    return this.#add(key, { alive, afterWord });
  }

  #add(key: string, state: State): number {
    const row = this.#states.length << CLASS_SHIFT;
    if (row + CLASS_COUNT > this.table.length) {
      const larger = new Int32Array(this.table.length * 2);
      larger.set(this.table);
      this.table = larger;
    }
    this.#states.push(state);
    this.#rows.set(key, row);
    this.table[row + CONTINUATION] = row;
    return row;
  }

  #dropStates(): void {
    this.#rows.clear();
    this.#states = [{ alive: [], afterWord: false }]; // row 0 is never used: 0 means "unknown" in the table
    this.table.fill(0);
    this.#add("", { alive: [], afterWord: false });
  }
}

// ---- Search: one pass forwards to the end of the match that ends first, one backwards to its leftmost start ----

/** Work done since the process started; tests read it to show that it grows linearly with the text. */
export const work = { units: 0, transitionsBuilt: 0 };

/** The end of the match that ends first among those that start at `from` or later; -1 when there is none. */
export function findEnd(dfa: LazyDfa, classes: Uint8Array, from: number): number {
  const before = classes[from - 1] === CONTINUATION ? classes[from - 2] : classes[from - 1];
  let row = dfa.start(before !== undefined && isWordClass(before));
  let at = from;
  for (; at < classes.length && row > 0; at += 1) row = step(dfa, row, classes[at] as number);
  work.units += at - from;
  if (row < 0) return at - 1;
  return step(dfa, row, END) < 0 ? classes.length : -1;
}

/** The leftmost start of a match that ends at `end`. `dfa` is the anchored DFA of the reversed pattern. */
export function findStart(dfa: LazyDfa, classes: Uint8Array, end: number): number {
  let row = dfa.start(end < classes.length && isWordClass(classes[end] as number));
  let start = end;
  let at = end - 1;
  for (; at >= 0 && row !== DEAD_ROW; at -= 1) {
    const next = step(dfa, row, classes[at] as number);
    if (next < 0) start = at + 1;
    row = Math.abs(next);
  }
  work.units += end - 1 - at;
  if (row !== DEAD_ROW && step(dfa, row, END) < 0) start = 0;
  return classes[start] === CONTINUATION ? start + 1 : start;
}

function step(dfa: LazyDfa, row: number, symbol: number): number {
  const known = dfa.table[row + symbol];
  if (known) return known;
  work.transitionsBuilt += 1;
  return dfa.advance(row, symbol);
}

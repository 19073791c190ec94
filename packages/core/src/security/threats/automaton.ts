// Runs the threat patterns over a text in linear time. Each pattern becomes a nondeterministic automaton, which a lazy DFA makes
// deterministic state by state. One pass over the text finds the literals that every pattern needs, and rules most patterns out.
import {
  CLASS_COUNT,
  CLASS_SHIFT,
  type ClassSet,
  CONTINUATION,
  END,
  including,
  isWordClass,
  literalClass,
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
  /** The result of `requiredLiterals`, as indexes into the literal index. */
  readonly required: readonly (readonly number[])[];
  forward?: LazyDfa;
  backward?: LazyDfa;
};

type Matchers = { readonly literals: LiteralIndex; readonly matchers: readonly Matcher[] };

/** Parsed once, in a fraction of a millisecond; automata are built when a text needs them. */
let compiled: Matchers | undefined;

/** For each wanted pattern that matches, in the order of the table, the match that ends first with its leftmost start. */
export function findMatches(
  classes: Uint8Array,
  isWanted: (pattern: Pick<ThreatPattern, "id" | "scope">) => boolean,
): Found[] {
  compiled ??= compile(THREAT_PATTERNS);
  const starts = compiled.literals.firstStarts(classes);
  const searches: { readonly matcher: Matcher; readonly search: Search }[] = [];
  for (const matcher of compiled.matchers) {
    const from = isWanted(matcher) ? firstPossibleStart(matcher, starts) : -1;
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

/** -1 when a required literal is missing. */
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

/** A forward pass: everything before `at` is read, `row` is the current state, `end` is -1 before a match. */
type Search = { readonly dfa: LazyDfa; at: number; row: number; end: number };

/** Work done since the process started; tests read it to show that it grows linearly with the text. */
export const work = { units: 0, transitionsBuilt: 0 };

/** A search for matches that start at `from` or later. */
export function beginSearch(dfa: LazyDfa, classes: Uint8Array, from: number): Search {
  const before = classes[from - 1] === CONTINUATION ? classes[from - 2] : classes[from - 1];
  return { dfa, at: from, row: dfa.start(before !== undefined && isWordClass(before)), end: -1 };
}

/** The end of the match that ends first; -1 when there is none. */
export function finishSearch(search: Search, classes: Uint8Array): number {
  readUntil(search, classes, classes.length);
  if (search.end < 0 && step(search.dfa, search.row, END) < 0) search.end = classes.length;
  return search.end;
}

/**
 * Advances two searches together, to the end of the text or to the first match of either. The processor waits for memory at every
 * step of one search and works on the other meanwhile, so a pair takes little longer than one.
 */
export function readTogether(one: Search, two: Search, classes: Uint8Array): void {
  const from = Math.max(one.at, two.at);
  readUntil(one, classes, from);
  readUntil(two, classes, from);
  if (one.end >= 0 || two.end >= 0) return;
  let rowOne = one.row;
  let rowTwo = two.row;
  let at = from;
  while (at < classes.length && rowOne > 0 && rowTwo > 0) {
    // Constants inside this loop let the compiler keep both tables in registers, which halves the time.
    const tableOne = one.dfa.table;
    const tableTwo = two.dfa.table;
    let nextOne = 0;
    let nextTwo = 0;
    for (; at < classes.length; at += 1) {
      const symbol = classes[at] as number;
      nextOne = tableOne[rowOne + symbol] as number;
      nextTwo = tableTwo[rowTwo + symbol] as number;
      if (nextOne <= 0 || nextTwo <= 0) break;
      rowOne = nextOne;
      rowTwo = nextTwo;
    }
    if (at === classes.length) break;
    rowOne = nextOne || build(one.dfa, rowOne, classes[at] as number);
    rowTwo = nextTwo || build(two.dfa, rowTwo, classes[at] as number);
    at += 1;
  }
  arrive(one, rowOne, at);
  arrive(two, rowTwo, at);
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

function readUntil(search: Search, classes: Uint8Array, limit: number): void {
  let { row, at } = search;
  while (at < limit && search.end < 0) {
    const { table } = search.dfa;
    let next = 0;
    for (; at < limit; at += 1) {
      next = table[row + (classes[at] as number)] as number;
      if (next <= 0) break;
      row = next;
    }
    if (at < limit) {
      row = next || build(search.dfa, row, classes[at] as number);
      at += 1;
    }
    arrive(search, row, at);
    row = search.row;
  }
}

/** Stores the progress of a search; `row` is negative when a match ends before the last unit read. */
function arrive(search: Search, row: number, at: number): void {
  work.units += at - search.at;
  search.at = at;
  search.row = Math.abs(row);
  if (row < 0) search.end = at - 1;
}

function step(dfa: LazyDfa, row: number, symbol: number): number {
  return dfa.table[row + symbol] || build(dfa, row, symbol);
}

function build(dfa: LazyDfa, row: number, symbol: number): number {
  work.transitionsBuilt += 1;
  return dfa.advance(row, symbol);
}

// ---- The first occurrence of many literals in one pass (Aho-Corasick) ----
// Nearly every text lacks a literal of nearly every pattern.

const ROOT = 0;

type Link = { readonly parent: number; readonly symbol: number; readonly node: number };

export class LiteralIndex {
  readonly #lengths: readonly number[];
  /** For each node the literals that end there, as indexes into the list of literals. */
  readonly #endings: number[][] = [[]];
  readonly #links: Link[] = [];
  readonly #hasEndings: Uint8Array;
  readonly #table: Uint16Array;

  constructor(literals: readonly string[]) {
    this.#lengths = literals.map((literal) => literal.length);
    const mostNodes = this.#lengths.reduce((sum, length) => sum + length, 1);
    this.#table = new Uint16Array(mostNodes << CLASS_SHIFT);
    for (const [index, literal] of literals.entries()) this.#insert(literal, index);
    this.#linkFailures();
    this.#hasEndings = Uint8Array.from(this.#endings, (endings) => (endings.length > 0 ? 1 : 0));
  }

  /** For each literal the start of its first occurrence, or -1. */
  firstStarts(classes: Uint8Array): Int32Array {
    const starts = new Int32Array(this.#lengths.length).fill(-1);
    const isNews = this.#hasEndings.slice();
    const table = this.#table;
    let node = ROOT;
    for (let i = 0; i < classes.length; i += 1) {
      node = table[(node << CLASS_SHIFT) + (classes[i] as number)] as number;
      if (isNews[node] === 0) continue;
      isNews[node] = 0; // only the first occurrence counts
      for (const literal of this.#endings[node] as number[])
        if (starts[literal] === -1) starts[literal] = i + 1 - (this.#lengths[literal] as number);
    }
    return starts;
  }

  #insert(literal: string, index: number): void {
    let node = ROOT;
    for (const character of literal) {
      const symbol = literalClass(character);
      const known = this.#table[(node << CLASS_SHIFT) + symbol] as number;
      node = known === ROOT ? this.#addNode(node, symbol) : known;
    }
    this.#endings[node]?.push(index);
  }

  #addNode(parent: number, symbol: number): number {
    const node = this.#endings.push([]) - 1;
    this.#table[(parent << CLASS_SHIFT) + symbol] = node;
    this.#links.push({ parent, symbol, node });
    return node;
  }

  // Breadth first, so that the row of the longest proper suffix is complete before it is copied. Copying whole rows and then setting
  // the children is faster than looking at all 64 classes of each node, which would slow the first scan.
  #linkFailures(): void {
    const table = this.#table;
    const suffixOf = new Uint16Array(this.#endings.length);
    const childrenOf = Map.groupBy(this.#links, (link) => link.parent);
    const queue = [ROOT];
    for (const node of queue) {
      const suffix = suffixOf[node] as number;
      const suffixRow = table.slice(suffix << CLASS_SHIFT, (suffix + 1) << CLASS_SHIFT);
      if (node !== ROOT) {
        table.set(suffixRow, node << CLASS_SHIFT);
        this.#endings[node]?.push(...(this.#endings[suffix] as number[]));
      }
      for (const { symbol, node: child } of childrenOf.get(node) ?? []) {
        table[(node << CLASS_SHIFT) + symbol] = child;
        suffixOf[child] = node === ROOT ? ROOT : (suffixRow[symbol] as number);
        queue.push(child);
      }
    }
  }
}

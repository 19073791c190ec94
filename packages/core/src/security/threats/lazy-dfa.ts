// Runs an automaton deterministically: a state is the set of nodes alive at once, and a transition is worked out the first
// time a text needs it. One table look-up per unit of text, whatever the text, so the time is linear.
import { CLASS_COUNT, CLASS_SHIFT, CONTINUATION, isWordClass } from "./alphabet.ts";
import { type Automaton, closure } from "./automaton.ts";

/** The state with nothing alive. Only a search that is tied to one place can get there. */
export const DEAD_ROW = 1 << CLASS_SHIFT;
const FIRST_ROWS = 32;
/** Twice what the largest pattern of the table can reach. At the limit all states are dropped: memory stays bounded. */
const MOST_STATES = 1024;

type State = { readonly alive: readonly number[]; readonly afterWord: boolean };

export type LazyDfaOptions = { readonly anchored: boolean; readonly mostStates?: number };

/**
 * States are handed out as row offsets into `table`. An entry of the table is 0 while unknown, otherwise the next row;
 * negative when a match ends just before the unit read. A match shows one unit late, because a word boundary
 * depends on what follows; END asks about the end of the text.
 */
export class LazyDfa {
  table: Int32Array = new Int32Array(FIRST_ROWS << CLASS_SHIFT);
  readonly #automaton: Automaton;
  readonly #fresh: readonly number[]; // what is alive before anything is read
  readonly #anchored: boolean;
  readonly #mostStates: number;
  readonly #rows = new Map<string, number>();
  #states: State[] = [];

  constructor(automaton: Automaton, options: LazyDfaOptions) {
    this.#automaton = automaton;
    this.#anchored = options.anchored;
    this.#mostStates = options.mostStates ?? MOST_STATES;
    this.#fresh = closure(automaton, [automaton.entry], false);
    this.#forget();
  }

  get stateCount(): number {
    return this.#states.length - 1;
  }

  /** The row to begin with, given whether the unit before the first one is part of a word. */
  start(afterWord: boolean): number {
    return this.#rowOf(this.#fresh, afterWord);
  }

  /** Works out one entry of the table and remembers it. `table` may be another array afterwards. */
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
    if (states === this.#states) this.table[row + symbol] = value; // otherwise `row` was forgotten meanwhile
    return value;
  }

  #rowOf(alive: readonly number[], wordBefore: boolean): number {
    // What came before matters only to a boundary; leaving it out elsewhere halves the number of states.
    const afterWord = wordBefore && alive.some((id) => this.#automaton.nodes[id]?.kind === "boundary");
    const key = `${alive.join()}${afterWord ? "w" : ""}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    if (this.#states.length > this.#mostStates) this.#forget();
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

  #forget(): void {
    this.#rows.clear();
    this.#states = [{ alive: [], afterWord: false }]; // row 0 is never used: 0 means "unknown" in the table
    this.table.fill(0);
    this.#add("", { alive: [], afterWord: false });
  }
}

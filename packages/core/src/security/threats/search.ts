// The two passes of a search: forwards to the end of the match that ends first, then backwards to its leftmost start.
import { CONTINUATION, END, isWordClass } from "./alphabet.ts";
import { DEAD_ROW, type LazyDfa } from "./lazy-dfa.ts";

/** A forward pass under way: everything before `at` is read, `row` is the state reached, `end` is -1 before a match. */
export type Search = { readonly dfa: LazyDfa; at: number; row: number; end: number };

/** How much was done since the process started; tests read it to show that the work grows with the text and no faster. */
export const work = { units: 0, transitionsBuilt: 0 };

/** A search for matches that start at `from` or later. */
export function beginSearch(dfa: LazyDfa, classes: Uint8Array, from: number): Search {
  const before = classes[from - 1] === CONTINUATION ? classes[from - 2] : classes[from - 1];
  return { dfa, at: from, row: dfa.start(before !== undefined && isWordClass(before)), end: -1 };
}

/** Where the first match to end ends; -1 when there is none. */
export function finishSearch(search: Search, classes: Uint8Array): number {
  readUntil(search, classes, classes.length);
  if (search.end < 0 && step(search.dfa, search.row, END) < 0) search.end = classes.length;
  return search.end;
}

/**
 * Moves two searches on together, to the end of the text or to the first match of either. The processor waits for
 * memory at every step of one search and has time for the other meanwhile, so a pair takes little longer than one.
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
    // Constants inside this loop let the compiler keep both tables in registers: half the time of the obvious loop.
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

/** The leftmost start of a match that ends at `end`. The automaton has to be the reversed one, anchored. */
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

/** Notes that everything before `at` is read, and the row that led to; negative when a match ends before the last unit. */
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

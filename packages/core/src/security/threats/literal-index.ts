// Finds the first occurrence of many literals in one pass (Aho and Corasick's automaton). A pattern whose literals are
// not all there needs no search of its own, which is the case for nearly every pattern and nearly every text.
import { CLASS_SHIFT, literalClass } from "./alphabet.ts";

const ROOT = 0;

type Link = { readonly parent: number; readonly symbol: number; readonly node: number };

export class LiteralIndex {
  readonly #lengths: readonly number[];
  /** Literals that end in a node, as indexes into the list given. */
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

  /** For each literal the start of its first occurrence, -1 where there is none. */
  firstStarts(classes: Uint8Array): Int32Array {
    const starts = new Int32Array(this.#lengths.length).fill(-1);
    const isNews = this.#hasEndings.slice();
    const table = this.#table;
    let node = ROOT;
    for (let i = 0; i < classes.length; i += 1) {
      node = table[(node << CLASS_SHIFT) + (classes[i] as number)] as number;
      if (isNews[node] === 0) continue;
      isNews[node] = 0; // the same endings again would tell nothing new
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

  // Shortest nodes first, so that the row of the longest proper suffix is complete before it is copied. Whole rows are
  // copied and children put back, because looking at all 64 classes of each node would be felt at the first scan.
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

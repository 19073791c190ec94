// Many vectors in memory at 16 bits per element, and the scan over them: the quick look that decides which facts are
// worth computing exactly. Rows are dense; a row that is taken out is replaced by the last one.
import { COSINES, LEVELS, toLevels } from "./phases.ts";

const LEVEL_MASK = LEVELS - 1;
/** 1 MB at the usual length: growing never copies what is there. */
const ROWS_PER_BLOCK = 512;

/**
 * How far a scanned similarity can be from the exact one: both sides are rounded to a level, each by half a step, and a
 * cosine moves at most as far as its angle.
 */
export const SCAN_ERROR = (2 * Math.PI) / LEVELS;

export class LevelMatrix {
  readonly dim: number;
  readonly #blocks: Uint16Array[] = [];
  #rows = 0;

  constructor(dim: number) {
    this.dim = dim;
  }

  get rows(): number {
    return this.#rows;
  }

  /** `row` may be one past the last. */
  set(row: number, vector: Float64Array): void {
    if (row === this.#rows) this.#rows += 1;
    const block = Math.floor(row / ROWS_PER_BLOCK);
    this.#blocks[block] ??= new Uint16Array(ROWS_PER_BLOCK * this.dim);
    toLevels(vector, this.#blocks[block], (row % ROWS_PER_BLOCK) * this.dim);
  }

  /** The last row moves into the gap. */
  remove(row: number): void {
    const last = this.#rows - 1;
    if (row !== last) this.levels(row).set(this.levels(last));
    this.#rows = last;
    const needed = Math.ceil(this.#rows / ROWS_PER_BLOCK);
    if (this.#blocks.length > needed + 1) this.#blocks.length = needed + 1;
  }

  levels(row: number): Uint16Array {
    const block = this.#blocks[Math.floor(row / ROWS_PER_BLOCK)] ?? new Uint16Array(0);
    const start = (row % ROWS_PER_BLOCK) * this.dim;
    return block.subarray(start, start + this.dim);
  }

  /** Similarity to the key of each of these rows, in their order. */
  scan(key: Float64Array, rows: readonly number[]): Float64Array {
    const keyLevels = new Uint16Array(this.dim);
    toLevels(key, keyLevels);
    // A callback of `from` is compiled by itself. Written as a loop this was made part of whatever called it, and what came
    // out took two and a half times as long.
    return Float64Array.from(rows, (row) => {
      const block = this.#blocks[Math.floor(row / ROWS_PER_BLOCK)] as Uint16Array;
      return scanRow(block, (row % ROWS_PER_BLOCK) * this.dim, keyLevels);
    });
  }
}

// Ten million steps of this are a query: what stays the same is looked up before the loop.
function scanRow(block: Uint16Array, start: number, key: Uint16Array): number {
  const cosines = COSINES;
  const length = key.length;
  let sum = 0;
  for (let i = 0; i < length; i += 1)
    sum += cosines[((block[start + i] as number) - (key[i] as number)) & LEVEL_MASK] as number;
  return sum / length;
}

/** Similarity of two vectors in levels, over the first `length` elements. */
export function levelSimilarity(one: Uint16Array, other: Uint16Array, length: number): number {
  const cosines = COSINES;
  let sum = 0;
  for (let i = 0; i < length; i += 1)
    sum += cosines[((one[i] as number) - (other[i] as number)) & LEVEL_MASK] as number;
  return sum / length;
}

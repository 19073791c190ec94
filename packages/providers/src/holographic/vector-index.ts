// All fact vectors in memory, for queries that compare every fact. Filled at the first such query, updated by our own writes, and
// compared with the file when another process has written.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FactDatabase } from "./database.ts";
import { COSINES, type Encoder, LEVELS, readVector, toLevels, unbind } from "./phase-vectors.ts";

// ---- A matrix of vectors ----
// 16 bits per element, for a fast scan that selects the facts to compute exactly. Rows are dense.

const LEVEL_MASK = LEVELS - 1;
/** 1 MB at the usual length. A new block is added without copying the others. */
const ROWS_PER_BLOCK = 512;

/**
 * The largest difference between a scanned and an exact similarity: both vectors are rounded by at most half a level, and a cosine changes
 * at most as much as its angle.
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

  /** `row` may be one more than the last row. */
  set(row: number, vector: Float64Array): void {
    if (row === this.#rows) this.#rows += 1;
    const block = Math.floor(row / ROWS_PER_BLOCK);
    this.#blocks[block] ??= new Uint16Array(ROWS_PER_BLOCK * this.dim);
    toLevels(vector, this.#blocks[block], (row % ROWS_PER_BLOCK) * this.dim);
  }

  /** The last row takes the place of the removed one. */
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
    // V8 compiles a callback of `from` separately. A plain loop was inlined into its caller and took two and a half times as long.
    return Float64Array.from(rows, (row) => {
      const block = this.#blocks[Math.floor(row / ROWS_PER_BLOCK)] as Uint16Array;
      return scanRow(block, (row % ROWS_PER_BLOCK) * this.dim, keyLevels);
    });
  }
}

// A query takes ten million steps of this loop, so constant values are looked up before it.
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

// ---- The index ----

/** Rows read before yielding to the event loop: about 10 ms, or 30 ms when their contents are encoded too. */
const ROWS_PER_TURN = 256;
/**
 * Times in the file have whole seconds, so two changes can have the same time. A fact that was changed at most this long before it was read
 * is read again when another process has written.
 */
const YOUNG_SECONDS = 3;

export type IndexedFact = {
  readonly id: number;
  readonly category: string;
  readonly trust: number;
  readonly updatedAt: string;
};

type MetaRow = { id: number; category: string; trust: number; updatedAt: string; isYoung: number };

export class VectorIndex {
  readonly #db: FactDatabase;
  readonly #encoder: Encoder;
  readonly #vectors: LevelMatrix;
  /** Fact vectors with their own content unbound; only `probe` under `scoring: reference` uses them. */
  #residuals: LevelMatrix | undefined;
  readonly #facts: IndexedFact[] = [];
  readonly #rowOf = new Map<number, number>();
  readonly #young = new Set<number>();
  /** Changed but not read yet, because reading may fail half-way. */
  readonly #unread = new Set<number>();
  #version: number | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(db: FactDatabase, encoder: Encoder) {
    this.#db = db;
    this.#encoder = encoder;
    this.#vectors = new LevelMatrix(encoder.dim);
  }

  get vectors(): LevelMatrix {
    return this.#vectors;
  }

  /** One for each row of the matrix. */
  get facts(): readonly IndexedFact[] {
    return this.#facts;
  }

  /** Updates the index. Its rows are stable until the caller's next `await`. */
  async refresh(): Promise<void> {
    this.#refreshing ??= this.#catchUp().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** After our own commit. */
  put(fact: IndexedFact, vector: Float64Array, content: string): void {
    if (this.#version === undefined) return; // not filled yet: the first query reads all facts
    this.#set(fact, vector, content);
    this.#young.add(fact.id);
  }

  /** After our own commit that did not change the vector. */
  touch(factId: number, change: Partial<Omit<IndexedFact, "id">>): void {
    const row = this.#rowOf.get(factId);
    const fact = row === undefined ? undefined : this.#facts[row];
    if (row !== undefined && fact !== undefined) this.#facts[row] = { ...fact, ...change };
  }

  drop(factId: number): void {
    const row = this.#rowOf.get(factId);
    if (row === undefined) return;
    this.#vectors.remove(row);
    this.#residuals?.remove(row);
    const moved = this.#facts.pop();
    this.#rowOf.delete(factId);
    this.#young.delete(factId);
    this.#unread.delete(factId);
    if (moved === undefined || moved.id === factId) return;
    this.#facts[row] = moved;
    this.#rowOf.set(moved.id, row);
  }

  /** The residuals, computed at the first call. */
  async residuals(): Promise<LevelMatrix> {
    await this.refresh();
    if (this.#residuals !== undefined) return this.#residuals;
    for (const { id } of [...this.#facts]) this.drop(id);
    this.#version = undefined; // read all facts again, now with their contents
    this.#residuals = new LevelMatrix(this.#encoder.dim);
    await this.refresh();
    return this.#residuals;
  }

  async #catchUp(): Promise<void> {
    await this.#db.read(() => {
      const version = this.#db.dataVersion();
      if (version !== this.#version) this.#compare(this.#readMeta());
      this.#version = version;
    });
    const changed = [...this.#unread];
    for (let start = 0; start < changed.length; start += ROWS_PER_TURN) {
      if (start > 0) await nextTurn();
      await this.#load(changed.slice(start, start + ROWS_PER_TURN));
    }
  }

  #readMeta(): MetaRow[] {
    const sql = `
      SELECT fact_id AS id, category, trust_score AS trust, updated_at AS updatedAt,
        updated_at >= datetime('now', '-${YOUNG_SECONDS} seconds') AS isYoung
      FROM facts WHERE length(hrr_vector) = :bytes ORDER BY fact_id
    `;
    return this.#db.all<MetaRow>(sql, { bytes: this.#encoder.dim * 8 });
  }

  /** Drops removed facts, updates the other fields, and collects the facts whose vector has to be read. */
  #compare(rows: readonly MetaRow[]): void {
    const present = new Set(rows.map(({ id }) => id));
    for (const { id } of [...this.#facts]) if (!present.has(id)) this.drop(id);
    for (const { id, category, trust, updatedAt, isYoung } of rows) {
      const row = this.#rowOf.get(id);
      const known = row === undefined ? undefined : this.#facts[row];
      if (known?.updatedAt !== updatedAt || this.#young.has(id)) this.#unread.add(id);
      if (isYoung === 1) this.#young.add(id);
      else this.#young.delete(id);
      this.touch(id, { category, trust, updatedAt });
    }
  }

  async #load(ids: readonly number[]): Promise<void> {
    const sql = `
      SELECT fact_id AS id, category, trust_score AS trust, updated_at AS updatedAt, content, hrr_vector AS vector
      FROM facts WHERE fact_id IN (SELECT value FROM json_each(:ids))
    `;
    const rows = await this.#db.read(() =>
      this.#db.all<IndexedFact & { content: string; vector: Uint8Array | null }>(sql, {
        ids: JSON.stringify(ids),
      }),
    );
    for (const id of ids) this.#unread.delete(id);
    for (const { id, category, trust, updatedAt, content, vector: bytes } of rows) {
      const vector = readVector(bytes, this.#encoder.dim);
      if (vector === undefined) this.drop(id);
      else this.#set({ id, category, trust, updatedAt }, vector, content);
    }
  }

  #set(fact: IndexedFact, vector: Float64Array, content: string): void {
    const row = this.#rowOf.get(fact.id) ?? this.#facts.length;
    this.#facts[row] = fact;
    this.#rowOf.set(fact.id, row);
    this.#unread.delete(fact.id);
    this.#vectors.set(row, vector);
    this.#residuals?.set(row, unbind(vector, this.#encoder.content(content)));
  }
}

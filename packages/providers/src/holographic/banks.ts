// Banks: the bundle of all facts of a category, for the Python original and for `probe` under `scoring: reference`. A change of the facts
// makes a small bank anew. A large one is deleted: it is made when it is asked for, and at the end for other programs, which can do without.
import type { FactDatabase } from "./database.ts";
import { readVector, snrEstimate, VectorSum, vectorBytes } from "./phase-vectors.ts";

/** Below this signal-to-noise ratio the facts in a bundle cannot be told apart reliably, which is worth a warning. */
const MIN_SNR = 2;
const ROWS_PER_PAGE = 256;
/** Facts of a small bank: bundling them takes about 2 ms. */
const SMALL = 64;

const DELETE_BANK = "DELETE FROM memory_banks WHERE bank_name = :name";

export class Banks {
  readonly #db: FactDatabase;
  readonly #dim: number;
  readonly #warn: (message: string) => void;
  readonly #changed = new Set<string>();
  /** Categories about whose size a warning was logged. */
  readonly #crowded = new Set<string>();

  constructor(db: FactDatabase, dim: number, warn: (message: string) => void) {
    this.#db = db;
    this.#dim = dim;
    this.#warn = warn;
  }

  /** Within the transaction that changes facts of the category. */
  renew(category: string): void {
    const count = "SELECT count(*) AS n FROM (SELECT 1 FROM facts WHERE category = :category LIMIT :most)";
    const facts = this.#db.get<{ n: number }>(count, { category, most: SMALL + 1 })?.n ?? 0;
    if (facts <= SMALL) this.#rebuild(category);
    else {
      this.#db.run(DELETE_BANK, { name: bankName(category) });
      this.#changed.add(category);
    }
  }

  /** Of all large categories that were changed. */
  async finish(): Promise<void> {
    for (const category of this.#changed) await this.#db.write(() => this.#current(category));
    this.#changed.clear();
  }

  /** Within a transaction that writes. Undefined: no fact of the category has a vector. */
  vector(category: string): Float64Array | undefined {
    const { count, vector } = this.#current(category);
    if (snrEstimate(this.#dim, count) < MIN_SNR) this.#warnOnce(category, count);
    return vector;
  }

  #current(category: string): { readonly count: number; readonly vector?: Float64Array } {
    const row = this.#db.get<{ n: number; vector: Uint8Array | null; count: number | null }>(
      `SELECT (SELECT count(*) FROM facts WHERE category = :category AND length(hrr_vector) = :bytes) AS n,
         (SELECT vector FROM memory_banks WHERE bank_name = :name) AS vector,
         (SELECT fact_count FROM memory_banks WHERE bank_name = :name) AS count`,
      { category, name: bankName(category), bytes: this.#dim * 8 },
    );
    const count = row?.n ?? 0;
    const known = row?.count === count ? readVector(row.vector, this.#dim) : undefined;
    return { count, vector: known ?? this.#rebuild(category) };
  }

  #rebuild(category: string): Float64Array | undefined {
    const [name, bytes] = [bankName(category), this.#dim * 8];
    const sum = new VectorSum(this.#dim);
    let count = 0;
    // Page by page, because a large category does not belong into memory at once.
    for (let after: number | undefined = 0; after !== undefined; ) {
      const rows: { id: number; vector: Uint8Array }[] = this.#db.all(
        `SELECT fact_id AS id, hrr_vector AS vector FROM facts
         WHERE category = :category AND fact_id > :after AND length(hrr_vector) = :bytes ORDER BY fact_id LIMIT ${ROWS_PER_PAGE}`,
        { category, after, bytes },
      );
      for (const row of rows) sum.add(readVector(row.vector, this.#dim) ?? new Float64Array(this.#dim));
      count += rows.length;
      after = rows.at(-1)?.id;
    }
    if (count === 0) {
      this.#db.run(DELETE_BANK, { name });
      return undefined;
    }
    const vector = sum.angles();
    this.#db.run(
      `INSERT INTO memory_banks (bank_name, vector, dim, fact_count) VALUES (:name, :vector, :dim, :count)
       ON CONFLICT(bank_name) DO UPDATE SET vector = excluded.vector, dim = excluded.dim,
         fact_count = excluded.fact_count, updated_at = CURRENT_TIMESTAMP`,
      { name, vector: vectorBytes(vector), dim: this.#dim, count },
    );
    return vector;
  }

  #warnOnce(category: string, count: number): void {
    if (this.#crowded.has(category)) return;
    this.#crowded.add(category);
    this.#warn(
      `Category '${category}' holds ${count} facts, more than a vector of ${this.#dim} elements can tell apart. Raise hrr_dim or use scoring: structural.`,
    );
  }
}

function bankName(category: string): string {
  return `cat:${category}`;
}

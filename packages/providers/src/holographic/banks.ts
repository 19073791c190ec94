// Banks: the bundle of all facts of a category, stored for the Python original and for `probe` under `scoring: reference`. The sums behind a
// bundle are stored in the table hermes_memory_bank_sums, so that a changed fact does not need all facts to be bundled again.
import { sha256 } from "@hermes-memory/core/internal/lib";
import type { FactDatabase } from "./database.ts";
import { MIN_SNR, readVector, snrEstimate, VectorSum, vectorBytes } from "./phase-vectors.ts";

// Summands are rounded to multiples of 1 / PER_UNIT. Sums of up to 131,072 facts are then exact in a double, so a fact can be subtracted
// again and a bank does not depend on its history. The rounding changes angles by about 1e-11.
const PER_UNIT = 2 ** 36;

export type BankChange = {
  readonly category: string;
  readonly added?: Float64Array;
  readonly removed?: Float64Array;
};

export class Banks {
  readonly #db: FactDatabase;
  readonly #dim: number;
  readonly #warn: (message: string) => void;
  /** The data version at which a bank's count was last compared with the facts. */
  readonly #checked = new Map<string, number>();
  /** Categories about whose size a warning was logged. */
  readonly #crowded = new Set<string>();

  constructor(db: FactDatabase, dim: number, warn: (message: string) => void) {
    this.#db = db;
    this.#dim = dim;
    this.#warn = warn;
  }

  /** Within the transaction that changes the facts, after the change. */
  change({ category, added, removed }: BankChange): void {
    if (added === undefined && removed === undefined) return;
    const name = bankName(category);
    const difference = (added === undefined ? 0 : 1) - (removed === undefined ? 0 : 1);
    const known = this.#load(name);
    if (known === undefined || !this.#countFits(category, name, known.count + difference)) {
      this.rebuild(category);
      return;
    }
    if (added !== undefined) known.sum.addRounded(added, 1, PER_UNIT);
    if (removed !== undefined) known.sum.addRounded(removed, -1, PER_UNIT);
    this.#store(name, known.sum, known.count + difference);
  }

  /** Computes the bank from all vectors of the category. Returns their number. */
  rebuild(category: string): number {
    const sum = new VectorSum(this.#dim);
    let count = 0;
    // Page by page, because a large category does not belong into memory at once.
    for (let after = 0; ; ) {
      const sql = `
        SELECT fact_id, hrr_vector FROM facts
        WHERE category = :category AND fact_id > :after AND length(hrr_vector) = :bytes
        ORDER BY fact_id LIMIT 256
      `;
      const values = { category, after, bytes: this.#dim * 8 };
      const rows = this.#db.all<{ fact_id: number; hrr_vector: Uint8Array }>(sql, values);
      for (const row of rows) {
        const vector = readVector(row.hrr_vector, this.#dim);
        if (vector === undefined) continue;
        sum.addRounded(vector, 1, PER_UNIT);
        count += 1;
      }
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.fact_id;
    }
    this.#store(bankName(category), sum, count);
    return count;
  }

  /** The stored bundle, which another program may have written. */
  vector(category: string): Float64Array | undefined {
    const sql = "SELECT vector, fact_count FROM memory_banks WHERE bank_name = :name";
    const row = this.#db.get<{ vector: Uint8Array; fact_count: number }>(sql, { name: bankName(category) });
    if (row !== undefined && snrEstimate(this.#dim, row.fact_count) < MIN_SNR)
      this.#warnOnce(category, row.fact_count);
    return readVector(row?.vector, this.#dim);
  }

  /** The stored sums, if the stored bundle was computed from them. */
  #load(name: string): { sum: VectorSum; count: number } | undefined {
    const sql = `
      SELECT s.cos, s.sin, s.fact_count, s.vector_sha, b.vector, b.dim
      FROM hermes_memory_bank_sums s JOIN memory_banks b ON b.bank_name = s.bank_name
      WHERE s.bank_name = :name AND b.fact_count = s.fact_count
    `;
    const row = this.#db.get<SumsRow>(sql, { name });
    if (row === undefined || row.dim !== this.#dim || sha256(row.vector) !== row.vector_sha) return undefined;
    const cos = readVector(row.cos, this.#dim);
    const sin = readVector(row.sin, this.#dim);
    if (cos === undefined || sin === undefined) return undefined;
    const sum = new VectorSum(this.#dim);
    sum.cos.set(cos);
    sum.sin.set(sin);
    return { sum, count: row.fact_count };
  }

  // The Python original does not rebuild the bank of a category that a fact has left, so a bundle may be unchanged and wrong. Counting
  // reads the whole category, so it is done only once after each write of another process.
  #countFits(category: string, name: string, expected: number): boolean {
    const version = this.#db.dataVersion();
    if (this.#checked.get(name) === version) return true;
    const sql = "SELECT count(*) AS n FROM facts WHERE category = :category AND length(hrr_vector) = :bytes";
    const count = this.#db.get<{ n: number }>(sql, { category, bytes: this.#dim * 8 })?.n;
    if (count !== expected) return false;
    this.#checked.set(name, version);
    return true;
  }

  #warnOnce(category: string, count: number): void {
    if (this.#crowded.has(category)) return;
    this.#crowded.add(category);
    this.#warn(
      `Category '${category}' holds ${count} facts, more than a vector of ${this.#dim} elements can tell apart. Raise hrr_dim or use scoring: structural.`,
    );
  }

  #store(name: string, sum: VectorSum, count: number): void {
    if (count <= 0) {
      this.#db.run("DELETE FROM memory_banks WHERE bank_name = :name", { name });
      this.#db.run("DELETE FROM hermes_memory_bank_sums WHERE bank_name = :name", { name });
      return;
    }
    const vector = vectorBytes(sum.angles());
    this.#db.run(
      `INSERT INTO memory_banks (bank_name, vector, dim, fact_count) VALUES (:name, :vector, :dim, :count)
       ON CONFLICT(bank_name) DO UPDATE SET vector = excluded.vector, dim = excluded.dim,
         fact_count = excluded.fact_count, updated_at = CURRENT_TIMESTAMP`,
      { name, vector, dim: this.#dim, count },
    );
    this.#db.run(
      `INSERT INTO hermes_memory_bank_sums (bank_name, cos, sin, fact_count, vector_sha)
       VALUES (:name, :cos, :sin, :count, :sha)
       ON CONFLICT(bank_name) DO UPDATE SET cos = excluded.cos, sin = excluded.sin,
         fact_count = excluded.fact_count, vector_sha = excluded.vector_sha`,
      { name, cos: vectorBytes(sum.cos), sin: vectorBytes(sum.sin), count, sha: sha256(vector) },
    );
  }
}

type SumsRow = {
  readonly cos: Uint8Array;
  readonly sin: Uint8Array;
  readonly fact_count: number;
  readonly vector_sha: string;
  readonly vector: Uint8Array;
  readonly dim: number;
};

function bankName(category: string): string {
  return `cat:${category}`;
}

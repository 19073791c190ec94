// Rows of `facts` as tools show them, and vectors as the file holds them.

/** Column names are the tool's JSON keys. */
export type FactRow = {
  readonly fact_id: number;
  readonly content: string;
  readonly category: string;
  readonly tags: string;
  readonly trust_score: number;
  readonly retrieval_count: number;
  readonly helpful_count: number;
  readonly created_at: string;
  readonly updated_at: string;
};

export type FactWithVector = FactRow & { readonly hrr_vector: Uint8Array | null };

/** In the order of the tool's answers; `f` is the table. */
export const FACT_COLUMNS =
  "f.fact_id, f.content, f.category, coalesce(f.tags, '') AS tags, f.trust_score, f.retrieval_count, f.helpful_count, f.created_at, f.updated_at";

/** Without the vector, and with a prototype, which rows from SQLite lack. */
export function toFactRow(row: FactRow): FactRow {
  return {
    fact_id: row.fact_id,
    content: row.content,
    category: row.category,
    tags: row.tags,
    trust_score: row.trust_score,
    retrieval_count: row.retrieval_count,
    helpful_count: row.helpful_count,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Little-endian float64 values; undefined when there are none or they are of another length. */
export function readVector(bytes: Uint8Array | null | undefined, dim: number): Float64Array | undefined {
  if (!(bytes instanceof Uint8Array) || bytes.length !== dim * 8) return undefined;
  // A view needs an offset that is a multiple of 8, which SQLite does not promise.
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Float64Array(aligned.buffer, aligned.byteOffset, dim);
}

/** Without copying: for handing to SQLite. */
export function vectorBytes(vector: Float64Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

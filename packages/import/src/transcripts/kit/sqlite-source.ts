// Databases of other products, read without changing them or the folder they are in.
import { constants, existsSync, rmSync, statSync } from "node:fs";
import { copyFile, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { retryWhileBusy } from "@hermes-memory/core/internal/sqlite";
import type { Reading } from "../reader.ts";
import type { Json } from "./values.ts";

const BUSY_MS = 5_000;
/** Bytes 18 and 19 of the header: the file format versions for writing and reading. 2 means a write-ahead log. */
const WAL_FORMAT = 2;
const HEADER_BYTES = 100;

/** Named parameters, without their colon. */
type Parameters = Readonly<Record<string, SQLInputValue>>;

/** Files whose size and time say whether a database changed. */
export function databaseStamps(path: string): string[] {
  return [path, `${path}-wal`];
}

/**
 * Opens a database for reading. Never creates a file: a missing database is an error, and SQLite is kept from writing the `-wal` and
 * `-shm` files that an ordinary read-only connection to a database in WAL mode makes. Waits up to 5 s for a writer.
 */
export async function openSource(path: string, told: Pick<Reading, "signal">): Promise<SourceDatabase> {
  const opening = await howToOpen(path);
  try {
    const db = await connected(opening.address, told.signal);
    return new SourceDatabase(db, opening);
  } catch (cause) {
    if (opening.copy !== undefined) await rm(opening.copy, { recursive: true, force: true });
    throw cause;
  }
}

export type Opening = {
  readonly address: string;
  /** What the files looked like, where SQLite was told that nobody changes them. */
  readonly unchanged?: { readonly path: string; readonly looks: string };
  /** A temporary folder to delete at the end. */
  readonly copy?: string;
};

/** How a database can be opened without a file being created beside it. The caller deletes `copy`. */
export async function howToOpen(path: string): Promise<Opening> {
  const header = Buffer.alloc(HEADER_BYTES);
  {
    await using file = await open(path, "r");
    await file.read(header, 0, HEADER_BYTES, 0);
  }
  const isWal = header[18] === WAL_FORMAT || header[19] === WAL_FORMAT;
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
  const url = pathToFileURL(resolve(path));
  if (!isWal || (wal !== undefined && existsSync(`${path}-shm`))) return { address: url.href };
  if (wal === undefined || wal.size === 0) {
    url.searchParams.set("immutable", "1");
    return { address: url.href, unchanged: { path, looks: looksOf(path) } };
  }
  // A log without its index: no program has the database open, as after a crash or in a copied folder. SQLite would write the index, so
  // it gets a copy to do that in.
  const copy = await mkdtemp(join(tmpdir(), "hermes-source-"));
  const target = join(copy, basename(path));
  await copyFile(path, target, constants.COPYFILE_FICLONE);
  await copyFile(`${path}-wal`, `${target}-wal`, constants.COPYFILE_FICLONE);
  return { address: pathToFileURL(target).href, copy };
}

/** The first query is where SQLite finds out that another program holds a lock. */
function connected(address: string, signal: AbortSignal): Promise<DatabaseSync> {
  return retryWhileBusy(() => {
    signal.throwIfAborted();
    const db = new DatabaseSync(address, { readOnly: true, timeout: 0 });
    try {
      db.prepare("SELECT name FROM sqlite_schema LIMIT 1").all();
      db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
      return db;
    } catch (cause) {
      db.close();
      throw cause;
    }
  }, BUSY_MS);
}

/**
 * Rows are plain records. Integers that a number cannot hold exactly are given as decimal text, BLOBs as Uint8Array.
 */
export class SourceDatabase implements Disposable {
  readonly #db: DatabaseSync;
  readonly #opening: Opening;

  constructor(db: DatabaseSync, opening: Opening) {
    this.#db = db;
    this.#opening = opening;
  }

  all(sql: string, parameters: Parameters = {}): Json[] {
    return [...this.each(sql, parameters)];
  }

  get(sql: string, parameters: Parameters = {}): Json | undefined {
    for (const row of this.each(sql, parameters)) return row;
    return undefined;
  }

  *each(sql: string, parameters: Parameters = {}): Generator<Json> {
    const statement = this.#db.prepare(sql);
    // Without this, one integer above 2^53 makes the whole query fail.
    statement.setReadBigInts(true);
    for (const row of statement.iterate(parameters)) yield withNumbers(row);
  }

  hasTable(name: string): boolean {
    const sql = "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = :name";
    return this.get(sql, { name }) !== undefined;
  }

  /** Empty for a table that does not exist. */
  columnsOf(table: string): ReadonlySet<string> {
    return new Set(
      this.all("SELECT name FROM pragma_table_info(:table)", { table }).map(({ name }) => String(name)),
    );
  }

  /** All queries in `read` see the same state of the database. */
  snapshot<T>(read: () => T): T {
    if (this.#db.isTransaction) return read();
    this.#db.exec("BEGIN");
    try {
      return read();
    } finally {
      this.#db.exec("ROLLBACK");
    }
  }

  /**
   * True when another program changed a database that was opened as unchanging. What was read from it since may be inconsistent: read it
   * again later. Always false for a database that SQLite reads with locks.
   */
  changedMeanwhile(): boolean {
    const { unchanged } = this.#opening;
    return unchanged !== undefined && looksOf(unchanged.path) !== unchanged.looks;
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
    if (this.#opening.copy !== undefined) rmSync(this.#opening.copy, { recursive: true, force: true });
  }
}

function withNumbers(row: Record<string, unknown>): Json {
  const result: Json = {};
  for (const [name, value] of Object.entries(row)) {
    const number = typeof value === "bigint" ? Number(value) : value;
    result[name] = typeof value === "bigint" && !Number.isSafeInteger(number) ? String(value) : number;
  }
  return result;
}

/** Differs when another program changed the database. */
export function looksOf(path: string): string {
  const file = statSync(path, { throwIfNoEntry: false });
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
  return `${file?.size} ${file?.mtimeMs} ${(wal?.size ?? 0) > 0}`;
}

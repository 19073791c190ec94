// The fact database: one connection with its transactions, the tables, the journal mode, and the rows of facts. node:sqlite is
// synchronous, so waiting for another process happens between attempts, with the event loop free.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describeCause, errnoCode, HermesError, sqliteCode } from "@hermes-memory/core/internal/lib";
import {
  enterWal,
  isBusy,
  retryWhileBusy,
  SqliteFile,
  type SqlValues,
} from "@hermes-memory/core/internal/sqlite";

/** How long SQLite may block the event loop in one attempt. */
const BUSY_TIMEOUT_MS = 25;
const WAIT_LIMIT_MS = 10_000;
/** How long to wait for readers in other processes before giving up on emptying the log. */
const LOG_WAIT_MS = 2_000;
/** A loop of awaited calls never leaves the microtask queue; after this long a call yields to other work. */
const TURN_MS = 15;

export class FactDatabase {
  readonly path: string;
  readonly #file: SqliteFile;
  #lastTurn = performance.now();

  private constructor(path: string, file: SqliteFile) {
    this.path = path;
    this.#file = file;
  }

  static async open(path: string, warn: (message: string) => void): Promise<FactDatabase> {
    try {
      // The Python original does not enforce foreign keys, so its files may contain links that would fail.
      const opened = new FactDatabase(path, new SqliteFile(path, { timeout: BUSY_TIMEOUT_MS }));
      try {
        const refusal = await opened.#retrying(() => enterWal(opened.#file));
        if (refusal !== undefined)
          warn(
            `${path}: write-ahead logging is not possible here (${refusal}), so it runs with journal_mode=DELETE.`,
          );
        // A process that dies loses nothing. A power cut may lose the newest facts, but does not damage the file. Waiting for the disk
        // after every fact would be most of the cost of adding one.
        opened.#file.exec("PRAGMA synchronous = NORMAL");
        await opened.read(() => ensureSchema(opened.#file));
        return opened;
      } catch (cause) {
        opened.close();
        throw cause;
      }
    } catch (cause) {
      throw toFactError(cause, path);
    }
  }

  all<Row>(sql: string, values: SqlValues = {}): Row[] {
    return this.#file.all(sql, values);
  }

  get<Row>(sql: string, values: SqlValues = {}): Row | undefined {
    return this.#file.get(sql, values);
  }

  run(sql: string, values: SqlValues = {}): { changes: number; lastId: number } {
    return this.#file.run(sql, values);
  }

  /** Changes when another connection has committed. Read it inside the transaction that uses it. */
  dataVersion(): number {
    return this.get<{ data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
  }

  /** `work` sees one state of the database. */
  read<T>(work: () => T): Promise<T> {
    return this.#retrying(() => this.#file.transaction(work, "BEGIN"));
  }

  /**
   * All changes of `work`, or none. `work` may run more than once, so state outside the database is changed in `committed`, which runs right
   * after the commit.
   */
  write<T>(work: () => T, committed: (value: T) => void = () => {}): Promise<T> {
    return this.#retrying(() => {
      const value = this.#file.transaction(work);
      committed(value);
      return value;
    });
  }

  /** A write that is skipped when another process is writing, or the database cannot be written. */
  tryWrite(work: () => void): void {
    this.#refuseIfClosed();
    try {
      this.#file.transaction(work);
    } catch (cause) {
      if (sqliteCode(cause) === undefined) throw cause;
    }
  }

  /** From now on the bytes of deleted rows are overwritten. */
  overwriteDeleted(): void {
    this.#refuseIfClosed();
    this.#file.exec("PRAGMA secure_delete = ON");
  }

  /** Rewrites the file without free pages. */
  vacuum(): Promise<void> {
    return this.#retrying(() => this.#file.exec("VACUUM"));
  }

  /** Moves the write-ahead log into the file and truncates it. False while another process still reads from it. */
  async emptyLog(): Promise<boolean> {
    for (const until = performance.now() + LOG_WAIT_MS; performance.now() < until; await sleep(50))
      if (await this.#retrying(() => this.#file.emptyLog())) return true;
    return false;
  }

  close(): void {
    this.#file.close();
  }

  async #retrying<T>(work: () => T): Promise<T> {
    if (performance.now() - this.#lastTurn >= TURN_MS) {
      await nextTurn();
      this.#lastTurn = performance.now();
    }
    try {
      return await retryWhileBusy(() => {
        this.#refuseIfClosed();
        return work();
      }, WAIT_LIMIT_MS);
    } catch (cause) {
      throw toFactError(cause, this.path);
    }
  }

  #refuseIfClosed(): void {
    if (this.#file.isOpen) return;
    throw new HermesError("facts-db-closed", `The fact database ${this.path} was closed.`, {
      hint: "Start a new session to open it again.",
    });
  }
}

/** Errors of SQLite and the file system become a HermesError; other errors are returned unchanged. */
function toFactError(cause: unknown, path: string): unknown {
  if (cause instanceof HermesError) return cause;
  if (sqliteCode(cause) === undefined && errnoCode(cause) === undefined) return cause;
  const text = describeCause(cause);
  if (isBusy(cause)) {
    return new HermesError("facts-db-locked", `The fact database ${path} is locked by another process.`, {
      hint: "Nothing was written. Wait for the other process or close it, then try again.",
      cause,
    });
  }
  return new HermesError("facts-db-unavailable", `The fact database ${path} cannot be used: ${text}.`, {
    hint: "Check the path, its permissions and the disk; the file was left as it is.",
    cause,
  });
}

// ---- Tables ----
// All but those named `hermes_memory_*` are shared with the Python original; we add no triggers or columns to them.

const SHARED_TABLES = `
  CREATE TABLE IF NOT EXISTS facts (
    fact_id INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL UNIQUE,
    category TEXT DEFAULT 'general',
    tags TEXT DEFAULT '',
    trust_score REAL DEFAULT 0.5,
    retrieval_count INTEGER DEFAULT 0,
    helpful_count INTEGER DEFAULT 0,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    hrr_vector BLOB
  );
  CREATE TABLE IF NOT EXISTS entities (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    entity_type TEXT DEFAULT 'unknown',
    aliases TEXT DEFAULT '',
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
  );
  CREATE TABLE IF NOT EXISTS fact_entities (
    fact_id INTEGER REFERENCES facts(fact_id),
    entity_id INTEGER REFERENCES entities(entity_id),
    PRIMARY KEY (fact_id, entity_id)
  );
  CREATE TABLE IF NOT EXISTS memory_banks (
    bank_id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank_name TEXT NOT NULL UNIQUE,
    vector BLOB NOT NULL,
    dim INTEGER NOT NULL,
    fact_count INTEGER DEFAULT 0,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
  );
  CREATE INDEX IF NOT EXISTS idx_facts_trust ON facts(trust_score DESC);
  CREATE INDEX IF NOT EXISTS idx_facts_category ON facts(category);
  CREATE INDEX IF NOT EXISTS idx_entities_name ON entities(name);
  CREATE VIRTUAL TABLE IF NOT EXISTS facts_fts
    USING fts5(content, tags, content=facts, content_rowid=fact_id);
  CREATE TRIGGER IF NOT EXISTS facts_ai AFTER INSERT ON facts BEGIN
    INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags);
  END;
  CREATE TRIGGER IF NOT EXISTS facts_ad AFTER DELETE ON facts BEGIN
    INSERT INTO facts_fts(facts_fts, rowid, content, tags)
      VALUES ('delete', old.fact_id, old.content, old.tags);
  END;
  CREATE TRIGGER IF NOT EXISTS facts_au AFTER UPDATE ON facts BEGIN
    INSERT INTO facts_fts(facts_fts, rowid, content, tags)
      VALUES ('delete', old.fact_id, old.content, old.tags);
    INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags);
  END;
`;

const OWN_TABLES = `
  CREATE TABLE IF NOT EXISTS hermes_memory_mirrored (
    fact_id INTEGER PRIMARY KEY,
    target TEXT NOT NULL
  );
  DROP TABLE IF EXISTS hermes_memory_bank_sums; -- of versions up to 0.3.x
`;

/** Creates what is missing. In a file that has everything it takes no lock. */
function ensureSchema(file: SqliteFile): void {
  file.exec(SHARED_TABLES);
  if (file.get("SELECT 1 FROM pragma_table_info('facts') WHERE name = 'hrr_vector'") === undefined)
    file.exec("ALTER TABLE facts ADD COLUMN hrr_vector BLOB");
  file.exec(OWN_TABLES);
}

// ---- Rows of `facts`, with the keys of the tool's JSON answers ----

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

/** In the order of the tool's answers; `f` is the alias of the table. */
export const FACT_COLUMNS =
  "f.fact_id, f.content, f.category, coalesce(f.tags, '') AS tags, f.trust_score, f.retrieval_count, f.helpful_count, f.created_at, f.updated_at";

/** Without the vector, and with a prototype, which rows of node:sqlite lack. */
export function toFactRow(row: FactRow): FactRow {
  const { hrr_vector: _, ...fact } = row as FactWithVector;
  return fact;
}

/** For a statement on `facts f` that is limited to a category, if one is given. */
export function categoryFilter(category: string | undefined): {
  readonly and: string;
  readonly values: SqlValues;
} {
  if (category === undefined) return { and: "", values: {} };
  return { and: "AND f.category = :category", values: { category } };
}

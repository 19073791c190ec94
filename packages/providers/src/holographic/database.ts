// The fact database: one connection with its transactions, the tables, the journal mode, and the rows of facts. node:sqlite is
// synchronous, so waiting for another process happens between attempts, with the event loop free.
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describeCause, errnoCode, HermesError, sqliteCode } from "@hermes-memory/core/internal/lib";

/** How long SQLite may block the event loop in one attempt. */
const BUSY_TIMEOUT_MS = 25;
const WAIT_LIMIT_MS = 10_000;
/** How long to wait for readers in other processes before giving up on emptying the log. */
const LOG_WAIT_MS = 2_000;
/** A loop of awaited calls never leaves the microtask queue; after this long a call yields to other work. */
const TURN_MS = 15;
const BUSY = 5;
const LOCKED = 6;

type Values = Readonly<Record<string, SQLInputValue>>;

export class FactDatabase {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #lastTurn = performance.now();

  private constructor(path: string, db: DatabaseSync) {
    this.path = path;
    this.#db = db;
  }

  static async open(path: string, warn: (message: string) => void): Promise<FactDatabase> {
    try {
      createFile(path);
      // The Python original does not enforce foreign keys, so its files may contain links that would fail.
      const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false });
      const opened = new FactDatabase(path, db);
      try {
        await opened.#retrying(() => setJournalMode(db, { path, warn }));
        if (!(await opened.read(() => hasSchema(db)))) await opened.write(() => ensureSchema(db));
        return opened;
      } catch (cause) {
        opened.close();
        throw cause;
      }
    } catch (cause) {
      throw toFactError(cause, path);
    }
  }

  all<Row>(sql: string, values: Values = {}): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  get<Row>(sql: string, values: Values = {}): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  run(sql: string, values: Values = {}): { changes: number; lastId: number } {
    const { changes, lastInsertRowid } = this.#statement(sql).run(values);
    return { changes: Number(changes), lastId: Number(lastInsertRowid) };
  }

  /** Changes when another connection has committed. Read it inside the transaction that uses it. */
  dataVersion(): number {
    return this.get<{ data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
  }

  /** `work` sees one state of the database. */
  read<T>(work: () => T): Promise<T> {
    return this.#retrying(() => this.#transaction("BEGIN", work));
  }

  /**
   * All changes of `work`, or none. `work` may run more than once, so state outside the database is changed in `committed`, which runs right
   * after the commit.
   */
  write<T>(work: () => T, committed: (value: T) => void = () => {}): Promise<T> {
    return this.#retrying(() => {
      const value = this.#transaction("BEGIN IMMEDIATE", work);
      committed(value);
      return value;
    });
  }

  /** A write that may be skipped: false when another process is writing, or the database cannot be written. */
  tryWrite(work: () => void): boolean {
    this.#refuseIfClosed();
    try {
      this.#transaction("BEGIN IMMEDIATE", work);
      return true;
    } catch (cause) {
      if (sqliteCode(cause) !== undefined) return false;
      throw cause;
    }
  }

  /** From now on the bytes of deleted rows are overwritten. */
  overwriteDeleted(): void {
    this.#refuseIfClosed();
    this.#db.exec("PRAGMA secure_delete = ON");
  }

  /** Rewrites the file without free pages. */
  vacuum(): Promise<void> {
    return this.#retrying(() => this.#db.exec("VACUUM"));
  }

  /** Moves the write-ahead log into the file and truncates it. False while another process still reads from it. */
  async emptyLog(): Promise<boolean> {
    const until = performance.now() + LOG_WAIT_MS;
    for (;;) {
      const row = await this.#retrying(() => this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
      if (row?.busy === 0) return true;
      if (performance.now() >= until) return false;
      await sleep(50);
    }
  }

  close(): void {
    if (this.isClosed) return;
    this.#statements.clear();
    this.#db.close();
  }

  get isClosed(): boolean {
    return !this.#db.isOpen;
  }

  #transaction<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T): T {
    this.run(begin);
    try {
      const value = work();
      this.run("COMMIT");
      return value;
    } catch (cause) {
      if (this.#db.isTransaction) this.run("ROLLBACK"); // on a full disk SQLite has already rolled back
      throw cause;
    }
  }

  async #retrying<T>(work: () => T): Promise<T> {
    if (performance.now() - this.#lastTurn >= TURN_MS) await this.#yieldToOthers();
    const start = performance.now();
    for (;;) {
      this.#refuseIfClosed();
      try {
        return work();
      } catch (cause) {
        if (!isBusy(cause) || performance.now() - start >= WAIT_LIMIT_MS) throw toFactError(cause, this.path);
      }
      await sleep(10 + Math.random() * 60); // random, so that two writers do not keep colliding
      this.#lastTurn = performance.now();
    }
  }

  async #yieldToOthers(): Promise<void> {
    await nextTurn();
    this.#lastTurn = performance.now();
  }

  #refuseIfClosed(): void {
    if (!this.isClosed) return;
    throw new HermesError("facts-db-closed", `The fact database ${this.path} was closed.`, {
      hint: "Start a new session to open it again.",
    });
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Readable only by the owner. SQLite gives its log files the mode of the database. */
function createFile(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    if (errnoCode(cause) !== "EEXIST") throw cause;
  }
}

function isBusy(cause: unknown): boolean {
  const code = (sqliteCode(cause) ?? 0) & 0xff;
  return code === BUSY || code === LOCKED;
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
  CREATE TABLE IF NOT EXISTS hermes_memory_bank_sums (
    bank_name TEXT PRIMARY KEY,
    cos BLOB NOT NULL,
    sin BLOB NOT NULL,
    fact_count INTEGER NOT NULL,
    vector_sha TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS hermes_memory_mirrored (
    fact_id INTEGER PRIMARY KEY,
    target TEXT NOT NULL
  );
`;

/** Whether every table exists, so that `ensureSchema` is not needed. */
function hasSchema(db: DatabaseSync): boolean {
  const names = new Set(
    db
      .prepare("SELECT name FROM sqlite_master")
      .all()
      .map(({ name }) => name),
  );
  const wanted = [...`${SHARED_TABLES}${OWN_TABLES}`.matchAll(/IF NOT EXISTS (\w+)/g)].map(
    ([, name]) => name,
  );
  return wanted.every((name) => names.has(name ?? "")) && hasVectorColumn(db);
}

/** Within a transaction. Creates what is missing. */
function ensureSchema(db: DatabaseSync): void {
  db.exec(SHARED_TABLES);
  if (!hasVectorColumn(db)) db.exec("ALTER TABLE facts ADD COLUMN hrr_vector BLOB");
  db.exec(OWN_TABLES);
}

function hasVectorColumn(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM pragma_table_info('facts') WHERE name = 'hrr_vector'").get() !== undefined;
}

// ---- Journal mode: write-ahead logging, where the file system supports it ----

/** The part of a `DatabaseSync` that is used. */
type JournalDatabase = {
  prepare(sql: string): { get(): Record<string, unknown> | undefined };
  exec(sql: string): void;
};

type JournalOptions = { readonly path: string; readonly warn: (message: string) => void };

let hasWarned = false;

/**
 * A file in WAL mode stays in it, because programs that disagree about the mode damage the file. Throws SQLite's errors, also when another
 * process has locked the file.
 */
export function setJournalMode(db: JournalDatabase, { path, warn }: JournalOptions): void {
  try {
    if (db.prepare("PRAGMA journal_mode").get()?.journal_mode !== "wal") db.exec("PRAGMA journal_mode = WAL");
    // A process that dies loses nothing. A power cut may lose the newest facts, but does not damage the file. Waiting for the disk after
    // every fact would be most of the cost of adding one.
    db.exec("PRAGMA synchronous = NORMAL");
  } catch (cause) {
    const reason = describeCause(cause);
    if (!/locking protocol|not authorized/i.test(reason)) throw cause;
    db.exec("PRAGMA journal_mode = DELETE");
    if (hasWarned) return;
    hasWarned = true;
    warn(
      `${path}: write-ahead logging is not possible here (${reason}), so it runs with journal_mode=DELETE.`,
    );
  }
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
  readonly values: Values;
} {
  if (category === undefined) return { and: "", values: {} };
  return { and: "AND f.category = :category", values: { category } };
}

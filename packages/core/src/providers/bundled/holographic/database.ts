// One connection to the fact database: opening, transactions, waiting. node:sqlite is synchronous, so waiting for
// another process happens between attempts, with the event loop free.
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describeCause, errnoCode, HermesError } from "../../../lib/index.ts";

// ----
// The tables. All but those named `hermes_memory_*` are shared with the Python original, which ignores ours; nothing of
// ours hangs on its tables, no trigger and no column.

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

/** Whether there is nothing for `ensureSchema` to do. */
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

/** Within a transaction. Leaves alone what is there. */
function ensureSchema(db: DatabaseSync): void {
  db.exec(SHARED_TABLES);
  if (!hasVectorColumn(db)) db.exec("ALTER TABLE facts ADD COLUMN hrr_vector BLOB");
  db.exec(OWN_TABLES);
}

function hasVectorColumn(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM pragma_table_info('facts') WHERE name = 'hrr_vector'").get() !== undefined;
}

// ----
// Write-ahead logging, where the file system can do it.

/** What is needed of a connection; a `DatabaseSync` is one. */
type JournalDatabase = {
  prepare(sql: string): { get(): Record<string, unknown> | undefined };
  exec(sql: string): void;
};

type JournalOptions = { readonly path: string; readonly warn: (message: string) => void };

let hasWarned = false;

/**
 * A file that is in WAL mode already stays so, whatever happens: programs that disagree about the mode damage the file.
 * Throws what SQLite throws, also when another process holds the file.
 */
export function setJournalMode(db: JournalDatabase, { path, warn }: JournalOptions): void {
  try {
    if (db.prepare("PRAGMA journal_mode").get()?.journal_mode !== "wal") db.exec("PRAGMA journal_mode = WAL");
    // A process that dies loses nothing. A power cut may take the newest facts, never the file. Waiting for the disk at
    // every fact would be most of what adding one costs.
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

// ----
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

/** How long SQLite itself may block the event loop in one attempt. */
const BUSY_TIMEOUT_MS = 25;
const WAIT_LIMIT_MS = 10_000;
/** How long readers of other processes may keep the log from being emptied. */
const LOG_WAIT_MS = 2_000;
/** A loop of awaited calls never leaves the microtask queue by itself; after this long it lets other work in. */
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
      // The original does not enforce foreign keys, so a file of its may hold links that would fail.
      const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false });
      const opened = new FactDatabase(path, db);
      try {
        await opened.#patiently(() => setJournalMode(db, { path, warn }));
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

  /** Changes when another connection has committed something. Read inside the transaction it is meant for. */
  dataVersion(): number {
    return this.get<{ data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
  }

  /** Everything `work` reads comes from one moment. */
  read<T>(work: () => T): Promise<T> {
    return this.#patiently(() => this.#transaction("BEGIN", work));
  }

  /**
   * All of `work` or nothing. It may run more than once, so what is outside the database changes in `committed`, which
   * runs before anything else of this process can.
   */
  write<T>(work: () => T, committed: (value: T) => void = () => {}): Promise<T> {
    return this.#patiently(() => {
      const value = this.#transaction("BEGIN IMMEDIATE", work);
      committed(value);
      return value;
    });
  }

  /** Like `write` for what may be left undone: false when another process is writing just now, or nothing can be written. */
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

  /** Bytes of deleted rows are overwritten from here on. */
  overwriteDeleted(): void {
    this.#refuseIfClosed();
    this.#db.exec("PRAGMA secure_delete = ON");
  }

  /** Writes the file anew, without free pages. */
  vacuum(): Promise<void> {
    return this.#patiently(() => this.#db.exec("VACUUM"));
  }

  /** Moves the write-ahead log into the file and cuts it to nothing. False while another process still reads from it. */
  async emptyLog(): Promise<boolean> {
    const until = performance.now() + LOG_WAIT_MS;
    for (;;) {
      const row = await this.#patiently(() => this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
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
      if (this.#db.isTransaction) this.run("ROLLBACK"); // a full disk makes SQLite roll back by itself
      throw cause;
    }
  }

  async #patiently<T>(work: () => T): Promise<T> {
    if (performance.now() - this.#lastTurn >= TURN_MS) await this.#letOthersIn();
    const start = performance.now();
    for (;;) {
      this.#refuseIfClosed();
      try {
        return work();
      } catch (cause) {
        if (!isBusy(cause) || performance.now() - start >= WAIT_LIMIT_MS) throw toFactError(cause, this.path);
      }
      await sleep(10 + Math.random() * 60); // uneven, or two writers would keep meeting
      this.#lastTurn = performance.now();
    }
  }

  async #letOthersIn(): Promise<void> {
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

/** Only the owner may read facts. SQLite gives its log files the mode of the database. */
function createFile(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    if (errnoCode(cause) !== "EEXIST") throw cause;
  }
}

/** The extended result code of an error that came from SQLite. */
function sqliteCode(cause: unknown): number | undefined {
  if (typeof cause !== "object" || cause === null || !("errcode" in cause)) return undefined;
  return typeof cause.errcode === "number" ? cause.errcode : undefined;
}

function isBusy(cause: unknown): boolean {
  const code = (sqliteCode(cause) ?? 0) & 0xff;
  return code === BUSY || code === LOCKED;
}

/** What is no error of SQLite or the file system stays as it is: it is ours already, or a mistake in the program. */
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

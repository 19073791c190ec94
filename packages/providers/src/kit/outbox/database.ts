// The file `memory_outbox.db`: one connection per process and home, its tables, and what happens when the file is damaged, was replaced,
// or was written by a newer version.
import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { describeCause, errnoCode, HermesError, sqliteCode } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { addSalvaged, readDamaged } from "./salvage.ts";
import { Sql, TABLES } from "./sql.ts";

const SCHEMA_VERSION = 1;
/** How long a call may block the event loop while another process writes. Writes of the outbox take milliseconds. */
const BUSY_TIMEOUT_MS = 100;
/** The same for commands and erasing, which have no second try. */
const PATIENT_TIMEOUT_MS = 2_000;
/** How long erasing waits for readers in other processes before it leaves old bytes in the log. */
const CHECKPOINT_TIMEOUT_MS = 250;
const PLAIN_ERROR = 1;
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NO_SHARED_MEMORY = 15;
const NOT_A_DATABASE = 26;

type Opened = { readonly db: DatabaseSync; readonly sql: Sql; readonly inode: bigint };

export type DatabaseOptions = {
  readonly home: string;
  readonly isDurable: boolean;
  readonly log: Logger;
  /** Of one in memory that is not shared with other lanes. */
  readonly name?: string;
};

/** What other lanes of this process do. */
export type LaneListener = {
  /** The owner of its leases. */
  readonly holder: string;
  /** There may be something to send. */
  readonly changed: (lane: string) => void;
  /** Resolves when no delivery of an erased item is under way. */
  readonly erased: (lane: string, isErased: (id: number) => boolean) => Promise<void>;
};

/** The open files of this process, by path. */
const shared = new Map<string, OutboxDatabase>();

export class OutboxDatabase {
  readonly path: string;
  readonly #isDurable: boolean;
  readonly #key: string;
  readonly #log: Logger;
  readonly #listeners = new Set<LaneListener>();
  #users = 0;
  #busyTimeoutMs = BUSY_TIMEOUT_MS;
  #opened: Opened | undefined;
  #lastWarning = "";

  private constructor(key: string, { home, isDurable, log }: DatabaseOptions) {
    this.#key = key;
    this.path = outboxPath(home);
    this.#isDurable = isDurable;
    this.#log = log;
  }

  /** The connection of this process for the home; each `use` needs one `release`. Opens nothing yet. */
  static use(options: DatabaseOptions): OutboxDatabase {
    const key = `${options.isDurable ? "file" : "memory"}:${options.name ?? ""}:${outboxPath(options.home)}`;
    const database = shared.get(key) ?? new OutboxDatabase(key, options);
    shared.set(key, database);
    database.#users += 1;
    return database;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    shared.delete(this.#key);
    this.#close();
  }

  /** Returns the end of it. */
  listen(listener: LaneListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a lane of this process owns leases under this name. */
  isHolder(name: string): boolean {
    return [...this.#listeners].some(({ holder }) => holder === name);
  }

  announce(lane: string): void {
    for (const { changed } of this.#listeners) changed(lane);
  }

  /** Ends deliveries of erased items in all lanes of this process. Resolves when they have ended. */
  async announceErased(lane: string, isErased: (id: number) => boolean): Promise<void> {
    await Promise.all([...this.#listeners].map(({ erased }) => erased(lane, isErased)));
  }

  /** `work` waits up to 2 s for other processes. */
  patiently<T>(work: () => T): T {
    this.#busyTimeoutMs = PATIENT_TIMEOUT_MS;
    this.#opened?.db.exec(`PRAGMA busy_timeout = ${PATIENT_TIMEOUT_MS}`);
    try {
      return work();
    } finally {
      this.#busyTimeoutMs = BUSY_TIMEOUT_MS;
      this.#opened?.db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  /** Undefined when there is no file. Throws SQLite's errors and `HermesError`. */
  read<T>(work: (sql: Sql) => T): T | undefined {
    return this.#isThere() ? this.#mending(({ sql }) => work(sql)) : undefined;
  }

  /** All changes of `work`, or none; makes the file. `work` may run twice. Throws SQLite's errors and `HermesError`. */
  write<T>(work: (sql: Sql) => T): T {
    return this.#mending((opened) => transaction(opened, work));
  }

  /** Like `write`, but undefined when there is no file. */
  change<T>(work: (sql: Sql) => T): T | undefined {
    return this.#isThere() ? this.write(work) : undefined;
  }

  /** Moves the log into the file and empties it, so that no deleted byte is left, unless another process reads from the log. */
  emptyLog(): void {
    if (!this.#isDurable || this.#opened === undefined) return;
    const { db } = this.#opened;
    try {
      db.exec(`PRAGMA busy_timeout = ${CHECKPOINT_TIMEOUT_MS}`);
      db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    } catch (cause) {
      this.#log.debug("The log of the outbox could not be emptied.", { reason: describeCause(cause) });
    } finally {
      db.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}`);
    }
  }

  #isThere(): boolean {
    return this.#isDurable ? existsSync(this.path) : this.#opened !== undefined;
  }

  /** A damaged file is moved aside once, and `work` runs on a new one. */
  #mending<T>(work: (opened: Opened) => T): T {
    try {
      return work(this.#current());
    } catch (cause) {
      if (!isDamage(cause) || !this.#isDurable) throw cause;
      this.#moveAside(cause);
      return work(this.#current());
    }
  }

  #current(): Opened {
    // Another process moved the file aside, or someone deleted it: what is written to the old one would be lost.
    if (this.#opened !== undefined && this.#isDurable && this.#opened.inode !== inodeOf(this.path))
      this.#close();
    this.#opened ??= this.#isDurable ? this.#openFile() : openInMemory();
    return this.#opened;
  }

  #openFile(): Opened {
    createFile(this.path);
    const problem = newerVersion(this.path, this.#busyTimeoutMs);
    if (problem !== undefined) {
      this.#warnOnce(problem.message);
      throw problem;
    }
    const db = new DatabaseSync(this.path, {
      timeout: this.#busyTimeoutMs,
      enableForeignKeyConstraints: false,
    });
    try {
      const sql = new Sql(db);
      enterWal(db);
      db.exec("PRAGMA synchronous = FULL");
      db.exec("PRAGMA secure_delete = ON");
      prepareTables(db, sql);
      return { db, sql, inode: inodeOf(this.path) };
    } catch (cause) {
      db.close();
      throw cause;
    }
  }

  #moveAside(cause: unknown): void {
    const seen = this.#opened?.inode ?? inodeOf(this.path);
    this.#close();
    if (inodeOf(this.path) !== seen) return; // another process was faster
    const aside = `${this.path}.damaged-${new Date().toISOString().replace(/[:.]/g, "-")}`;
    // The log first: beside the new file it would be taken for the log of that.
    for (const suffix of ["-wal", "-shm", ""]) renameIfThere(`${this.path}${suffix}`, `${aside}${suffix}`);
    const saved = this.#salvage(aside);
    this.#log.warn(
      `The outbox ${this.path} is damaged (${describeCause(cause)}). It was moved to ${aside}. ${saved} of its writes could be read and wait in the new file; others may be lost.`,
    );
  }

  /** What can be read of the damaged file goes into the new one. Returns how many writes. */
  #salvage(aside: string): number {
    try {
      const salvage = readDamaged(aside);
      if (salvage.items.length === 0 && salvage.mirrors.length === 0) return 0;
      return transaction(this.#current(), (sql) => addSalvaged(sql, salvage));
    } catch (cause) {
      this.#log.warn("Writes of the damaged outbox could not be put into the new one.", {
        reason: describeCause(cause),
      });
      return 0;
    }
  }

  #warnOnce(message: string): void {
    if (this.#lastWarning === message) return;
    this.#lastWarning = message;
    this.#log.warn(message);
  }

  #close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    try {
      opened?.db.close();
    } catch (cause) {
      this.#log.debug("The outbox could not be closed.", { reason: describeCause(cause) });
    }
  }
}

export function outboxPath(home: string): string {
  return join(resolve(home), "memory_outbox.db");
}

/**
 * For status: changes and creates nothing. Undefined when there is no file. Throws `HermesError` for a file that is damaged or newer.
 */
export function readOnly<T>(home: string, work: (sql: Sql) => T): T | undefined {
  const path = outboxPath(home);
  if (!existsSync(path)) return undefined;
  try {
    const problem = newerVersion(path, PATIENT_TIMEOUT_MS);
    if (problem !== undefined) throw problem;
    return withReadOnly(path, PATIENT_TIMEOUT_MS, (db) =>
      versionIn(db) === 0 ? undefined : work(new Sql(db)),
    );
  } catch (cause) {
    if (cause instanceof HermesError) throw cause;
    throw new HermesError(
      "outbox-unreadable",
      `The outbox ${path} cannot be read: ${describeCause(cause)}.`,
      {
        hint: isDamage(cause)
          ? "The next agent that uses the provider moves the file aside and begins a new one."
          : "Check the permissions of the file and its folder.",
        cause,
      },
    );
  }
}

/**
 * Without a log, the file is opened as immutable: otherwise SQLite would create a log. If a log has appeared meanwhile, another process
 * has begun to write, and `work` is repeated with it.
 */
function withReadOnly<T>(path: string, timeout: number, work: (db: DatabaseSync) => T): T {
  const hasLog = () => existsSync(`${path}-wal`);
  if (!hasLog()) {
    const address = pathToFileURL(path);
    address.searchParams.set("immutable", "1");
    try {
      using db = new DatabaseSync(address.href, { readOnly: true });
      const value = work(db);
      if (!hasLog()) return value;
    } catch (cause) {
      if (!hasLog()) throw cause;
    }
  }
  using db = new DatabaseSync(path, { readOnly: true, timeout });
  return work(db);
}

function newerVersion(path: string, timeout: number): HermesError | undefined {
  const version = withReadOnly(path, timeout, versionIn);
  if (version <= SCHEMA_VERSION) return undefined;
  return new HermesError(
    "outbox-newer",
    `The outbox ${path} has version ${version}, and this program knows version ${SCHEMA_VERSION}. It was left as it is.`,
    { hint: "Update hermes-memory, or move the file away." },
  );
}

function versionIn(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
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

/** SQLite does not wait for other processes that do the same at this moment. */
function enterWal(db: DatabaseSync): void {
  const until = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      db.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (cause) {
      const code = (sqliteCode(cause) ?? 0) & 0xff;
      if (code === NO_SHARED_MEMORY) return; // some network drives: it works with the journal mode that the file has
      if (code !== BUSY || performance.now() > until) throw cause;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

function prepareTables(db: DatabaseSync, sql: Sql): void {
  try {
    if (versionIn(db) !== SCHEMA_VERSION) transaction({ sql, db }, () => createTables(db));
    db.prepare("SELECT 1 FROM lanes, items, batches, delivered_keys, mirrors LIMIT 1").get();
  } catch (cause) {
    if (sqliteCode(cause) !== PLAIN_ERROR) throw cause; // that of a missing table, or one that is there already
    throw new WrongTables(`it has other tables: ${describeCause(cause)}`, { cause });
  }
}

/** Within a transaction. Another process may have made them meanwhile. */
function createTables(db: DatabaseSync): void {
  if (versionIn(db) === SCHEMA_VERSION) return;
  db.exec(TABLES);
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function openInMemory(): Opened {
  const db = new DatabaseSync(":memory:");
  createTables(db);
  return { db, sql: new Sql(db), inode: 0n };
}

function transaction<T>({ sql, db }: Pick<Opened, "sql" | "db">, work: (sql: Sql) => T): T {
  sql.run("BEGIN IMMEDIATE");
  try {
    const value = work(sql);
    sql.run("COMMIT");
    return value;
  } catch (cause) {
    if (db.isTransaction) sql.run("ROLLBACK"); // on a full disk SQLite has already rolled back
    throw cause;
  }
}

/** A file of this name that has other tables. */
class WrongTables extends Error {}

function isDamage(cause: unknown): boolean {
  const code = (sqliteCode(cause) ?? 0) & 0xff;
  return code === CORRUPT || code === NOT_A_DATABASE || cause instanceof WrongTables;
}

/** Why a write failed that may succeed later: another process writes, or the disk is full or read-only. Undefined for other causes. */
export function storageProblem(cause: unknown): "busy" | "unwritable" | undefined {
  if (cause instanceof HermesError || cause instanceof TypeError) return undefined;
  const code = sqliteCode(cause);
  if (code === undefined) return errnoCode(cause) === undefined ? undefined : "unwritable";
  return [BUSY, LOCKED, NO_SHARED_MEMORY].includes(code & 0xff) ? "busy" : "unwritable";
}

function inodeOf(path: string): bigint {
  return statSync(path, { throwIfNoEntry: false, bigint: true })?.ino ?? 0n;
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
  }
}

// A SQLite file beside the session store: cached statements, transactions, waiting for other processes, reading without a trace.
// node:sqlite is synchronous, so longer waiting happens between attempts, with the event loop free.
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type DatabaseSyncOptions, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { describeCause, errnoCode, sqliteCode } from "./basics.ts";

const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

export type SqlValues = Readonly<Record<string, SQLInputValue>>;

export class SqliteFile {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Makes the file if it is not there, readable only by the owner: SQLite gives its log files the mode of the database. */
  constructor(path: string, options: DatabaseSyncOptions) {
    if (options.readOnly !== true && path !== ":memory:") createPrivateFile(path);
    this.#db = new DatabaseSync(path, { enableForeignKeyConstraints: false, ...options });
  }

  all<Row>(sql: string, values: SqlValues = {}): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  get<Row>(sql: string, values: SqlValues = {}): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  run(sql: string, values: SqlValues = {}): { changes: number; lastId: number } {
    const { changes, lastInsertRowid } = this.#statement(sql).run(values);
    return { changes: Number(changes), lastId: Number(lastInsertRowid) };
  }

  /** Statements without values, which are not kept. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** All changes of `work`, or none. */
  transaction<T>(work: () => T, begin: "BEGIN" | "BEGIN IMMEDIATE" = "BEGIN IMMEDIATE"): T {
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

  get userVersion(): number {
    return this.get<{ user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
  }

  /** Moves the write-ahead log into the file and truncates it. False while another process reads from it. */
  emptyLog(): boolean {
    return this.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0;
  }

  get isOpen(): boolean {
    return this.#db.isOpen;
  }

  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}

/** Without a log, the file is opened as immutable: otherwise SQLite would create one. */
export function readWithoutTrace<T>(path: string, timeout: number, work: (file: SqliteFile) => T): T {
  const hasLog = () => existsSync(`${path}-wal`);
  if (!hasLog()) {
    const address = pathToFileURL(path);
    address.searchParams.set("immutable", "1");
    try {
      using file = new SqliteFile(address.href, { readOnly: true });
      const value = work(file);
      if (!hasLog()) return value;
    } catch (cause) {
      if (!hasLog()) throw cause; // or else another process has begun to write meanwhile
    }
  }
  using file = new SqliteFile(path, { readOnly: true, timeout });
  return work(file);
}

/** Repeats `work` while another process writes. After `waitMs` it throws SQLite's error. */
export async function retryWhileBusy<T>(work: () => T, waitMs: number): Promise<T> {
  for (const until = performance.now() + waitMs; ; ) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause) || performance.now() >= until) throw cause;
    }
    await sleep(10 + Math.random() * 60); // random, so that two writers do not keep colliding
  }
}

/**
 * Write-ahead logging, where the file system supports it: otherwise returns why it does not. A file in WAL mode stays in it, because programs
 * that disagree about the mode damage the file. Throws SQLite's errors, also when another process has locked the file.
 */
export function enterWal(file: Pick<SqliteFile, "get" | "exec">): string | undefined {
  if (file.get<{ journal_mode: string }>("PRAGMA journal_mode")?.journal_mode === "wal") return undefined;
  try {
    file.exec("PRAGMA journal_mode = WAL");
    return undefined;
  } catch (cause) {
    const reason = describeCause(cause);
    if (!/locking protocol|not authorized/i.test(reason)) throw cause;
    file.exec("PRAGMA journal_mode = DELETE");
    return reason;
  }
}

export function isBusy(cause: unknown): boolean {
  return [BUSY, LOCKED].includes(primaryCode(cause));
}

export function isDamage(cause: unknown): boolean {
  return [CORRUPT, NOT_A_DATABASE].includes(primaryCode(cause));
}

function primaryCode(cause: unknown): number {
  return (sqliteCode(cause) ?? 0) & 0xff;
}

/** With its folder, unless it exists. */
export function createPrivateFile(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    if (errnoCode(cause) !== "EEXIST") throw cause;
  }
}

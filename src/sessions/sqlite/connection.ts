// One SQLite connection: cached statements, transactions with a bounded wait, checkpoints.
// node:sqlite is synchronous, so waiting for another process happens between attempts, with the event loop free.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { sessionError } from "../errors.ts";
import { isBusy, toSessionError } from "./failures.ts";

/** How long SQLite itself may block the event loop in one attempt. */
export const BUSY_TIMEOUT_MS = 25;
const WAIT_LIMIT_MS = 15_000;
/** A loop of awaited appends never leaves the microtask queue by itself; after this long it lets other work in. */
const TURN_MS = 15;
const WRITES_BETWEEN_LOOKS = 16;
/** SQLite's own default: long enough to write hot pages once, short enough to recover from fast. */
const LONG_LOG_PAGES = 1000;

export type Values = Readonly<Record<string, SQLInputValue>>;

export type ConnectionOptions = {
  readonly db: DatabaseSync;
  readonly path: string;
  /** Why writes are refused; undefined when they are not. */
  readonly readOnlyBecause?: string;
  readonly waitLimitMs?: number;
};

export class Connection {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly readOnlyBecause: string | undefined;
  readonly waitLimitMs: number;
  readonly #statements = new Map<string, StatementSync>();
  #isClosed = false;
  #writes = 0;
  #lastTurn = performance.now();

  constructor(options: ConnectionOptions) {
    this.db = options.db;
    this.path = options.path;
    this.readOnlyBecause = options.readOnlyBecause;
    this.waitLimitMs = options.waitLimitMs ?? WAIT_LIMIT_MS;
  }

  // Rows have no prototype when they come from SQLite; whoever hands them out copies them.
  all<Row>(sql: string, values: Values = {}): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  get<Row>(sql: string, values: Values = {}): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  /** Lazily: stopping the loop stops the query. */
  iterate<Row>(sql: string, values: Values = {}): IterableIterator<Row> {
    return this.#statement(sql).iterate(values) as IterableIterator<Row>;
  }

  run(sql: string, values: Values = {}): { changes: number; lastId: number } {
    const { changes, lastInsertRowid } = this.#statement(sql).run(values);
    return { changes: Number(changes), lastId: Number(lastInsertRowid) };
  }

  /** Everything `work` reads comes from one moment. */
  read<T>(work: () => T): Promise<T> {
    return this.#attempt("BEGIN", work);
  }

  /** One transaction. `work` may run more than once, so it must not change anything outside the database. */
  async write<T>(work: () => T): Promise<T> {
    this.refuseIfReadOnly();
    const value = await this.#attempt("BEGIN IMMEDIATE", work);
    this.#writes += 1;
    if (this.#writes % WRITES_BETWEEN_LOOKS === 0) setImmediate(() => this.#checkpointLongLog());
    return value;
  }

  /** For work that writes through another connection; `write` asks by itself. */
  refuseIfReadOnly(): void {
    if (this.readOnlyBecause === undefined) return;
    throw sessionError("session-db-read-only", `${this.path} cannot be written: ${this.readOnlyBecause}.`, {
      hint: "Open it without `readOnly`, use a copy, or update hermes-memory.",
    });
  }

  /** For statements that cannot run inside a transaction. */
  async outside<T>(work: () => T): Promise<T> {
    return this.#patiently(work);
  }

  close(): void {
    if (this.#isClosed) return;
    if (this.readOnlyBecause === undefined) this.#checkpoint("TRUNCATE");
    this.#isClosed = true;
    this.#statements.clear();
    this.db.close();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  #attempt<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T): Promise<T> {
    return this.#patiently(() => {
      this.run(begin);
      try {
        const value = work();
        this.run("COMMIT");
        return value;
      } catch (cause) {
        // A full disk makes SQLite roll back by itself.
        if (this.db.isTransaction) this.run("ROLLBACK");
        throw cause;
      }
    });
  }

  async #patiently<T>(work: () => T): Promise<T> {
    await this.#letOthersIn();
    const start = performance.now();
    for (;;) {
      if (this.#isClosed) {
        throw sessionError("session-db-closed", `The session store on ${this.path} was closed.`, {
          hint: "Open it again with openSessionStore.",
        });
      }
      try {
        return work();
      } catch (cause) {
        const waited = performance.now() - start;
        if (!isBusy(cause) || waited >= this.waitLimitMs) throw toSessionError(cause, this.path);
      }
      await sleep(20 + Math.random() * 130);
      this.#lastTurn = performance.now();
    }
  }

  async #letOthersIn(): Promise<void> {
    if (performance.now() - this.#lastTurn < TURN_MS) return;
    await nextTurn();
    this.#lastTurn = performance.now();
  }

  #checkpointLongLog(): void {
    if (this.#isClosed) return;
    // NOOP only counts. A SQLite that does not know it yet takes it for PASSIVE, which is harmless.
    const state = this.#checkpoint("NOOP");
    if (state !== undefined && state.log - state.checkpointed >= LONG_LOG_PAGES) this.#checkpoint("PASSIVE");
  }

  #checkpoint(mode: "NOOP" | "PASSIVE" | "TRUNCATE"): { log: number; checkpointed: number } | undefined {
    try {
      return this.get(`PRAGMA wal_checkpoint(${mode})`);
    } catch {
      return undefined; // best effort: the log is complete without it, and the next one who can will do it
    }
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

// One SQLite connection: cached statements, transactions with bounded waiting, checkpoints. Also what every statement depends on:
// the columns and tables of the file, and which rows a user may see. node:sqlite is synchronous, so waiting for another process
// happens between attempts, with the event loop free.
import { statSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import { readScope, type Scope, USER_PLATFORM } from "../identity.ts";
import { isBusy, isStaleSchema, toSessionError } from "./failures.ts";
import { IN_MEMORY } from "./options.ts";

/** How long SQLite itself may block the event loop in one attempt. */
export const BUSY_TIMEOUT_MS = 25;
const WAIT_LIMIT_MS = 15_000;
/** A loop of awaited appends never leaves the microtask queue; after this long it yields to the event loop. */
const YIELD_AFTER_MS = 15;
const WRITES_BETWEEN_CHECKPOINTS = 16;
/** SQLite's default: hot pages are written once, and recovery stays fast. */
const LONG_LOG_PAGES = 1000;
/**
 * From this size on, a checkpoint blocks writers until the log restarts; with several writers it would otherwise grow without
 * limit.
 */
const ENDLESS_LOG_PAGES = 4000;
/** A restarted log is truncated to this size. */
export const LOG_LIMIT_BYTES = 8_388_608;

type Values = Readonly<Record<string, SQLInputValue>>;

export type WriteOptions = {
  /** How long to wait for another process. Default: the limit of the connection. */
  readonly waitLimitMs?: number;
  /** Replaces the connection's own `remedyFor`. */
  readonly remedyFor?: FindRemedy;
  /**
   * Does not wait for the disk. A kill takes nothing of it back; a power failure may, but nothing that was committed before a later
   * write which does wait. For leases, the search index, and what is worth less than the messages it is about.
   */
  readonly isUnsynced?: boolean;
};

type ConnectionOptions = {
  readonly db: DatabaseSync;
  readonly path: string;
  /** How another connection opens the same file. Default: the path. */
  readonly address?: string;
  /** Why writes are refused; undefined when they are allowed. */
  readonly readOnlyBecause?: string;
  /** Advice for the user. */
  readonly hint?: string;
  readonly waitLimitMs?: number;
};

/** Runs inside the retried transaction, before the work. */
export type Remedy = () => void;
type FindRemedy = (cause: unknown) => Remedy | undefined;

export class Connection {
  // Per process, not per connection: a loop that opens, reads and closes must yield as well.
  static #lastYield = performance.now();
  static readonly #waiting: (() => void)[] = [];
  readonly db: DatabaseSync;
  readonly path: string;
  readonly address: string;
  readonly readOnlyBecause: string | undefined;
  readonly #hint: string;
  readonly waitLimitMs: number;
  readonly #statements = new Map<string, StatementSync>();
  readonly #file: string | undefined;
  /** Called after every transaction that wrote. */
  onWrite: (() => void) | undefined;
  /** For failures with a known remedy: what to do before the second and last attempt. */
  remedyFor: FindRemedy | undefined;
  #isClosed = false;
  #isSynced = true;
  #hasLog: boolean | undefined;
  /** The log that this connection has open. */
  #log: string | undefined;
  #writes = 0;

  constructor(options: ConnectionOptions) {
    this.db = options.db;
    this.path = options.path;
    this.address = options.address ?? options.path;
    this.#file = fileAt(options.path);
    this.readOnlyBecause = options.readOnlyBecause;
    this.#hint = options.hint ?? "Open it without `readOnly`, use a copy, or update hermes-memory.";
    this.waitLimitMs = options.waitLimitMs ?? WAIT_LIMIT_MS;
  }

  // Rows from SQLite have no prototype; code that returns them to callers copies them.
  all<Row>(sql: string, values: Values = {}): Row[] {
    return this.#statement(sql).all(matchable(values)) as Row[];
  }

  get<Row>(sql: string, values: Values = {}): Row | undefined {
    return this.#statement(sql).get(matchable(values)) as Row | undefined;
  }

  /** Lazy: leaving the loop stops the query. */
  iterate<Row>(sql: string, values: Values = {}): IterableIterator<Row> {
    return this.#statement(sql).iterate(matchable(values)) as IterableIterator<Row>;
  }

  run(sql: string, values: Values = {}): { changes: number; lastId: number } {
    const { changes, lastInsertRowid } = this.#statement(sql).run(matchable(values));
    return { changes: Number(changes), lastId: Number(lastInsertRowid) };
  }

  /** Statements without values, which are not kept. */
  exec(sql: string): void {
    this.db.exec(sql);
  }

  /** One read transaction: all reads of `work` see the same state. */
  read<T>(work: () => T, options: Pick<WriteOptions, "remedyFor"> = {}): Promise<T> {
    return this.#attempt("BEGIN", work, options);
  }

  /** One transaction. `work` may run more than once, so it must not change anything outside the database. */
  async write<T>(work: () => T, options: WriteOptions = {}): Promise<T> {
    this.refuseIfReadOnly();
    const value = await this.#attempt("BEGIN IMMEDIATE", work, options);
    this.onWrite?.();
    this.#writes += 1;
    if (this.#writes % WRITES_BETWEEN_CHECKPOINTS === 0) setImmediate(() => this.#checkpointLongLog());
    return value;
  }

  /** For work that writes through another connection. `write` checks this itself. */
  refuseIfReadOnly(): void {
    if (this.readOnlyBecause === undefined) return;
    throw sessionError("session-db-read-only", `${this.path} cannot be written: ${this.readOnlyBecause}.`, {
      hint: this.#hint,
    });
  }

  /** For statements that cannot run inside a transaction. */
  async outside<T>(work: () => T): Promise<T> {
    return this.#retryWhileBusy(work);
  }

  close(): void {
    if (this.#isClosed) return;
    // SQLite finds the log by name. After the file was replaced, that log may belong to another process and contain its commits.
    if (this.readOnlyBecause === undefined && !this.#isReplaced()) this.#checkpoint("TRUNCATE");
    this.#isClosed = true;
    this.#statements.clear();
    this.db.close();
  }

  /** No other connection can open it, so work that would run in a worker thread runs here. */
  get isInMemory(): boolean {
    return this.path === IN_MEMORY;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  #attempt<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T, options: WriteOptions = {}): Promise<T> {
    let remedy: Remedy | undefined;
    return this.#retryWhileBusy(() => {
      for (;;) {
        try {
          if (begin === "BEGIN IMMEDIATE") this.#syncNext(options.isUnsynced !== true);
          return this.#transaction(begin, remedy === undefined ? work : afterwards(remedy, work));
        } catch (cause) {
          if (remedy !== undefined || isBusy(cause)) throw cause;
          remedy = this.#remedy(cause, options.remedyFor ?? this.remedyFor);
          if (remedy === undefined) throw cause;
        }
      }
    }, options.waitLimitMs);
  }

  #transaction<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T): T {
    this.run(begin);
    try {
      const value = work();
      this.run("COMMIT");
      if (this.#mayWrite) this.#log ??= fileAt(this.#logPath);
      return value;
    } catch (cause) {
      // When the disk is full, SQLite rolls back by itself.
      if (this.db.isTransaction) this.run("ROLLBACK");
      // A failed statement reports its error again at its next use, so statements are prepared again.
      if (!isBusy(cause)) this.#statements.clear();
      throw cause;
    }
  }

  /** Only a file with a log survives a power failure after a write that was not synced. Not by a kept statement: preparing it is what counts. */
  #syncNext(isSynced: boolean): void {
    if (isSynced === this.#isSynced) return;
    this.#hasLog ??= this.get<{ journal_mode: string }>("PRAGMA journal_mode")?.journal_mode === "wal";
    if (!this.#hasLog) return;
    this.db.exec(`PRAGMA synchronous = ${isSynced ? "FULL" : "NORMAL"}`);
    this.#isSynced = isSynced;
  }

  /**
   * After another process ran VACUUM or changed the schema, FTS5 may hold statements prepared for the old schema and report a
   * missing table. All statements are prepared again then, once.
   */
  #remedy(cause: unknown, find: FindRemedy | undefined): Remedy | undefined {
    const special = find?.(cause);
    if (special !== undefined) return special;
    if (!isStaleSchema(cause)) return undefined;
    return () => this.#statements.clear();
  }

  async #retryWhileBusy<T>(work: () => T, waitLimitMs = this.waitLimitMs): Promise<T> {
    await this.#yieldToEventLoop();
    const start = performance.now();
    for (;;) {
      if (this.#isClosed) {
        throw sessionError("session-db-closed", `The session store on ${this.path} was closed.`, {
          hint: "Open it again with openSessionStore.",
        });
      }
      this.#refuseIfReplaced();
      try {
        return work();
      } catch (cause) {
        const waited = performance.now() - start;
        if (!isBusy(cause) || waited >= waitLimitMs) throw toSessionError(cause, this.path);
      }
      await sleep(20 + Math.random() * 130);
      Connection.#lastYield = performance.now();
    }
  }

  /**
   * If a backup is restored over an open database, this process still has the old file open, with a log that the next process to
   * open the new file would take for its own. If somebody deletes the log, a program that opens the file now makes another one, which the
   * connections that are open do not see. So what is in the deleted log goes into the file, and nothing more is written.
   */
  #refuseIfReplaced(): void {
    const isLogGone = this.#log !== undefined && fileAt(this.#logPath) !== this.#log;
    if (!isLogGone && !this.#isReplaced()) return;
    const what = isLogGone ? this.#logPath : this.path;
    if (isLogGone && fileAt(what) === undefined && !this.#isReplaced()) this.#checkpoint("PASSIVE");
    throw sessionError("session-db-unavailable", `${what} was replaced or removed while it was open.`, {
      hint: "End all programs that use this database and start them again. Nothing of this step was stored.",
    });
  }

  get #mayWrite(): boolean {
    return this.readOnlyBecause === undefined && !this.isInMemory;
  }

  get #logPath(): string {
    return `${this.path}-wal`;
  }

  #isReplaced(): boolean {
    return fileAt(this.path) !== this.#file;
  }

  async #yieldToEventLoop(): Promise<void> {
    if (performance.now() - Connection.#lastYield < YIELD_AFTER_MS) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    Connection.#waiting.push(resolve);
    if (Connection.#waiting.length === 1) setImmediate(Connection.#goOn);
    await promise;
  }

  /** One of those that wait, in each turn of the event loop: a hundred at once would block it a hundred times as long. */
  static #goOn(this: void): void {
    Connection.#lastYield = performance.now();
    Connection.#waiting.shift()?.();
    if (Connection.#waiting.length > 0) setImmediate(Connection.#goOn);
  }

  #checkpointLongLog(): void {
    if (this.#isClosed || this.#isReplaced()) return;
    // NOOP only counts pages. An older SQLite treats it as PASSIVE, which is harmless.
    const state = this.#checkpoint("NOOP");
    if (state === undefined) return;
    // RESTART waits for writers and readers at most as long as the busy timeout, and does at least what PASSIVE does.
    if (state.log >= ENDLESS_LOG_PAGES) this.#checkpoint("RESTART");
    else if (state.log - state.checkpointed >= LONG_LOG_PAGES) this.#checkpoint("PASSIVE");
  }

  #checkpoint(
    mode: "NOOP" | "PASSIVE" | "RESTART" | "TRUNCATE",
  ): { log: number; checkpointed: number } | undefined {
    try {
      return this.get(`PRAGMA wal_checkpoint(${mode})`);
    } catch {
      return undefined; // best effort: the log is complete without it, and a later checkpoint will do it
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

function afterwards<T>(remedy: Remedy, work: () => T): () => T {
  return () => {
    remedy();
    return work();
  };
}

/** A lone surrogate becomes U+FFFD in SQLite, which may be part of another session's id. No id contains NUL. */
function matchable(values: Values): Values {
  for (const key of ["id", "session", "session_id"]) {
    const id = values[key];
    if (typeof id === "string" && !id.isWellFormed()) return { ...values, [key]: "\0" };
  }
  return values;
}

function fileAt(path: string): string | undefined {
  if (path === IN_MEMORY) return undefined; // a file of that name is another database
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

// ---- What the file has ----
// Hermes Agent adds columns and tables to a file while other programs have it open. So this is read again whenever SQLite's
// schema counter has changed, and statements are built for the file at hand. A file counts as schema 17 when it has the column
// `messages.compacted`.

export type FileFeatures = {
  readonly sessions: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  /**
   * The rules of schema 17 and later apply: compactions archive messages inside a session, and a continuation may start before
   * its parent's end.
   */
  readonly isSchema17: boolean;
};

export const OWN_TITLES = "hermes_memory_titles";

const NONE: ReadonlySet<string> = new Set();

/** A file with exactly the columns of schema 16. */
export const SCHEMA_16: FileFeatures = {
  sessions: NONE,
  messages: NONE,
  tables: NONE,
  isSchema17: false,
};

const known = new WeakMap<Connection, { readonly version: number; readonly features: FileFeatures }>();

/** Changes with every change of the schema, by any program. */
export function schemaCookie(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA schema_version").get()?.schema_version);
}

/** Inside a transaction. */
export function featuresOf(connection: Connection): FileFeatures {
  const version = connection.get<{ schema_version: number }>("PRAGMA schema_version")?.schema_version ?? -1;
  const cached = known.get(connection);
  if (cached?.version === version) return cached.features;
  const names = (sql: string) => new Set(connection.all<{ name: string }>(sql).map(({ name }) => name));
  const messages = names("SELECT name FROM pragma_table_info('messages')");
  const tables = names("SELECT name FROM main.sqlite_master WHERE type = 'table'");
  const features: FileFeatures = {
    sessions: names("SELECT name FROM pragma_table_info('sessions')"),
    messages,
    tables,
    isSchema17: messages.has("compacted"),
  };
  known.set(connection, { version, features });
  return features;
}

/** A statement that depends on the file, built once for each set of features. */
export function byFile(build: (file: FileFeatures) => string): (connection: Connection) => string {
  const built = new WeakMap<FileFeatures, string>();
  return (connection) => {
    const file = featuresOf(connection);
    const sql = built.get(file) ?? build(file);
    built.set(file, sql);
    return sql;
  };
}

/** SQL: active rows, and rows that a compaction archived inside the session. This is what users, lists and windows show. */
export function isShown(message: string, file: FileFeatures): string {
  return file.isSchema17 ? `(${message}.active = 1 OR ${message}.compacted = 1)` : `${message}.active = 1`;
}

/** SQL: whether searches leave the row out, given the columns of the table. Unknown values of `active` count as inactive. */
export function isHidden(row: string, columns: ReadonlySet<string>): string {
  const isLive = columns.has("compacted")
    ? `(${row}.active IS 1 OR ${row}.compacted IS 1)`
    : `${row}.active IS 1`;
  return columns.has("display_kind")
    ? `(NOT ${isLive} OR ${row}.display_kind IS 'hidden')`
    : `(NOT ${isLive})`;
}

/** SQL: rows that can be taken back, restored, replaced and cleared. Archived rows cannot. */
export function isChangeable(message: string, file: FileFeatures): string {
  return file.isSchema17 ? `${message}.compacted = 0` : "1";
}

/** SQL: the title of a session. Ours counts until another program has changed the shared column (titles.ts). */
export function titleOf(session: string): string {
  const own = `SELECT t.title FROM ${OWN_TITLES} t WHERE t.session_id = ${session}.id AND t.shared IS ${session}.title`;
  return `COALESCE((${own}), ${session}.title)`;
}

export function hasPromptTable(file: FileFeatures): boolean {
  return file.tables.has("system_prompts") && file.sessions.has("system_prompt_hash");
}

type Mark = "_branched_from" | "_delegate_from" | "_compressed_from" | "_reset_from" | typeof USER_PLATFORM;

/** SQL: a reserved key of model_config; NULL when that is not JSON. */
export function mark(session: string, key: Mark): string {
  return `CASE WHEN json_valid(${session}.model_config) THEN json_extract(${session}.model_config, '$.${key}') END`;
}

/**
 * SQL: the platform of a session's `user_id`: its source, unless a mark names another one. Subagent runs stored by version 0.1.0
 * have no mark; they use the source of their parent session.
 */
export function userPlatform(session: string): string {
  const marked = mark(session, USER_PLATFORM);
  // `instr` first: most rows have no mark, and their JSON need not be parsed.
  const ofParent = `(SELECT r.source FROM sessions r WHERE r.id = ${session}.parent_session_id)`;
  return `COALESCE(CASE WHEN instr(${session}.model_config, '"${USER_PLATFORM}"') > 0 THEN ${marked} END,
    CASE WHEN ${session}.source = 'subagent' THEN ${ofParent} END, ${session}.source)`;
}

/**
 * SQL: whether the person may see the session. `:user` NULL means all users, U+0000 the owner of the home (sessions without a
 * user); `:platform` NULL means every platform.
 */
export function isVisible(session: string): string {
  const onPlatform = `(:platform IS NULL OR ${userPlatform(session)} = :platform)`;
  return `(:user IS NULL OR CASE WHEN :user = char(0) THEN ${session}.user_id IS NULL
    ELSE ${session}.user_id = :user AND ${onPlatform} END)`;
}

/** Seconds since 1970 with a fraction, like all times in the database. */
export function seconds(clock: Clock): number {
  return clock.now().getTime() / 1000;
}

/** The values for `:user` and `:platform` of `isVisible`. NULL means all users, and all platforms. */
export function visibleTo(scope: Scope | undefined): Visible {
  const { userId = null, userPlatform = null, withoutUser } = readScope(scope);
  return withoutUser ? OWNER_OF_HOME : { user: userId, platform: userPlatform };
}

export type Visible = { readonly user: string | null; readonly platform: string | null };

export const ALL_USERS: Visible = { user: null, platform: null };

/** No user can have this id (`isDistinctName`). A query that does not know it finds nothing, where NULL would find everything. */
const NO_USER = "\0";
export const OWNER_OF_HOME: Visible = { user: NO_USER, platform: null };

export function isOwnerOfHome(visible: { readonly user?: unknown }): boolean {
  return visible.user === NO_USER;
}

/** A count from outside as a whole number of at least 0; `fallback` when it is not a number. */
export function count(value: number | null | undefined, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(Math.max(0, Math.trunc(value)), Number.MAX_SAFE_INTEGER);
}

/** A quantity from outside; null when it is not a finite number. */
export function finite(value: number | null | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** Reads ignore impossible ids; only creating a session with one is refused. */
export function isPossibleId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}

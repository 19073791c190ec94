// One SQLite connection: cached statements, transactions with a bounded wait, checkpoints.
// node:sqlite is synchronous, so waiting for another process happens between attempts, with the event loop free.
import { statSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import { readScope, type Scope, USER_PLATFORM } from "../identity.ts";
import { isBusy, isStaleSchema, toSessionError } from "./failures.ts";

/** How long SQLite itself may block the event loop in one attempt. */
export const BUSY_TIMEOUT_MS = 25;
const WAIT_LIMIT_MS = 15_000;
/** A loop of awaited appends never leaves the microtask queue by itself; after this long it lets other work in. */
const TURN_MS = 15;
const WRITES_BETWEEN_LOOKS = 16;
/** SQLite's own default: long enough to write hot pages once, short enough to recover from fast. */
const LONG_LOG_PAGES = 1000;
/** From here on a checkpoint holds writers off until the log begins anew: with several writers it would grow for ever. */
const ENDLESS_LOG_PAGES = 4000;
/** What a log that began anew is cut to. */
export const LOG_LIMIT_BYTES = 8_388_608;

type Values = Readonly<Record<string, SQLInputValue>>;

export type WriteOptions = {
  /** How long to wait for another process. Default: the limit of the connection. */
  readonly waitLimitMs?: number;
  /** Asked instead of that of the connection. */
  readonly remedyFor?: FindRemedy;
};

type ConnectionOptions = {
  readonly db: DatabaseSync;
  readonly path: string;
  /** What another connection to the same file is opened with; the path unless the file needs special treatment. */
  readonly address?: string;
  /** Why writes are refused; undefined when they are not. */
  readonly readOnlyBecause?: string;
  /** What a user can do about it. */
  readonly wayOut?: string;
  readonly waitLimitMs?: number;
};

/** Runs inside the transaction that is tried again, before the work itself. */
export type Remedy = () => void;
type FindRemedy = (cause: unknown) => Remedy | undefined;

export class Connection {
  // Of the process, not of a connection: a loop that opens, reads and closes has to let others in as well.
  static #lastTurn = performance.now();
  readonly db: DatabaseSync;
  readonly path: string;
  readonly address: string;
  readonly readOnlyBecause: string | undefined;
  readonly #wayOut: string;
  readonly waitLimitMs: number;
  readonly #statements = new Map<string, StatementSync>();
  readonly #file: string | undefined;
  /** Called after every transaction that wrote. */
  onWrite: (() => void) | undefined;
  /** For failures that can be put right: what to do before the second and last attempt. */
  remedyFor: FindRemedy | undefined;
  #isClosed = false;
  #writes = 0;

  constructor(options: ConnectionOptions) {
    this.db = options.db;
    this.path = options.path;
    this.address = options.address ?? options.path;
    this.#file = fileAt(options.path);
    this.readOnlyBecause = options.readOnlyBecause;
    this.#wayOut = options.wayOut ?? "Open it without `readOnly`, use a copy, or update hermes-memory.";
    this.waitLimitMs = options.waitLimitMs ?? WAIT_LIMIT_MS;
  }

  // Rows have no prototype when they come from SQLite; whoever hands them out copies them.
  all<Row>(sql: string, values: Values = {}): Row[] {
    return this.#statement(sql).all(matchable(values)) as Row[];
  }

  get<Row>(sql: string, values: Values = {}): Row | undefined {
    return this.#statement(sql).get(matchable(values)) as Row | undefined;
  }

  /** Lazily: stopping the loop stops the query. */
  iterate<Row>(sql: string, values: Values = {}): IterableIterator<Row> {
    return this.#statement(sql).iterate(matchable(values)) as IterableIterator<Row>;
  }

  run(sql: string, values: Values = {}): { changes: number; lastId: number } {
    const { changes, lastInsertRowid } = this.#statement(sql).run(matchable(values));
    return { changes: Number(changes), lastId: Number(lastInsertRowid) };
  }

  /** Everything `work` reads comes from one moment. */
  read<T>(work: () => T, options: Pick<WriteOptions, "remedyFor"> = {}): Promise<T> {
    return this.#attempt("BEGIN", work, options);
  }

  /** One transaction. `work` may run more than once, so it must not change anything outside the database. */
  async write<T>(work: () => T, options: WriteOptions = {}): Promise<T> {
    this.refuseIfReadOnly();
    const value = await this.#attempt("BEGIN IMMEDIATE", work, options);
    this.onWrite?.();
    this.#writes += 1;
    if (this.#writes % WRITES_BETWEEN_LOOKS === 0) setImmediate(() => this.#checkpointLongLog());
    return value;
  }

  /** For work that writes through another connection; `write` asks by itself. */
  refuseIfReadOnly(): void {
    if (this.readOnlyBecause === undefined) return;
    throw sessionError("session-db-read-only", `${this.path} cannot be written: ${this.readOnlyBecause}.`, {
      hint: this.#wayOut,
    });
  }

  /** For statements that cannot run inside a transaction. */
  async outside<T>(work: () => T): Promise<T> {
    return this.#patiently(work);
  }

  close(): void {
    if (this.#isClosed) return;
    // The log goes by its name: after a replacement it may be another process's, with commits of its own in it.
    if (this.readOnlyBecause === undefined && !this.#isReplaced()) this.#checkpoint("TRUNCATE");
    this.#isClosed = true;
    this.#statements.clear();
    this.db.close();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  #attempt<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T, options: WriteOptions = {}): Promise<T> {
    let remedy: Remedy | undefined;
    return this.#patiently(() => {
      for (;;) {
        try {
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
      return value;
    } catch (cause) {
      // A full disk makes SQLite roll back by itself.
      if (this.db.isTransaction) this.run("ROLLBACK");
      // A statement that failed tells its error once more when it is used again.
      if (!isBusy(cause)) this.#statements.clear();
      throw cause;
    }
  }

  /**
   * After a VACUUM or a change of the schema by another process, FTS5 may have prepared statements of its own against the
   * schema of before, and says that a table is missing. All statements are made anew then, once.
   */
  #remedy(cause: unknown, find: FindRemedy | undefined): Remedy | undefined {
    const special = find?.(cause);
    if (special !== undefined) return special;
    if (!isStaleSchema(cause)) return undefined;
    return () => this.#statements.clear();
  }

  async #patiently<T>(work: () => T, waitLimitMs = this.waitLimitMs): Promise<T> {
    await this.#letOthersIn();
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
      Connection.#lastTurn = performance.now();
    }
  }

  /**
   * Whoever restores a backup over an open database leaves us with the old file in hand, and with a log that the next
   * one to open the new file would take for its own. So nothing more goes into it.
   */
  #refuseIfReplaced(): void {
    if (!this.#isReplaced()) return;
    throw sessionError("session-db-unavailable", `${this.path} was replaced or removed while it was open.`, {
      hint: "Close this store and open it again. Nothing of this step was stored.",
    });
  }

  #isReplaced(): boolean {
    return fileAt(this.path) !== this.#file;
  }

  async #letOthersIn(): Promise<void> {
    if (performance.now() - Connection.#lastTurn < TURN_MS) return;
    await nextTurn();
    Connection.#lastTurn = performance.now();
  }

  #checkpointLongLog(): void {
    if (this.#isClosed || this.#isReplaced()) return;
    // NOOP only counts. A SQLite that does not know it yet takes it for PASSIVE, which is harmless.
    const state = this.#checkpoint("NOOP");
    if (state === undefined) return;
    // RESTART waits for writers and readers no longer than the busy timeout, and does at least what PASSIVE does.
    if (state.log >= ENDLESS_LOG_PAGES) this.#checkpoint("RESTART");
    else if (state.log - state.checkpointed >= LONG_LOG_PAGES) this.#checkpoint("PASSIVE");
  }

  #checkpoint(
    mode: "NOOP" | "PASSIVE" | "RESTART" | "TRUNCATE",
  ): { log: number; checkpointed: number } | undefined {
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

function afterwards<T>(remedy: Remedy, work: () => T): () => T {
  return () => {
    remedy();
    return work();
  };
}

/**
 * Half a surrogate pair becomes U+FFFD on its way into SQLite, and that may be the id of another session. A zero is in
 * no id.
 */
function matchable(values: Values): Values {
  for (const key of ["id", "session", "session_id"]) {
    const id = values[key];
    if (typeof id === "string" && !id.isWellFormed()) return { ...values, [key]: "\0" };
  }
  return values;
}

function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

// ----
// What a file has that version 16 of the schema does not. The original adds columns and tables to a file while others have it open,
// so this is read again whenever SQLite's own schema counter has changed, and each statement is written for the file at hand.

export type FileFeatures = {
  readonly sessions: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  /** The rules of version 17 and later hold: archives within a session, continuations that start before their parent's end. */
  readonly isToday: boolean;
};

const NONE: ReadonlySet<string> = new Set();

/** A file with the columns of version 16 and no others. */
export const JUNE: FileFeatures = { sessions: NONE, messages: NONE, tables: NONE, isToday: false };

const known = new WeakMap<Connection, { readonly version: number; readonly features: FileFeatures }>();

/** Inside a transaction. */
export function featuresOf(connection: Connection): FileFeatures {
  const version = connection.get<{ schema_version: number }>("PRAGMA schema_version")?.schema_version ?? -1;
  const cached = known.get(connection);
  if (cached?.version === version) return cached.features;
  const names = (sql: string) => new Set(connection.all<{ name: string }>(sql).map(({ name }) => name));
  const messages = names("SELECT name FROM pragma_table_info('messages')");
  const features: FileFeatures = {
    sessions: names("SELECT name FROM pragma_table_info('sessions')"),
    messages,
    tables: names("SELECT name FROM main.sqlite_master WHERE type = 'table'"),
    isToday: messages.has("compacted"),
  };
  known.set(connection, { version, features });
  return features;
}

/** A statement that differs from file to file, put together once for each kind. */
export function byFile(build: (file: FileFeatures) => string): (connection: Connection) => string {
  const built = new WeakMap<FileFeatures, string>();
  return (connection) => {
    const file = featuresOf(connection);
    const sql = built.get(file) ?? build(file);
    built.set(file, sql);
    return sql;
  };
}

/** Live rows, and those that a compaction within the session put away: what people see, and what lists and windows show. */
export function isShown(message: string, file: FileFeatures): string {
  return file.isToday ? `(${message}.active = 1 OR ${message}.compacted = 1)` : `${message}.active = 1`;
}

/** Rows that can be taken back, restored, replaced and cleared. An archive stays as it is. */
export function isChangeable(message: string, file: FileFeatures): string {
  return file.isToday ? `${message}.compacted = 0` : "1";
}

export function hasPromptTable(file: FileFeatures): boolean {
  return file.tables.has("system_prompts") && file.sessions.has("system_prompt_hash");
}

type Mark = "_branched_from" | "_delegate_from" | "_compressed_from" | "_reset_from" | typeof USER_PLATFORM;

/** A reserved key of model_config. Text that is no JSON has none. */
export function mark(session: string, key: Mark): string {
  return `CASE WHEN json_valid(${session}.model_config) THEN json_extract(${session}.model_config, '$.${key}') END`;
}

/**
 * The platform a session's `user_id` belongs to: its source, unless a mark says otherwise (a subagent's run, for instance). Runs that
 * version 0.1.0 stored have no mark; theirs is the source of the session they were made for.
 */
export function userPlatform(session: string): string {
  const marked = mark(session, USER_PLATFORM);
  // The first look spares reading the JSON of all other rows.
  const ofParent = `(SELECT r.source FROM sessions r WHERE r.id = ${session}.parent_session_id)`;
  return `COALESCE(CASE WHEN instr(${session}.model_config, '"${USER_PLATFORM}"') > 0 THEN ${marked} END,
    CASE WHEN ${session}.source = 'subagent' THEN ${ofParent} END, ${session}.source)`;
}

/** `:user` NULL means everybody, `:platform` NULL the user's id on every platform. */
export function isVisible(session: string): string {
  const onPlatform = `(:platform IS NULL OR ${userPlatform(session)} = :platform)`;
  return `(:user IS NULL OR (${session}.user_id = :user AND ${onPlatform}))`;
}

/** Seconds since 1970 with a fraction, as all times in the database. */
export function seconds(clock: Clock): number {
  return clock.now().getTime() / 1000;
}

/** The values bound to `:user` and `:platform` (`isVisible`): NULL means everybody, and every platform. */
export function visibleTo(scope: Scope | undefined): Visible {
  const { userId = null, userPlatform = null } = readScope(scope);
  return { user: userId, platform: userPlatform };
}

export type Visible = { readonly user: string | null; readonly platform: string | null };

export const EVERYBODY: Visible = { user: null, platform: null };

/** A count from outside: whole, not negative, `fallback` when it is no number. */
export function count(value: number | null | undefined, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(Math.max(0, Math.trunc(value)), Number.MAX_SAFE_INTEGER);
}

/** A quantity from outside; null when it is no number that can be stored or added to. */
export function finite(value: number | null | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** Ids that cannot exist cannot be found either; only making one is refused. */
export function isPossibleId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}

// Opens the connection for a path: creates, upgrades or, once per process, repairs the file, or opens it read-only.
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { describeCause, sqliteCode } from "../../lib/index.ts";
import { createPrivateFile, enterWal } from "../../lib/sqlite.ts";
import { rememberOpenFailure, sessionError } from "../errors.ts";
import { BUSY_TIMEOUT_MS, Connection, LOG_LIMIT_BYTES } from "./connection.ts";
import { isMalformed } from "./damage.ts";
import { retryBriefly } from "./database-file.ts";
import { rebuildDerivedTables } from "./derived-tables.ts";
import { ensureSchema, hasFts5, isCurrent } from "./ensure-schema.ts";
import { isCorrupt, sqliteCause, toSessionError } from "./failures.ts";
import { IN_MEMORY, type OpenOptions } from "./options.ts";
import { repairDatabase } from "./repair.ts";
import {
  type Column,
  columnsOf,
  HAS_ACTIVITY,
  latestActivity,
  MESSAGE_COLUMNS,
  OWN_TABLES,
  SESSION_COLUMNS,
} from "./schema.ts";
import {
  checkWriteAccess,
  disarmForeignTokenizer,
  hasForeignTokenizer,
  remedyFor,
  tryWriting,
} from "./write-access.ts";

type OpenedDatabase = { readonly connection: Connection; readonly warnings: readonly string[] };

export async function openDatabase(given: OpenOptions): Promise<OpenedDatabase> {
  // Resolved now, because the working directory may change before the path is used again.
  const isInMemory = given.path === IN_MEMORY;
  const options = { ...given, path: isInMemory ? IN_MEMORY : resolve(given.path) };
  try {
    if (!readsWholeTexts())
      throw sessionError(
        "session-db-unavailable",
        `${options.path} is not opened: the SQLite of Node ${process.versions.node} reads texts only up to a NUL character, and structured messages begin with one.`,
        { hint: "Use Node 24 or newer." },
      );
    if (isInMemory) return await openInMemory(options);
    return options.readOnly
      ? openReadOnly(options, "it was opened read-only", [])
      : await openWritable(options);
  } catch (cause) {
    const error = toSessionError(cause, options.path);
    rememberOpenFailure(error);
    throw error;
  }
}

async function openInMemory({ readOnly, waitLimitMs }: OpenOptions): Promise<OpenedDatabase> {
  if (readOnly)
    throw sessionError(
      "session-db-unavailable",
      "A database in memory is empty when it is opened, so it cannot be read-only.",
      {
        hint: "Leave `readOnly` out, or pass the path of a file.",
      },
    );
  const db = new DatabaseSync(IN_MEMORY, { enableForeignKeyConstraints: true });
  const connection = new Connection({ db, path: IN_MEMORY, waitLimitMs });
  const warnings = await connection.write(() => ensureSchema(db, hasFts5(db)));
  return { connection, warnings };
}

const repaired = new Set<string>();

async function openWritable(options: OpenOptions): Promise<OpenedDatabase> {
  try {
    return await openRebuilt(options);
  } catch (cause) {
    const file = realFile(options.path);
    if (!isDamage(cause) || repaired.has(file)) throw cause;
    repaired.add(file); // once per process: a file that breaks again has another cause
    const report = await repairDatabase(options.path, { allowLoss: false });
    if (!report.repaired) {
      throw sessionError(
        "session-db-damaged",
        `${options.path} is damaged and could not be repaired: ${report.error}`,
        {
          hint: "The file was left as it was. Run 'hermes sessions repair': it saves every row that can be read.",
          cause,
        },
      );
    }
    const opened = await openAndPrepare(options);
    const kept = report.backup_path === null ? "" : ` The damaged file is kept as ${report.backup_path}.`;
    const note = `${options.path} was damaged and has been repaired (${report.strategy}).${kept}`;
    return { ...opened, warnings: [note, ...opened.warnings] };
  }
}

/** Our derived tables are rebuilt in place, without a copy of the file. */
async function openRebuilt(options: OpenOptions): Promise<OpenedDatabase> {
  const { path } = options;
  try {
    return await openAndPrepare(options);
  } catch (cause) {
    if (!isCorrupt(sqliteCause(cause))) throw cause;
    const isRebuilt = await retryBriefly(() => rebuildDerivedTables(path, { cause }));
    const opened = await openAndPrepare(options); // also if another process has rebuilt them meanwhile
    if (!isRebuilt) return opened;
    const note = `The search index in ${path} was damaged and is being built again from the messages. Pages it no longer uses stay in the file until 'hermes sessions repair' gives them back.`;
    return { ...opened, warnings: [note, ...opened.warnings] };
  }
}

/** A broken index table is reported with another message than a broken schema, but repaired the same way. */
function isDamage(cause: unknown): boolean {
  const root = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
  return isMalformed(root) || /vtable constructor failed: messages_fts/.test(describeCause(root));
}

function realFile(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

async function openAndPrepare(options: OpenOptions): Promise<OpenedDatabase> {
  const { path } = options;
  createFile(path);
  if (!isWritableFile(path)) {
    const reason = "the file or its folder is read-only for this process";
    return openReadOnly(options, reason, [`${path} is open for reading only: ${reason}.`], MAKE_WRITABLE);
  }
  const warnings: string[] = [];
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
  const connection = new Connection({ db, path, waitLimitMs: options.waitLimitMs });
  const readOnlyInstead = (reason: string, hint: string) => {
    db.close();
    return openReadOnly(options, reason, [`${path} is open for reading only: ${reason}. ${hint}`], hint);
  };
  try {
    const access = await connection.outside(() => checkWriteAccess(db));
    if (access.kind === "read-only") return await readOnlyInstead(access.reason, access.hint);
    if (access.isEmpty) {
      // Only for a file we created: programs that share a file must agree on its mode.
      const refusal = await connection.outside(() => enterWal(connection));
      if (refusal !== undefined)
        warnings.push(
          `${path}: write-ahead logging is not possible here (${refusal}), so it runs with journal_mode=DELETE. That is slower and allows one program at a time; use a local disk instead of a network share.`,
        );
    }
    db.exec("PRAGMA synchronous = FULL");
    db.exec("PRAGMA wal_autocheckpoint = 0"); // the connection runs its own checkpoints
    db.exec(`PRAGMA journal_size_limit = ${LOG_LIMIT_BYTES}`);
    db.exec(CACHE);
    connection.remedyFor = (cause) => remedyFor(connection, cause);
    if (await connection.outside(() => hasForeignTokenizer(db)))
      await connection.write(() => disarmForeignTokenizer(db));
    if (access.needsTrial) {
      const objection = await connection.outside(() => tryWriting(db));
      if (objection !== undefined)
        return await readOnlyInstead(`a trigger of another program refuses new rows (${objection})`, UPDATE);
    }
    if (!(await connection.outside(() => isCurrent(db)))) {
      // Checked again inside the transaction, because another process may have done the work while we waited for the lock.
      const notes = await connection.write(() => (isCurrent(db) ? [] : ensureSchema(db, hasFts5(db))));
      warnings.push(...notes);
    }
    return { connection, warnings };
  } catch (cause) {
    if (db.isOpen) db.close();
    throw cause;
  }
}

const MAKE_WRITABLE =
  "Allow this user to write to both, on a file system that is mounted for writing, or use a copy.";
const UPDATE = "Update hermes-memory, or remove the trigger.";
/** 64 MB, for the index pages that every search reads. */
const CACHE = "PRAGMA cache_size = -65536";

/** Only the owner may read conversations. SQLite gives the log files the same mode as the database. */
function createFile(path: string): void {
  try {
    createPrivateFile(path);
  } catch (cause) {
    throw sessionError("session-db-unavailable", `Cannot create ${path}: ${describeCause(cause)}.`, {
      hint: "Check that the folder exists and may be written to, or set HERMES_HOME.",
      cause,
    });
  }
}

/** Writing also needs the folder, where SQLite keeps its log. */
function isWritableFile(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(realFile(path)), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function openReadOnly(
  options: OpenOptions,
  reason: string,
  warnings: readonly string[],
  hint?: string,
): Promise<OpenedDatabase> {
  const { path } = options;
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file?.isFile()) {
    if (file !== undefined) throw sessionError("session-db-unavailable", `${path} is not a file.`);
    throw sessionError("session-db-unavailable", `${path} does not exist.`, {
      hint: "Nothing has been stored there yet. Open it without `readOnly` to create it.",
    });
  }
  let address = options.isUnchanging === true ? immutableAddress(path) : path;
  const open = () => new DatabaseSync(address, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  let db = open();
  const { waitLimitMs } = options;
  const connect = () => new Connection({ db, path, address, readOnlyBecause: reason, hint, waitLimitMs });
  let connection = connect();
  let hasMoved = false;
  try {
    await connection.outside(() => {
      try {
        db.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get();
      } catch (cause) {
        if (address !== path || !lacksItsLog(cause, path)) throw cause;
        address = immutableAddress(path);
        hasMoved = true;
      }
    });
    if (hasMoved) {
      db.close();
      db = open();
      connection = connect();
    }
    // Temporary views hide tables of the same name, so that older files look like current ones.
    await connection.outside(() => {
      db.exec("PRAGMA temp_store = MEMORY");
      db.exec(CACHE);
      for (const sql of compatibilityViews(db)) db.exec(sql);
    });
    return { connection, warnings };
  } catch (cause) {
    if (db.isOpen) db.close();
    throw cause;
  }
}

/** SQLite's codes when it cannot create log files; which one depends on what it tried first. */
const CANNOT_MAKE_LOG: readonly number[] = [8, 14];

/** A file in WAL mode needs its log files. If they cannot be created and there is no log, the file alone is complete. */
function lacksItsLog(cause: unknown, path: string): boolean {
  const code = sqliteCode(cause) ?? 0;
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return CANNOT_MAKE_LOG.includes(code & 0xff) && !hasLog;
}

function immutableAddress(path: string): string {
  const address = pathToFileURL(path);
  address.searchParams.set("immutable", "1");
  return address.href;
}

// ---- Node versions that cut texts at NUL ----
// Node 22 returns a text only up to the first NUL. Structured content starts with one ("\0json:"), so it would be read as empty
// and lost when a conversation is written back. `engines` requires Node 24, but npm only warns.

function readsWholeTexts(): boolean {
  using db = new DatabaseSync(":memory:");
  return db.prepare("SELECT 'a' || char(0) || 'b' AS text").get()?.text === "a\0b";
}

// ---- Read-only files of older versions ----
// Temporary views replace tables and columns that a file lacks because it is older or was never written by this program.

const EMPTY_VIEWS: Readonly<Record<string, string>> = {
  state_meta: "SELECT NULL AS key, NULL AS value WHERE 0",
  compression_locks: "SELECT NULL AS session_id, NULL AS holder, 0 AS acquired_at, 0 AS expires_at WHERE 0",
  hermes_memory_origin: "SELECT 0 AS message_id, 0 AS origin_id WHERE 0",
  ...Object.fromEntries(
    OWN_TABLES.map(({ name, columns }) => [
      name,
      `SELECT ${columns.map((column) => `NULL AS ${column.name}`).join(", ")} WHERE 0`,
    ]),
  ),
};

/** Statements that make the file look current. Empty for a file we have written. */
function compatibilityViews(db: DatabaseSync): string[] {
  const tables = new Set(
    db
      .prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
      .all()
      .map((row) => String(row.name)),
  );
  const create = (name: string, select: string) => `CREATE TEMP VIEW ${name} AS ${select}`;
  const statements = [
    ...completed(db, tables, "sessions", SESSION_COLUMNS),
    ...completed(db, tables, "messages", MESSAGE_COLUMNS),
  ];
  for (const [name, select] of Object.entries(EMPTY_VIEWS)) {
    if (!tables.has(name)) statements.push(create(name, select));
  }
  if (!tables.has("hermes_memory_activity"))
    statements.push(create("hermes_memory_activity", activityOf(db)));
  return statements;
}

function activityOf(db: DatabaseSync): string {
  const latest = latestActivity("s.id", db.prepare(HAS_ACTIVITY).get() !== undefined);
  return `SELECT s.id AS session_id, s.user_id AS user_id, ${latest} AS last_active FROM sessions s`;
}

function completed(
  db: DatabaseSync,
  tables: ReadonlySet<string>,
  name: "sessions" | "messages",
  columns: readonly Column[],
): string[] {
  const found = columnsOf(db, name);
  if (columns.every((column) => found.has(column.name))) return [];
  const list = columns.map((column) =>
    found.has(column.name) ? column.name : `${defaultOf(column)} AS ${column.name}`,
  );
  const from = tables.has(name) ? `FROM main.${name}` : "WHERE 0";
  return [`CREATE TEMP VIEW ${name} AS SELECT ${list.join(", ")} ${from}`];
}

function defaultOf({ declaration }: Column): string {
  return /DEFAULT (\S+)/.exec(declaration)?.[1] ?? "NULL";
}

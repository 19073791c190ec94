// The database as a file on disk: descriptors, processes that have it open, connections for repair, copies, and slow statements
// in a worker thread.
import {
  type BigIntStats,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { errnoCode, syncDirectory } from "../../lib/index.ts";
import { retryWhileBusy } from "../../lib/sqlite.ts";
import { localTimestamp } from "../identity.ts";
import { toSessionError } from "./failures.ts";

const descriptors = new Map<string, number>();

/**
 * Opens a database file for reading next to SQLite and never closes it: closing any descriptor of a file drops all POSIX locks
 * that this process holds on it, including those of open connections. One descriptor per file is kept.
 */
function rawDescriptor(path: string): number {
  const known = descriptors.get(identity(statSync(path, { bigint: true })));
  if (known !== undefined) return known;
  const fd = openSync(path, "r");
  descriptors.set(identity(fstatSync(fd, { bigint: true })), fd);
  return fd;
}

function identity(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}`;
}

// ---- Processes that have the file open ----

/** Whether another process has the file open, whose work must not be disturbed. Undefined where the system does not tell: only Linux does. */
export function isOpenElsewhere(path: string): boolean | undefined {
  if (process.platform !== "linux") return undefined;
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined) return false;
  const hasItOpen = (pid: string): boolean => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => {
        const found = statSync(`/proc/${pid}/fd/${fd}`, { bigint: true, throwIfNoEntry: false });
        return found !== undefined && identity(found) === identity(file);
      });
    } catch {
      return false; // it has ended, or belongs to another user, who cannot open a file of mode 0600
    }
  };
  return readdirSync("/proc").some(
    (pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && hasItOpen(pid),
  );
}

// ---- Connections for repair ----
// The schema may be broken, and other programs may have the file open.

/** A connection that reads past broken schema rows and may edit them. */
export function openForRepair(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { defensive: false, timeout: 50, enableForeignKeyConstraints: false });
  db.exec("PRAGMA writable_schema = ON");
  return db;
}

/** Retries while another connection has the file locked, for two seconds at most. */
export function retryBriefly<T>(work: () => T): Promise<T> {
  return retryWhileBusy(work, 2_000);
}

function shortPause(): Promise<void> {
  return setTimeout(20 + Math.random() * 130);
}

// ---- Copies ----
// A database file with its logs, copied while other programs may be writing.

/** Files that belong to the database. Not the -shm: SQLite creates it again from the -wal. */
const LOGS = ["-wal", "-journal"];
const PARTS = ["", ...LOGS];

/** A backup for the user under a free name. Returns the name. */
export async function keepCopy(file: string, now: Date): Promise<string> {
  for (;;) {
    const candidate = freeName(`${file}.malformed-backup`, now);
    try {
      await copyDatabase(file, candidate);
    } catch (cause) {
      if (errnoCode(cause) === "EEXIST") continue; // another process took the name just now
      throw cause;
    }
    syncDirectory(dirname(file));
    return candidate;
  }
}

/** `<base>-YYYYMMDD_HHMMSS`, with a number appended if that name is taken. */
export function freeName(base: string, now: Date): string {
  const name = `${base}-${localTimestamp(now)}`;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}_${number}`;
    if (PARTS.every((suffix) => !existsSync(candidate + suffix))) return candidate;
  }
}

const COPY_ATTEMPTS = 20;

/**
 * Copies all parts as of one moment: if another program wrote meanwhile, the copy is repeated. Returns the fingerprint of that
 * moment.
 */
export async function copyDatabase(from: string, to: string): Promise<string> {
  for (let attempt = 1; attempt <= COPY_ATTEMPTS; attempt += 1) {
    const before = fingerprint(from);
    await copyBytes(rawDescriptor(from), to); // fails if the target exists, and does not touch it
    try {
      for (const suffix of LOGS) await copyLog(from + suffix, to + suffix);
      if (fingerprint(from) === before) return before;
    } catch (cause) {
      removeParts(to);
      throw cause;
    }
    removeParts(to);
    await shortPause();
  }
  throw new Error("another program keeps writing to it; close that program and try again");
}

export function removeParts(file: string): void {
  for (const suffix of [...PARTS, "-shm"]) rmSync(file + suffix, { force: true });
}

/** Unchanged as long as nothing is written to the file or its logs. */
export function fingerprint(file: string): string {
  return PARTS.map((suffix) => {
    const stats = statSync(file + suffix, { bigint: true, throwIfNoEntry: false });
    // An empty log appears and disappears with every reader.
    return stats === undefined || stats.size === 0n ? "-" : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  }).join("; ");
}

const CHUNK_BYTES = 4 * 1024 * 1024;

async function copyLog(from: string, to: string): Promise<void> {
  if ((statSync(from, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const source = openSync(from, "r"); // SQLite holds no locks on a log, so it may be closed
  try {
    await copyBytes(source, to);
  } finally {
    closeSync(source);
  }
}

async function copyBytes(source: number, to: string): Promise<void> {
  const target = openSync(to, "wx", 0o600);
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let at = 0; ; ) {
      const length = readSync(source, chunk, 0, chunk.length, at);
      if (length === 0) break;
      for (let done = 0; done < length; ) done += writeSync(target, chunk, done, length - done, at + done);
      at += length;
      await setImmediate(); // yield to the event loop while copying a large file
    }
    fsyncSync(target);
  } catch (cause) {
    rmSync(to, { force: true }); // remove an incomplete copy
    throw cause;
  } finally {
    closeSync(target);
  }
}

// ---- Slow statements ----
// VACUUM and checks take seconds, and node:sqlite is synchronous. They run in a worker thread with its own connection.

type ThreadOptions = {
  /** A path or a `file:` URL. */
  readonly address: string;
  readonly readOnly: boolean;
  readonly waitLimitMs?: number;
  /** A database in memory: the statements run on this connection, in this thread. */
  readonly db?: DatabaseSync | undefined;
};

export type Answer =
  | { readonly rows: readonly Record<string, unknown>[] }
  | {
      readonly error: { readonly message: string; readonly errcode?: number };
      /** Rows returned before the failure. */
      readonly before: readonly Record<string, unknown>[];
    };

// Source text, so that the published bundle needs no second file.
const CODE = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const { address, readOnly, waitLimitMs, statements } = workerData;
let db;
for (const sql of statements) {
  const rows = [];
  try {
    db ??= new DatabaseSync(address, { readOnly, timeout: waitLimitMs });
    for (const row of db.prepare(sql).iterate()) rows.push({ ...row });
    parentPort.postMessage({ rows });
  } catch (error) {
    parentPort.postMessage({ error: { message: error.message, errcode: error.errcode }, before: rows });
  }
}
db?.close();
`;

/** One answer per statement. A failed statement does not stop the next. */
export async function runInThread(options: ThreadOptions, statements: readonly string[]): Promise<Answer[]> {
  const { address, readOnly, waitLimitMs = 15_000, db } = options;
  if (db !== undefined) return statements.map((sql) => runHere(db, sql));
  const workerData = { address, readOnly, waitLimitMs, statements };
  // Without this process's flags: one of them might make the code above an ES module.
  const worker = new Worker(CODE, { eval: true, execArgv: ["--no-warnings"], workerData });
  const answers: Answer[] = [];
  worker.on("message", (answer: Answer) => answers.push(answer));
  await new Promise<void>((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => resolve());
  });
  if (answers.length < statements.length)
    throw new Error("The thread that worked on the database ended early.");
  return answers;
}

function runHere(db: DatabaseSync, sql: string): Answer {
  const before: Record<string, unknown>[] = [];
  try {
    for (const row of db.prepare(sql).iterate()) before.push({ ...row });
    return { rows: before };
  } catch (cause) {
    const { message, errcode } = cause as Error & { readonly errcode?: number };
    return { error: { message, errcode }, before };
  }
}

/** `runInThread` for one statement. Rejects when it fails. */
export async function runOneInThread(options: ThreadOptions, sql: string): Promise<void> {
  const [answer] = await runInThread(options, [sql]);
  if (answer !== undefined && "error" in answer) {
    throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), options.address);
  }
}

import {
  type BigIntStats,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
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
import { isBusy, toSessionError } from "./failures.ts";

const descriptors = new Map<string, number>();

/**
 * Opens a database file for reading beside SQLite, and never closes it: closing any descriptor of a file drops every
 * POSIX lock this process holds on it, those of its open connections included. One descriptor per file is kept.
 */
export function rawDescriptor(path: string): number {
  const known = descriptors.get(identity(statSync(path, { bigint: true })));
  if (known !== undefined) return known;
  const fd = openSync(path, "r");
  descriptors.set(identity(fstatSync(fd, { bigint: true })), fd);
  return fd;
}

function isRawDescriptor(fd: number): boolean {
  return [...descriptors.values()].includes(fd);
}

function identity(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}`;
}

// ----
// Which processes have a file open, where the system tells (Linux): some work must not be done beside them.

export type Holder = { readonly pid: number; readonly name: string };

/**
 * This process included. Undefined where it cannot be found out. Processes of other users are not seen: a file of mode
 * 0600 is not theirs to open.
 */
export function holdersOf(path: string): readonly Holder[] | undefined {
  if (process.platform !== "linux") return undefined;
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (file === undefined) return [];
  const isFile = (link: string): boolean => {
    try {
      // Sockets and devices are no databases; looking at them costs time.
      if (!/^\/(?!dev\/|proc\/|sys\/)/.test(readlinkSync(link))) return false;
      const { dev, ino } = statSync(link, { bigint: true });
      return dev === file.dev && ino === file.ino;
    } catch {
      return false; // closed meanwhile
    }
  };
  return names("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) =>
      names(`/proc/${pid}/fd`).some(
        (fd) => !(pid === process.pid && isRawDescriptor(Number(fd))) && isFile(`/proc/${pid}/fd/${fd}`),
      ),
    )
    .map((pid) => ({ pid, name: nameOf(pid) }));
}

/** Without this process. Empty also where it cannot be found out. */
export function otherHolders(path: string): readonly Holder[] {
  return (holdersOf(path) ?? []).filter(({ pid }) => pid !== process.pid);
}

/** Processes come and go, and some may not be looked into. */
function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "unknown";
  }
}

// ----
// Ways into a file whose schema may be broken and that other programs may hold at the same time.

/** A connection that reads past broken schema rows and may edit them. */
export function openForSurgery(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { defensive: false, timeout: 50, enableForeignKeyConstraints: false });
  db.exec("PRAGMA writable_schema = ON");
  return db;
}

export function schemaCookie(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA schema_version").get()?.schema_version);
}

const BUSY_ATTEMPTS = 15;

/** Waits for a file that another connection holds, a few seconds at most. */
export async function patiently<T>(work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause) || attempt === BUSY_ATTEMPTS) throw cause;
    }
    await aMoment();
  }
}

function aMoment(): Promise<void> {
  return setTimeout(20 + Math.random() * 130);
}

// ----
// Copies of a database file with all that belongs to it, made while other programs may be writing.

/** What belongs to the file beside it. Not the -shm: SQLite makes it anew from the -wal. */
const LOGS = ["-wal", "-journal"];
const PARTS = ["", ...LOGS];

/** A copy for the user, under a name that is free. Returns the name. */
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

/** `<base>-YYYYMMDD_HHMMSS`, with a number behind it when there is such a file. */
export function freeName(base: string, now: Date): string {
  const name = `${base}-${timestamp(now)}`;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}_${number}`;
    if (PARTS.every((suffix) => !existsSync(candidate + suffix))) return candidate;
  }
}

const COPY_ATTEMPTS = 20;

/**
 * All parts as they were at one moment: when another program wrote meanwhile, the copy is made again. Returns the
 * fingerprint of that moment.
 */
export async function copyDatabase(from: string, to: string): Promise<string> {
  for (let attempt = 1; attempt <= COPY_ATTEMPTS; attempt += 1) {
    const before = fingerprint(from);
    await copyBytes(rawDescriptor(from), to); // fails, and leaves it alone, when there is such a file
    try {
      for (const suffix of LOGS) await copyLog(from + suffix, to + suffix);
      if (fingerprint(from) === before) return before;
    } catch (cause) {
      removeParts(to);
      throw cause;
    }
    removeParts(to);
    await aMoment();
  }
  throw new Error("another program keeps writing to it; close that program and try again");
}

export function removeParts(file: string): void {
  for (const suffix of [...PARTS, "-shm"]) rmSync(file + suffix, { force: true });
}

/** Equal as long as nothing was written to the file or its logs. */
export function fingerprint(file: string): string {
  return PARTS.map((suffix) => {
    const stats = statSync(file + suffix, { bigint: true, throwIfNoEntry: false });
    // An empty log comes and goes with every reader.
    return stats === undefined || stats.size === 0n ? "-" : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  }).join("; ");
}

const CHUNK_BYTES = 4 * 1024 * 1024;

async function copyLog(from: string, to: string): Promise<void> {
  if ((statSync(from, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const source = openSync(from, "r"); // holds no locks, so it may be closed
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
      await setImmediate(); // a large file is copied without keeping others waiting
    }
    fsyncSync(target);
  } catch (cause) {
    rmSync(to, { force: true }); // half a copy is none
    throw cause;
  } finally {
    closeSync(target);
  }
}

/** YYYYMMDD_HHMMSS in local time, like session ids. */
function timestamp(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  return `${date}_${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
}

// ----
// Runs statements that take seconds (VACUUM, checks) in a thread of their own, on a connection of their own: node:sqlite
// is synchronous, and the event loop belongs to the agent.

type AsideOptions = {
  /** A path, or a `file:` address. */
  readonly address: string;
  readonly readOnly: boolean;
  readonly waitLimitMs?: number;
};

export type Answer =
  | { readonly rows: readonly Record<string, unknown>[] }
  | {
      readonly error: { readonly message: string; readonly errcode?: number };
      /** What the statement answered before it failed. */
      readonly before: readonly Record<string, unknown>[];
    };

// As text, so that the published bundle needs no second file.
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

/** The answer to each statement in turn; one that fails does not stop the next. */
export async function runAside(options: AsideOptions, statements: readonly string[]): Promise<Answer[]> {
  const { address, readOnly, waitLimitMs = 15_000 } = options;
  const workerData = { address, readOnly, waitLimitMs, statements };
  // Without the flags of this process: one of them might make the code above a module.
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

/** Like `runAside` for one statement; rejects when it fails. */
export async function runOneAside(options: AsideOptions, sql: string): Promise<void> {
  const [answer] = await runAside(options, [sql]);
  if (answer !== undefined && "error" in answer) {
    throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), options.address);
  }
}

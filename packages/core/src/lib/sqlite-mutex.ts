// A lock between processes that needs no native module: BEGIN IMMEDIATE on an empty SQLite database beside the lock file.
// It excludes processes, threads and connections of this library, ends with its holder, and writes nothing to the file.
//
// SQLite's locks are POSIX locks: closing any other descriptor of the file in this process drops them. So nothing may open
// the file with `fs` (stat is harmless), and nobody may delete or rename it while programs run.
import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { describeCause } from "./errors.ts";
import { randomHex } from "./ids.ts";
import type { LockAttempt } from "./lock-calls.ts";

/** Handles idle for this long are closed. Opening one takes about 0.1 ms, keeping one about 150 KB and a descriptor. */
const IDLE_MS = 1000;
/** More handles than this are open only while more locks than this are held. */
const MOST_OPEN = 16;

const MOST_ATTEMPTS = 5;
const SQLITE_BUSY = 5;

type Handle = {
  readonly db: DatabaseSync;
  readonly begin: StatementSync;
  readonly rollback: StatementSync;
  /** Device and inode of the open file. */
  readonly identity: string;
  isHeld: boolean;
  usedAtMs: number;
};

/** Least recently used first. */
const handles = new Map<string, Handle>();
let isSweepDue = false;

/** `MEMORY.md.lock` has `MEMORY.md.sqlite.lock`: the ending keeps it out of whatever leaves lock files out. */
export function mutexPath(lockPath: string): string {
  return `${lockPath.replace(/\.lock$/, "")}.sqlite.lock`;
}

/** Waits for nobody and does not block. */
export function tryMutex(lockPath: string): LockAttempt {
  const path = resolve(mutexPath(lockPath));
  try {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const handle = handles.get(path) ?? open(path);
      if (handle.isHeld) return { kind: "busy" };
      handle.begin.run();
      // A handle on a file that was deleted or replaced since (a home that was set up anew) excludes nobody.
      if (identityOf(path) !== handle.identity) {
        close(path, handle);
        continue;
      }
      handle.isHeld = true;
      handles.delete(path); // and to the end of the list
      handles.set(path, handle);
      return { kind: "held", release: () => release(path, handle) };
    }
    return { kind: "unsupported", reason: keepsVanishing(path) };
  } catch (cause) {
    if (sqliteCode(cause) === SQLITE_BUSY && canLockIn(dirname(path))) return { kind: "busy" };
    const handle = handles.get(path);
    if (handle) close(path, handle);
    return { kind: "unsupported", reason: `${path}: ${describeCause(cause)}` };
  }
}

function release(path: string, handle: Handle): void {
  handle.isHeld = false;
  handle.usedAtMs = performance.now();
  try {
    handle.rollback.run();
  } catch {
    close(path, handle); // lets go as well
  }
  sweepLater();
}

/** The timer keeps no process alive. */
function sweepLater(): void {
  if (isSweepDue) return;
  isSweepDue = true;
  setTimeout(closeIdle, IDLE_MS).unref();
}

function open(path: string): Handle {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const before = identityOf(path);
    const db = openDatabase(path);
    // Opened between two equal looks at the path, so it is that file. A file that was not there before has to be looked at again.
    if (before === undefined || identityOf(path) !== before) {
      db.close();
      if (before === undefined) makePrivate(path);
      continue;
    }
    const handle: Handle = {
      db,
      begin: db.prepare("BEGIN IMMEDIATE"),
      rollback: db.prepare("ROLLBACK"),
      identity: before,
      isHeld: false,
      usedAtMs: performance.now(),
    };
    makeRoom();
    handles.set(path, handle);
    return handle;
  }
  throw new Error(keepsVanishing(path));
}

/** SQLite makes files that others may read. By path, for opening and closing the file would drop locks on it. */
function makePrivate(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // Another user's process was faster: it is theirs.
  }
}

function keepsVanishing(path: string): string {
  return `another program keeps deleting ${path}`;
}

/** `timeout: 0`: SQLite would wait by blocking the event loop. Journals in memory: nothing is left behind by a kill. */
function openDatabase(path: string): DatabaseSync {
  const sqlite = process.getBuiltinModule("node:sqlite");
  if (!sqlite) throw new Error("this runtime has no node:sqlite");
  const open = (): DatabaseSync => new sqlite.DatabaseSync(path, { timeout: 0 });
  let db: DatabaseSync;
  try {
    db = open();
  } catch (cause) {
    if (statSync(dirname(path), { throwIfNoEntry: false })) throw cause;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    db = open();
  }
  try {
    db.exec("PRAGMA journal_mode=memory");
    return db;
  } catch (cause) {
    db.close();
    throw cause;
  }
}

const canLock = new Map<string, boolean>();

/**
 * On a file system without locks (some network mounts) SQLite says "busy" for ever. A new file of which nobody knows can
 * only be busy there; one is tried the first time a lock in a directory is busy.
 */
function canLockIn(directory: string): boolean {
  const known = canLock.get(directory);
  if (known !== undefined) return known;
  const path = join(directory, `.${randomHex(6)}.sqlite.lock`);
  let isPossible = true;
  try {
    const db = openDatabase(path);
    try {
      db.exec("BEGIN IMMEDIATE");
    } finally {
      db.close();
    }
  } catch (cause) {
    isPossible = sqliteCode(cause) !== SQLITE_BUSY;
  } finally {
    rmSync(path, { force: true });
  }
  canLock.set(directory, isPossible);
  return isPossible;
}

function makeRoom(): void {
  for (const [path, handle] of handles) {
    if (handles.size < MOST_OPEN) return;
    if (!handle.isHeld) close(path, handle);
  }
}

function closeIdle(): void {
  isSweepDue = false;
  const idleSinceMs = performance.now() - IDLE_MS;
  for (const [path, handle] of handles)
    if (!handle.isHeld && handle.usedAtMs <= idleSinceMs) close(path, handle);
  if ([...handles.values()].some(({ isHeld }) => !isHeld)) sweepLater();
}

function close(path: string, handle: Handle): void {
  if (handles.get(path) === handle) handles.delete(path);
  try {
    handle.db.close();
  } catch {
    // Closed already; its locks are gone either way.
  }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function sqliteCode(cause: unknown): number | undefined {
  const code = (cause as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

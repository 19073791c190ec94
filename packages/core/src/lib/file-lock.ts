// Locks between processes, released by the system when their holder ends. A file lock has two parts: a SQLite mutex, which every
// process of this library can take, then the kernel's lock on the lock file, which also excludes the Python original but needs
// koffi or flock(1). Work under a lock is synchronous, so two tasks of this process never hold the same lock.
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describeCause, err, errnoCode, ok, type Result, randomHex, sqliteCode } from "./basics.ts";

export type LockBusy = { readonly kind: "locked"; readonly path: string; readonly waitedMs: number };

/**
 * The processes that a lock does not exclude, because one of its two parts is unavailable here:
 * - `kernel`: programs that take only the kernel's lock, such as the Python original
 * - `mutex`: processes of this library that have neither koffi nor flock(1)
 * - `both`: all of them
 */
export type LockGap = { readonly missing: "kernel" | "mutex" | "both"; readonly reason: string };

/** Synchronous. `gap` is set when the lock does not exclude every other process. */
export type LockedWork<T> = (gap: LockGap | undefined) => T;

export type LockOptions = { readonly timeoutMs: number };

const LONGEST_PAUSE_MS = 20;

/** Takes the locks in the given order, runs `work`, releases them. Waits at most `timeoutMs` for all of them together. */
export async function withFileLocks<T>(
  paths: readonly string[],
  options: LockOptions,
  work: LockedWork<T>,
): Promise<Result<T, LockBusy>> {
  const attempts = attemptsAt(paths, options, work);
  let attempt = attempts.next();
  for (; !attempt.done; attempt = attempts.next()) await sleep(attempt.value);
  return attempt.value;
}

/** For locks that are held for milliseconds only: waits by blocking this thread. */
export function withFileLockSync<T>(
  path: string,
  options: LockOptions,
  work: LockedWork<T>,
): Result<T, LockBusy> {
  const attempts = attemptsAt([path], options, work);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let attempt = attempts.next();
  for (; !attempt.done; attempt = attempts.next()) Atomics.wait(pause, 0, 0, attempt.value);
  return attempt.value;
}

/** Yields the milliseconds to wait before the next attempt. */
function* attemptsAt<T>(
  paths: readonly string[],
  { timeoutMs }: LockOptions,
  work: LockedWork<T>,
): Generator<number, Result<T, LockBusy>> {
  const startedAt = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const attempt = tryWithFileLocks(paths, work);
    if (attempt.ok) return attempt;
    const waitedMs = Math.round(performance.now() - startedAt);
    if (waitedMs >= timeoutMs) return err({ ...attempt.error, waitedMs });
    yield Math.min(pauseMs * (0.5 + Math.random()), timeoutMs - waitedMs);
  }
}

/** One attempt without waiting. Opening a lock file may throw a system error. */
export function tryWithFileLocks<T>(paths: readonly string[], work: LockedWork<T>): Result<T, LockBusy> {
  const held: (() => void)[] = [];
  let gap: LockGap | undefined;
  try {
    for (const path of new Set(paths)) {
      const attempt = take(path);
      if (attempt.kind === "busy") return err({ kind: "locked", path, waitedMs: 0 });
      held.push(attempt.release);
      gap ??= attempt.gap;
    }
    return ok(work(gap));
  } finally {
    for (const release of held.reverse()) release();
  }
}

/** Holds a lock until the returned object is disposed or the process ends. Does not wait. */
export function holdFileLock(path: string): Result<Disposable, LockBusy> {
  const attempt = take(path);
  if (attempt.kind === "busy") return err({ kind: "locked", path, waitedMs: 0 });
  return ok({ [Symbol.dispose]: attempt.release });
}

type Taken =
  | { readonly kind: "busy" }
  | { readonly kind: "held"; readonly release: () => void; readonly gap?: LockGap };

/**
 * The mutex first: it takes microseconds, flock(1) milliseconds. Neither attempt waits, so two processes cannot deadlock
 * whatever order they take locks in.
 */
function take(path: string): Taken {
  const mutex = tryMutex(path);
  if (mutex.kind === "busy") return mutex;
  let kernel: LockAttempt | undefined;
  try {
    kernel = kernelLocks().tryLock(path);
  } finally {
    // The kernel lock is busy, or opening the lock file threw.
    if (mutex.kind === "held" && (kernel === undefined || kernel.kind === "busy")) mutex.release();
  }
  if (kernel.kind === "busy") return kernel;
  const release = (): void => {
    if (kernel.kind === "held") kernel.release();
    if (mutex.kind === "held") mutex.release();
  };
  const gap = gapOf(mutex, kernel);
  return gap ? { kind: "held", release, gap } : { kind: "held", release };
}

function gapOf(mutex: LockAttempt, kernel: LockAttempt): LockGap | undefined {
  if (kernel.kind === "unsupported" && mutex.kind === "unsupported")
    return { missing: "both", reason: `${kernel.reason}; ${mutex.reason}` };
  if (kernel.kind === "unsupported") return { missing: "kernel", reason: kernel.reason };
  if (mutex.kind === "unsupported") return { missing: "mutex", reason: mutex.reason };
  return undefined;
}

let loaded: LockCalls | undefined;

function kernelLocks(): LockCalls {
  loaded ??= loadLockCalls();
  return loaded;
}

// The kernel lock, which the Python original takes too. Node has no call for it: koffi calls the system's function, and without
// koffi the program flock(1) takes the lock on a descriptor that it inherits. Loaded at the first lock.

type LockAttempt =
  | { readonly kind: "held"; readonly release: () => void }
  | { readonly kind: "busy" }
  | { readonly kind: "unsupported"; readonly reason: string };

type LockCalls = { tryLock(path: string): LockAttempt };

type Koffi = typeof import("koffi");

/** koffi is missing in bundled programs and on platforms it has no build for. Without any way to lock, attempts return `unsupported`. */
function loadLockCalls(): LockCalls {
  try {
    const koffi = loadKoffi();
    return process.platform === "win32" ? windowsCalls(koffi) : unixCalls(koffi);
  } catch (cause) {
    const reason = `koffi cannot be loaded: ${firstLine(describeCause(cause))}`;
    return process.platform === "win32" ? noCalls(reason) : flockProgramCalls(reason);
  }
}

/**
 * Bundlers follow an import, and also a `createRequire` imported from node:module; some then fail to place koffi's binary.
 * They do not see this call. In a CommonJS bundle `import.meta.url` is undefined.
 */
function loadKoffi(): Koffi {
  const { createRequire } = process.getBuiltinModule("node:module");
  const here = (import.meta.url as string | undefined) ?? (typeof __filename === "string" ? __filename : "");
  return createRequire(here)("koffi") as Koffi;
}

function noCalls(reason: string): LockCalls {
  return { tryLock: () => ({ kind: "unsupported", reason }) };
}

const SPAWN_LIMIT_MS = 5000;
const FLOCK_BUSY = 1; // the exit code of flock -n, in util-linux and in BusyBox

/** Takes about 2 ms. The lock belongs to the open file description, so our descriptor keeps it after flock(1) has ended. */
function flockProgramCalls(koffiReason: string): LockCalls {
  let missing: LockAttempt | undefined;
  return {
    tryLock(path) {
      if (missing) return missing;
      const fd = openLockFile(path);
      const { status, error } = runFlock(fd);
      if (status === 0) return { kind: "held", release: () => closeSync(fd) };
      closeSync(fd);
      if (status === FLOCK_BUSY) return { kind: "busy" };
      const why =
        errnoCode(error) === "ENOENT" ? "is not installed" : `failed (${error?.message ?? `exit ${status}`})`;
      const attempt = { kind: "unsupported", reason: `${koffiReason}; flock(1) ${why}` } as const;
      if (errnoCode(error) === "ENOENT") missing = attempt;
      return attempt;
    },
  };
}

function runFlock(fd: number): { readonly status: number | null; readonly error?: Error | undefined } {
  try {
    // Loaded here, because it would add some milliseconds to every start.
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    return spawnSync("flock", ["-n", "-x", "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" }, // pass no other variable of this process on
      timeout: SPAWN_LIMIT_MS,
    });
  } catch (cause) {
    return { status: null, error: cause instanceof Error ? cause : new Error(String(cause)) }; // Node's permission model forbids child processes
  }
}

/** Module resolution errors append the require stack. */
function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

const LOCK_EX = 2;
const LOCK_NB = 4;

function unixCalls(koffi: Koffi): LockCalls {
  const flock = koffi.load(null).func("int flock(int fd, int operation)");
  return {
    tryLock(path) {
      const fd = openLockFile(path);
      for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) === 0) return { kind: "held", release: () => closeSync(fd) };
        const errno = koffi.errno();
        if (errno === constants.errno.EINTR) continue;
        closeSync(fd);
        if (errno === constants.errno.EWOULDBLOCK || errno === constants.errno.EAGAIN)
          return { kind: "busy" };
        // ENOLCK, ENOSYS, EOPNOTSUPP: a file system without locks, such as some network mounts.
        return { kind: "unsupported", reason: `flock failed with errno ${errno} on ${path}` };
      }
    },
  };
}

/** Creates the directory if missing: the file that the lock protects may not exist yet. */
function openLockFile(path: string): number {
  try {
    return openSync(path, "a", 0o600);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a", 0o600);
  }
}

const GENERIC_READ_WRITE = 0xc0000000;
const SHARE_ALL = 0x7;
const OPEN_ALWAYS = 4;
const FILE_ATTRIBUTE_NORMAL = 0x80;
const LOCKFILE_EXCLUSIVE_NOW = 0x3;
const ERROR_LOCK_VIOLATION = 33;
const ERROR_IO_PENDING = 997;

/** Locks one byte at offset 0, as Python's msvcrt.locking does in these files. */
function windowsCalls(koffi: Koffi): LockCalls {
  const kernel = koffi.load("kernel32.dll");
  const createFile = kernel.func(
    "intptr_t __stdcall CreateFileW(str16 name, uint32_t access, uint32_t share, void *security, uint32_t creation, uint32_t flags, intptr_t template)",
  );
  const lockFile = kernel.func(
    "int __stdcall LockFileEx(intptr_t file, uint32_t flags, uint32_t reserved, uint32_t low, uint32_t high, void *overlapped)",
  );
  const closeHandle = kernel.func("int __stdcall CloseHandle(intptr_t handle)");
  const lastError = kernel.func("uint32_t __stdcall GetLastError()");
  return {
    tryLock(path) {
      mkdirSync(dirname(path), { recursive: true });
      const file = createFile(
        path,
        GENERIC_READ_WRITE,
        SHARE_ALL,
        null,
        OPEN_ALWAYS,
        FILE_ATTRIBUTE_NORMAL,
        0,
      );
      if (file === -1 || file === -1n) {
        const code = lastError() === 5 ? "EACCES" : "EIO";
        throw Object.assign(new Error(`${code}: cannot open lock file '${path}'`), { code });
      }
      const overlapped = Buffer.alloc(32); // an OVERLAPPED with offset 0
      if (lockFile(file, LOCKFILE_EXCLUSIVE_NOW, 0, 1, 0, overlapped) !== 0) {
        return { kind: "held", release: () => closeHandle(file) };
      }
      const code = lastError();
      closeHandle(file);
      if (code === ERROR_LOCK_VIOLATION || code === ERROR_IO_PENDING) return { kind: "busy" };
      return { kind: "unsupported", reason: `LockFileEx failed with error ${code} on ${path}` };
    },
  };
}

// The SQLite mutex, which needs no native module: BEGIN IMMEDIATE on an empty SQLite database beside the lock file.
// It excludes processes, threads and connections of this library, ends with its holder, and writes nothing to the file.
//
// SQLite uses POSIX locks: closing any other descriptor of the file in this process drops them. So never open the file with
// `fs` (stat is harmless), and never delete or rename it while programs run.

/** Close handles that have been idle for this long. Opening one takes about 0.1 ms; an open one takes about 150 KB and a descriptor. */
const IDLE_MS = 1000;
/** Open handles, unless more locks than this are held at once. */
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

/** `MEMORY.md.lock` has `MEMORY.md.sqlite.lock`: tools that skip `*.lock` files skip it too. */
export function mutexPath(lockPath: string): string {
  return `${lockPath.replace(/\.lock$/, "")}.sqlite.lock`;
}

/** One attempt; never waits. */
export function tryMutex(lockPath: string): LockAttempt {
  const path = resolve(mutexPath(lockPath));
  try {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const handle = handles.get(path) ?? open(path);
      if (handle.isHeld) return { kind: "busy" };
      handle.begin.run();
      // A handle on a file that has been deleted or replaced (when a home was set up again) excludes no other process.
      if (identityOf(path) !== handle.identity) {
        close(path, handle);
        continue;
      }
      handle.isHeld = true;
      handles.delete(path); // re-insert as the most recently used
      handles.set(path, handle);
      return { kind: "held", release: () => release(path, handle) };
    }
    return { kind: "unsupported", reason: keepsVanishing(path) };
  } catch (cause) {
    if (isBusy(cause) && canLockIn(dirname(path))) return { kind: "busy" };
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
    close(path, handle); // releases the lock as well
  }
  sweepLater();
}

/** The timer does not keep the process alive. */
function sweepLater(): void {
  if (isSweepDue) return;
  isSweepDue = true;
  setTimeout(closeIdle, IDLE_MS).unref();
}

function open(path: string): Handle {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const before = identityOf(path);
    const db = openDatabase(path);
    // The path had the same identity before and after opening, so the handle is on that file. A file that was just created is checked in the next attempt.
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

/** SQLite creates files that other users may read. Changed by path: opening and closing the file would drop locks on it. */
function makePrivate(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // Another user's process created it first and owns it.
  }
}

function keepsVanishing(path: string): string {
  return `another program keeps deleting ${path}`;
}

/** `timeout: 0`, because SQLite waits by blocking the event loop. Journal in memory, so that a killed process leaves no file behind. */
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
 * On a file system without locks (some network mounts) SQLite always answers "busy". The first time a lock in a directory is
 * busy, this tries a new file that no other process knows: if that is busy too, the file system has no locks.
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
    isPossible = !isBusy(cause);
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
    // Already closed; its locks are released either way.
  }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function isBusy(cause: unknown): boolean {
  return ((sqliteCode(cause) ?? 0) & 0xff) === SQLITE_BUSY;
}

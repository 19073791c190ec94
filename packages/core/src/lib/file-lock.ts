// Locks between processes that end with their holder. Each is two: a SQLite mutex, which every process of this library can
// take, then the kernel's lock on the lock file, which also excludes the Python original but needs koffi or flock(1).
// The work done under a lock is synchronous, so two pieces of this process never hold one at the same time.
import { setTimeout as sleep } from "node:timers/promises";
import { type LockAttempt, type LockCalls, loadLockCalls } from "./lock-calls.ts";
import { err, ok, type Result } from "./result.ts";
import { tryMutex } from "./sqlite-mutex.ts";

export type LockBusy = { readonly kind: "locked"; readonly path: string; readonly waitedMs: number };

/**
 * Processes that a lock does not exclude, because one of its two parts cannot be had here:
 * - `kernel`: programs that take only the kernel's lock, such as the Python original
 * - `mutex`: processes of this library that have neither koffi nor flock(1)
 * - `both`: everyone
 */
export type LockGap = { readonly missing: "kernel" | "mutex" | "both"; readonly reason: string };

/** Synchronous. Told when the lock it runs under does not exclude everyone. */
export type LockedWork<T> = (gap: LockGap | undefined) => T;

export type LockOptions = { readonly timeoutMs: number };

const LONGEST_PAUSE_MS = 20;

/** Takes the locks in the order given, runs `work`, lets go. Waits at most `timeoutMs` for all of them together. */
export async function withFileLocks<T>(
  paths: readonly string[],
  options: LockOptions,
  work: LockedWork<T>,
): Promise<Result<T, LockBusy>> {
  const startedAt = performance.now();
  let pauseMs = 1;
  for (;;) {
    const attempt = tryWithFileLocks(paths, work);
    if (attempt.ok) return attempt;
    const waitedMs = Math.round(performance.now() - startedAt);
    if (waitedMs >= options.timeoutMs) return err({ ...attempt.error, waitedMs });
    await sleep(Math.min(pauseMs * (0.5 + Math.random()), options.timeoutMs - waitedMs));
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Runs `work` only when every lock is free at once. Opening a lock file may throw a system error. */
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

/** For locks that are only ever held for a moment: waits by blocking this thread, at most `timeoutMs`. */
export function withFileLockSync<T>(
  path: string,
  options: LockOptions,
  work: LockedWork<T>,
): Result<T, LockBusy> {
  const startedAt = performance.now();
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let pauseMs = 1;
  for (;;) {
    const attempt = tryWithFileLocks([path], work);
    if (attempt.ok) return attempt;
    const waitedMs = Math.round(performance.now() - startedAt);
    if (waitedMs >= options.timeoutMs) return err({ ...attempt.error, waitedMs });
    Atomics.wait(pause, 0, 0, Math.min(pauseMs, options.timeoutMs - waitedMs));
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Holds a lock for longer than one piece of work: until it is let go, or the process ends. Waits for nobody. */
export function holdFileLock(path: string): Result<Disposable, LockBusy> {
  const attempt = take(path);
  if (attempt.kind === "busy") return err({ kind: "locked", path, waitedMs: 0 });
  return ok({ [Symbol.dispose]: attempt.release });
}

type Taken =
  | { readonly kind: "busy" }
  | { readonly kind: "held"; readonly release: () => void; readonly gap?: LockGap };

/**
 * The mutex first: it costs microseconds where flock(1) costs milliseconds. Neither is waited for, so no order of taking locks
 * can end in two processes waiting for each other.
 */
function take(path: string): Taken {
  const mutex = tryMutex(path);
  if (mutex.kind === "busy") return mutex;
  let kernel: LockAttempt | undefined;
  try {
    kernel = kernelLocks().tryLock(path);
  } finally {
    // Busy, or the lock file cannot be opened, which throws.
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

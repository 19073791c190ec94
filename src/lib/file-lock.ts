// Kernel file locks, the kind that dies with its holder. On Unix this is flock(2), the same lock Python's fcntl.flock takes.
// The work done under a lock is synchronous, so two pieces of this process never hold one at the same time.
import { setTimeout as sleep } from "node:timers/promises";
import { describeCause } from "./errors.ts";
import { type LockCalls, loadLockCalls } from "./lock-calls.ts";
import { err, ok, type Result } from "./result.ts";

export type LockBusy = { readonly kind: "locked"; readonly path: string; readonly waitedMs: number };

export type LockOptions = {
  readonly timeoutMs: number;
  /** Called once per process when this platform has no usable lock; the work then runs without one. */
  readonly onUnsupported?: (reason: string) => void;
};

const LONGEST_PAUSE_MS = 20;

/** Takes the locks in the order given, runs `work`, lets go. Waits at most `timeoutMs` for all of them together. */
export async function withFileLocks<T>(
  paths: readonly string[],
  options: LockOptions,
  work: () => T,
): Promise<Result<T, LockBusy>> {
  const startedAt = performance.now();
  let pauseMs = 1;
  for (;;) {
    const attempt = tryWithFileLocks(paths, options, work);
    if (attempt.ok) return attempt;
    const waitedMs = Math.round(performance.now() - startedAt);
    if (waitedMs >= options.timeoutMs) return err({ ...attempt.error, waitedMs });
    await sleep(Math.min(pauseMs * (0.5 + Math.random()), options.timeoutMs - waitedMs));
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Runs `work` only when every lock is free at once. Opening a lock file may throw a system error. */
export function tryWithFileLocks<T>(
  paths: readonly string[],
  options: Pick<LockOptions, "onUnsupported">,
  work: () => T,
): Result<T, LockBusy> {
  const calls = lockCalls(options.onUnsupported);
  if (!calls) return ok(work());
  const held: (() => void)[] = [];
  try {
    for (const path of new Set(paths)) {
      const attempt = calls.tryLock(path);
      if (attempt.kind === "busy") return err({ kind: "locked", path, waitedMs: 0 });
      if (attempt.kind === "held") held.push(attempt.release);
      else reportUnsupported(attempt.reason, options.onUnsupported);
    }
    return ok(work());
  } finally {
    for (const release of held.reverse()) release();
  }
}

/** For locks that are only ever held for a moment: waits by blocking this thread, at most `timeoutMs`. */
export function withFileLockSync<T>(path: string, options: LockOptions, work: () => T): Result<T, LockBusy> {
  const startedAt = performance.now();
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    const attempt = tryWithFileLocks([path], options, work);
    if (attempt.ok) return attempt;
    const waitedMs = Math.round(performance.now() - startedAt);
    if (waitedMs >= options.timeoutMs) return err({ ...attempt.error, waitedMs });
    Atomics.wait(pause, 0, 0, 1);
  }
}

/** Holds a lock for longer than one piece of work: until it is let go, or the process ends. Waits for nobody. */
export function holdFileLock(
  path: string,
  options: Pick<LockOptions, "onUnsupported"> = {},
): Result<Disposable, LockBusy> {
  const nothing: Disposable = { [Symbol.dispose]: () => {} };
  const attempt = lockCalls(options.onUnsupported)?.tryLock(path);
  if (attempt === undefined) return ok(nothing);
  if (attempt.kind === "busy") return err({ kind: "locked", path, waitedMs: 0 });
  if (attempt.kind === "held") return ok({ [Symbol.dispose]: attempt.release });
  reportUnsupported(attempt.reason, options.onUnsupported);
  return ok(nothing);
}

let loaded: { calls: LockCalls } | { reason: string } | undefined;
let hasReported = false;

function lockCalls(onUnsupported: LockOptions["onUnsupported"]): LockCalls | undefined {
  if (!loaded) {
    try {
      loaded = { calls: loadLockCalls() };
    } catch (cause) {
      loaded = { reason: describeCause(cause) };
    }
  }
  if ("calls" in loaded) return loaded.calls;
  reportUnsupported(loaded.reason, onUnsupported);
  return undefined;
}

function reportUnsupported(reason: string, onUnsupported: LockOptions["onUnsupported"]): void {
  if (hasReported || !onUnsupported) return;
  hasReported = true;
  onUnsupported(reason);
}

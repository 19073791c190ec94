// One run per home. The lock is the kernel's and dies with its holder; beside it stands who that is.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { err, holdFileLock, ok, type Result, writeFileAtomic } from "@hermes-memory/core/lib";

export type Runner = { readonly pid: number; readonly startedAt: string; readonly what: string };

export type AlreadyRunning = { readonly kind: "running"; readonly message: string; readonly runner?: Runner };

export function takeRunLock(home: string, what: string, now: Date): Result<Disposable, AlreadyRunning> {
  const directory = join(home, "skills");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const held = holdFileLock(runLockPath(home));
  if (!held.ok) return err(describe(whoRuns(home)));
  const runner: Runner = { pid: process.pid, startedAt: now.toISOString(), what };
  writeFileAtomic(runnerPath(home), `${JSON.stringify(runner)}\n`);
  return ok({
    [Symbol.dispose]() {
      rmSync(runnerPath(home), { force: true });
      held.value[Symbol.dispose]();
    },
  });
}

/** Undefined when nobody runs now. */
export function currentRunner(home: string): Runner | undefined {
  const runner = whoRuns(home);
  if (!runner) return undefined;
  const free = holdFileLock(runLockPath(home));
  if (!free.ok) return runner;
  free.value[Symbol.dispose](); // whoever is named there died
  return undefined;
}

export function runLockPath(home: string): string {
  return join(home, "skills", ".curator.lock");
}

function runnerPath(home: string): string {
  return join(home, "skills", ".curator_running.json");
}

function whoRuns(home: string): Runner | undefined {
  try {
    const { pid, startedAt, what } = JSON.parse(readFileSync(runnerPath(home), "utf8")) as Record<
      string,
      unknown
    >;
    if (typeof pid !== "number" || typeof startedAt !== "string") return undefined;
    return { pid, startedAt, what: typeof what === "string" ? what : "run" };
  } catch {
    return undefined; // between taking the lock and saying so, or no run at all
  }
}

function describe(runner: Runner | undefined): AlreadyRunning {
  const who = runner
    ? `process ${runner.pid}, since ${runner.startedAt} (${runner.what})`
    : "another process";
  const message = `A curator is at work in this home already: ${who}. Wait for it, or end that process.`;
  return { kind: "running", message, ...(runner ? { runner } : {}) };
}

// One run of the curator per home at a time, and removing what a killed run has left. The lock is a kernel lock, which ends with
// its process; a file beside it names the process.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_MEMORY_CONFIG } from "@hermes-memory/core/internal/config";
import { listTemps } from "@hermes-memory/core/internal/curated";
import {
  err,
  holdFileLock,
  ok,
  type Result,
  withFileLocks,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import { changeLockPath, skillsDirectory } from "@hermes-memory/core/internal/skills";

type Runner = { readonly pid: number; readonly startedAt: string; readonly what: string };

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

/** Undefined when no curator runs. */
export function currentRunner(home: string): Runner | undefined {
  const runner = whoRuns(home);
  if (!runner) return undefined;
  const free = holdFileLock(runLockPath(home));
  if (!free.ok) return runner;
  free.value[Symbol.dispose](); // the process named in the file has died
  return undefined;
}

function runLockPath(home: string): string {
  return join(home, "skills", ".curator.lock");
}

function runnerPath(home: string): string {
  return join(home, "skills", ".curator_running.json");
}

function whoRuns(home: string): Runner | undefined {
  try {
    return JSON.parse(readFileSync(runnerPath(home), "utf8")) as Runner; // we write it whole
  } catch {
    return undefined; // no run, or the lock was taken but the file is not written yet
  }
}

function describe(runner: Runner | undefined): AlreadyRunning {
  const who = runner
    ? `process ${runner.pid}, since ${runner.startedAt} (${runner.what})`
    : "another process";
  const message = `A curator is already running in this home: ${who}. Wait for it, or end that process.`;
  return { kind: "running", message, runner };
}

// What a killed restore left: copies of the skills. Removed only under the locks that a running restore holds.

/** Below the skills directory. */
export const BACKUPS = ".curator_backups";

/** Start of the names of directories that a restore works in. */
export const STAGING = ".staging-";

/** The skills as they were before a restore. */
export function copiesDirectory(home: string): string {
  return join(home, "backups", "skills");
}

const LEFTOVERS_LOCK_WAIT_MS = 2000;

/** For a caller that does not hold the run lock. Does nothing when no curator ever ran here, or one is running. */
export async function tidyUp(memory: Home): Promise<void> {
  const { home, clock } = memory;
  if (!existsSync(runLockPath(home))) return;
  const lock = takeRunLock(home, "tidying up", clock.now());
  if (!lock.ok) return;
  using _held = lock.value;
  await removeLeftovers(memory);
}

/** Call under the run lock. Other temporary files are small and hold no more than the skills do; they stay. */
export async function removeLeftovers({ home, administrator }: Home): Promise<void> {
  const memories = administrator.directory;
  if (existsSync(memories)) {
    const store = await administrator.curatedIn(memories, {
      isLoaded: false,
      config: DEFAULT_MEMORY_CONFIG,
    });
    await store.removeLeftovers();
  }
  const skills = skillsDirectory(home);
  const staging = [join(skills, BACKUPS), copiesDirectory(home)].flatMap((directory) =>
    listTemps(directory, STAGING, ""),
  );
  if (staging.length === 0) return;
  await withFileLocks([changeLockPath(skills)], { timeoutMs: LEFTOVERS_LOCK_WAIT_MS }, () => {
    for (const directory of staging) rmSync(directory, { recursive: true, force: true });
  });
}

// One run of the curator per home at a time, and removing what a killed run has left. The lock is a kernel lock, which ends with
// its process; a file beside it names the process.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { DEFAULT_MEMORY_CONFIG } from "@hermes-memory/core/internal/config";
import { listTemps, pinsPath } from "@hermes-memory/core/internal/curated";
import {
  CURATOR_TEMP,
  err,
  holdFileLock,
  type LockGap,
  namesIn,
  ok,
  type Result,
  withFileLocks,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import { changeLockPath, pendingSkillsDirectory, skillsDirectory } from "@hermes-memory/core/internal/skills";
import { reportsDirectory } from "./run-report.ts";

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

// Temporary files of a killed run or restore. A file's age does not show whether its writer still runs, so a file
// is removed only while we hold the lock that its writer would hold: the run lock, and for each place its own lock.

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

/** Call under the run lock. Files that cannot be removed stay; the caller goes on. */
export async function removeLeftovers({ home, administrator }: Home): Promise<void> {
  const memories = administrator.directory;
  const skills = skillsDirectory(home);
  if (existsSync(memories))
    await (
      await administrator.curatedIn(memories, { isLoaded: false, config: DEFAULT_MEMORY_CONFIG })
    ).removeLeftovers();
  const small = [pinsPath(memories), join(skills, ".usage.json"), join(skills, ".curator_state")];
  for (const file of small.filter((path) => tempsBeside(path).length > 0))
    await underLock([`${file}.lock`], () => tempsBeside(file).forEach(remove));
  await underLock([changeLockPath(skills)], () => {
    for (const directory of [join(skills, BACKUPS), copiesDirectory(home)])
      for (const name of namesIn(directory).filter((each) => each.startsWith(STAGING)))
        rmSync(join(directory, name), { recursive: true, force: true });
    for (const directory of [join(skills, ".history"), join(skills, ".history", "blobs")])
      listTemps(directory, ".").forEach(remove);
    removeSkillTemps(skills);
  });
  // These are written under the run lock alone, except for the cache, whose writers take no lock.
  const reports = namesIn(reportsDirectory(home)).map((name) => join(reportsDirectory(home), name));
  for (const path of [
    ...tempsBeside(join(skills, ".curator_running.json")),
    ...tempsBeside(join(home, ".skills_prompt_snapshot.json")),
    ...reports.flatMap((directory) => listTemps(directory, ".")),
    ...[administrator.pendingDirectory, pendingSkillsDirectory(home)].flatMap((directory) =>
      listTemps(directory, CURATOR_TEMP),
    ),
  ])
    remove(path);
}

function tempsBeside(file: string): string[] {
  return listTemps(dirname(file), `.${file.slice(dirname(file).length + 1)}.`);
}

/** Does nothing when the locks do not exclude other processes of this library: one of them may be writing the file. */
async function underLock(paths: readonly string[], work: () => void): Promise<void> {
  const isOurs = (gap: LockGap | undefined): boolean => gap === undefined || gap.missing === "kernel";
  try {
    await withFileLocks(paths, { timeoutMs: LEFTOVERS_LOCK_WAIT_MS }, (gap) =>
      isOurs(gap) ? work() : undefined,
    );
  } catch {
    // a read-only home, or a directory that cannot be listed
  }
}

const NOT_SKILLS: ReadonlySet<string> = new Set([".hub", ".history", BACKUPS, ".git", "node_modules"]);

/** Removes `.SKILL.md.tmp.<random>` below the skills, and the directory of a skill that was never written. */
function removeSkillTemps(directory: string): void {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && !NOT_SKILLS.has(entry.name)) removeSkillTemps(path);
    if (!entry.isFile() || !/^\..+\.tmp\.[0-9a-f]{12}$/.test(entry.name)) continue;
    remove(path);
    if (namesIn(directory).length === 0) rmdirSync(directory);
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // gone already, or no permission
  }
}

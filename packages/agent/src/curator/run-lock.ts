// One run per home. The lock is the kernel's and dies with its holder; beside it stands who that is.
import {
  type Dirent,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DEFAULT_MEMORY_CONFIG } from "@hermes-memory/core/config";
import { CURATOR_TEMP, listTemps, pinsPath } from "@hermes-memory/core/curated";
import {
  err,
  holdFileLock,
  type LockGap,
  namesIn,
  ok,
  type Result,
  withFileLocks,
  writeFileAtomic,
} from "@hermes-memory/core/lib";
import type { Memory } from "@hermes-memory/core/memory";
import { changeLockPath, pendingSkillsDirectory, skillsDirectory } from "@hermes-memory/core/skills";
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

/** Undefined when nobody runs now. */
export function currentRunner(home: string): Runner | undefined {
  const runner = whoRuns(home);
  if (!runner) return undefined;
  const free = holdFileLock(runLockPath(home));
  if (!free.ok) return runner;
  free.value[Symbol.dispose](); // whoever is named there died
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

// ----
// Temporary files and half-made backups of a run that was killed. Age does not tell whose a file is: it goes when the lock that its
// writer would hold is ours. So all of this is done by whoever holds the run lock, and each place under its own lock.

/** Below the skills directory. */
export const BACKUPS = ".curator_backups";

const LEFTOVERS_LOCK_WAIT_MS = 2000;

/** For a caller that does not hold the run lock. Does nothing where no curator ever was, or another one is at work. */
export async function tidyUp(memory: Memory): Promise<void> {
  const { home, clock } = memory;
  if (!existsSync(runLockPath(home))) return;
  const lock = takeRunLock(home, "tidying up", clock.now());
  if (!lock.ok) return;
  using _held = lock.value;
  await removeLeftovers(memory);
}

/** Call under the run lock. What cannot be removed stays; that is no reason to refuse a rollback. */
export async function removeLeftovers({ home, owner }: Memory): Promise<void> {
  const memories = owner.directory;
  const skills = skillsDirectory(home);
  if (existsSync(memories))
    await (
      await owner.curatedIn(memories, { isLoaded: false, config: DEFAULT_MEMORY_CONFIG })
    ).removeLeftovers();
  const small = [pinsPath(memories), join(skills, ".usage.json"), join(skills, ".curator_state")];
  for (const file of small.filter((path) => tempsBeside(path).length > 0))
    await underLock([`${file}.lock`], () => tempsBeside(file).forEach(remove));
  await underLock([changeLockPath(skills)], () => {
    removeHalfBackups(join(skills, BACKUPS));
    for (const directory of [join(skills, ".history"), join(skills, ".history", "blobs")])
      listTemps(directory, ".").forEach(remove);
    removeSkillTemps(skills);
  });
  // Made under the run lock alone, or a cache whose writers do without it.
  const reports = namesIn(reportsDirectory(home)).map((name) => join(reportsDirectory(home), name));
  for (const path of [
    ...tempsBeside(join(skills, ".curator_running.json")),
    ...tempsBeside(join(home, ".skills_prompt_snapshot.json")),
    ...reports.flatMap((directory) => listTemps(directory, ".")),
    ...[owner.pendingDirectory, pendingSkillsDirectory(home)].flatMap((directory) =>
      listTemps(directory, CURATOR_TEMP),
    ),
  ])
    remove(path);
}

function tempsBeside(file: string): string[] {
  return listTemps(dirname(file), `.${file.slice(dirname(file).length + 1)}.`);
}

/** Not where processes of this library do not exclude each other: the file may be somebody's. */
async function underLock(paths: readonly string[], work: () => void): Promise<void> {
  const isOurs = (gap: LockGap | undefined): boolean => gap === undefined || gap.missing === "kernel";
  try {
    await withFileLocks(paths, { timeoutMs: LEFTOVERS_LOCK_WAIT_MS }, (gap) =>
      isOurs(gap) ? work() : undefined,
    );
  } catch {
    // A read-only home, or a place that cannot be listed.
  }
}

/** A directory without an archive is no backup; all that a kill can leave in one is a temporary file. */
function removeHalfBackups(backups: string): void {
  for (const name of namesIn(backups).filter((each) => /^\d{8}T\d{6}Z(-\d+)?$/.test(each))) {
    const directory = join(backups, name);
    listTemps(directory, ".").forEach(remove);
    removeIfEmpty(directory);
  }
}

/** Below the skills: `.SKILL.md.tmp.<random>`, and the directory that was made for a skill that never came. */
function removeSkillTemps(directory: string): void {
  for (const entry of entriesOf(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && !NOT_SKILLS.has(entry.name)) removeSkillTemps(path);
    if (!entry.isFile() || !/^\..+\.tmp\.[0-9a-f]{12}$/.test(entry.name)) continue;
    remove(path);
    removeIfEmpty(directory);
  }
}

const NOT_SKILLS: ReadonlySet<string> = new Set([".hub", ".history", BACKUPS, ".git", "node_modules"]);

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or not ours to remove.
  }
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Not empty, which is the usual case.
  }
}

// Restores the skills from a backup: `skills/.curator_backups/<UTC id>/skills.tar.gz`, which the Python original makes before its runs,
// as version 0.3.0 did; the system's tar unpacks it. The skills before a restore are copied to `backups/skills/<UTC id>/`, which can be restored in the same way.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  describeCause,
  err,
  isRecord,
  namesIn,
  outsideJsonOr,
  type Result,
  randomHex,
  syncDirectory,
  withFileLocks,
} from "@hermes-memory/core/internal/lib";
import { openHome } from "@hermes-memory/core/internal/memory";
import { changeLockPath, skillsDirectory } from "@hermes-memory/core/internal/skills";
import {
  type AlreadyRunning,
  BACKUPS,
  copiesDirectory,
  removeLeftovers,
  STAGING,
  takeRunLock,
} from "../run-lock.ts";

type Backup = {
  /** `20261115T101500Z`; with `-2` and so on for further ones within the same second. */
  readonly id: string;
  readonly reason: string;
  /** The archive, or the directory of a copy. */
  readonly path: string;
};

type RestoreProblem =
  | AlreadyRunning
  | { readonly kind: "io" | "not-found" | "damaged" | "locked"; readonly message: string };

const LOCK_WAIT_MS = 10_000;

/** Newest first. */
export function listBackups(home: string): Backup[] {
  const archives = join(skillsDirectory(home), BACKUPS);
  const packed = namesIn(archives).flatMap((id): Backup[] => {
    const path = join(archives, id, "skills.tar.gz");
    return existsSync(path) ? [{ id, reason: reasonIn(join(archives, id, "manifest.json")), path }] : [];
  });
  const copies = namesIn(copiesDirectory(home))
    .filter((id) => !id.startsWith(STAGING))
    .map((id): Backup => ({ id, reason: "before a restore", path: join(copiesDirectory(home), id) }));
  return [...packed, ...copies].sort((a, b) => (a.id < b.id ? 1 : -1));
}

function reasonIn(manifest: string): string {
  const value = existsSync(manifest) ? outsideJsonOr(readFileSync(manifest, "utf8"), undefined) : undefined;
  return isRecord(value) && typeof value.reason === "string" ? value.reason : "";
}

/**
 * Pins, a pause and the history of changes stay as they are. Returns the id of a copy of the skills before. A restore that was killed
 * has lost nothing and can be repeated.
 */
export async function restoreBackup(
  home: string,
  id: string,
  now: Date,
): Promise<Result<{ readonly before: string }, RestoreProblem>> {
  const backup = listBackups(home).find((each) => each.id === id);
  if (!backup)
    return err({
      kind: "not-found",
      message: `There is no backup '${id}'. 'hermes curator rollback --list' shows them.`,
    });
  const { path } = backup;
  let before: string | undefined;
  let tar: Uint8Array | undefined;
  try {
    if (path.endsWith(".tar.gz")) tar = checkedTar(path);
  } catch (cause) {
    const message = `The backup '${id}' cannot be read: ${describeCause(cause)}. Nothing was changed.`;
    return err({ kind: "damaged", message });
  }
  const skills = skillsDirectory(home);
  try {
    const lock = takeRunLock(home, "restore", now);
    if (!lock.ok) return lock;
    using _held = lock.value;
    await removeLeftovers(openHome({ home }));
    const done = await withFileLocks([changeLockPath(skills)], { timeoutMs: LOCK_WAIT_MS }, () => {
      const stage = join(skills, BACKUPS, STAGING + randomHex(4));
      try {
        if (tar) unpack(tar, join(stage, "new"));
        else copySkills(path, join(stage, "new"));
        before = copyAside(home, now);
        replaceSkills(skills, stage);
        return { before };
      } finally {
        rmSync(stage, { recursive: true, force: true });
      }
    });
    const message = "Another process is changing the skills. Nothing was changed; try again.";
    return done.ok ? done : err({ kind: "locked", message });
  } catch (cause) {
    const back = `'hermes curator rollback ${before}' brings back what was there before.`;
    const state = before === undefined ? "They are unchanged." : back;
    return err({
      kind: "io",
      message: `The skills could not be restored: ${describeCause(cause)}. ${state}`,
    });
  }
}

/** Not part of the skills' texts: a pause, pins, the history, lists of other programs, the backups, and locks that may be held now. */
function isReplaced(name: string): boolean {
  const live = [".hub", BACKUPS, ".curator_state", ".usage.json", ".history", ".curator_running.json"];
  return !live.includes(name) && !name.endsWith(".lock");
}

function copySkills(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of namesIn(from).filter(isReplaced))
    cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true });
}

/** Complete under its final name. Outside of the skills, because Hermes reads a SKILL.md in any directory of theirs. */
function copyAside(home: string, now: Date): string {
  const base = `${now.toISOString().replace(/[-:]/g, "").slice(0, 15)}Z`;
  const taken = new Set(listBackups(home).map(({ id }) => id));
  let id = base;
  for (let count = 2; taken.has(id); count += 1) id = `${base}-${count}`;
  const temp = join(copiesDirectory(home), STAGING + id);
  copySkills(skillsDirectory(home), temp);
  renameSync(temp, join(copiesDirectory(home), id));
  return id;
}

function replaceSkills(skills: string, stage: string): void {
  const [fresh, old] = [join(stage, "new"), join(stage, "old")];
  mkdirSync(old, { mode: 0o700 });
  for (const name of namesIn(skills).filter(isReplaced)) renameSync(join(skills, name), join(old, name));
  for (const name of namesIn(fresh).filter(isReplaced)) renameSync(join(fresh, name), join(skills, name));
  syncDirectory(skills);
}

/** Many times the size of a home's skills; a damaged or hostile archive must not fill the memory. */
const MOST_BYTES = 512 * 1024 * 1024;

/** Throws when the archive cannot be read, or holds a path that leads elsewhere. */
function checkedTar(path: string): Uint8Array {
  const tar = gunzipSync(readFileSync(path), { maxOutputLength: MOST_BYTES });
  const names = runTar("-tf", tar, ".").split(/\r?\n/);
  if (names.some((name) => /^(?:[\\/]|[A-Za-z]:)|(?:^|[\\/])\.\.(?:[\\/]|$)/.test(name)))
    throw new Error("it holds a path that leads elsewhere");
  return tar;
}

/** Tar itself writes through no link. File times and owners are not restored: caches must see the files as changed. */
function unpack(tar: Uint8Array, root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  runTar("-xmof", tar, root);
}

function runTar(flags: string, input: Uint8Array, cwd: string): string {
  return execFileSync("tar", [flags, "-"], {
    input,
    cwd,
    encoding: "utf8",
    stdio: "pipe",
    maxBuffer: MOST_BYTES,
  });
}

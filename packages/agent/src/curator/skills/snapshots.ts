// Packed copies of the skills directory: `.curator_backups/<UTC id>/skills.tar.gz` with a `manifest.json`, as the Python
// original keeps them. Restoring swaps whole directories: what stands is the old state or the new one, and after a kill half-way
// the old one as soon as the next backup, restore or rollback begins.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  describeCause,
  err,
  namesIn,
  ok,
  type Result,
  withFileLockSync,
  withFileLocks,
  writeFileAtomic,
} from "@hermes-memory/core/lib";
import { openMemory } from "@hermes-memory/core/memory";
import { changeLockPath, skillsDirectory } from "@hermes-memory/core/skills";
import { removeLeftovers } from "../leftovers.ts";
import { type AlreadyRunning, takeRunLock } from "../run-lock.ts";
import { isSafePath, packTarGz, type TarEntry, unpackTarGz } from "../tar.ts";
import { BACKUPS, hasUnfinishedSwap, mendSwap, swap } from "./swap.ts";

export type Snapshot = {
  /** `20261115T101500Z`, with `-2` and so on for more in one second. */
  readonly id: string;
  readonly createdAt: string;
  readonly reason: string;
  readonly files: number;
  readonly bytes: number;
};

/** `mended`: what an earlier restore had left half done and was put right first. */
export type TakenSnapshot = Snapshot & { readonly mended?: readonly string[] };

export type SnapshotProblem = {
  readonly kind: "io" | "not-found" | "damaged" | "locked";
  readonly message: string;
};

export type Restored = {
  /** What stood there before. */
  readonly backup: Snapshot;
  /** What an earlier restore had left half done and was put right first. */
  readonly mended: readonly string[];
};

type Taking = { readonly reason: string; readonly keep: number; readonly now: Date };

/** Never packed and never replaced: other programs' lists, and the copies themselves. */
const OUTSIDE: ReadonlySet<string> = new Set([".hub", BACKUPS]);
const LOCKS = /\.lock$|^\.curator_running\.json$/;
const LOCK_WAIT_MS = 10_000;
const LOCKED: SnapshotProblem = {
  kind: "locked",
  message: "Another process is changing the skills. Nothing was changed; try again.",
};

/** The oldest beyond `keep` go. */
export function takeSnapshot(home: string, taking: Taking): Result<TakenSnapshot, SnapshotProblem> {
  try {
    const mended = mendRestore(home);
    if (!mended.ok) return mended;
    const packed = withFileLockSync(
      changeLockPath(skillsDirectory(home)),
      { timeoutMs: LOCK_WAIT_MS },
      () => {
        const snapshot = pack(home, taking);
        prune(home, taking.keep, [snapshot.id]);
        return snapshot;
      },
    );
    if (!packed.ok) return err(LOCKED);
    return ok(mended.value.length === 0 ? packed.value : { ...packed.value, mended: mended.value });
  } catch (cause) {
    return err({ kind: "io", message: `The skills could not be backed up: ${describeCause(cause)}.` });
  }
}

/** Takes back a restore that was cut off; the value is what to tell of it. */
export function mendRestore(home: string): Result<readonly string[], SnapshotProblem> {
  const skills = skillsDirectory(home);
  if (!hasUnfinishedSwap(skills)) return ok([]);
  try {
    const mended = withFileLockSync(changeLockPath(skills), { timeoutMs: LOCK_WAIT_MS }, () =>
      mendSwap(skills),
    );
    return mended.ok ? mended : err(LOCKED);
  } catch (cause) {
    const message = `A restore of the skills was cut off and could not be taken back: ${describeCause(cause)}.`;
    return err({ kind: "io", message });
  }
}

function pack(home: string, { reason, now }: Taking): Snapshot {
  const skills = skillsDirectory(home);
  const entries = collect(skills);
  const packed = packTarGz(entries);
  const id = freshId(home, now);
  const directory = join(skills, BACKUPS, id);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileAtomic(join(directory, "skills.tar.gz"), packed);
  const files = entries.filter(({ data }) => data !== undefined).length;
  const snapshot: Snapshot = { id, createdAt: now.toISOString(), reason, files, bytes: packed.length };
  const manifest = {
    id,
    created_at: snapshot.createdAt,
    reason,
    skill_files: files,
    archive_bytes: packed.length,
  };
  writeFileAtomic(join(directory, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return snapshot;
}

/** The protected ones count among those kept. */
function prune(home: string, keep: number, protect: readonly string[]): void {
  const others = listSnapshots(home).filter(({ id }) => !protect.includes(id));
  for (const { id } of others.slice(Math.max(0, keep - protect.length)))
    rmSync(join(skillsDirectory(home), BACKUPS, id), { recursive: true, force: true });
}

/** Newest first. What has no archive is none. */
export function listSnapshots(home: string): Snapshot[] {
  const directory = join(skillsDirectory(home), BACKUPS);
  return namesIn(directory)
    .filter((name) => /^\d{8}T\d{6}Z(-\d+)?$/.test(name) || /^[\w.+:-]{8,40}$/.test(name))
    .flatMap((id): Snapshot[] => {
      const size = lstatSync(join(directory, id, "skills.tar.gz"), { throwIfNoEntry: false })?.size;
      if (size === undefined) return [];
      const manifest = readManifest(join(directory, id, "manifest.json"));
      const text = (name: string): string => (typeof manifest[name] === "string" ? manifest[name] : "");
      const files = typeof manifest.skill_files === "number" ? manifest.skill_files : 0;
      return [{ id, createdAt: text("created_at"), reason: text("reason"), files, bytes: size }];
    })
    .sort((a, b) => (a.id < b.id ? 1 : -1));
}

/**
 * Puts the skills back as they were; what stands now is packed first and can be had back the same way. Pins, a pause and the
 * history of changes stay those of now.
 */
export async function restoreSnapshot(
  home: string,
  id: string,
  { keep, now }: Omit<Taking, "reason">,
): Promise<Result<Restored, SnapshotProblem | AlreadyRunning>> {
  const skills = skillsDirectory(home);
  if (!listSnapshots(home).some((each) => each.id === id))
    return err({
      kind: "not-found",
      message: `There is no backup '${id}'. 'hermes curator rollback --list' shows them.`,
    });
  let entries: TarEntry[];
  try {
    entries = unpackTarGz(readFileSync(join(skills, BACKUPS, id, "skills.tar.gz")));
  } catch (cause) {
    return err({
      kind: "damaged",
      message: `The backup '${id}' cannot be read: ${describeCause(cause)}. Nothing was changed.`,
    });
  }
  const links = entries.filter(({ link }) => link !== undefined);
  const odd = entries.find(
    ({ path }) =>
      !isSafePath(path) ||
      OUTSIDE.has(path.split("/")[0] ?? "") ||
      links.some((link) => path.startsWith(`${link.path}/`)),
  );
  if (odd)
    return err({
      kind: "damaged",
      message: `The backup '${id}' holds a path that leads elsewhere. Nothing was changed.`,
    });
  try {
    const lock = takeRunLock(home, "restore", now);
    if (!lock.ok) return lock;
    using _held = lock.value;
    await removeLeftovers(openMemory({ home }));
    const done = await withFileLocks([changeLockPath(skills)], { timeoutMs: LOCK_WAIT_MS }, (): Restored => {
      const mended = mendSwap(skills);
      const backup = pack(home, { reason: `before rollback to ${id}`, keep, now });
      // A lock file of a backup made by another program would take the place of one that is held.
      const wanted = entries.filter(({ path }) => !LOCKS.test(path) || path.includes("/"));
      swap(skills, inside(skills), wanted);
      return { backup, mended };
    });
    if (!done.ok) return err(LOCKED);
    prune(home, keep, [id, done.value.backup.id]);
    return done;
  } catch (cause) {
    const message = `The skills could not be restored: ${describeCause(cause)}. They are as they were${
      hasUnfinishedSwap(skills) ? " once 'hermes curator backup' works again." : "."
    }`;
    return err({ kind: "io", message });
  }
}

/** Lock files stay, and who holds one: a program may do so at this moment. */
function inside(skills: string): string[] {
  return namesIn(skills).filter((name) => !OUTSIDE.has(name) && !LOCKS.test(name));
}

function collect(skills: string, folder = ""): TarEntry[] {
  const names = folder === "" ? inside(skills) : readdirSync(join(skills, folder));
  return names.toSorted().flatMap((name): TarEntry[] => {
    const path = folder === "" ? name : `${folder}/${name}`;
    const stats = lstatSync(join(skills, path));
    const common = { path, mode: stats.mode, mtime: Math.trunc(stats.mtimeMs / 1000) };
    if (stats.isDirectory()) return [common, ...collect(skills, path)];
    if (stats.isSymbolicLink()) return [{ ...common, link: linkAt(join(skills, path)) }];
    return stats.isFile() ? [{ ...common, data: readFileSync(join(skills, path)) }] : [];
  });
}

function linkAt(path: string): string {
  const link = readlinkSync(path);
  if (Buffer.byteLength(link) <= 100) return link;
  throw new Error(`the symbolic link ${path} is too long to be packed`);
}

function freshId(home: string, now: Date): string {
  const base = `${now.toISOString().replace(/[-:]/g, "").slice(0, 15)}Z`;
  const taken = new Set(namesIn(join(skillsDirectory(home), BACKUPS)));
  let id = base;
  for (let count = 2; taken.has(id); count += 1) id = `${base}-${count}`;
  return id;
}

function readManifest(path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // the archive is what counts
  }
}

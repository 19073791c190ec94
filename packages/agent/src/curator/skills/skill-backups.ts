// Backups of the skills directory: `.curator_backups/<UTC id>/skills.tar.gz` with a `manifest.json`, as in the Python original.
// A restore swaps whole directories, so there is either the old state or the new one. After a kill in the middle of a restore, the
// next backup, restore or rollback brings the old state back.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  describeCause,
  err,
  namesIn,
  ok,
  type Result,
  randomHex,
  syncDirectory,
  withFileLockSync,
  withFileLocks,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";
import { openHome } from "@hermes-memory/core/internal/memory";
import { changeLockPath, skillsDirectory } from "@hermes-memory/core/internal/skills";
import { type AlreadyRunning, BACKUPS, removeLeftovers, takeRunLock } from "../run-lock.ts";
import { isSafePath, packTarGz, type TarEntry, unpackTarGz } from "../tar.ts";

type Snapshot = {
  /** `20261115T101500Z`; with `-2` and so on for further ones within the same second. */
  readonly id: string;
  readonly createdAt: string;
  readonly reason: string;
  readonly files: number;
  readonly bytes: number;
};

/** `mended`: messages about an interrupted restore that was undone first. */
type TakenSnapshot = Snapshot & { readonly mended?: readonly string[] };

type SnapshotProblem = {
  readonly kind: "io" | "not-found" | "damaged" | "locked";
  readonly message: string;
};

type Restored = {
  /** A backup of the skills before the restore. */
  readonly backup: Snapshot;
  /** Messages about an interrupted restore that was undone first. */
  readonly mended: readonly string[];
};

type Taking = { readonly reason: string; readonly keep: number; readonly now: Date };

/** Never packed and never replaced: lists of other programs, and the backups themselves. */
const OUTSIDE: ReadonlySet<string> = new Set([".hub", BACKUPS]);
const LOCKS = /\.lock$|^\.curator_running\.json$/;
const LOCK_WAIT_MS = 10_000;
const LOCKED: SnapshotProblem = {
  kind: "locked",
  message: "Another process is changing the skills. Nothing was changed; try again.",
};

/** Removes the oldest backups beyond `keep`. */
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
    return ok({ ...packed.value, mended: mended.value.length === 0 ? undefined : mended.value });
  } catch (cause) {
    return err({ kind: "io", message: `The skills could not be backed up: ${describeCause(cause)}.` });
  }
}

/** Undoes an interrupted restore; the value has messages about it. */
export function mendRestore(home: string): Result<readonly string[], SnapshotProblem> {
  const skills = skillsDirectory(home);
  if (!hasUnfinishedSwap(skills)) return ok([]);
  try {
    const mended = withFileLockSync(changeLockPath(skills), { timeoutMs: LOCK_WAIT_MS }, () =>
      mendSwap(skills),
    );
    return mended.ok ? mended : err(LOCKED);
  } catch (cause) {
    const message = `A restore of the skills was interrupted and could not be undone: ${describeCause(cause)}.`;
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

/** The protected backups count as kept ones. */
function prune(home: string, keep: number, protect: readonly string[]): void {
  const others = listSnapshots(home).filter(({ id }) => !protect.includes(id));
  for (const { id } of others.slice(Math.max(0, keep - protect.length)))
    rmSync(join(skillsDirectory(home), BACKUPS, id), { recursive: true, force: true });
}

/** Newest first. A directory without an archive is not a backup. */
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
 * Restores the skills from a backup. The current skills are backed up first, so the restore can be undone the same way. Pins, a pause
 * and the history of changes are not restored.
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
    await removeLeftovers(openHome({ home }));
    const done = await withFileLocks([changeLockPath(skills)], { timeoutMs: LOCK_WAIT_MS }, (): Restored => {
      const mended = mendSwap(skills);
      const backup = pack(home, { reason: `before rollback to ${id}`, keep, now });
      // A lock file in a backup of another program would replace one that is held now.
      const wanted = entries.filter(({ path }) => !LOCKS.test(path) || path.includes("/"));
      swap(skills, inside(skills), wanted);
      return { backup, mended };
    });
    if (!done.ok) return err(LOCKED);
    prune(home, keep, [id, done.value.backup.id]);
    return done;
  } catch (cause) {
    const state = hasUnfinishedSwap(skills)
      ? "'hermes curator backup' brings the former state back."
      : "They are unchanged.";
    return err({
      kind: "io",
      message: `The skills could not be restored: ${describeCause(cause)}. ${state}`,
    });
  }
}

/** Without lock files and the name of the running process: another program may hold a lock now. */
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
    return {}; // the archive alone is enough for a restore
  }
}

// The swap: replaces all skills by renaming, and undoes a swap that was interrupted. Call under the skills' change lock.

/** Not part of the skills' texts, so never replaced: a pause, pins, the history of changes, the name of the running process. */
const LIVE: ReadonlySet<string> = new Set([
  ".curator_state",
  ".usage.json",
  ".history",
  ".curator_running.json",
]);

const UNFINISHED = /^\.restore-/;
/** A staging directory is renamed to this when its swap is done. */
const DISCARDED = /^\.discard-/;
const MARKER = "moving.json";

/**
 * The new state is unpacked completely before anything is moved. If a move fails, everything is moved back; after a kill, `mendSwap`
 * does that.
 */
function swap(skills: string, names: readonly string[], entries: readonly TarEntry[]): void {
  const stage = join(skills, BACKUPS, `.restore-${randomHex(4)}`);
  const fresh = join(stage, "new");
  const old = join(stage, "old");
  const wanted = entries.filter(({ path }) => !LIVE.has(path.split("/")[0] ?? ""));
  try {
    mkdirSync(fresh, { recursive: true, mode: 0o700 });
    mkdirSync(old, { mode: 0o700 });
    for (const entry of wanted) unpack(fresh, entry);
    for (const { path, link } of wanted) if (link !== undefined) symlinkSync(link, join(fresh, path));
    const arriving = readdirSync(fresh);
    writeFileAtomic(join(stage, MARKER), JSON.stringify({ arriving }));
    for (const name of names.filter((each) => !LIVE.has(each)))
      renameSync(join(skills, name), join(old, name));
    for (const name of arriving) renameSync(join(fresh, name), join(skills, name));
    syncDirectory(skills);
  } catch (cause) {
    takeBack(skills, stage);
    discard(skills, stage);
    throw cause;
  }
  discard(skills, stage);
}

function hasUnfinishedSwap(skills: string): boolean {
  return namesIn(join(skills, BACKUPS)).some((name) => UNFINISHED.test(name) || DISCARDED.test(name));
}

/** Undoes an interrupted swap. Returns messages about it, if there was one. */
function mendSwap(skills: string): string[] {
  const backups = join(skills, BACKUPS);
  for (const name of namesIn(backups).filter((each) => DISCARDED.test(each)))
    rmSync(join(backups, name), { recursive: true, force: true });
  return namesIn(backups)
    .filter((name) => UNFINISHED.test(name))
    .flatMap((name) => {
      const stage = join(backups, name);
      const back = takeBack(skills, stage);
      const kept = keepAside(backups, stage);
      discard(skills, stage);
      if (back === 0 && kept === undefined) return [];
      const rest = kept === undefined ? "" : ` Files that were in their place are in ${kept}.`;
      return [`A restore of the skills was interrupted. The state before it is back.${rest}`];
    });
}

/**
 * Can itself be interrupted and repeated: a skill has arrived if the marker names it and it is neither in `new` nor in `aside`.
 * Files in the way are moved to `aside` instead of being deleted, because another program may have written them since.
 */
function takeBack(skills: string, stage: string): number {
  const aside = join(stage, "aside");
  const putAside = (name: string): void => {
    if (!namesIn(skills).includes(name)) return;
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    const isTaken = namesIn(aside).includes(name);
    renameSync(join(skills, name), join(aside, isTaken ? `${name}-${randomHex(4)}` : name));
  };
  const waiting = new Set([...namesIn(join(stage, "new")), ...namesIn(aside)]);
  for (const name of arrivingIn(stage)) if (!waiting.has(name)) putAside(name);
  const left = namesIn(join(stage, "old"));
  for (const name of left) {
    putAside(name);
    renameSync(join(stage, "old", name), join(skills, name));
  }
  if (left.length > 0) syncDirectory(skills);
  return left.length;
}

/** Moves `aside` out of the staging directory, which is removed. */
function keepAside(backups: string, stage: string): string | undefined {
  const aside = join(stage, "aside");
  if (!existsSync(aside)) return undefined;
  const kept = join(backups, `aside-${randomHex(4)}`);
  renameSync(aside, kept);
  return kept;
}

function discard(skills: string, stage: string): void {
  if (!existsSync(stage)) return;
  const gone = join(skills, BACKUPS, `.discard-${randomHex(4)}`);
  renameSync(stage, gone);
  rmSync(gone, { recursive: true, force: true });
}

function arrivingIn(stage: string): string[] {
  try {
    const { arriving } = JSON.parse(readFileSync(join(stage, MARKER), "utf8")) as Record<string, unknown>;
    const names: readonly unknown[] = Array.isArray(arriving) ? arriving : [];
    return names.filter((name): name is string => typeof name === "string" && !/^\.{0,2}$|[/\0]/.test(name));
  } catch {
    return []; // interrupted before the first move
  }
}

/** Does not restore file times: caches that compare time and size must see the files as changed. */
function unpack(root: string, { path, mode, data, link }: TarEntry): void {
  const place = join(root, path);
  if (link !== undefined) return; // links are made last, so that no file is written through one
  if (data === undefined) {
    mkdirSync(place, { recursive: true, mode: mode | 0o700 });
    return;
  }
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(place, data, { mode: mode | 0o600, flag: "wx" });
}

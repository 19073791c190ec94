// Packed copies of the skills directory: `.curator_backups/<UTC id>/skills.tar.gz` with a `manifest.json`, as the Python
// original keeps them. Restoring swaps whole directories, so that what stands is the old state or the new one.
import {
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
  withFileLocks,
  writeFileAtomic,
} from "../../lib/index.ts";
import { changeLockPath, skillsDirectory } from "../../skills/index.ts";
import { isSafePath, packTarGz, type TarEntry, unpackTarGz } from "../tar.ts";

export type Snapshot = {
  /** `20261115T101500Z`, with `-2` and so on for more in one second. */
  readonly id: string;
  readonly createdAt: string;
  readonly reason: string;
  readonly files: number;
  readonly bytes: number;
};

export type SnapshotProblem = {
  readonly kind: "io" | "not-found" | "damaged" | "locked";
  readonly message: string;
};

const BACKUPS = ".curator_backups";
/** Never packed and never replaced: other programs' lists, and the copies themselves. */
const OUTSIDE: ReadonlySet<string> = new Set([".hub", BACKUPS]);
const LOCKS = /\.lock$/;
const LOCK_WAIT_MS = 10_000;

/** The oldest beyond `keep` go. */
export function takeSnapshot(
  home: string,
  { reason, keep, now }: { readonly reason: string; readonly keep: number; readonly now: Date },
): Result<Snapshot, SnapshotProblem> {
  const skills = skillsDirectory(home);
  try {
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
    for (const old of listSnapshots(home).slice(Math.max(1, keep)))
      rmSync(join(skills, BACKUPS, old.id), { recursive: true, force: true });
    return ok(snapshot);
  } catch (cause) {
    return err({ kind: "io", message: `The skills could not be backed up: ${describeCause(cause)}.` });
  }
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

/** Puts the skills back as they were. What stands now is packed first, by the caller. */
export async function restoreSnapshot(home: string, id: string): Promise<Result<void, SnapshotProblem>> {
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
    const done = await withFileLocks([changeLockPath(skills)], { timeoutMs: LOCK_WAIT_MS }, () =>
      swap(skills, entries),
    );
    if (done.ok) return ok(undefined);
    return err({
      kind: "locked",
      message: "Another process is changing the skills. Nothing was changed; try again.",
    });
  } catch (cause) {
    return err({
      kind: "io",
      message: `The skills could not be restored: ${describeCause(cause)}. They are as they were.`,
    });
  }
}

/** The new state is complete beside the old one before anything moves; a failure half-way moves everything back. */
function swap(skills: string, entries: readonly TarEntry[]): void {
  const stage = join(skills, BACKUPS, `.restore-${randomHex(4)}`);
  const fresh = join(stage, "new");
  const old = join(stage, "old");
  const moved: (readonly [string, string])[] = [];
  const move = (from: string, to: string): void => {
    renameSync(from, to);
    moved.push([from, to]);
  };
  try {
    mkdirSync(fresh, { recursive: true, mode: 0o700 });
    mkdirSync(old, { mode: 0o700 });
    for (const entry of entries) unpack(fresh, entry);
    for (const { path, link } of entries) if (link !== undefined) symlinkSync(link, join(fresh, path));
    for (const name of inside(skills)) move(join(skills, name), join(old, name));
    for (const name of readdirSync(fresh)) move(join(fresh, name), join(skills, name));
    syncDirectory(skills);
  } catch (cause) {
    for (const [from, to] of moved.toReversed()) renameSync(to, from);
    rmSync(stage, { recursive: true, force: true });
    throw cause;
  }
  rmSync(stage, { recursive: true, force: true });
}

/** Without the old times: what is put back is new to whoever keeps a catalogue by time and size. */
function unpack(root: string, { path, mode, data, link }: TarEntry): void {
  const place = join(root, path);
  if (link !== undefined) return; // after everything else, so that nothing is written through one
  if (data === undefined) {
    mkdirSync(place, { recursive: true, mode: mode | 0o700 });
    return;
  }
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(place, data, { mode: mode | 0o600, flag: "wx" });
}

/** Lock files stay: a program may hold one at this moment. */
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

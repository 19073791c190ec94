// One curated file on disk: its path and those of its companions, its locks, reading it, and keeping its old version safe while it is
// replaced. Programs that take no lock (editors, scripts) may change the file at any moment.
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  describeCause,
  err,
  errnoCode,
  type FileOwner,
  type LockBusy,
  type LockedWork,
  type LockGap,
  type LockOptions,
  namesIn,
  normalizeNewlines,
  ok,
  type Result,
  resolveLinks,
  sha256,
  tryWithFileLocks,
  withFileLocks,
  writeFileAtomic,
} from "../lib/index.ts";
import { fileNameOf } from "./entries.ts";
import { describeGap, freeBackupPath, ioError, lockedError } from "./file-errors.ts";
import type { MemoryError, MemoryTarget } from "./types.ts";

// ---- Paths ----

export type TargetPaths = {
  readonly file: string;
  readonly journal: string;
  readonly archive: string;
  /** Start of the name of a temporary file of this target; random digits and `.tmp` follow. */
  readonly tempPrefix: string;
};

export function targetPaths(dir: string, target: MemoryTarget): TargetPaths {
  return {
    file: join(dir, fileNameOf(target)),
    journal: join(dir, ".history", `${target}.jsonl`),
    archive: join(dir, ".archive", `${target}.jsonl`),
    tempPrefix: `.mem_${target}_`,
  };
}

export function pinsPath(dir: string): string {
  return join(dir, ".pins.json");
}

export function lockPaths(file: string): readonly string[] {
  return locate(file).locks;
}

/**
 * The end of the link chain, and the locks to take before writing there, in this order: the one beside the file, which the
 * Python original also takes, and, when the file is a link, the one beside the real file, which other homes that link to it
 * take too.
 */
function locate(file: string): { readonly real: string; readonly locks: readonly string[] } {
  const path = resolve(file);
  const real = resolveLinks(path);
  const ownLock = `${path}.lock`;
  // No memory is kept in a device or a directory, and a lock could not be created beside one.
  const hasSecond = real !== path && (statSync(real, { throwIfNoEntry: false })?.isFile() ?? true);
  return { real, locks: hasSecond ? [ownLock, `${real}.lock`] : [ownLock] };
}

// ---- The lock of one target ----

const loggedGaps = new Set<LockGap["missing"]>();

export class TargetLock {
  readonly #file: string;
  readonly #warn: (line: string) => void;
  #real: string;

  constructor(file: string, warn: (line: string) => void) {
    this.#file = file;
    this.#real = file;
    this.#warn = warn;
  }

  /** The end of the link chain, as found when the lock was last taken. */
  get real(): string {
    return this.#real;
  }

  /** Runs synchronous work under the lock, waiting for it up to `timeoutMs`. System errors become `io`. */
  async hold<T>(
    work: LockedWork<Result<T, MemoryError>>,
    timeoutMs: number,
    describeFailure = (cause: unknown): MemoryError => ioError(this.#file, cause),
  ): Promise<Result<T, MemoryError>> {
    try {
      const logged = this.#withGapLogged(work);
      const atOnce = tryWithFileLocks(this.#locate(), logged);
      const outcome = atOnce.ok ? atOnce : await this.#whenFree({ timeoutMs }, logged);
      return outcome.ok ? outcome.value : err(lockedError(this.#file, outcome.error));
    } catch (cause) {
      return err(describeFailure(cause));
    }
  }

  /**
   * The common case, with the fewest file system calls: the lock is free, and the file is no link (`work` throws `FileIsLink`
   * when it is one). Otherwise undefined; the caller then uses `hold`.
   */
  tryPlain<T>(work: LockedWork<Result<T, MemoryError>>): Result<T, MemoryError> | undefined {
    if (!canRefuseLinks) return undefined;
    this.#real = this.#file;
    try {
      const outcome = tryWithFileLocks([`${this.#file}.lock`], this.#withGapLogged(work));
      return outcome.ok ? outcome.value : undefined;
    } catch (cause) {
      return cause instanceof FileIsLink ? undefined : err(ioError(this.#file, cause));
    }
  }

  /** Does nothing when the lock is taken. */
  tryHold(work: () => void): void {
    tryWithFileLocks(this.#locate(), work);
  }

  /** Starts over when the file is a link and was pointed elsewhere during the wait: other locks guard it then. */
  async #whenFree<T>(options: LockOptions, work: LockedWork<T>): Promise<Result<T, LockBusy>> {
    for (;;) {
      const paths = this.#locate();
      const real = this.#real;
      const outcome = await withFileLocks(paths, options, (gap) => {
        this.#locate();
        return this.#real === real ? { done: work(gap) } : undefined;
      });
      if (!outcome.ok) return outcome;
      if (outcome.value) return ok(outcome.value.done);
    }
  }

  /** A gap is logged once per process; the result of every write reports it too. */
  #withGapLogged<T>(work: LockedWork<T>): LockedWork<T> {
    return (gap) => {
      if (gap && !loggedGaps.has(gap.missing)) {
        loggedGaps.add(gap.missing);
        this.#warn(describeGap(gap));
      }
      return work(gap);
    };
  }

  #locate(): readonly string[] {
    const { real, locks } = locate(this.#file);
    this.#real = real;
    return locks;
  }
}

// ---- Reading. Only "does not exist" counts as empty: every other failure must stop the write that follows ----

export type MemoryFile =
  | { readonly kind: "missing"; readonly hash: null; readonly text: "" }
  | {
      readonly kind: "text";
      /** Of the bytes on disk. */
      readonly hash: string;
      /** With LF line ends. */
      readonly text: string;
      readonly bytes: Uint8Array;
      readonly owner: FileOwner;
    }
  | { readonly kind: "unreadable"; readonly reason: string; readonly bytes?: Uint8Array };

export type ReadableFile = Exclude<MemoryFile, { kind: "unreadable" }>;

const MISSING = { kind: "missing", hash: null, text: "" } as const;
const NOT_A_FILE = { kind: "unreadable", reason: "it is not a regular file" } as const;
// Without O_NONBLOCK, opening a pipe in the file's place would wait for ever. Windows has neither the flag nor such pipes.
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
// Updating the access time makes the inode dirty, and the fsync that follows slower.
const WITHOUT_ACCESS_TIME = WITHOUT_WAITING | (constants.O_NOATIME ?? 0);

/** Content that was hashed and decoded before. */
export type KnownContent = { readonly bytes: Uint8Array; readonly hash: string; readonly text: string };

export function readMemoryFile(path: string): MemoryFile {
  using opened = openMemoryFile(path);
  return opened.file;
}

/** A file that was read and is still open, so that a change by a program that takes no lock can be noticed. */
export type OpenMemoryFile = Disposable & {
  readonly file: MemoryFile;
  /** True as long as the path holds the content that was read. */
  isUnchanged(): boolean;
  /** True when this very file is at `path`; for a missing file, when nothing is there. */
  isAt(path: string): boolean;
  /** True when the file got one more name since it was opened. */
  hasOneMoreLink(): boolean;
  /** The current content of the file, wherever it was moved to. */
  readAgain(): Buffer;
};

/** Thrown by `openMemoryFile` with `isLinkRefused`, when the path is a symbolic link. */
class FileIsLink extends Error {}

/** Windows cannot refuse to follow a link. */
const canRefuseLinks = constants.O_NOFOLLOW !== undefined;

/** Does not hash and decode the content again when it is the one in `known`. */
export function openMemoryFile(
  path: string,
  known?: KnownContent,
  options: { isLinkRefused?: boolean } = {},
): OpenMemoryFile {
  let fd: number | undefined;
  try {
    fd = openForReading(path, options.isLinkRefused ? constants.O_NOFOLLOW : 0);
    const stats = fstatSync(fd);
    const file = stats.isFile() || stats.isDirectory() ? readContent(fd, stats, known) : NOT_A_FILE;
    return opened(file, fd, stats);
  } catch (cause) {
    if (options.isLinkRefused && errnoCode(cause) === "ELOOP") throw new FileIsLink();
    return {
      file: failureOf(cause),
      isUnchanged: () => !existsSync(path),
      isAt: (other) => !existsSync(other),
      hasOneMoreLink: () => false,
      readAgain: () => Buffer.alloc(0),
      [Symbol.dispose]: () => fd !== undefined && closeSync(fd),
    };
  }
}

function opened(file: MemoryFile, fd: number, before: Stats): OpenMemoryFile {
  return {
    file,
    isUnchanged: () => {
      // A rename over the path, or of the file itself, shows in the number of links or in the time of the inode's change.
      const now = fstatSync(fd);
      const isSameInode = now.nlink === before.nlink && now.ctimeMs === before.ctimeMs;
      return isSameInode && now.size === before.size && now.mtimeMs === before.mtimeMs;
    },
    isAt: (path) => {
      const there = lstatSync(path, { throwIfNoEntry: false });
      return there?.ino === before.ino && there.dev === before.dev;
    },
    hasOneMoreLink: () => fstatSync(fd).nlink === before.nlink + 1,
    readAgain: () => readAll(fd, fstatSync(fd).size),
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function openForReading(path: string, flags: number): number {
  try {
    return openSync(path, WITHOUT_ACCESS_TIME | flags);
  } catch (cause) {
    if (errnoCode(cause) !== "EPERM") throw cause;
    return openSync(path, WITHOUT_WAITING | flags); // only the owner of a file may leave its access time alone
  }
}

function readContent(fd: number, stats: Stats, known: KnownContent | undefined): MemoryFile {
  const bytes = readAll(fd, stats.size);
  if (known && bytes.equals(known.bytes)) return { kind: "text", ...known, owner: stats };
  if (!isUtf8(bytes)) return { kind: "unreadable", reason: "it is not valid UTF-8", bytes };
  // A byte order mark stays in the text: the scanner has to see it.
  const text = normalizeNewlines(bytes.toString("utf8"));
  return { kind: "text", hash: sha256(bytes), text, bytes, owner: stats };
}

function failureOf(cause: unknown): MemoryFile {
  if (errnoCode(cause) === "ENOENT") return MISSING;
  if (errnoCode(cause) === "EISDIR") return { kind: "unreadable", reason: "it is a directory" };
  return { kind: "unreadable", reason: describeCause(cause) };
}

/** Reads `size` bytes. Bytes appended meanwhile are noticed by `isUnchanged` before anything is written. */
function readAll(fd: number, size: number): Buffer {
  if (size === 0) return readToEnd(fd); // some file systems report no sizes; treating such a file as empty would lose it
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const count = readSync(fd, bytes, length, size - length, length);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
  }
  return bytes;
}

function readToEnd(fd: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const piece = Buffer.alloc(65_536);
    const count = readSync(fd, piece, 0, piece.length, at);
    if (count === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, count));
    at += count;
  }
}

// ---- The old version, held while the new one is put in its place ----

/** Ends the name of the second link to a file that is being replaced. */
export const HELD_SUFFIX = ".old.tmp";

/** Keeps the old file until it is clear that no other program edited it between our reading and our replacing it. */
export class HeldFile implements Disposable {
  readonly #opened: OpenMemoryFile;
  readonly #path: string;
  readonly #link: string;
  readonly #warn: (line: string) => void;
  #isLinked = false;

  /** `path` is where the file really is; `link` is a free name in the same directory. */
  constructor(opened: OpenMemoryFile, path: string, link: string, warn: (line: string) => void) {
    this.#opened = opened;
    this.#path = path;
    this.#link = link;
    this.#warn = warn;
  }

  /**
   * Gives the file a second name, so that its content survives the rename and a crash right after it. False: the path no longer
   * leads to the file that was read. On file systems without hard links, only the open descriptor keeps the content.
   */
  take(): boolean {
    if (this.#opened.file.kind !== "text") return this.isInPlace();
    try {
      linkSync(this.#path, this.#link);
      this.#isLinked = true;
    } catch (cause) {
      if (errnoCode(cause) === "ENOENT") return false;
      this.#warn(
        `A hard link to ${this.#path} could not be made (${errnoCode(cause) ?? describeCause(cause)}). An edit that another program makes during a write is still noticed, but lost if this process is killed at that moment.`,
      );
      return this.isInPlace();
    }
    return this.#opened.hasOneMoreLink();
  }

  /** False when another program put another file in its place. */
  isInPlace(): boolean {
    return this.#opened.isAt(this.#path);
  }

  /**
   * Call when the new content is in place. The old file becomes a backup when its content is now neither the one that was read
   * nor `written` (a mounted file is overwritten, not replaced). Returns the path of that backup.
   */
  keepIfEdited(written: Uint8Array | undefined, file: string, now: Date): string | undefined {
    const { file: read } = this.#opened;
    if (read.kind !== "text") return undefined;
    const bytes = this.#opened.readAgain();
    if (bytes.equals(read.bytes) || (written && bytes.equals(written))) return undefined;
    const wasLinked = this.#isLinked;
    this.#isLinked = false; // disposing must not delete the edit, even when the move below fails
    const backup = freeBackupPath(file, now);
    if (!wasLinked) writeFileAtomic(backup, bytes, { mode: 0o600 });
    else moveToBackup(this.#link, backup, bytes);
    return backup;
  }

  [Symbol.dispose](): void {
    if (!this.#isLinked) return;
    this.#isLinked = false;
    try {
      unlinkSync(this.#link);
    } catch {
      // Gone already, or left for the next writer to remove.
    }
  }
}

/** The file itself becomes the backup, not a copy: a program that is still writing to it finishes there. */
export function moveToBackup(link: string, backup: string, bytes: Uint8Array): void {
  try {
    renameSync(link, backup);
  } catch (cause) {
    if (errnoCode(cause) !== "EXDEV") throw cause;
    writeFileAtomic(backup, bytes, { mode: 0o600 }); // the memory file is a link to another disk
    unlinkSync(link);
  }
}

// ---- Temporary files that a killed writer left ----

// A writer needs milliseconds. On file systems without locks, another writer may be using a younger file.
export const STALE_AFTER_MS = 60_000;

export function listTemps(directory: string, prefix: string, suffix = ".tmp"): string[] {
  const names = namesIn(directory).filter((name) => name.startsWith(prefix) && name.endsWith(suffix));
  return names.map((name) => join(directory, name));
}

/** Every temporary file that a writer of this target can leave, held files included. */
export function listTargetTemps(paths: TargetPaths): string[] {
  return [...listTemps(dirname(resolveLinks(paths.file)), paths.tempPrefix), ...listCompanionTemps(paths)];
}

/** Those of the target's backups, journal and archive. */
export function listCompanionTemps({ file, journal, archive }: TargetPaths): string[] {
  return [
    ...listTemps(dirname(file), `.${basename(file)}.bak.`),
    ...[journal, archive].flatMap((path) => listTemps(dirname(path), `.${basename(path)}.`)),
  ];
}

/**
 * Never stops a write. `onHeld` gets the second names of files that were being replaced when their writer died: such a file may
 * hold an edit that exists nowhere else.
 */
export function removeStaleTemps(
  directory: string,
  prefix: string,
  now: Date,
  onHeld: (path: string) => void,
): void {
  try {
    for (const path of listTemps(directory, prefix)) {
      if (!path.endsWith(HELD_SUFFIX)) removeIfStale(path, now);
      // A link has the file's modification time; the time it was made shows in the inode's change time.
      else if (now.getTime() - statSync(path).ctimeMs > STALE_AFTER_MS) onHeld(path);
    }
  } catch {
    // A directory that may be written but not listed keeps its leftovers.
  }
}

function removeIfStale(path: string, now: Date): void {
  try {
    if (now.getTime() - statSync(path).mtimeMs > STALE_AFTER_MS) unlinkSync(path);
  } catch {
    // Another process removed it first.
  }
}

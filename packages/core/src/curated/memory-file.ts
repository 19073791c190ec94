// One curated file on disk: its path and those of its companions, its lock, reading it, temporary files. Programs that take no lock
// (editors, scripts) may change the file at any moment.
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  describeCause,
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
  withFileLocks,
} from "../lib/index.ts";
import { fileNameOf } from "./entries.ts";
import { describeGap } from "./file-errors.ts";
import type { MemoryTarget } from "./types.ts";

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

/**
 * The end of the link chain, and the locks to take before writing there, in this order: the one beside the file, which the
 * Python original also takes, and, when the file is a link, the one beside the real file, which other homes that link to it
 * take too.
 */
export function locate(file: string): { readonly real: string; readonly locks: readonly string[] } {
  const path = resolve(file);
  const real = resolveLinks(path);
  const ownLock = `${path}.lock`;
  // No memory is kept in a device or a directory, and a lock could not be created beside one.
  const hasSecond = real !== path && (statSync(real, { throwIfNoEntry: false })?.isFile() ?? true);
  return { real, locks: hasSecond ? [ownLock, `${real}.lock`] : [ownLock] };
}

// ---- The lock of one target ----

const loggedGaps = new Set<LockGap["missing"]>();

/** `warn` gets a gap of the lock once per process; the result of every write reports it too. */
export async function withTargetLock<T>(
  file: string,
  { timeoutMs, warn }: LockOptions & { readonly warn: (line: string) => void },
  work: LockedWork<T>,
): Promise<Result<T, LockBusy>> {
  for (;;) {
    const { real, locks } = locate(file);
    const outcome = await withFileLocks(locks, { timeoutMs }, (gap) => {
      // A link that was pointed elsewhere during the wait: other locks guard the file then.
      if (locate(file).real !== real) return undefined;
      if (gap && !loggedGaps.has(gap.missing)) warn(describeGap(gap));
      if (gap) loggedGaps.add(gap.missing);
      return { done: work(gap) };
    });
    if (!outcome.ok) return outcome;
    if (outcome.value) return ok(outcome.value.done);
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

// Without O_NONBLOCK, opening a pipe in the file's place would wait for ever. Windows has neither the flag nor such pipes.
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export function readMemoryFile(path: string): MemoryFile {
  using opened = openMemoryFile(path);
  return opened.file;
}

/** A file that was read and is still open, so that a change by a program that takes no lock can be noticed. */
export type OpenMemoryFile = Disposable & {
  readonly file: MemoryFile;
  /** True as long as `path`, which is no link, leads to the file that was read, with the content that was read. */
  isUnchanged(path: string): boolean;
  /** The current content of the file that was read, also after another one took its place. */
  readAgain(): Uint8Array;
};

export function openMemoryFile(path: string): OpenMemoryFile {
  let fd: number | undefined;
  const close = () => fd !== undefined && closeSync(fd);
  try {
    const opened = openSync(path, WITHOUT_WAITING);
    fd = opened;
    const before = fstatSync(opened);
    return {
      file: readContent(opened, before),
      isUnchanged: (real) => {
        const now = statSync(real, { throwIfNoEntry: false });
        // The time of the inode's change shows an edit that keeps the size and sets the modification time back.
        const fields = ["dev", "ino", "size", "mtimeMs", "ctimeMs"] as const;
        return now !== undefined && fields.every((field) => now[field] === before[field]);
      },
      readAgain: () => readAll(opened),
      [Symbol.dispose]: close,
    };
  } catch (cause) {
    const isMissing = errnoCode(cause) === "ENOENT";
    return {
      file: isMissing
        ? { kind: "missing", hash: null, text: "" }
        : { kind: "unreadable", reason: describeCause(cause) },
      isUnchanged: (real) => statSync(real, { throwIfNoEntry: false }) === undefined,
      readAgain: () => new Uint8Array(),
      [Symbol.dispose]: close,
    };
  }
}

function readContent(fd: number, owner: Stats): MemoryFile {
  if (owner.isDirectory()) return { kind: "unreadable", reason: "it is a directory" };
  if (!owner.isFile()) return { kind: "unreadable", reason: "it is not a regular file" };
  const bytes = readAll(fd);
  if (!isUtf8(bytes)) return { kind: "unreadable", reason: "it is not valid UTF-8", bytes };
  // A byte order mark stays in the text: the scanner has to see it.
  const text = normalizeNewlines(bytes.toString("utf8"));
  return { kind: "text", hash: sha256(bytes), text, bytes, owner };
}

/** Reads to the end, whatever size the file system reports: some report none, and treating such a file as empty would lose it. */
function readAll(fd: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const piece = Buffer.allocUnsafe(4000); // small enough for Node's pool
    const count = readSync(fd, piece, 0, piece.length, at);
    if (count === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, count));
    at += count;
  }
}

// ---- Temporary files that a killed writer left ----

// A writer needs milliseconds. On file systems without locks, another writer may be using a younger file.
export const STALE_AFTER_MS = 60_000;

export function listTemps(directory: string, prefix: string, suffix = ".tmp"): string[] {
  const names = namesIn(directory).filter((name) => name.startsWith(prefix) && name.endsWith(suffix));
  return names.map((name) => join(directory, name));
}

/** Every temporary file that a writer of this target can leave: of the file itself, its backups, journal and archive. */
export function listTargetTemps({ file, journal, archive, tempPrefix }: TargetPaths): string[] {
  return [
    ...listTemps(dirname(resolveLinks(file)), tempPrefix),
    ...listTemps(dirname(file), `.${basename(file)}.bak.`),
    ...[journal, archive].flatMap((path) => listTemps(dirname(path), `.${basename(path)}.`)),
  ];
}

export function removeTemps(paths: TargetPaths, now: Date, minimumAgeMs = STALE_AFTER_MS): void {
  try {
    for (const path of listTargetTemps(paths))
      if (now.getTime() - statSync(path).mtimeMs >= minimumAgeMs) unlinkSync(path);
  } catch {
    // It stays, as in a directory that may be written but not listed; the next process tries again.
  }
}

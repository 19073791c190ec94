// Reads one curated file. Only "does not exist" counts as empty: every other failure must stop the write that follows.
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
} from "node:fs";
import { describeCause, errnoCode, type FileOwner, normalizeNewlines, sha256 } from "../lib/index.ts";

export type MemoryFile =
  | { readonly kind: "missing"; readonly hash: null; readonly text: "" }
  | {
      readonly kind: "text";
      readonly hash: string;
      readonly text: string;
      readonly bytes: Uint8Array;
      readonly owner: FileOwner;
    }
  | { readonly kind: "unreadable"; readonly reason: string; readonly bytes?: Uint8Array };

const MISSING = { kind: "missing", hash: null, text: "" } as const;
const NOT_A_FILE = { kind: "unreadable", reason: "it is not a regular file" } as const;
// A pipe in the file's place would otherwise be waited for without end. Windows has no such flag and no such pipes.
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
// Noting the time of reading makes the file's inode dirty, and the fsync that follows slower.
const WITHOUT_TRACE = WITHOUT_WAITING | (constants.O_NOATIME ?? 0);

/** Content that was hashed and decoded before. */
export type KnownContent = { readonly bytes: Uint8Array; readonly hash: string; readonly text: string };

/** `text` has LF line ends; `hash` is of the bytes on disk. Both are spared when the bytes are those in `known`. */
export function readMemoryFile(path: string, known?: KnownContent): MemoryFile {
  using opened = openMemoryFile(path, known);
  return opened.file;
}

/** A file that was read and is still open, so that a change by somebody who takes no lock can be noticed. */
export type OpenMemoryFile = Disposable & {
  readonly file: MemoryFile;
  /** True as long as the path holds what was read. */
  isUnchanged(): boolean;
  /** True when this very file is at `path`; for a missing file, when nothing is. */
  isAt(path: string): boolean;
  /** True when the file got one more name since it was opened. */
  hasOneMoreLink(): boolean;
  /** What the file holds now, wherever it is. */
  readAgain(): Buffer;
};

/** Thrown instead of following a symbolic link, when that was asked for. */
export class FileIsLink extends Error {}

/** Windows cannot refuse to follow a link. */
export const canRefuseLinks = constants.O_NOFOLLOW !== undefined;

export function openMemoryFile(
  path: string,
  known?: KnownContent,
  options: { isLinkRefused?: boolean } = {},
): OpenMemoryFile {
  let fd: number | undefined;
  try {
    fd = openQuietly(path, options.isLinkRefused ? constants.O_NOFOLLOW : 0);
    const stats = fstatSync(fd);
    const file = stats.isFile() || stats.isDirectory() ? contentOf(fd, stats, known) : NOT_A_FILE;
    return opened(file, fd, stats);
  } catch (cause) {
    if (options.isLinkRefused && errnoCode(cause) === "ELOOP") throw new FileIsLink();
    const file = failureOf(cause);
    return {
      file,
      isUnchanged: () => !existsSync(path),
      isAt: (other) => !existsSync(other),
      hasOneMoreLink: () => false,
      readAgain: () => Buffer.alloc(0),
      [Symbol.dispose]: () => fd !== undefined && closeSync(fd),
    };
  }
}

function opened(file: MemoryFile, fd: number, before: Stats): OpenMemoryFile {
  const isUnchanged = (): boolean => {
    // A rename over the path, or of the file itself, shows in the number of links or in the time of the inode's change.
    const now = fstatSync(fd);
    const isSameInode = now.nlink === before.nlink && now.ctimeMs === before.ctimeMs;
    return isSameInode && now.size === before.size && now.mtimeMs === before.mtimeMs;
  };
  return {
    file,
    isUnchanged,
    isAt: (path) => {
      const there = lstatSync(path, { throwIfNoEntry: false });
      return there?.ino === before.ino && there.dev === before.dev;
    },
    hasOneMoreLink: () => fstatSync(fd).nlink === before.nlink + 1,
    readAgain: () => readAll(fd, fstatSync(fd).size),
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function contentOf(fd: number, stats: Stats, known: KnownContent | undefined): MemoryFile {
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

function openQuietly(path: string, flags: number): number {
  try {
    return openSync(path, WITHOUT_TRACE | flags);
  } catch (cause) {
    if (errnoCode(cause) !== "EPERM") throw cause;
    return openSync(path, WITHOUT_WAITING | flags); // leaving no trace is a right of the owner
  }
}

/** As long as the file said it is; what is appended meanwhile is noticed before anything is written. */
function readAll(fd: number, size: number): Buffer {
  if (size === 0) return readToEnd(fd); // some file systems give no sizes; taking such a file for empty would lose it
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

// Reads one curated file. Only "does not exist" counts as empty: every other failure must stop the write that follows.
import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  statSync,
} from "node:fs";
import { describeCause, errnoCode, type FileOwner, normalizeNewlines, sha256 } from "../lib/index.ts";

/** What a file was when it was read. Another writer that takes no lock is noticed by comparing two of these. */
export type FileIdentity = string;

export type MemoryFile =
  | { readonly kind: "missing"; readonly identity: FileIdentity; readonly hash: null; readonly text: "" }
  | {
      readonly kind: "text";
      readonly identity: FileIdentity;
      readonly hash: string;
      readonly text: string;
      readonly bytes: Uint8Array;
      readonly owner: FileOwner;
    }
  | { readonly kind: "unreadable"; readonly reason: string; readonly bytes?: Uint8Array };

const MISSING = { kind: "missing", identity: "missing", hash: null, text: "" } as const;
// A pipe in the file's place would otherwise be waited for without end. Windows has no such flag and no such pipes.
const READ_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Content that was hashed and decoded before. */
export type KnownContent = { readonly bytes: Uint8Array; readonly hash: string; readonly text: string };

/** `text` has LF line ends; `hash` is of the bytes on disk. Both are spared when the bytes are those in `known`. */
export function readMemoryFile(path: string, known?: KnownContent): MemoryFile {
  let bytes: Buffer;
  let stats: Stats;
  try {
    const fd = openSync(path, READ_WITHOUT_WAITING);
    try {
      stats = fstatSync(fd);
      if (!stats.isFile() && !stats.isDirectory())
        return { kind: "unreadable", reason: "it is not a regular file" };
      bytes = readAll(fd, stats.size);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return MISSING;
    if (errnoCode(cause) === "EISDIR") return { kind: "unreadable", reason: "it is a directory" };
    return { kind: "unreadable", reason: describeCause(cause) };
  }
  const identity = identityOf(stats);
  if (known && bytes.equals(known.bytes)) return { kind: "text", identity, ...known, owner: stats };
  if (!isUtf8(bytes)) return { kind: "unreadable", reason: "it is not valid UTF-8", bytes };
  // A byte order mark stays in the text: the scanner has to see it.
  const text = normalizeNewlines(bytes.toString("utf8"));
  return { kind: "text", identity, hash: sha256(bytes), text, bytes, owner: stats };
}

/** The identity the path has now, to be compared with the one that was read. */
export function currentIdentity(path: string): FileIdentity {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? identityOf(stats) : MISSING.identity;
}

/** As long as the file said it is; what is appended meanwhile is noticed by its identity before anything is written. */
function readAll(fd: number, size: number): Buffer {
  if (size === 0) return readFileSync(fd); // some file systems give no sizes; taking such a file for empty would lose it
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const count = readSync(fd, bytes, length, size - length, null);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
  }
  return bytes;
}

function identityOf(stats: Stats): FileIdentity {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}`;
}

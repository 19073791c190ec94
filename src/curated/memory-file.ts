// Reads one curated file. Only "does not exist" counts as empty: every other failure must stop the write that follows.
import { isUtf8 } from "node:buffer";
import { type BigIntStats, closeSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { describeCause, errnoCode, normalizeNewlines, sha256 } from "../lib/index.ts";

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
    }
  | { readonly kind: "unreadable"; readonly reason: string; readonly bytes?: Uint8Array };

const MISSING = { kind: "missing", identity: "missing", hash: null, text: "" } as const;

/** `text` has LF line ends; `hash` is of the bytes on disk. */
export function readMemoryFile(path: string): MemoryFile {
  let bytes: Buffer;
  let identity: FileIdentity;
  try {
    const fd = openSync(path, "r");
    try {
      identity = identityOf(fstatSync(fd, { bigint: true }));
      bytes = readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return MISSING;
    if (errnoCode(cause) === "EISDIR") return { kind: "unreadable", reason: "it is a directory" };
    return { kind: "unreadable", reason: describeCause(cause) };
  }
  if (!isUtf8(bytes)) return { kind: "unreadable", reason: "it is not valid UTF-8", bytes };
  // A byte order mark stays in the text: the scanner has to see it.
  const text = normalizeNewlines(bytes.toString("utf8"));
  return { kind: "text", identity, hash: sha256(bytes), text, bytes };
}

/** The identity the path has now, to be compared with the one that was read. */
export function currentIdentity(path: string): FileIdentity {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? identityOf(stats) : MISSING.identity;
}

function identityOf(stats: BigIntStats): FileIdentity {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}`;
}

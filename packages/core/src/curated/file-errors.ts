// Problems that concern a whole file: the error that tells the user, and the backup that keeps the file's content.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  describeCause,
  groupThousands,
  HermesError,
  type LockBusy,
  type LockGap,
  namesIn,
  sha256,
  writeFileAtomic,
} from "../lib/index.ts";
import type { Drift } from "./entries.ts";
import { type MemoryError, memoryError } from "./types.ts";

export function ioError(file: string, cause: unknown): MemoryError {
  const failed = `Failed to write memory file ${file}: ${describeCause(cause)}`;
  // An error that carries its own hint knows better what state the file is in.
  if (cause instanceof HermesError && cause.hint)
    return memoryError({ kind: "io", message: `${failed} ${cause.hint}` });
  return memoryError({
    kind: "io",
    message: `${failed}. Nothing was changed; 'hermes doctor' checks disk and permissions.`,
  });
}

/** A file that exists but cannot be read as text is never overwritten. Its bytes, where we have them, are backed up. */
export function unreadableError(
  file: string,
  found: { reason: string; bytes?: Uint8Array },
  now: Date,
): MemoryError {
  const copy = found.bytes ? ` A copy is in ${tryBackUp(file, found.bytes, now)}.` : "";
  return memoryError({
    kind: "io",
    message: `Refusing to write ${basename(file)}: it could not be read (${found.reason}).${copy} Mend or move the file, then retry.`,
  });
}

/** Backs the file up. */
export function driftError(file: string, bytes: Uint8Array, drift: Drift, now: Date): MemoryError {
  const backup = tryBackUp(file, bytes, now);
  return memoryError({
    kind: "drift",
    message:
      `Refusing to write ${basename(file)}: ${describeDrift(drift)} ` +
      `The file is unchanged and backed up at ${backup}. Clean it up first (see issue 26045 of Hermes Agent).`,
    backup,
    remediation:
      `Open ${backup}, add each note that is missing through the memory tool one by one, ` +
      `then bring ${basename(file)} back to plain entries separated by lines that hold only '§'.`,
  });
}

function describeDrift(drift: Drift): string {
  switch (drift.kind) {
    case "oversized":
      return (
        `it holds one entry of ${groupThousands(drift.chars)} chars, more than the whole file may have (${groupThousands(drift.limit)}). ` +
        "Either text was put in without separators, or the limit was lowered in config.yaml."
      );
    case "unparsed_append":
      return (
        "a blank line stands before a '§' but none after it, as when something is appended without reading the file. " +
        "If it is only a blank line, delete it."
      );
    default:
      return drift satisfies never;
  }
}

// ---- Locks ----

export function lockedError(file: string, busy: LockBusy): MemoryError {
  const seconds = (busy.waitedMs / 1000).toFixed(1);
  return memoryError({
    kind: "locked",
    message: `Cannot write ${basename(file)}: another process kept ${busy.path} locked for ${seconds} s. Nothing was changed; close that process or retry.`,
  });
}

/** Which programs can write at the same time as we do, why, and what the user can do about it. */
export function explainGap({ missing, reason }: LockGap): {
  readonly message: string;
  readonly remedy: string;
} {
  switch (missing) {
    case "kernel":
      return {
        message: `File locks do not exclude the Python version of Hermes here (${reason}).`,
        remedy: "Install koffi or flock(1), or let only one of the two programs write.",
      };
    case "mutex":
      return {
        message: `File locks do not exclude processes here that have neither koffi nor flock(1) (${reason}).`,
        remedy: "Check that your user can create and write that file.",
      };
    case "both":
      return {
        message: `File locks do not work here; other programs can write at the same time (${reason}).`,
        remedy: "Let one process at a time write, or move the home to a local file system.",
      };
    default:
      return missing satisfies never;
  }
}

export function describeGap(gap: LockGap): string {
  const { message, remedy } = explainGap(gap);
  return `${message} ${remedy}`;
}

// ---- Backups: byte for byte, private, one per distinct content ----

/** Returns the absolute path of the copy, `<file>.bak.<unix seconds>`. Content that has a backup already is not copied again. */
export function backUp(file: string, bytes: Uint8Array, now: Date): string {
  const hash = sha256(bytes);
  const existing = backupsOrNone(file).find((path) => hashOf(path) === hash);
  if (existing) return existing;
  const path = freeBackupPath(file, now);
  writeFileAtomic(path, bytes, { mode: 0o600 });
  return path;
}

export function freeBackupPath(file: string, now: Date): string {
  let seconds = Math.floor(now.getTime() / 1000);
  while (existsSync(backupPath(file, seconds))) seconds += 1; // different content, backed up in the same second
  return backupPath(file, seconds);
}

/** All backups of a file, oldest first. */
export function listBackups(file: string): string[] {
  const prefix = `${basename(file)}.bak.`;
  const isBackup = (name: string): boolean =>
    name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length));
  return namesIn(dirname(file))
    .filter(isBackup)
    .sort((a, b) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
    .map((name) => resolve(join(dirname(file), name)));
}

function tryBackUp(file: string, bytes: Uint8Array, now: Date): string {
  try {
    return backUp(file, bytes, now);
  } catch {
    return `${file}.bak.${Math.floor(now.getTime() / 1000)} (BACKUP FAILED — file unchanged on disk)`;
  }
}

function backupPath(file: string, seconds: number): string {
  return resolve(`${file}.bak.${seconds}`);
}

/** None when the directory cannot be listed: then the content may get a second copy, which does no harm. */
function backupsOrNone(file: string): string[] {
  try {
    return listBackups(file);
  } catch {
    return [];
  }
}

function hashOf(path: string): string | undefined {
  try {
    return sha256(readFileSync(path));
  } catch {
    return undefined; // an unreadable backup cannot be restored from, so a new one is made
  }
}

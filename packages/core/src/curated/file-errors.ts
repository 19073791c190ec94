// The errors that concern a whole file. Each says what happened, why, and what to do.
import { basename } from "node:path";
import { describeCause, groupThousands, HermesError, type LockBusy } from "../lib/index.ts";
import { backUp } from "./backup.ts";
import type { Drift } from "./drift.ts";
import type { MemoryError } from "./types.ts";

export function ioError(file: string, cause: unknown): MemoryError {
  const failed = `Failed to write memory file ${file}: ${describeCause(cause)}`;
  // An error with advice of its own knows better what state the file is in.
  if (cause instanceof HermesError && cause.hint) return { kind: "io", message: `${failed} ${cause.hint}` };
  return {
    kind: "io",
    message: `${failed}. Nothing was changed; 'hermes doctor' checks disk and permissions.`,
  };
}

export function lockedError(file: string, busy: LockBusy): MemoryError {
  const seconds = (busy.waitedMs / 1000).toFixed(1);
  return {
    kind: "locked",
    message: `Cannot write ${basename(file)}: another process kept ${busy.path} locked for ${seconds} s. Nothing was changed; close that process or retry.`,
  };
}

/** A file that exists but cannot be understood is never written over. Its bytes, where we have them, are backed up. */
export function refuseUnreadable(
  file: string,
  found: { reason: string; bytes?: Uint8Array },
  now: Date,
): MemoryError {
  const copy = found.bytes ? ` A copy is in ${tryBackUp(file, found.bytes, now)}.` : "";
  return {
    kind: "io",
    message: `Refusing to write ${basename(file)}: it could not be read (${found.reason}).${copy} Mend or move the file, then retry.`,
  };
}

export function driftError(file: string, bytes: Uint8Array, drift: Drift, now: Date): MemoryError {
  const backup = tryBackUp(file, bytes, now);
  return {
    kind: "drift",
    message:
      `Refusing to write ${basename(file)}: ${describeDrift(drift)} ` +
      `The file is unchanged and backed up at ${backup}. Clean it up first (see issue 26045 of Hermes Agent).`,
    backup,
    remediation:
      `Open ${backup}, add each note that is missing through the memory tool one by one, ` +
      `then bring ${basename(file)} back to plain entries separated by lines that hold only '§'.`,
  };
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

function tryBackUp(file: string, bytes: Uint8Array, now: Date): string {
  try {
    return backUp(file, bytes, now);
  } catch {
    return `${file}.bak.${Math.floor(now.getTime() / 1000)} (BACKUP FAILED — file unchanged on disk)`;
  }
}

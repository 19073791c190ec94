// Copies of a database file with all that belongs to it, made while other programs may be writing.
import { closeSync, existsSync, fsyncSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { errnoCode, syncDirectory } from "../../lib/index.ts";
import { rawDescriptor } from "./journal-mode.ts";
import { aMoment } from "./surgery.ts";

/** What belongs to the file beside it. Not the -shm: SQLite makes it anew from the -wal. */
const LOGS = ["-wal", "-journal"];
const PARTS = ["", ...LOGS];

/** A copy for the user, under a name that is free. Returns the name. */
export async function keepCopy(file: string, now: Date): Promise<string> {
  for (;;) {
    const candidate = freeName(`${file}.malformed-backup`, now);
    try {
      await copyDatabase(file, candidate);
    } catch (cause) {
      if (errnoCode(cause) === "EEXIST") continue; // another process took the name just now
      throw cause;
    }
    syncDirectory(dirname(file));
    return candidate;
  }
}

/** `<base>-YYYYMMDD_HHMMSS`, with a number behind it when there is such a file. */
export function freeName(base: string, now: Date): string {
  const name = `${base}-${timestamp(now)}`;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}_${number}`;
    if (PARTS.every((suffix) => !existsSync(candidate + suffix))) return candidate;
  }
}

const COPY_ATTEMPTS = 20;

/**
 * All parts as they were at one moment: when another program wrote meanwhile, the copy is made again. Returns the
 * fingerprint of that moment.
 */
export async function copyDatabase(from: string, to: string): Promise<string> {
  for (let attempt = 1; attempt <= COPY_ATTEMPTS; attempt += 1) {
    const before = fingerprint(from);
    await copyBytes(rawDescriptor(from), to); // fails, and leaves it alone, when there is such a file
    try {
      for (const suffix of LOGS) await copyLog(from + suffix, to + suffix);
      if (fingerprint(from) === before) return before;
    } catch (cause) {
      removeParts(to);
      throw cause;
    }
    removeParts(to);
    await aMoment();
  }
  throw new Error("another program keeps writing to it; close that program and try again");
}

export function removeParts(file: string): void {
  for (const suffix of [...PARTS, "-shm"]) rmSync(file + suffix, { force: true });
}

/** Equal as long as nothing was written to the file or its logs. */
export function fingerprint(file: string): string {
  return PARTS.map((suffix) => {
    const stats = statSync(file + suffix, { bigint: true, throwIfNoEntry: false });
    // An empty log comes and goes with every reader.
    return stats === undefined || stats.size === 0n ? "-" : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  }).join("; ");
}

const CHUNK_BYTES = 4 * 1024 * 1024;

async function copyLog(from: string, to: string): Promise<void> {
  if ((statSync(from, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const source = openSync(from, "r"); // holds no locks, so it may be closed
  try {
    await copyBytes(source, to);
  } finally {
    closeSync(source);
  }
}

async function copyBytes(source: number, to: string): Promise<void> {
  const target = openSync(to, "wx", 0o600);
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let at = 0; ; ) {
      const length = readSync(source, chunk, 0, chunk.length, at);
      if (length === 0) break;
      for (let done = 0; done < length; ) done += writeSync(target, chunk, done, length - done, at + done);
      at += length;
      await setImmediate(); // a large file is copied without keeping others waiting
    }
    fsyncSync(target);
  } catch (cause) {
    rmSync(to, { force: true }); // half a copy is none
    throw cause;
  } finally {
    closeSync(target);
  }
}

/** YYYYMMDD_HHMMSS in local time, like session ids. */
function timestamp(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  return `${date}_${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
}

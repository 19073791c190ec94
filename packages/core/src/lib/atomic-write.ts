// Replaces a file so that readers, who take no lock, only ever see the old content or the new one, also after a crash.
// Synchronous on purpose: the steps between reading and renaming must not interleave with other work of this process.
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { describeCause, errnoCode, HermesError } from "./errors.ts";
import { randomHex } from "./ids.ts";

export type AtomicWriteOptions = {
  /** Mode of a file that did not exist. An existing file keeps its own. Default 0600. */
  readonly mode?: number;
  /** Mode the file gets whatever it had before (secrets). */
  readonly forceMode?: number;
  /** Runs when the new content is safe on disk and the old one still in place. Throwing cancels the write. */
  readonly beforeReplace?: () => void;
  /** The caller has followed the links of `path` and knows what is there; spares a look. */
  readonly resolved?: { readonly previous: FileOwner | undefined };
  /** File name of the temporary file, without directory. */
  readonly tempName?: string;
};

/** What a replaced file hands on to its successor. */
export type FileOwner = { readonly mode: number; readonly uid: number; readonly gid: number };

/** Returns the path that was written: the end of the link chain when `path` is a symbolic link. */
export function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: AtomicWriteOptions = {},
): string {
  const { target, previous } = options.resolved ? { target: path, ...options.resolved } : followLinks(path);
  const directory = dirname(target);
  const temp = join(directory, options.tempName ?? `.${basename(target)}.${randomHex(6)}.tmp`);
  const fd = openSync(temp, "wx", 0o600);
  try {
    try {
      writeAll(fd, data);
      adopt(fd, previous, options);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    options.beforeReplace?.();
    replace(temp, target, data);
  } catch (cause) {
    const isOnlyCopy = cause instanceof HermesError && cause.code === "overwrite-failed";
    if (!isOnlyCopy) removeQuietly(temp);
    throw cause;
  }
  try {
    syncDirectory(directory);
  } catch (cause) {
    const message = `${target} was replaced, but its directory could not be synced: ${describeCause(cause)}.`;
    const hint = "The change is there, but may not survive a power cut. Check the disk.";
    throw new HermesError("not-synced", message, { hint, cause });
  }
  return target;
}

/** Follows symbolic links to the path a write has to land on, which need not exist yet. */
export function resolveLinks(path: string): string {
  return followLinks(path).target;
}

function followLinks(path: string): { target: string; previous: FileOwner | undefined } {
  let current = resolve(path);
  for (let hops = 0; hops < 40; hops += 1) {
    const stats = lstatSync(current, { throwIfNoEntry: false }); // missing: not there yet, or a dangling link's target
    if (!stats?.isSymbolicLink()) return { target: current, previous: stats };
    // The link may climb (`../x`), and does so from where its directory really is.
    current = resolve(realpathSync(dirname(current)), readlinkSync(current));
  }
  throw Object.assign(new Error(`too many symbolic links: ${path}`), { code: "ELOOP" });
}

const UNSYNCABLE: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP"]);

/** Makes a rename or a new file in this directory survive a power cut. */
export function syncDirectory(directory: string): void {
  if (process.platform === "win32") return; // directories cannot be opened there; NTFS journals the rename
  try {
    const fd = openSync(directory, "r");
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    // A directory that may be written but not read, or a network file system that cannot sync one: the rename is done.
    if (!UNSYNCABLE.has(errnoCode(cause) ?? "")) throw cause;
  }
}

function replace(temp: string, target: string, data: string | Uint8Array): void {
  try {
    renameSync(temp, target);
  } catch (cause) {
    const code = errnoCode(cause);
    if (code !== "EBUSY" && code !== "EXDEV") throw cause;
    // The target is a mount point of its own (one file mounted into a container). Nothing can be renamed onto it, so it
    // is overwritten in place; the synced temporary file holds the whole content until that is on disk.
    try {
      overwrite(target, data);
    } catch (inner) {
      const copy = keepForRescue(temp);
      const message = `Writing ${target} in place failed half-way; the whole new content is in ${copy}.`;
      throw new HermesError("overwrite-failed", message, { hint: `Copy ${copy} over it.`, cause: inner });
    }
    unlinkSync(temp);
  }
}

/** A name that no tidying up after killed writers takes for a leftover. */
function keepForRescue(temp: string): string {
  const copy = `${temp.replace(/\.tmp$/, "")}.rescue`;
  try {
    renameSync(temp, copy);
    return copy;
  } catch {
    return temp; // still whole, if under a worse name
  }
}

function overwrite(target: string, data: string | Uint8Array): void {
  const fd = openSync(target, "r+");
  try {
    const length = writeAll(fd, data);
    ftruncateSync(fd, length);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function writeAll(fd: number, data: string | Uint8Array): number {
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  let written = 0;
  while (written < bytes.length) written += writeSync(fd, bytes, written, bytes.length - written, written);
  return written;
}

function adopt(fd: number, previous: FileOwner | undefined, options: AtomicWriteOptions): void {
  const mode = options.forceMode ?? (previous ? previous.mode & 0o7777 : (options.mode ?? 0o600));
  if (mode !== 0o600) fchmodSync(fd, mode);
  if (previous && process.platform !== "win32") {
    const own = fstatSync(fd); // not the process's: a directory may hand its own group on
    if (own.uid === previous.uid && own.gid === previous.gid) return;
    try {
      fchownSync(fd, previous.uid, previous.gid);
    } catch {
      // Only root may give a file away: it becomes the writer's. What its group was allowed is not for the writer's group.
      if (own.gid !== previous.gid) fchmodSync(fd, mode & ~0o070);
    }
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or the directory vanished: the error that brought us here says more.
  }
}

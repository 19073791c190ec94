// Files replaced as a whole, files of JSON lines that are appended to, and directory listings.
// Synchronous on purpose: the steps between reading and renaming must not interleave with other work of this process.
import { isUtf8 } from "node:buffer";
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { describeCause, err, errnoCode, HermesError, ok, type Result, randomHex } from "./basics.ts";

type AtomicWriteOptions = {
  /** Mode of a file that did not exist. An existing file keeps its own. Default 0600. */
  readonly mode?: number;
  /** Mode for new and existing files alike, for files that hold secrets. */
  readonly forceMode?: number;
  /** Runs after the new content is synced to disk and before the rename. If it throws, the write is cancelled. */
  readonly beforeReplace?: () => void;
  /** Set when the caller has already resolved the links of `path`; saves the `lstat` calls. */
  readonly resolved?: { readonly previous: FileOwner | undefined };
  /** File name of the temporary file, without directory. */
  readonly tempName?: string;
};

/** The mode and owner that the new file takes over from the replaced one. */
export type FileOwner = { readonly mode: number; readonly uid: number; readonly gid: number };

/**
 * Replaces a file so that readers, which take no lock, see either the old or the new content, also after a crash.
 * Returns the path that was written: the end of the link chain when `path` is a symbolic link.
 */
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

/** Follows symbolic links to the path that a write replaces, which need not exist yet. */
export function resolveLinks(path: string): string {
  return followLinks(path).target;
}

function followLinks(path: string): { target: string; previous: FileOwner | undefined } {
  let current = resolve(path);
  for (let hops = 0; hops < 40; hops += 1) {
    const stats = lstatSync(current, { throwIfNoEntry: false }); // undefined: a new file, or the target of a dangling link
    if (!stats?.isSymbolicLink()) return { target: current, previous: stats };
    // A relative link (`../x`) is relative to the real path of its directory.
    current = resolve(realpathSync(dirname(current)), readlinkSync(current));
  }
  throw Object.assign(new Error(`too many symbolic links: ${path}`), { code: "ELOOP" });
}

const UNSYNCABLE: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP"]);

/** Makes a rename or a new file in this directory survive a power cut. */
export function syncDirectory(directory: string): void {
  if (process.platform === "win32") return; // Windows cannot open directories; NTFS journals the rename
  try {
    const fd = openSync(directory, "r");
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    // A directory without read permission, or a network file system that cannot sync directories: the rename itself succeeded.
    if (!UNSYNCABLE.has(errnoCode(cause) ?? "")) throw cause;
  }
}

function replace(temp: string, target: string, data: string | Uint8Array): void {
  try {
    renameSync(temp, target);
  } catch (cause) {
    const code = errnoCode(cause);
    if (code !== "EBUSY" && code !== "EXDEV") throw cause;
    // The target is a mount point (a single file mounted into a container), and a rename onto it fails. It is overwritten
    // in place; the synced temporary file keeps the whole content until the overwrite is on disk.
    try {
      overwrite(target, data);
    } catch (inner) {
      const copy = keepForRescue(temp);
      const message = `Writing ${target} in place failed part-way; the complete new content is in ${copy}.`;
      throw new HermesError("overwrite-failed", message, { hint: `Copy ${copy} over it.`, cause: inner });
    }
    unlinkSync(temp);
  }
}

/** Renames the temporary file so that the cleanup after killed writers does not delete it. */
function keepForRescue(temp: string): string {
  const copy = `${temp.replace(/\.tmp$/, "")}.rescue`;
  try {
    renameSync(temp, copy);
    return copy;
  } catch {
    return temp; // complete, but under the name that the cleanup deletes
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
    const own = fstatSync(fd); // not the process's ids: a setgid directory passes its group on
    if (own.uid === previous.uid && own.gid === previous.gid) return;
    try {
      fchownSync(fd, previous.uid, previous.gid);
    } catch {
      // Only root may change the owner. The file then has the writer's group, which must not get the old group's permissions.
      if (own.gid !== previous.gid) fchmodSync(fd, mode & ~0o070);
    }
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already deleted, or the directory is gone: the error being handled is more useful than this one.
  }
}

/** Follows links. False when it does not exist. */
export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Follows links. False when it does not exist, or when a part of the path is a file. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes(errnoCode(cause) ?? "")) return false;
    throw cause;
  }
}

/** The names in a directory; none when it does not exist. Throws when it cannot be read. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw cause;
  }
}

// Files with one JSON value per line, written by appending. A crash can leave half a line at the end; readers skip it,
// and the next append first closes it with a newline.

type JsonLines = { readonly values: readonly unknown[]; readonly damaged: number };

/** A missing file has no lines. Other read errors are thrown. */
export function readJsonLines(path: string): JsonLines {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return { values: [], damaged: 0 };
    throw cause;
  }
  return parseJsonLines(text);
}

export function parseJsonLines(text: string): JsonLines {
  const values: unknown[] = [];
  let damaged = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      values.push(JSON.parse(line));
    } catch {
      damaged += 1;
    }
  }
  return { values, damaged };
}

type AppendOptions = {
  /** Calls fsync before returning. */
  readonly isDurable?: boolean;
};

/**
 * Appends to a file; creates it and its directory if missing. One write call, so that lines of several processes do not mix. Returns
 * the file's new size.
 */
export function appendJsonLines(
  path: string,
  values: readonly unknown[],
  options: AppendOptions = {},
): number {
  const fd = openForAppend(path);
  try {
    const { size } = fstatSync(fd);
    const lines = values.map((value) => `${JSON.stringify(value)}\n`).join("");
    const data = Buffer.from(endsInsideLine(fd, size) ? `\n${lines}` : lines, "utf8");
    const written = writeSync(fd, data);
    if (written < data.length)
      throw Object.assign(new Error("ENOSPC: a line was cut short"), { code: "ENOSPC" });
    if (options.isDurable) fsyncSync(fd);
    return size + written;
  } finally {
    closeSync(fd);
  }
}

function openForAppend(path: string): number {
  try {
    return openSync(path, "a+", 0o600);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a+", 0o600);
  }
}

function endsInsideLine(fd: number, size: number): boolean {
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}

// Settings files that users and other programs edit too. A change is computed from the text that was read, and computed
// again when the file has changed before it is replaced.

export type ReadFailure = { readonly path: string; readonly reason: string };

const ATTEMPTS = 20;

/** The text, including a byte order mark; undefined when the file does not exist. */
export function readTextFile(path: string): Result<string | undefined, ReadFailure> {
  try {
    const bytes = readFileSync(path);
    if (!isUtf8(bytes)) return err({ path, reason: "it is not valid UTF-8 text; save it as UTF-8" });
    return ok(bytes.toString("utf8"));
  } catch (cause) {
    return errnoCode(cause) === "ENOENT" ? ok(undefined) : err({ path, reason: readReason(cause) });
  }
}

export type TextUpdate<T> = { readonly text: string; readonly outcome: T };
type UpdateRules<T, E> = {
  /** Returns the new text. May run more than once. */
  readonly change: (text: string | undefined) => Result<TextUpdate<T>, E>;
  readonly unreadable: (failure: ReadFailure) => E;
  readonly modes?: Pick<AtomicWriteOptions, "mode" | "forceMode">;
};

/** Writes nothing when the text is unchanged or `change` returns an error. */
export function updateTextFile<T, E>(path: string, rules: UpdateRules<T, E>): Result<T, E> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = readTextFile(path);
    if (!before.ok) return err(rules.unreadable(before.error));
    const next = rules.change(before.value);
    if (!next.ok) return next;
    if (next.value.text === (before.value ?? "")) {
      keepMode(path, rules.modes?.forceMode);
      return ok(next.value.outcome);
    }
    if (replaceUnlessChanged(path, before.value, next.value.text, rules.modes)) return ok(next.value.outcome);
  }
  const message = `Cannot change ${path}: another program rewrites it all the time.`;
  throw new HermesError("file-busy", message, { hint: "Stop the other program, then try again." });
}

class ChangedMeanwhile extends Error {}

function replaceUnlessChanged(
  path: string,
  before: string | undefined,
  next: string,
  modes: UpdateRules<unknown, unknown>["modes"],
): boolean {
  const beforeReplace = () => {
    const now = readTextFile(path);
    if (!now.ok || now.value !== before) throw new ChangedMeanwhile();
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileAtomic(path, next, { ...modes, beforeReplace });
    return true;
  } catch (cause) {
    if (cause instanceof ChangedMeanwhile) return false;
    if (cause instanceof HermesError) throw cause;
    const message = `Cannot write ${path}: ${describeCause(cause)}. The file is unchanged.`;
    throw new HermesError("write-failed", message, { hint: "Check free space and permissions.", cause });
  }
}

function keepMode(path: string, forceMode: number | undefined): void {
  if (forceMode === undefined) return;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats && (stats.mode & 0o777) !== forceMode) chmodSync(path, forceMode);
}

function readReason(cause: unknown): string {
  switch (errnoCode(cause)) {
    case "EISDIR":
      return "it is a directory; move it away";
    case "EACCES":
    case "EPERM":
      return "this user may not read it; change its owner or mode";
    default:
      return describeCause(cause);
  }
}

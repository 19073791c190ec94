// Lock files and directories are opened for a single system call, at every write. In a row of writes they stay open in
// between: next to an fsync, opening and closing them is most of what a write costs beside it.
import { closeSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errnoCode } from "./errors.ts";

type Kept = {
  readonly fd: number;
  readonly dev: number;
  readonly ino: number;
  readonly timer: NodeJS.Timeout;
};

const IDLE_MS = 250;
const kept = new Map<string, Kept>();

/** A lock file, made where it is missing: what it protects may be about to come into being. Not to be closed. */
export function keptLockFile(path: string): number {
  return keptFile(path, () => {
    try {
      return openSync(path, "a", 0o600);
    } catch (cause) {
      if (errnoCode(cause) !== "ENOENT") throw cause;
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      return openSync(path, "a", 0o600);
    }
  });
}

/** A directory, to be synced. Not to be closed. */
export function keptDirectory(path: string): number {
  return keptFile(path, () => openSync(path, "r"));
}

/** What is at this path now: a file that was kept open is given up when the path names another one by now. */
function keptFile(path: string, open: () => number): number {
  const known = kept.get(path);
  if (known) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.ino === known.ino && stats.dev === known.dev) {
      known.timer.refresh();
      return known.fd;
    }
    close(path, known);
  }
  const fd = open();
  const { dev, ino } = fstatSync(fd);
  const timer = setTimeout(() => close(path), IDLE_MS).unref();
  kept.set(path, { fd, dev, ino, timer });
  return fd;
}

function close(path: string, known = kept.get(path)): void {
  if (!known) return;
  kept.delete(path);
  clearTimeout(known.timer);
  closeSync(known.fd);
}

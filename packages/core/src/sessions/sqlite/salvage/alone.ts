// Whether another program has a database open, and putting a new file in its place when none has. A program that goes on
// with a file that was replaced under it loses what it writes, so the answer has to be certain.
import { chmodSync, chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { err, holdFileLock, ok, type Result, syncDirectory } from "../../../lib/index.ts";
import { fingerprint } from "../database-copy.ts";
import { isBusy } from "../failures.ts";
import { type Holder, holdersOf } from "../holders.ts";

/** The lock files by which programs that share a database keep out of each other's repairs and rebuilds. */
const REPAIR_LOCKS = [".repair.lock", ".fts_rebuild.lock"] as const;

/** Both locks, or the path of the one that another program holds. Waits for nobody. */
export function holdRepairLocks(file: string): Result<Disposable, string> {
  const held: Disposable[] = [];
  for (const suffix of REPAIR_LOCKS) {
    const path = file + suffix;
    const lock = holdFileLock(path);
    if (!lock.ok) {
      for (const other of held.reverse()) other[Symbol.dispose]();
      return err(path);
    }
    held.push(signed(path, lock.value));
  }
  return ok({
    [Symbol.dispose]: () => {
      for (const lock of held.reverse()) lock[Symbol.dispose]();
    },
  });
}

/** Who holds it, in the words the original reads, as long as it is held. */
function signed(path: string, lock: Disposable): Disposable {
  const note = { pid: process.pid, start_ticks: startTicks(), acquired_at: Date.now() / 1000 };
  write(path, JSON.stringify(note));
  return {
    [Symbol.dispose]: () => {
      write(path, "");
      lock[Symbol.dispose]();
    },
  };
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch {
    // The lock is what counts; its text only tells people who has it.
  }
}

/** Field 22 of /proc/self/stat, after the name, which may hold blanks. */
function startTicks(): number | null {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    return Number.isFinite(ticks) ? ticks : null;
  } catch {
    return null;
  }
}

export type Replacement =
  | { readonly kind: "replaced" }
  | { readonly kind: "held"; readonly by: readonly Holder[] }
  | { readonly kind: "unknown" }
  | { readonly kind: "changed" };

export type ReplaceOptions = {
  /** What `fingerprint` said when the copy was made that the new file was built from. */
  readonly expected: string;
  /** The user has closed every other program. Only believed where the system cannot tell. */
  readonly isAlone?: boolean;
};

/** Puts `built` in the place of `file`, unless another program has the file open, may have it open, or has changed it. */
export function replaceDatabase(file: string, built: string, options: ReplaceOptions): Replacement {
  const holders = holdersOf(file);
  if (holders !== undefined && holders.length > 0) return { kind: "held", by: holders };
  using lock = lockWhole(file);
  if (lock.kind === "busy") return { kind: "held", by: [] };
  // In WAL mode every connection keeps a lock on the file, so the lock proves that there is none. In other modes, and where
  // the file cannot be locked because SQLite no longer takes it for a database, an idle connection has none.
  const isProven = holders !== undefined || (lock.kind === "held" && lock.isWal);
  if (!isProven && options.isAlone !== true) return { kind: "unknown" };
  if (fingerprint(file) !== options.expected) return { kind: "changed" };
  lock.endLog();
  // A log that is still there belongs to the old file. SQLite would play it into the new one.
  for (const suffix of ["-wal", "-shm", "-journal"]) rmSync(file + suffix, { force: true });
  const { mode, uid, gid } = statSync(file);
  chmodSync(built, mode & 0o777);
  if (process.getuid?.() === 0) chownSync(built, uid, gid);
  renameSync(built, file);
  syncDirectory(dirname(file));
  return { kind: "replaced" };
}

type WholeLock = Disposable &
  (
    | { readonly kind: "held"; readonly isWal: boolean; endLog(): void }
    | { readonly kind: "busy" }
    | { readonly kind: "impossible"; endLog(): void }
  );

function lockWhole(file: string): WholeLock {
  const db = new DatabaseSync(file, { timeout: 50, enableForeignKeyConstraints: false });
  const dispose = { [Symbol.dispose]: () => db.close() };
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    db.exec("BEGIN EXCLUSIVE");
    db.exec("ROLLBACK"); // the lock stays with this locking mode
    const isWal = db.prepare("PRAGMA journal_mode").get()?.journal_mode === "wal";
    const endLog = (): void => {
      try {
        // Else SQLite removes the log by its name when the connection closes, and by then the name is the new file's.
        if (isWal) db.exec("PRAGMA journal_mode = DELETE");
        db.exec("BEGIN EXCLUSIVE");
      } catch {
        // The log is removed by the caller; the file goes anyway.
      }
    };
    return { kind: "held", isWal, endLog, ...dispose };
  } catch (cause) {
    if (isBusy(cause)) return { kind: "busy", ...dispose };
    return { kind: "impossible", endLog: () => {}, ...dispose };
  }
}

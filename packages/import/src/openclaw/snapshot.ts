// A ZIP of the Hermes home, made before the first write of a migration. The Python program restores it with `hermes import`.
import {
  chmodSync,
  constants,
  copyFileSync,
  createWriteStream,
  type Dirent,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import type { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describeCause, errnoCode, HermesError } from "@hermes-memory/core/internal/lib";
import { ZipFile } from "yazl";
import { freePath, stampOf } from "./runs.ts";

const SNAPSHOT = /^pre-migration-\d{4}-\d\d-\d\d-\d{6}(?:-\d+)?\.zip$/;
const KEPT = 5;
const TEMP = ".pre-migration-";
/** The reference's own checkout; a skill of that name further down is kept. */
const LEFT_OUT_AT_ROOT = ["hermes-agent", "gateway.pid", "cron.pid"];
const LEFT_OUT_FOLDERS = ["__pycache__", ".git", "node_modules", "backups", "checkpoints"];
// Lock files have no content, and closing a descriptor of one would drop the lock of this process.
const LEFT_OUT_FILES = /\.(?:pyc|pyo|db-wal|db-shm|db-journal|lock|lock-journal)$/;

/** `path`: undefined when the home has no files. `leftOut`: files that could not be read. */
export async function snapshotHome(home: string, now: Date) {
  const names = [...filesOf(home, "")];
  if (names.length === 0) return { path: undefined, leftOut: [] };
  const folder = join(home, "backups");
  const path = freePath(join(folder, `pre-migration-${stampOf(now).replace("T", "-")}`), ".zip");
  const temp = join(folder, `${TEMP}${process.pid}.tmp`);
  const leftOut: string[] = [];
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder)) if (name.startsWith(TEMP)) remove(join(folder, name)); // of runs that were killed
    const staged: string[] = [];
    for (const name of names)
      ((await isCopied(join(home, name), join(temp, name))) ? staged : leftOut).push(name);
    const zip = new ZipFile();
    const packing = zip.outputStream as PassThrough;
    zip.on("error", (cause: Error) => packing.destroy(cause)); // after the first one this does nothing
    const packed = `${temp}.zip`;
    const written = pipeline(packing, createWriteStream(packed, { mode: 0o600, flush: true }));
    for (const name of staged) zip.addFile(join(temp, name), name.replaceAll("\\", "/"));
    zip.end();
    await written;
    renameSync(packed, path);
    remove(temp);
  } catch (cause) {
    remove(temp);
    remove(`${temp}.zip`);
    const hint = "Free some space, or pass --no-backup to go on without a snapshot. Nothing was migrated.";
    throw new HermesError(
      "snapshot-failed",
      `The snapshot of ${home} could not be written: ${describeCause(cause)}.`,
      {
        hint,
        cause,
      },
    );
  }
  const older = readdirSync(folder).filter((name) => SNAPSHOT.test(name));
  for (const name of older.sort().slice(0, -KEPT)) remove(join(folder, name));
  return { path, leftOut };
}

function* filesOf(home: string, before: string): Generator<string> {
  let entries: Dirent[];
  try {
    entries = readdirSync(join(home, before), { withFileTypes: true });
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT" && before === "") throw cause;
    return; // a folder that cannot be read, or no home yet
  }
  for (const entry of entries) {
    const name = join(before, entry.name);
    if (before === "" && LEFT_OUT_AT_ROOT.includes(entry.name)) continue;
    if (entry.isDirectory() && !LEFT_OUT_FOLDERS.includes(entry.name)) yield* filesOf(home, name);
    if (entry.isFile() && !LEFT_OUT_FILES.test(entry.name)) yield name;
  }
}

/** False for a file that cannot be read. */
async function isCopied(from: string, to: string): Promise<boolean> {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    if (from.endsWith(".db") && (await isBackedUp(from, to))) return true;
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
    return true;
  } catch (cause) {
    if (!["EACCES", "EPERM", "ENOENT"].includes(errnoCode(cause) ?? "")) throw cause;
    return false;
  }
}

/** With what its log holds. False for a file that SQLite does not know. */
async function isBackedUp(from: string, to: string): Promise<boolean> {
  try {
    using database = new DatabaseSync(from, { readOnly: true });
    await backup(database, to);
    chmodSync(to, statSync(from).mode);
    return true;
  } catch {
    return false;
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

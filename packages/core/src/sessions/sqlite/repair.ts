// Repairs a damaged database. First, objects that hold no data are rebuilt in place, after a trial on a copy. If that
// does not repair the file, a new one is built from every row that can be read, checked, and put in its place if no other program
// has the file open. The damaged file is kept as a backup.
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import {
  describeCause,
  err,
  holdFileLock,
  ok,
  type Result,
  randomHex,
  syncDirectory,
} from "../../lib/index.ts";
import { describeLoss, type LostRows } from "../errors.ts";
import { countRows, type Diagnosis, diagnose, fileBehind, problemTexts } from "./damage.ts";
import {
  copyDatabase,
  fingerprint,
  freeName,
  isOpenElsewhere,
  keepCopy,
  removeParts,
  retryBriefly,
} from "./database-file.ts";
import { rebuildDerivedTables } from "./derived-tables.ts";
import { isBusy } from "./failures.ts";
import { apply, type RepairStrategy, type Step, stepsFor } from "./repair-steps.ts";
import { salvageInto } from "./salvage/rebuild.ts";

/** What was wrong with a database, and what a repair did about it. */
export type RepairReport = {
  readonly repaired: boolean;
  readonly strategy: RepairStrategy | null;
  readonly backup_path: string | null;
  readonly error: string | null;
  /** How many sessions the file contains, if they could be counted. */
  readonly sessions?: number;
  readonly healthy?: boolean;
  /** Problems found before the repair; when `repaired` is false, those that remain. */
  readonly problems?: readonly string[];
  /** Salvage only: rows that could not be read. */
  readonly lost?: readonly LostRows[];
  /** Salvage only: sessions whose row was lost and rebuilt from indexes and messages. */
  readonly stand_ins?: readonly string[];
  /** Salvage only: search indexes that their program rebuilds when it opens the file. */
  readonly left_out?: readonly string[];
  readonly notes?: readonly string[];
  /** Path of the complete repaired database, if it could not replace the damaged one. */
  readonly beside?: string;
};

/** What a repair may change and lose. */
export type RepairOptions = {
  /** Keep a copy of the unrepaired file. Default true. A salvage that loses rows always keeps one. */
  readonly backup?: boolean;
  /** Check only; change nothing. */
  readonly checkOnly?: boolean;
  /** Repair even if rows of conversations, or of other programs' tables, are lost. Default true. */
  readonly allowLoss?: boolean;
  /** The user states that no other program has the file open. Needed only where the system cannot tell. */
  readonly isAlone?: boolean;
  /** Used in the name of the backup. Default: now. */
  readonly now?: Date;
};

/** Never rejects. A sound file is reported as repaired and not touched. */
export async function repairDatabase(path: string, options: RepairOptions = {}): Promise<RepairReport> {
  try {
    if (!existsSync(path)) return report({ error: `${path} does not exist` });
    return await attempt({ path, file: fileBehind(path), options, now: options.now ?? new Date() });
  } catch (cause) {
    return report({ error: `${path} was not repaired: ${describeCause(cause)}` });
  }
}

type Work = {
  /** As given by the user. */
  readonly path: string;
  readonly file: string;
  readonly options: RepairOptions;
  readonly now: Date;
};

type Damaged = Extract<Diagnosis, { readonly kind: "damaged" }>;

/** As long as a statement waits for another process. */
const LOCK_WAIT_MS = 15_000;

/** Under locks: two programs repairing one file at the same time would undo each other's work. */
async function attempt(work: Work): Promise<RepairReport> {
  const { path, file, options } = work;
  for (const start = performance.now(); ; await sleep(50 + Math.random() * 100)) {
    const found = await diagnose(file);
    if (found.kind === "sound") return sound(found, options.checkOnly ? null : "dedup_schema");
    const problems = problemTexts(found.problems);
    if (found.kind === "unusable" || options.checkOnly)
      return report({ error: `${path}: ${problems[0]}`, healthy: false, problems });
    const locks = holdRepairLocks(file);
    if (locks.ok) {
      using _ = locks.value;
      return { ...(await repairLocked(work, found)), problems };
    }
    if (performance.now() - start > LOCK_WAIT_MS)
      return report({
        error: `${path} was not repaired: another program is repairing it or rebuilding its index (it holds ${locks.error}). Wait until it is done, then run 'hermes sessions repair'.`,
        healthy: false,
      });
  }
}

async function repairLocked(work: Work, found: Damaged): Promise<RepairReport> {
  const wrong = await repairDerivedTables(work.file, found);
  if (wrong.kind === "sound") return sound(wrong, "rebuild_index");
  let backup: string | null = null;
  let outcome: RepairReport;
  try {
    if (work.options.backup !== false) backup = await keepCopy(work.file, work.now);
    outcome = (await repairInPlace(work, wrong)) ?? (await salvageBeside(work, backup));
  } catch (cause) {
    outcome = report({ error: `${work.path} was not repaired: ${describeCause(cause)}`, healthy: false });
  }
  // A program that opened the damaged file at the same time may have rebuilt its index.
  const after = outcome.repaired || outcome.beside !== undefined ? undefined : await diagnose(work.file);
  if (after?.kind === "sound") outcome = sound(after, "dedup_schema");
  return { ...outcome, backup_path: outcome.backup_path ?? backup };
}

/** Rebuilds our derived tables, which needs no backup. Returns the remaining diagnosis. */
async function repairDerivedTables(
  file: string,
  found: Damaged,
): Promise<Diagnosis & { kind: "sound" | "damaged" }> {
  const isIndexWrong = found.problems.some(({ kind }) => kind === "index");
  const isOurs = found.problems.some(({ text }) => text.includes("hermes_memory_"));
  // A page of two tables may be one of messages: writing to ours would change it, and no copy is kept yet.
  const isShared = found.problems.some(({ text }) => text.includes("2nd reference to page"));
  if ((!isIndexWrong && !isOurs) || isShared) return found;
  const cause = found.problems.map(({ text }) => text).join("\n");
  if (!(await retryBriefly(() => rebuildDerivedTables(file, { cause, isIndexWrong })))) return found;
  const after = await diagnose(file);
  return after.kind === "unusable" ? found : after;
}

/** Undefined when no step repairs a copy of the file. */
async function repairInPlace(work: Work, { problems }: Damaged): Promise<RepairReport | undefined> {
  for (const step of stepsFor(problems)) {
    const copy = `${work.file}.repair-${randomHex(6)}`;
    try {
      await copyDatabase(work.file, copy);
      const cookie = await rehearse(step, copy);
      if (cookie !== undefined) return await perform(step, work, cookie);
    } finally {
      removeParts(copy);
    }
  }
  return undefined;
}

/** The schema cookie before the step; undefined when the copy is not sound afterwards or a table has lost a row. */
async function rehearse(step: Step, copy: string): Promise<number | undefined> {
  try {
    const before = countRows(copy);
    await apply(step, copy);
    if ((await diagnose(copy)).kind !== "sound") return undefined;
    const left = countRows(copy).rows;
    return [...before.rows].every(([table, rows]) => (left.get(table) ?? -1) >= rows)
      ? before.cookie
      : undefined;
  } catch {
    return undefined;
  }
}

async function perform(step: Step, { path, file }: Work, cookie: number): Promise<RepairReport> {
  const applied = await apply(step, file, step.schemaSql === undefined ? undefined : cookie);
  const found = await diagnose(file);
  if (found.kind === "sound") return sound(found, step.strategy);
  if (applied && found.problems.every(({ kind }) => kind === "space")) {
    const note = `Other programs have ${path} open, so pages that are no longer used stay in it. Close them and run 'hermes sessions repair' again to give them back.`;
    return report({ repaired: true, healthy: true, strategy: step.strategy, notes: [note] });
  }
  const why = applied
    ? problemTexts(found.problems)[0]
    : "another program changed it at the same time; try again";
  return report({ error: `${path} was not repaired: ${why}`, healthy: false });
}

async function salvageBeside(work: Work, backup: string | null): Promise<RepairReport> {
  const { path, file, options, now } = work;
  const built = freeName(`${file}.repaired`, now);
  const { salvage, fingerprint } = await salvageInto(file, built);
  const told = {
    strategy: "salvage" as const,
    lost: salvage.lost,
    stand_ins: salvage.standIns,
    left_out: salvage.leftOut,
    notes: salvage.notes,
  };
  const check = await diagnose(built);
  dropEmptyLog(built);
  if (check.kind !== "sound" || salvage.rows.sessions === undefined) {
    removeParts(built);
    const why =
      check.kind === "sound" ? "no table of sessions could be read" : problemTexts(check.problems)[0];
    return report({ error: `${path} cannot be repaired (${why}) and was left as it was.`, healthy: false });
  }
  const losses = salvage.lost.filter((lost) => lost.class === "canonical");
  if (options.allowLoss === false && (losses.length > 0 || salvage.notes.length > 0)) {
    removeParts(built);
    const what = losses.map((lost) => describeLoss(lost)).join("; ") || salvage.notes.join(" ");
    const error = `${path} is damaged and repairing it would lose rows (${what}), so it was left as it was. Run 'hermes sessions repair'; it saves everything else.`;
    return report({ ...told, strategy: null, error, healthy: false });
  }
  const kept = backup ?? (losses.length > 0 ? await keepCopy(file, now) : null);
  const obstacle = replaceDatabase(file, built, { expected: fingerprint, isAlone: options.isAlone });
  if (obstacle === undefined)
    return report({ ...told, repaired: true, backup_path: kept, healthy: true, sessions: check.sessions });
  const error = `${path} was not replaced: ${OBSTACLES[obstacle]} The repaired database is complete: ${built}. Close every program that uses ${path}, then run 'hermes sessions repair${obstacle === "unknown" ? " --alone" : ""}' again.`;
  return report({ ...told, error, backup_path: kept, healthy: false, beside: built });
}

/** A read-only connection creates the log files and leaves them empty. */
function dropEmptyLog(file: string): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

function report(parts: Partial<RepairReport>): RepairReport {
  return { repaired: false, strategy: null, backup_path: null, error: null, ...parts };
}

function sound(found: { readonly sessions: number }, strategy: RepairStrategy | null): RepairReport {
  return report({ repaired: strategy !== null, strategy, sessions: found.sessions, healthy: true });
}

// ---- Locks and replacing the file ----
// A program that keeps using a file that was replaced loses what it writes. So the file is replaced only when it is certain that
// no other program has it open.

/** Lock files with which programs that share a database keep out of each other's repairs and index rebuilds. */
const REPAIR_LOCKS = [".repair.lock", ".fts_rebuild.lock"] as const;

/** Takes both locks, or returns the path of the one another program holds. Does not wait. */
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

/** Writes who holds the lock, in the format that Hermes Agent reads, while it is held. */
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
    // Only the lock matters; its text is information for people.
  }
}

/** Field 22 of /proc/self/stat, after the process name, which may contain blanks. */
function startTicks(): number | null {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    return Number.isFinite(ticks) ? ticks : null;
  } catch {
    return null;
  }
}

const OBSTACLES = {
  held: "another program has it open.",
  changed: "another program wrote to it meanwhile.",
  unknown: "this system does not tell whether another program has it open.",
} as const;

type ReplaceOptions = {
  /** The fingerprint of the copy that the new file was built from. */
  readonly expected: string;
  /** The user has closed all other programs. Used only where the system cannot tell. */
  readonly isAlone?: boolean;
};

/** Replaces `file` by `built`, unless another program has the file open, may have it open, or has changed it. */
function replaceDatabase(
  file: string,
  built: string,
  options: ReplaceOptions,
): keyof typeof OBSTACLES | undefined {
  const isElsewhere = isOpenElsewhere(file);
  if (isElsewhere) return "held";
  using db = new DatabaseSync(file, { timeout: 50, enableForeignKeyConstraints: false });
  const lock = lockWhole(db);
  if (lock === "busy") return "held";
  // In WAL mode every connection holds a lock on the file, so our exclusive lock proves that there is no other. In other modes,
  // and when SQLite does not accept the file at all, an idle connection holds no lock.
  if (isElsewhere === undefined && lock !== "wal" && options.isAlone !== true) return "unknown";
  if (fingerprint(file) !== options.expected) return "changed";
  if (lock === "wal") endLog(db);
  // A remaining log belongs to the old file. SQLite would apply it to the new one.
  for (const suffix of ["-wal", "-shm", "-journal"]) rmSync(file + suffix, { force: true });
  const { mode, uid, gid } = statSync(file);
  chmodSync(built, mode & 0o777);
  if (process.getuid?.() === 0) chownSync(built, uid, gid);
  renameSync(built, file);
  syncDirectory(dirname(file));
  return undefined;
}

/** Locks the file until the connection closes. `none`: SQLite does not accept the file. */
function lockWhole(db: DatabaseSync): "wal" | "journal" | "busy" | "none" {
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    db.exec("BEGIN EXCLUSIVE; ROLLBACK"); // this locking mode keeps the lock
    return db.prepare("PRAGMA journal_mode").get()?.journal_mode === "wal" ? "wal" : "journal";
  } catch (cause) {
    return isBusy(cause) ? "busy" : "none";
  }
}

/** Otherwise SQLite removes the log by name when the connection closes, and by then that name belongs to the new file. */
function endLog(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA journal_mode = DELETE");
    db.exec("BEGIN EXCLUSIVE");
  } catch {
    // The caller removes the log, and the old file is replaced anyway.
  }
}

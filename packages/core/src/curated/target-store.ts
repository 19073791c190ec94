// A memory write, from start to end. `transact` is the one transaction that every change of a curated file goes through, under the
// target's lock and in one synchronous stretch: read the file, check it for drift, note edits by other programs, let the planner
// decide, archive, journal, replace the file, verify that nobody edited the old one meanwhile.
import { mkdirSync, unlinkSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import {
  type Clock,
  describeCause,
  err,
  type LockedWork,
  type LockGap,
  ok,
  type Result,
  randomHex,
  sha256,
  syncDirectory,
  systemClock,
  tryWithFileLocks,
  writeFileAtomic,
} from "../lib/index.ts";
import { Archive } from "./archive.ts";
import { distinctEntries, fileNameOf, findDrift, formatEntries, survivesReading } from "./entries.ts";
import {
  backUp,
  describeGap,
  driftError,
  freeBackupPath,
  ioError,
  lockedError,
  unreadableError,
} from "./file-errors.ts";
import { Journal, type JournalEnd, knowsFile, refusalRecord } from "./journal.ts";
import { difference, externalRecord, type RecordHead, type Replay } from "./journal-replay.ts";
import {
  locate,
  type MemoryFile,
  type OpenMemoryFile,
  openMemoryFile,
  pinsPath,
  type ReadableFile,
  readMemoryFile,
  removeTemps,
  type TargetPaths,
  targetPaths,
  withTargetLock,
} from "./memory-file.ts";
import { carryPins, changePins, type Pins, readPins } from "./pins.ts";
import {
  type Change,
  DEFAULT_MEMORY_CHAR_LIMIT,
  DEFAULT_USER_CHAR_LIMIT,
  type MemoryError,
  type MemoryErrorFields,
  type MemoryOpOutcome,
  type MemoryStoreOptions,
  type MemoryTarget,
  type WriteMeta,
} from "./types.ts";
import { isIdle, outcomeOf, type Plan, type Planner } from "./write-plan.ts";

export type CommitOptions = {
  /** A drifted file is backed up and then worked on, because all of it is to go. */
  readonly isDriftAccepted?: boolean;
  /** Called under the lock, before anything else. An error that it returns refuses the write. */
  readonly guard?: () => MemoryError | undefined;
  /** Called under the lock, once the write is in the file. */
  readonly onDone?: () => void;
};

const MAX_ATTEMPTS = 5;

/** Another program changed or replaced the file after we read it, without taking the lock. The journal has our change already. */
class ChangedUnderneath extends Error {
  readonly before: ReadableFile;

  constructor(before: ReadableFile) {
    super("another program changed the file meanwhile");
    this.before = before;
  }
}

export class TargetStore {
  readonly target: MemoryTarget;
  readonly limit: number;
  readonly paths: TargetPaths;
  readonly journal: Journal;
  readonly #pins: string;
  readonly #lockTimeoutMs: number;
  readonly #clock: Clock;
  readonly #write: typeof writeFileAtomic;
  readonly #warn: (line: string) => void;
  #entries: readonly string[] = [];
  #isSwept = false;

  /** `othersSequence`: the last sequence number in the other target's journal. */
  constructor(
    target: MemoryTarget,
    options: MemoryStoreOptions,
    { warn, othersSequence }: { warn: (line: string) => void; othersSequence?: () => number },
  ) {
    const { memoryCharLimit = DEFAULT_MEMORY_CHAR_LIMIT, userCharLimit = DEFAULT_USER_CHAR_LIMIT } = options;
    const { historyMaxBytes: maxBytes = 1024 * 1024, historyKeep: keepChanges = 200 } = options;
    const dir = resolve(options.dir);
    this.target = target;
    this.limit = target === "user" ? userCharLimit : memoryCharLimit;
    this.paths = targetPaths(dir, target);
    this.#pins = pinsPath(dir);
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 10_000;
    this.#clock = options.clock ?? systemClock;
    this.#write = options.writeFile ?? writeFileAtomic;
    this.#warn = warn;
    this.journal = new Journal(this.paths.journal, { maxBytes, keepChanges }, othersSequence);
  }

  /** As of the last load or write of this store. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  get archive(): Archive {
    return new Archive(this.paths.archive);
  }

  /** Waits for no lock. An unreadable file gives no entries and one warning. */
  load(): void {
    const file = readMemoryFile(this.paths.file);
    this.#entries = file.kind === "unreadable" ? [] : distinctEntries(file.text);
    if (file.kind === "unreadable") {
      const name = fileNameOf(this.target);
      this.#warn(`${name} could not be read (${file.reason}); it will not be written until it can.`);
    } else this.#noteExternalWhenFree(file);
  }

  // ---- The write ----

  transact(
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    return this.exclusively((gap) => {
      if (!this.#isSwept) removeTemps(this.paths, this.#now());
      this.#isSwept = true;
      // Starts over when another program changes the file between our reading and our replacing it.
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        try {
          const outcome = this.#commit(planner, meta, options, gap);
          if (outcome.ok) options.onDone?.();
          return outcome;
        } catch (cause) {
          if (!(cause instanceof ChangedUnderneath)) throw cause;
          this.#noteExternal(readMemoryFile(this.paths.file), this.journal.end(), cause.before);
        }
      }
      const cause = new Error("another program keeps changing it without taking the lock");
      return err(ioError(this.paths.file, cause));
    });
  }

  #commit(
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions,
    gap: LockGap | undefined,
  ): Result<MemoryOpOutcome, MemoryError> {
    using opened = openMemoryFile(this.paths.file);
    const { file } = opened;
    const objection = options.guard?.();
    if (objection) return err(objection);
    if (file.kind === "unreadable") return err(unreadableError(this.paths.file, file, this.#now()));
    this.#entries = distinctEntries(file.text);
    const read = this.journal.end();
    const drift = this.#checkDrift(file, read, options.isDriftAccepted ?? false);
    if (drift) return err(drift);
    const end = this.#noteExternal(file, read);
    const planned = planner({ entries: this.#entries, hash: file.hash, pins: () => this.readPins() });
    if (!planned.ok) return planned;
    const plan = planned.value;
    if (isIdle(plan, file.hash)) return ok(outcomeOf(this, plan));
    const written = this.#carryOut(plan, opened, meta, end);
    return ok(outcomeOf(this, plan, { ...written, lockWarning: gap && describeGap(gap) }));
  }

  /** Archive and pins, then the journal, then the file: wherever the process dies, no text is lost. */
  #carryOut(
    plan: Plan,
    opened: OpenMemoryFile,
    meta: WriteMeta,
    end: JournalEnd | undefined,
  ): { readonly changeId: string; readonly warning?: string } {
    const file = opened.file as ReadableFile;
    const text = formatEntries(plan.entries);
    const bytes = plan.isFileRemoved ? undefined : (plan.bytes ?? Buffer.from(text, "utf8"));
    const archived = plan.archive?.length ? plan.archive : undefined;
    const record = {
      ...this.recordHead(meta),
      kind: "change",
      group: meta.group,
      action: plan.action,
      ...recordedSteps(this.#entries, plan, text),
      fileBefore: file.hash,
      fileAfter: bytes ? sha256(bytes) : null,
      archived,
      undoes: plan.undoes,
    } as const;
    const replaced = plan.changes.filter(({ before, after }) => before !== null && after !== null);
    if (plan.isBackedUp && file.kind === "text") backUp(this.paths.file, file.bytes, this.#now());
    let journalSize = 0;
    const { warning } = this.replaceFile(opened, bytes, () => {
      if (archived) this.archive.add(archived, record);
      if (replaced.length > 0) carryPins(this.#pins, this.target, replaced);
      // If the process dies between this line and the rename, the hashes in it show that the change did not happen. When the file
      // is deleted, this line is the only place that keeps its text.
      journalSize = this.journal.append(record, { end, isDurable: bytes === undefined });
    });
    this.#entries = plan.entries;
    this.#tidyUp(plan, record.time, journalSize);
    return { changeId: record.id, warning };
  }

  /** A file that is exactly what one of our programs wrote last holds nothing that a rewrite could destroy. */
  #checkDrift(file: ReadableFile, { tail }: JournalEnd, isAccepted: boolean): MemoryError | undefined {
    if (tail?.isOurs && tail.fileAfter === file.hash) return undefined;
    const drift = findDrift(file.text, this.limit);
    if (!drift || file.kind !== "text") return undefined;
    if (!isAccepted) return driftError(this.paths.file, file.bytes, drift, this.#now());
    backUp(this.paths.file, file.bytes, this.#now());
    return undefined;
  }

  /**
   * Puts `bytes` in the place of the file that was read; undefined deletes it. Readers take no lock, so they only ever see a complete
   * file. `journal` runs before that, once the new content is on disk. Afterwards the old file is read once more: an edit that another program made after we
   * had read it becomes a backup. Call it under the lock.
   */
  replaceFile(
    opened: OpenMemoryFile,
    bytes: Uint8Array | undefined,
    journal: () => void,
  ): { readonly backup?: string; readonly warning?: string } {
    const file = opened.file as ReadableFile;
    const { real } = locate(this.paths.file);
    const beforeReplace = (): void => {
      journal();
      if (!opened.isUnchanged(real)) throw new ChangedUnderneath(file);
    };
    if (bytes) {
      // Taking the lock created the directory, except where there are no locks.
      if (file.kind === "missing") mkdirSync(dirname(real), { recursive: true, mode: 0o700 });
      const resolved = { previous: file.kind === "text" ? file.owner : undefined };
      this.#write(real, bytes, {
        tempName: `${this.paths.tempPrefix}${randomHex(6)}.tmp`,
        beforeReplace,
        resolved,
      });
    } else {
      beforeReplace();
      unlinkSync(real);
      syncDirectory(dirname(real));
    }
    const now = file.kind === "text" ? opened.readAgain() : undefined;
    const isEdited = (known: Uint8Array): boolean => now !== undefined && !Buffer.from(known).equals(now);
    // A mounted file is overwritten, not replaced.
    if (file.kind !== "text" || !now || !isEdited(file.bytes) || (bytes && !isEdited(bytes))) return {};
    return this.#keepEdit(now, bytes ? sha256(bytes) : null);
  }

  #keepEdit(edited: Uint8Array, hash: string | null): { readonly backup: string; readonly warning: string } {
    const name = fileNameOf(this.target);
    const backup = freeBackupPath(this.paths.file, this.#now());
    writeFileAtomic(backup, edited, { mode: 0o600 });
    const reason = `an edit made without the lock while ${name} was being replaced; kept in ${basename(backup)}`;
    const head = this.recordHead({ origin: "external", reason });
    const hashes = { fileBefore: hash, fileAfter: hash };
    this.journal.append({ ...head, kind: "change", action: "external", changes: [], ...hashes });
    const warning = `Another program edited ${name} without taking the lock while it was being replaced. That version is kept in ${backup}; add what is missing from it.`;
    this.#warn(warning);
    return { backup, warning };
  }

  /** The change is on disk, so a failure here is a warning. */
  #tidyUp({ action, changes }: Plan, time: string, journalSize: number): void {
    try {
      if (action === "restore" || action === "undo")
        this.archive.take(
          changes.flatMap(({ after }) => after ?? []),
          time,
        );
      if (this.journal.isLarge(journalSize)) this.journal.compact(this.#clock);
    } catch (cause) {
      this.#warn(`Saved, but the clean-up after it failed: ${describeCause(cause)}.`);
    }
  }

  /** Runs synchronous work under this target's lock. System errors become `io`. */
  async exclusively<T>(
    work: LockedWork<Result<T, MemoryError>>,
    describeFailure = (cause: unknown): MemoryError => ioError(this.paths.file, cause),
  ): Promise<Result<T, MemoryError>> {
    try {
      const options = { timeoutMs: this.#lockTimeoutMs, warn: this.#warn };
      const outcome = await withTargetLock(this.paths.file, options, work);
      return outcome.ok ? outcome.value : err(lockedError(this.paths.file, outcome.error));
    } catch (cause) {
      return err(describeFailure(cause));
    }
  }

  // ---- Pins ----

  readPins(): Pins {
    return readPins(this.#pins);
  }

  /** Call under the lock. */
  changePins(change: (pins: Pins) => Pins): void {
    changePins(this.#pins, change);
  }

  // ---- The journal ----

  /** The journal, with its last line judged by the current file. */
  replay(): Replay {
    return this.journal.replay(() => {
      const file = readMemoryFile(this.paths.file);
      return file.kind === "unreadable" ? undefined : file.hash;
    });
  }

  /** The fields that every line about this target begins with. */
  recordHead({ origin = "tool", sessionId, reason }: WriteMeta): RecordHead {
    return { id: randomHex(4), time: this.#now().toISOString(), origin, sessionId, reason };
  }

  /** Notes a refused write, without its text. Never fails. */
  recordRefusal(action: string, error: MemoryErrorFields, text: string, meta: WriteMeta): void {
    const record = refusalRecord(this.recordHead(meta), action, error, text);
    try {
      // Without the lock: one write of one line does not mix with another's; only a compaction at this moment could drop it.
      const size = this.journal.append(record);
      const compact = (): void => this.journal.compact(this.#clock);
      if (this.journal.isLarge(size)) tryWithFileLocks(locate(this.paths.file).locks, compact);
    } catch (cause) {
      this.#warn(`A refused write was not noted in the journal: ${describeCause(cause)}.`);
    }
  }

  /**
   * Notes what other programs, which may take no lock, did to the file since the journal's last line. Call under the lock. `before`: the
   * file until then, where the last line is about a change of ours that was given up. Returns the end of the journal if it still is that.
   */
  #noteExternal(file: MemoryFile, end: JournalEnd, before?: ReadableFile): JournalEnd | undefined {
    if (file.kind === "unreadable") return undefined;
    const { tail } = end;
    if (!before && knowsFile(tail, file.hash)) return end;
    const known = tail ? this.journal.replay(file.hash).entries : [];
    const record = externalRecord(this.recordHead({ origin: "external" }), tail === undefined, {
      previous: before ? distinctEntries(before.text) : known,
      entries: distinctEntries(file.text),
      hashes: { fileBefore: before ? before.hash : (tail?.fileAfter ?? null), fileAfter: file.hash },
    });
    if (this.journal.isLarge(this.journal.append(record, { end }))) this.journal.compact(this.#clock);
    return undefined;
  }

  #noteExternalWhenFree(seen: ReadableFile): void {
    try {
      if (knowsFile(this.journal.end().tail, seen.hash)) return;
      tryWithFileLocks(locate(this.paths.file).locks, () => {
        this.#noteExternal(readMemoryFile(this.paths.file), this.journal.end());
      });
    } catch {
      // A read-only home, or a full disk: reading memory must still work. The next write notes the edit.
    }
  }

  // ---- Temporary files that a killed writer left ----

  /** Of any age: while we hold the lock no other process uses them. Skipped where the lock does not exclude our own processes. */
  async removeLeftovers(): Promise<void> {
    await this.exclusively((gap) => {
      if (gap === undefined || gap.missing === "kernel") removeTemps(this.paths, this.#now(), 0);
      return ok(undefined);
    });
  }

  #now(): Date {
    return this.#clock.now();
  }
}

/** The changes of the plan. When the list will be read back differently from how it was written: that list, and how it differs. */
function recordedSteps(
  before: readonly string[],
  plan: Plan,
  text: string,
): { readonly changes: readonly Change[]; readonly entries?: readonly string[] } {
  if (survivesReading(plan.entries)) return { changes: plan.changes };
  const entries = distinctEntries(text);
  return { changes: difference(before, entries), entries };
}

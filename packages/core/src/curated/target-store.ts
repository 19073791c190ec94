// A memory write, from start to end. `transact` is the one transaction that every change of a curated file goes through, under the
// target's lock and in one synchronous stretch: read the file, check it for drift, note edits by other programs, let the planner
// decide, archive, journal, replace the file, tidy up.
import { mkdirSync, readFileSync, unlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
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
  withFileLockSync,
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
import {
  externalRecord,
  type FileBefore,
  Journal,
  knowsFile,
  type OpenJournal,
  refusalRecord,
} from "./journal.ts";
import { type ChangeRecord, difference, type RecordHead, type Replay } from "./journal-replay.ts";
import {
  HELD_SUFFIX,
  HeldFile,
  type KnownContent,
  listTargetTemps,
  moveToBackup,
  type OpenMemoryFile,
  openMemoryFile,
  pinsPath,
  type ReadableFile,
  readMemoryFile,
  removeStaleTemps,
  TargetLock,
  type TargetPaths,
  targetPaths,
} from "./memory-file.ts";
import { isPinned, type Pins, readPins, withPin, writePins } from "./pins.ts";
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
const PINS_WAIT_MS = 500;
const REFUSAL_WAIT_MS = 250;

/** Another program changed or replaced the file after we read it, without taking the lock. */
class ChangedUnderneath extends Error {
  /** The journal has a line about our change already. */
  readonly isJournalled: boolean;

  constructor(isJournalled: boolean) {
    super("the file was changed by another program");
    this.isJournalled = isJournalled;
  }
}

export class TargetStore {
  readonly target: MemoryTarget;
  readonly limit: number;
  readonly paths: TargetPaths;
  readonly journal: Journal;
  readonly #dir: string;
  readonly #lockTimeoutMs: number;
  readonly #clock: Clock;
  readonly #write: typeof writeFileAtomic;
  readonly #warn: (line: string) => void;
  readonly #lock: TargetLock;
  #archive: Archive | undefined;
  #entries: readonly string[] = [];
  /** The content this store wrote last. A file that still holds it need not be hashed and parsed again. */
  #written: (KnownContent & { readonly entries: readonly string[] }) | undefined;
  /** The directory whose stale temporary files were removed. */
  #cleaned: string | undefined;
  #hasWarned = false;

  /** `othersSequence`: the last sequence number in the other target's journal. */
  constructor(
    target: MemoryTarget,
    options: MemoryStoreOptions,
    { warn, othersSequence }: { warn: (line: string) => void; othersSequence?: () => number },
  ) {
    checkNumbers(options);
    const { memoryCharLimit = DEFAULT_MEMORY_CHAR_LIMIT, userCharLimit = DEFAULT_USER_CHAR_LIMIT } = options;
    const { historyMaxBytes: maxBytes = 1024 * 1024, historyKeep: keepChanges = 200 } = options;
    this.target = target;
    this.limit = target === "user" ? userCharLimit : memoryCharLimit;
    this.#dir = resolve(options.dir);
    this.paths = targetPaths(this.#dir, target);
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 10_000;
    this.#clock = options.clock ?? systemClock;
    this.#write = options.writeFile ?? writeFileAtomic;
    this.#warn = warn;
    this.#lock = new TargetLock(this.paths.file, warn);
    this.journal = new Journal(this.paths.journal, { maxBytes, keepChanges }, othersSequence);
  }

  /** As of the last load or write of this store. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  get archive(): Archive {
    this.#archive ??= new Archive(this.paths.archive);
    return this.#archive;
  }

  /** Waits for no lock. An unreadable file gives no entries and one warning. */
  load(): void {
    const file = readMemoryFile(this.paths.file);
    if (file.kind === "unreadable") {
      this.#entries = [];
      this.#warn(
        `${fileNameOf(this.target)} could not be read (${file.reason}); it will not be written until it can.`,
      );
      return;
    }
    this.#entries = distinctEntries(file.text);
    this.#noteExternalWhenFree(file);
  }

  // ---- The write ----

  transact(
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    const commit = (lockGap: LockGap | undefined, isLinkRefused: boolean) => {
      const outcome = this.#commit(planner, meta, { ...options, lockGap, isLinkRefused });
      if (outcome.ok) options.onDone?.();
      return outcome;
    };
    const plain = this.#lock.tryPlain((lockGap) => commit(lockGap, true));
    if (plain) return Promise.resolve(plain);
    return this.exclusively((lockGap) => commit(lockGap, false));
  }

  /** Runs synchronous work under this target's lock. System errors become `io`. */
  exclusively<T>(
    work: LockedWork<Result<T, MemoryError>>,
    describeFailure?: (cause: unknown) => MemoryError,
  ): Promise<Result<T, MemoryError>> {
    return this.#lock.hold(work, this.#lockTimeoutMs, describeFailure);
  }

  /** Starts over when another program changes the file between our reading and our replacing it. */
  #commit(
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions & { isLinkRefused?: boolean; lockGap: LockGap | undefined },
  ): Result<MemoryOpOutcome, MemoryError> {
    let abandoned: FileBefore | undefined;
    this.#cleanOnce();
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      using opened = openMemoryFile(this.paths.file, this.#written, options);
      const { file } = opened;
      const objection = options.guard?.();
      if (objection) return err(objection);
      if (file.kind === "unreadable") return err(unreadableError(this.paths.file, file, this.#now()));
      this.#entries = this.#entriesOf(file);
      using journal = this.journal.open();
      const drift = this.#checkDrift(file, journal, options.isDriftAccepted ?? false);
      if (drift) return err(drift);
      if (!knowsFile(journal.tail, file.hash)) this.#noteExternal(file, journal, abandoned);
      const before = this.#entries;
      const planned = planner({ entries: before, hash: file.hash, pins: () => this.readPins() });
      if (!planned.ok) return planned;
      const plan = planned.value;
      if (isIdle(plan, file.hash)) return ok(outcomeOf(this, plan));
      try {
        const written = this.#replaceFile(opened, file, plan, meta, journal);
        const lockWarning = options.lockGap && describeGap(options.lockGap);
        return ok(outcomeOf(this, plan, { ...written, lockWarning }));
      } catch (cause) {
        if (!(cause instanceof ChangedUnderneath)) throw cause;
        if (cause.isJournalled) abandoned = { hash: file.hash, entries: before };
      }
    }
    const cause = new Error("another program keeps changing it without taking the lock");
    return err(ioError(this.paths.file, cause));
  }

  #entriesOf(file: ReadableFile): readonly string[] {
    const isOurs = file.hash !== null && file.hash === this.#written?.hash;
    return isOurs ? (this.#written?.entries ?? []) : distinctEntries(file.text);
  }

  /** A file that is exactly what one of our programs wrote last holds nothing that a rewrite could destroy. */
  #checkDrift(file: ReadableFile, { tail }: OpenJournal, isAccepted: boolean): MemoryError | undefined {
    const isOwnWork = tail?.isOurs === true && tail.fileAfter === file.hash;
    const drift = isOwnWork ? undefined : findDrift(file.text, this.limit);
    if (!drift || file.kind !== "text") return undefined;
    if (!isAccepted) return driftError(this.paths.file, file.bytes, drift, this.#now());
    backUp(this.paths.file, file.bytes, this.#now());
    return undefined;
  }

  #replaceFile(
    opened: OpenMemoryFile,
    file: ReadableFile,
    plan: Plan,
    meta: WriteMeta,
    journal: OpenJournal,
  ): { readonly changeId: string; readonly warning?: string } {
    const text = formatEntries(plan.entries);
    const bytes = plan.bytes ?? Buffer.from(text, "utf8");
    const hash = sha256(bytes);
    const record: ChangeRecord = {
      ...this.recordHead(meta),
      kind: "change",
      group: meta.group,
      action: plan.action,
      ...recordedSteps(this.#entries, plan, text),
      fileBefore: file.hash,
      fileAfter: plan.isFileRemoved ? null : hash,
      archived: plan.archive?.length ? plan.archive : undefined,
      undoes: plan.undoes,
    };
    const { real } = this.#lock;
    using held = this.holdFile(opened, real, `${this.paths.tempPrefix}${record.id}${HELD_SUFFIX}`);
    // The last steps before the file changes. Readers take no lock, so they must only ever see a complete file. If the process dies
    // after these steps and before the rename, the hashes in the journal show that the change did not happen.
    const beforeReplace = (): void => {
      if (!opened.isUnchanged() || !held.take()) throw new ChangedUnderneath(false);
      if (plan.archive?.length) this.archive.add(plan.archive, record);
      this.#carryPins(plan.changes);
      // When the file is deleted, this line is the only place that keeps its text.
      journal.append(record, { isDurable: plan.isFileRemoved ?? false });
      if (!held.isInPlace()) throw new ChangedUnderneath(true);
    };
    if (plan.isBackedUp && file.kind === "text") backUp(this.paths.file, file.bytes, this.#now());
    if (plan.isFileRemoved) {
      beforeReplace();
      unlinkSync(real);
      syncDirectory(dirname(real));
    } else {
      // Taking the lock created the directory, except where there are no locks.
      if (file.kind === "missing") mkdirSync(dirname(real), { recursive: true, mode: 0o700 });
      const tempName = `${this.paths.tempPrefix}${record.id}.tmp`;
      const resolved = { previous: file.kind === "text" ? file.owner : undefined };
      this.#write(real, bytes, { tempName, beforeReplace, resolved });
    }
    this.#entries = plan.entries;
    const isPlain = plan.bytes === undefined && survivesReading(plan.entries);
    this.#written = isPlain ? { bytes, hash, text, entries: plan.entries } : undefined;
    const written = plan.isFileRemoved ? undefined : bytes;
    const { warning } = this.keepIfEdited(held, { written, hash: record.fileAfter, journal });
    this.#afterCommit(record, plan);
    return { changeId: record.id, warning };
  }

  /** The change is on disk, so a failure here is a warning. */
  #afterCommit(record: ChangeRecord, plan: Plan): void {
    try {
      if (plan.action === "restore" || plan.action === "undo") {
        const restored = plan.changes.flatMap(({ after }) => after ?? []);
        this.archive.take(restored, record.time);
      }
      this.journal.compactIfLarge(record.fileAfter, this.#clock);
    } catch (cause) {
      this.#warn(`Saved, but the clean-up after it failed: ${describeCause(cause)}.`);
    }
  }

  // ---- Pins ----

  readPins(): Pins {
    return readPins(pinsPath(this.#dir));
  }

  /** Call under the lock. */
  changePins(change: (pins: Pins) => Pins): Result<void, MemoryError> {
    const path = pinsPath(this.#dir);
    const options = { timeoutMs: PINS_WAIT_MS };
    const outcome = withFileLockSync(`${path}.lock`, options, () => writePins(path, change(readPins(path))));
    return outcome.ok ? ok(undefined) : err(lockedError(path, outcome.error));
  }

  /** The replacement of a pinned entry is pinned too. The old hash stays, for an undo. */
  #carryPins(changes: readonly Change[]): void {
    const replaced = changes.filter(({ before, after }) => before !== null && after !== null);
    if (replaced.length === 0) return;
    const pins = this.readPins();
    const pinned = replaced.flatMap(({ before, after }) =>
      before !== null && after !== null && isPinned(pins, this.target, before) ? [after] : [],
    );
    if (pinned.length === 0) return;
    const outcome = this.changePins((now) =>
      pinned.reduce((all, text) => withPin(all, this.target, text, true), now),
    );
    if (!outcome.ok) throw new Error(outcome.error.message);
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

  /** Notes a refused write, without its text. Waits at most 250 ms for the lock and never fails. */
  async recordRefusal(
    action: string,
    error: MemoryErrorFields,
    text: string,
    meta: WriteMeta,
  ): Promise<void> {
    const record = refusalRecord(this.recordHead(meta), action, error, text);
    const noted = await this.#lock.hold(
      () => {
        this.journal.append(record);
        const file = readMemoryFile(this.paths.file);
        const hash = file.kind === "unreadable" ? (this.journal.tail()?.fileAfter ?? null) : file.hash;
        this.journal.compactIfLarge(hash, this.#clock);
        return ok(undefined);
      },
      Math.min(REFUSAL_WAIT_MS, this.#lockTimeoutMs),
    );
    if (noted.ok) return;
    try {
      // Without the lock: one write of one line does not mix with another's; only a compaction at this moment could drop it.
      if (noted.error.kind === "locked") this.journal.append(record);
      else this.#warn(`A refused write was not noted in the journal. ${noted.error.message}`);
    } catch (cause) {
      this.#warn(`A refused write was not noted in the journal: ${describeCause(cause)}.`);
    }
  }

  // ---- Edits by other programs, which may take no lock ----

  /** Notes what other programs did to the file since the journal's last line. Call under the lock. */
  #noteExternal(
    file: ReadableFile,
    journal: Pick<OpenJournal, "append"> = this.journal,
    before?: FileBefore,
  ): void {
    const head = this.recordHead({ origin: "external" });
    const record = externalRecord(this.journal, file.hash, distinctEntries(file.text), head, before);
    if (record) journal.append(record);
  }

  #noteExternalWhenFree(seen: ReadableFile): void {
    try {
      if (knowsFile(this.journal.tail(), seen.hash)) return;
      this.#lock.tryHold(() => {
        const file = readMemoryFile(this.paths.file);
        if (file.kind === "unreadable") return;
        this.#noteExternal(file);
        this.journal.compactIfLarge(file.hash, this.#clock);
      });
    } catch {
      // A read-only home, or a full disk: reading memory must still work. The next write notes the edit.
    }
  }

  /** Call under the lock: holds the file that was read until the new one is in its place. */
  holdFile(opened: OpenMemoryFile, real: string, linkName: string): HeldFile {
    return new HeldFile(opened, real, join(dirname(real), linkName), this.#warnOnce);
  }

  /** If a program wrote into the old file after we had read it, that version goes to a backup, and the journal notes it. */
  keepIfEdited(
    held: HeldFile,
    now: {
      readonly written: Uint8Array | undefined;
      readonly hash: string | null;
      readonly journal?: Pick<OpenJournal, "append">;
    },
  ): { readonly backup?: string; readonly warning?: string } {
    try {
      const backup = held.keepIfEdited(now.written, this.paths.file, this.#now());
      if (backup === undefined) return {};
      return { backup, warning: this.#noteBackedUpEdit(backup, now.hash, now.journal ?? this.journal) };
    } catch (cause) {
      const warning = `Saved, but another program edited ${fileNameOf(this.target)} meanwhile, and its version could not be moved to a backup: ${describeCause(cause)}. Look for a file that ends with '${HELD_SUFFIX}' in ${dirname(this.#lock.real)}.`;
      this.#warn(warning);
      return { warning };
    }
  }

  #noteBackedUpEdit(backup: string, hash: string | null, journal: Pick<OpenJournal, "append">): string {
    const name = fileNameOf(this.target);
    const reason = `an edit made without the lock while ${name} was being replaced; kept in ${basename(backup)}`;
    const head = this.recordHead({ origin: "external", reason });
    journal.append({
      ...head,
      kind: "change",
      action: "external",
      changes: [],
      fileBefore: hash,
      fileAfter: hash,
    });
    const warning = `Another program edited ${name} without taking the lock while it was being replaced. That version is kept in ${backup}; add what is missing from it.`;
    this.#warn(warning);
    return warning;
  }

  // ---- Files that a killed writer left ----

  /** Runs before the file is opened: a leftover may be a second name of it, and removing that would look like an edit. */
  #cleanOnce(): void {
    const directory = dirname(this.#lock.real); // another one than the home's where the file is a link
    if (this.#cleaned === directory) return;
    this.#cleaned = directory;
    const now = this.#now();
    removeStaleTemps(directory, this.paths.tempPrefix, now, (path) => this.#settleHeld(path, now));
  }

  /**
   * Removes leftovers of any age: while we hold the lock no other process uses them. Skipped where the lock does not exclude other
   * processes of this library.
   */
  async removeLeftovers(): Promise<void> {
    await this.exclusively((gap) => {
      if (gap !== undefined && gap.missing !== "kernel") return ok(undefined);
      for (const path of listTargetTemps(this.paths)) {
        try {
          if (path.endsWith(HELD_SUFFIX)) this.#settleHeld(path, this.#now());
          else unlinkSync(path);
        } catch {
          // It stays; the next call tries again.
        }
      }
      return ok(undefined);
    });
  }

  /** For the old file that a writer held when it died: deleted when the journal knows its content, else kept as a backup. */
  #settleHeld(path: string, now: Date): void {
    const file = readMemoryFile(this.paths.file);
    if (file.kind === "unreadable") return;
    const bytes = readFileSync(path);
    const held = sha256(bytes);
    const isKnown =
      held === file.hash ||
      this.journal
        .read()
        .records.some(
          (record) =>
            (record.kind === "change" && record.fileBefore === held) ||
            (record.kind !== "refusal" && record.fileAfter === held),
        );
    if (isKnown) unlinkSync(path);
    else {
      const backup = freeBackupPath(this.paths.file, now);
      moveToBackup(path, backup, bytes);
      this.#noteBackedUpEdit(backup, file.hash, this.journal);
    }
  }

  readonly #warnOnce = (line: string): void => {
    if (!this.#hasWarned) this.#warn(line);
    this.#hasWarned = true;
  };

  #now(): Date {
    return this.#clock.now();
  }
}

function checkNumbers(options: MemoryStoreOptions): void {
  for (const name of [
    "memoryCharLimit",
    "userCharLimit",
    "historyMaxBytes",
    "historyKeep",
    "lockTimeoutMs",
  ] as const) {
    const value = options[name];
    if (value === undefined || (Number.isFinite(value) && value >= 0)) continue;
    throw new TypeError(`MemoryStore: ${name} must be a number of at least 0, but is ${String(value)}.`);
  }
}

/** The changes of the plan. When the list will be read back differently from how it was written: that list, and how it differs. */
function recordedSteps(
  before: readonly string[],
  plan: Plan,
  text: string,
): Pick<ChangeRecord, "changes" | "entries"> {
  if (survivesReading(plan.entries)) return { changes: plan.changes };
  const entries = distinctEntries(text);
  return { changes: difference(before, entries), entries };
}

// One curated file and everything beside it: read, planned, journalled and replaced in one stretch under the target's lock.
import { mkdirSync, readFileSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
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
  withFileLockSync,
  type writeFileAtomic,
} from "../lib/index.ts";
import { Archive } from "./archive.ts";
import { backUp, backupPathFor } from "./backup.ts";
import { findDrift } from "./drift.ts";
import { driftError, ioError, lockedError, refuseUnreadable } from "./file-errors.ts";
import { fileNameOf, formatEntries, parseEntries, survivesReading, withoutDuplicates } from "./format.ts";
import { HELD_SUFFIX, HeldFile, moveTo } from "./held-file.ts";
import { difference, externalRecord, type FileBefore } from "./journal/external.ts";
import {
  isInStep,
  Journal,
  type JournalLimits,
  type JournalPen,
  type JournalTail,
} from "./journal/journal.ts";
import { type ChangeAction, type ChangeRecord, refusalRecord } from "./journal/record.ts";
import type { Replay } from "./journal/replay.ts";
import {
  type KnownContent,
  type MemoryFile,
  type OpenMemoryFile,
  openMemoryFile,
  readMemoryFile,
} from "./memory-file.ts";
import { pinsPath, type TargetPaths, targetPaths } from "./paths.ts";
import { isPinned, type Pins, readPins, withPin, writePins } from "./pins.ts";
import { removeStaleTemps, tempsOf } from "./stale-temps.ts";
import { TargetLock } from "./target-lock.ts";
import type { Change, MemoryError, MemoryTarget, WriteMeta } from "./types.ts";

export type TargetOptions = {
  readonly dir: string;
  readonly target: MemoryTarget;
  readonly limit: number;
  readonly lockTimeoutMs: number;
  readonly journal: JournalLimits;
  /** The last sequence number in the other target's journal. */
  readonly othersSequence: () => number;
  readonly clock: Clock;
  /** Replaces the file. Tests hand in one that fails. */
  readonly write: typeof writeFileAtomic;
  readonly warn: (line: string) => void;
};

type ReadableFile = Exclude<MemoryFile, { kind: "unreadable" }>;

/** What a planner may look at: the list as it is on disk, and more on demand. */
export type PlanInput = {
  readonly entries: readonly string[];
  readonly hash: string | null;
  readonly pins: () => Pins;
};

/** What shall become of the file. No changes: nothing is written. */
export type Plan = {
  readonly action: ChangeAction;
  readonly entries: readonly string[];
  readonly changes: readonly Change[];
  readonly message: string;
  readonly archive?: readonly string[];
  readonly undoes?: string;
  /** The file itself goes, not only its entries. */
  readonly isFileRemoved?: boolean;
  /** A copy is kept of the file as it was. */
  readonly isBackedUp?: boolean;
  /** The file is written again though its entries stay: what reading passes over, such as identical copies, goes. */
  readonly isRewritten?: boolean;
  /** What the file shall hold to the byte. Reads back as `entries`. */
  readonly bytes?: Uint8Array;
};

export type Planner = (input: PlanInput) => Result<Plan, MemoryError>;

export type CommitOptions = {
  /** A drifted file is backed up and worked on, because all of it is to go. */
  readonly isDriftAccepted?: boolean;
  /** Asked under the lock, before anything else. What it returns refuses the write. */
  readonly guard?: () => MemoryError | undefined;
};

export type Committed = {
  readonly plan: Plan;
  readonly changeId?: string;
  /** Something the caller should tell: the write is done, but an edit of somebody else is in a backup now. */
  readonly warning?: string;
  /** Present when the lock of this write did not exclude everyone. */
  readonly lockGap?: LockGap | undefined;
};

const REDO_LIMIT = 5;
const PINS_WAIT_MS = 500;
const REFUSAL_WAIT_MS = 250;

/** Another program replaced the file after we read it, without taking the lock. */
class ChangedUnderneath extends Error {
  /** The journal tells of our change already. */
  readonly isNoted: boolean;

  constructor(isNoted: boolean) {
    super("the file was changed by another program");
    this.isNoted = isNoted;
  }
}

export class TargetStore {
  readonly target: MemoryTarget;
  readonly limit: number;
  readonly paths: TargetPaths;
  readonly journal: Journal;
  readonly archive: Archive;
  readonly #options: TargetOptions;
  #entries: readonly string[] = [];
  /** What this store wrote last. A file that still holds it need not be hashed and taken apart again. */
  #written: (KnownContent & { readonly entries: readonly string[] }) | undefined;
  readonly #lock: TargetLock;
  #cleaned: string | undefined;
  #hasWarned = false;

  constructor(options: TargetOptions) {
    this.#options = options;
    this.target = options.target;
    this.limit = options.limit;
    this.paths = targetPaths(options.dir, options.target);
    this.#lock = new TargetLock(this.paths.file, options.warn);
    this.archive = new Archive(this.paths.archive);
    this.journal = new Journal(this.paths.journal, options.journal, options.othersSequence);
  }

  /** Live: as of the last load or write of this store. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  /** Waits for no lock. An unreadable file gives no entries and one warning. */
  load(): void {
    const file = readMemoryFile(this.paths.file);
    if (file.kind === "unreadable") {
      this.#entries = [];
      this.#options.warn(
        `${fileNameOf(this.target)} could not be read (${file.reason}); it will not be written until it can.`,
      );
      return;
    }
    this.#entries = entriesOf(file);
    this.#noteExternalWhenFree(file);
  }

  /** Reads, lets `planner` decide, writes. All of it under the lock, in one synchronous stretch. */
  transact(
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions = {},
  ): Promise<Result<Committed, MemoryError>> {
    const plain = this.#lock.tryPlain((lockGap) =>
      this.#commitPlan(planner, meta, { ...options, lockGap, isLinkRefused: true }),
    );
    if (plain) return Promise.resolve(plain);
    return this.exclusively((lockGap) => this.#commitPlan(planner, meta, { ...options, lockGap }));
  }

  /** Runs synchronous work under this target's lock. System errors become `io`. */
  exclusively<T>(
    work: LockedWork<Result<T, MemoryError>>,
    describeFailure?: (cause: unknown) => MemoryError,
  ): Promise<Result<T, MemoryError>> {
    return this.#lock.hold(work, this.#options.lockTimeoutMs, describeFailure);
  }

  /** What the journal tells, judged by the file as it is now. */
  replay(): Replay {
    // The journal first: a change committed in between then looks like a later edit, not like one that was cut off.
    return this.journal.replay(() => {
      const file = readMemoryFile(this.paths.file);
      return file.kind === "unreadable" ? undefined : file.hash;
    });
  }

  /** A refusal leaves a trace, without its text. Never delays the answer for long, never fails it. */
  async recordRefusal(action: string, error: MemoryError, text: string, meta: WriteMeta): Promise<void> {
    const record = refusalRecord(this.recordHead(meta), action, error, text);
    const noted = await this.#lock.hold(
      () => {
        this.journal.append(record);
        const file = readMemoryFile(this.paths.file);
        const hash = file.kind === "unreadable" ? (this.journal.tail()?.fileAfter ?? null) : file.hash;
        this.journal.compactIfLarge(hash, this.#options.clock);
        return ok(undefined);
      },
      Math.min(REFUSAL_WAIT_MS, this.#options.lockTimeoutMs),
    );
    if (noted.ok) return;
    try {
      // One write of one line does not mix with another's; only a compaction at this very moment could drop it.
      if (noted.error.kind === "locked") this.journal.append(record);
      else this.#options.warn(`A refused write was not noted in the journal. ${noted.error.message}`);
    } catch (cause) {
      this.#options.warn(`A refused write was not noted in the journal: ${describeCause(cause)}.`);
    }
  }

  /** Call under the lock. */
  changePins(change: (pins: Pins) => Pins): Result<void, MemoryError> {
    const path = pinsPath(this.#options.dir);
    const options = { timeoutMs: PINS_WAIT_MS };
    const outcome = withFileLockSync(`${path}.lock`, options, () => writePins(path, change(readPins(path))));
    return outcome.ok ? ok(undefined) : err(lockedError(path, outcome.error));
  }

  readPins(): Pins {
    return readPins(pinsPath(this.#options.dir));
  }

  /** Call under the lock: notes what others did to the file since the journal's last line. */
  noteExternal(
    file: ReadableFile,
    pen: Pick<JournalPen, "append"> = this.journal,
    before?: FileBefore,
  ): void {
    const head = this.recordHead({ origin: "external" });
    const record = externalRecord(this.journal, file.hash, entriesOf(file), head, before);
    if (record) pen.append(record);
  }

  #commitPlan(
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions & { isLinkRefused?: boolean; lockGap: LockGap | undefined },
  ): Result<Committed, MemoryError> {
    let givenUp: FileBefore | undefined;
    this.#cleanOnce();
    for (let attempt = 0; attempt < REDO_LIMIT; attempt += 1) {
      using opened = openMemoryFile(this.paths.file, this.#written, options);
      const { file } = opened;
      const objection = options.guard?.();
      if (objection) return err(objection);
      if (file.kind === "unreadable")
        return err(refuseUnreadable(this.paths.file, file, this.#options.clock.now()));
      this.#entries =
        file.hash !== null && file.hash === this.#written?.hash ? this.#written.entries : entriesOf(file);
      using pen = this.journal.takePen();
      const { tail } = pen;
      const drift = isOwnWork(tail, file.hash) ? undefined : findDrift(file.text, this.limit);
      if (drift && file.kind === "text") {
        const now = this.#options.clock.now();
        if (!options.isDriftAccepted) return err(driftError(this.paths.file, file.bytes, drift, now));
        backUp(this.paths.file, file.bytes, now);
      }
      if (!isInStep(tail, file.hash)) this.noteExternal(file, pen, givenUp);
      const planned = planner({ entries: this.#entries, hash: file.hash, pins: () => this.readPins() });
      if (!planned.ok) return planned;
      const plan = planned.value;
      if (isIdle(plan, file.hash)) return ok({ plan });
      const entries = this.#entries;
      try {
        return ok({ plan, ...this.#write(opened, file, plan, meta, pen), lockGap: options.lockGap });
      } catch (cause) {
        if (!(cause instanceof ChangedUnderneath)) throw cause;
        if (cause.isNoted) givenUp = { hash: file.hash, entries };
      }
    }
    const cause = new Error("another program keeps changing it without taking the lock");
    return err(ioError(this.paths.file, cause));
  }

  #write(
    opened: OpenMemoryFile,
    file: ReadableFile,
    plan: Plan,
    meta: WriteMeta,
    pen: JournalPen,
  ): Pick<Committed, "changeId" | "warning"> {
    const text = formatEntries(plan.entries);
    const bytes = plan.bytes ?? Buffer.from(text, "utf8");
    const hash = sha256(bytes);
    const record: ChangeRecord = {
      kind: "change",
      id: randomHex(4),
      time: this.#options.clock.now().toISOString(),
      origin: meta.origin ?? "tool",
      sessionId: meta.sessionId,
      reason: meta.reason,
      group: meta.group,
      action: plan.action,
      ...stepsOf(this.#entries, plan.entries, plan.changes, text),
      fileBefore: file.hash,
      fileAfter: plan.isFileRemoved ? null : hash,
      archived: plan.archive?.length ? plan.archive : undefined,
      undoes: plan.undoes,
    };
    const { real } = this.#lock;
    using held = this.hold(opened, real, `${this.paths.tempPrefix}${record.id}${HELD_SUFFIX}`);
    // The last steps before the file changes. Readers take no lock, so they may only ever see a complete file; what is
    // noted here for a change that then does not happen is recognised by its hashes.
    const beforeReplace = (): void => {
      if (!opened.isUnchanged() || !held.take()) throw new ChangedUnderneath(false);
      if (plan.archive?.length) this.archive.add(plan.archive, record);
      this.#carryPins(plan.changes);
      // A file that goes leaves its text in this line only.
      pen.append(record, { isDurable: plan.isFileRemoved ?? false });
      if (!held.isInPlace()) throw new ChangedUnderneath(true);
    };
    if (plan.isBackedUp && file.kind === "text")
      backUp(this.paths.file, file.bytes, this.#options.clock.now());
    if (plan.isFileRemoved) {
      beforeReplace();
      unlinkSync(real);
      syncDirectory(dirname(real));
    } else {
      // Taking the lock made the directory, except where there are no locks.
      if (file.kind === "missing") mkdirSync(dirname(real), { recursive: true, mode: 0o700 });
      const tempName = `${this.paths.tempPrefix}${record.id}.tmp`;
      const resolved = { previous: file.kind === "text" ? file.owner : undefined };
      this.#options.write(real, bytes, { tempName, beforeReplace, resolved });
    }
    this.#entries = plan.entries;
    const isPlain = plan.bytes === undefined && survivesReading(plan.entries);
    this.#written = isPlain ? { bytes, hash, text, entries: plan.entries } : undefined;
    const written = plan.isFileRemoved ? undefined : bytes;
    const { warning } = this.keepIfEdited(held, { written, hash: record.fileAfter, pen });
    this.#afterCommit(record, plan);
    return { changeId: record.id, ...(warning === undefined ? {} : { warning }) };
  }

  /** Call under the lock: the file that was read, kept until the new one is in its place. */
  hold(opened: OpenMemoryFile, real: string, linkName: string): HeldFile {
    return new HeldFile(opened, real, join(dirname(real), linkName), this.#warnOnce);
  }

  /** Where somebody wrote into the old file after we had read it, their version goes to a backup, and the journal says so. */
  keepIfEdited(
    held: HeldFile,
    now: {
      readonly written: Uint8Array | undefined;
      readonly hash: string | null;
      readonly pen?: Pick<JournalPen, "append">;
    },
  ): { readonly backup?: string; readonly warning?: string } {
    try {
      const backup = held.keepIfEdited(now.written, this.paths.file, this.#options.clock.now());
      if (backup === undefined) return {};
      return { backup, warning: this.#noteKept(backup, now.hash, now.pen ?? this.journal) };
    } catch (cause) {
      const warning = `Saved, but another program edited ${fileNameOf(this.target)} meanwhile, and its version could not be moved to a backup: ${describeCause(cause)}. Look for a file that ends with '${HELD_SUFFIX}' in ${dirname(this.#lock.real)}.`;
      this.#options.warn(warning);
      return { warning };
    }
  }

  #noteKept(backup: string, hash: string | null, pen: Pick<JournalPen, "append">): string {
    const name = fileNameOf(this.target);
    const reason = `an edit made without the lock while ${name} was being replaced; kept in ${basename(backup)}`;
    const head = this.recordHead({ origin: "external", reason });
    pen.append({
      kind: "change",
      ...head,
      action: "external",
      changes: [],
      fileBefore: hash,
      fileAfter: hash,
    });
    const warning = `Another program edited ${name} without taking the lock while it was being replaced. That version is kept in ${backup}; add what is missing from it.`;
    this.#options.warn(warning);
    return warning;
  }

  /** The change is on disk; trouble with the tidying behind it is a warning, not a failure. */
  #afterCommit(record: ChangeRecord, plan: Plan): void {
    try {
      if (plan.action === "restore" || plan.action === "undo") {
        this.archive.take(
          plan.changes.flatMap(({ after }) => after ?? []),
          record.time,
        );
      }
      this.journal.compactIfLarge(record.fileAfter, this.#options.clock);
    } catch (cause) {
      this.#options.warn(`Saved, but tidying up behind it failed: ${describeCause(cause)}.`);
    }
  }

  /** A pinned entry that is exchanged hands its pin on. The old hash stays, for an undo. */
  #carryPins(changes: readonly Change[]): void {
    const exchanged = changes.filter(({ before, after }) => before !== null && after !== null);
    if (exchanged.length === 0) return;
    const pins = this.readPins();
    const handed = exchanged.flatMap(({ before, after }) =>
      before !== null && after !== null && isPinned(pins, this.target, before) ? [after] : [],
    );
    if (handed.length === 0) return;
    const outcome = this.changePins((now) =>
      handed.reduce((all, text) => withPin(all, this.target, text, true), now),
    );
    if (!outcome.ok) throw new Error(outcome.error.message);
  }

  #noteExternalWhenFree(seen: ReadableFile): void {
    try {
      if (isInStep(this.journal.tail(), seen.hash)) return;
      this.#lock.tryHold(() => {
        const file = readMemoryFile(this.paths.file);
        if (file.kind === "unreadable") return;
        this.noteExternal(file);
        this.journal.compactIfLarge(file.hash, this.#options.clock);
      });
    } catch {
      // A read-only home, or no room for a line: reading memory must work all the same. The next write notes it.
    }
  }

  /** Before the file is opened: a leftover may be a second name of it, and taking that away looks like an edit. */
  #cleanOnce(): void {
    const directory = dirname(this.#lock.real); // turns out to be another one where the file is a link
    if (this.#cleaned === directory) return;
    this.#cleaned = directory;
    const now = this.#options.clock.now();
    removeStaleTemps(directory, this.paths.tempPrefix, now, (path) => this.#settleHeld(path, now));
  }

  /**
   * Everything that a killed writer left beside the file goes, whatever its age: nobody else holds the lock. Not where a lock does
   * not exclude processes of this library: the file may be somebody's.
   */
  async removeLeftovers(): Promise<void> {
    await this.exclusively((gap) => {
      if (gap !== undefined && gap.missing !== "kernel") return ok(undefined);
      for (const path of tempsOf(this.paths)) {
        try {
          if (path.endsWith(HELD_SUFFIX)) this.#settleHeld(path, this.#options.clock.now());
          else unlinkSync(path);
        } catch {
          // It stays; the next one who tidies up tries again.
        }
      }
      return ok(undefined);
    });
  }

  /** A writer died while it replaced the file. What the old one holds is dropped only when the journal knows it. */
  #settleHeld(path: string, now: Date): void {
    const file = readMemoryFile(this.paths.file);
    if (file.kind === "unreadable") return;
    const { hash } = file;
    const bytes = readFileSync(path);
    const held = sha256(bytes);
    const isKnown =
      held === hash ||
      this.journal
        .read()
        .records.some(
          (record) =>
            (record.kind === "change" && record.fileBefore === held) ||
            (record.kind !== "refusal" && record.fileAfter === held),
        );
    if (isKnown) unlinkSync(path);
    else {
      const backup = backupPathFor(this.paths.file, now);
      moveTo(path, backup, bytes);
      this.#noteKept(backup, hash, this.journal);
    }
  }

  readonly #warnOnce = (line: string): void => {
    if (!this.#hasWarned) this.#options.warn(line);
    this.#hasWarned = true;
  };

  /** What every line about this target begins with. */
  recordHead({
    origin = "tool",
    sessionId,
    reason,
  }: WriteMeta): Pick<ChangeRecord, "id" | "time" | "origin" | "sessionId" | "reason"> {
    return {
      id: randomHex(4),
      time: this.#options.clock.now().toISOString(),
      origin,
      sessionId,
      reason,
    };
  }
}

/** What the journal says happened. Where the list will be read back otherwise than it was written, it says that instead. */
function stepsOf(
  before: readonly string[],
  after: readonly string[],
  changes: readonly Change[],
  text: string,
): Pick<ChangeRecord, "changes" | "entries"> {
  if (survivesReading(after)) return { changes };
  const entries = withoutDuplicates(parseEntries(text));
  return { changes: difference(before, entries), entries };
}

/** True when carrying the plan out would leave the file as it is. */
function isIdle(plan: Plan, hash: string | null): boolean {
  if (plan.changes.length > 0 || plan.isFileRemoved) return false;
  if (plan.bytes) return sha256(plan.bytes) === hash;
  return !plan.isRewritten || sha256(formatEntries(plan.entries)) === hash;
}

/** The file is exactly what one of our programs wrote last. Then it holds nothing a rewrite could destroy. */
function isOwnWork(tail: JournalTail | undefined, hash: string | null): boolean {
  return tail?.isOurs === true && tail.fileAfter === hash;
}

function entriesOf(file: ReadableFile): string[] {
  return withoutDuplicates(parseEntries(file.text));
}

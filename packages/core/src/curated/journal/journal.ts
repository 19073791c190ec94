// The journal of one target on disk: appended to under the target's lock, never rewritten except to compact or to forget.
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  appendToOpen,
  type Clock,
  describeCause,
  errnoCode,
  type FileVersion,
  GrowingLines,
  HermesError,
  parseJsonLines,
  readJsonLines,
  versionOf,
  writeFileAtomic,
} from "../../lib/index.ts";
import { compactRecords } from "./compact.ts";
import { decodeRecord, encodeRecord, type JournalRecord } from "./record.ts";
import { type Replay, Replayer } from "./replay.ts";

export type JournalLimits = { readonly maxBytes: number; readonly keepChanges: number };

/** The newest line that speaks of the file: enough to tell whether somebody else has written since. */
export type JournalTail = {
  readonly fileBefore: string | null;
  readonly fileAfter: string | null;
  /** The line notes afterwards what somebody else did. */
  readonly isExternal: boolean;
  /** The whole file was put together by us. Forgetting may cut a text out of somebody else's. */
  readonly isOurs: boolean;
};

/** The journal, opened. Dispose of it in the same synchronous stretch. */
export type JournalPen = Disposable & {
  readonly tail: JournalTail | undefined;
  /** `isDurable`: on disk before this returns. */
  append(record: JournalRecord, options?: { isDurable?: boolean }): void;
};

const FIRST_WINDOW_BYTES = 8192;
const APPENDING = constants.O_RDWR | constants.O_APPEND;

/** What the end of the file says. */
type End = { readonly tail: JournalTail | undefined; readonly sequence: number };

export class Journal {
  readonly path: string;
  readonly #limits: JournalLimits;
  /** The last sequence number of the other target's journal. */
  readonly #othersSequence: () => number;
  #cached: ({ readonly version: FileVersion } & End) | undefined;
  /** The journal as far as it has been played, and where to go on. Nothing until somebody asks. */
  #played: { readonly lines: GrowingLines; replayer: Replayer } | undefined;

  #afterAppend: FileVersion | undefined;
  #appendedSize = 0;
  /** Size at which compacting was last found not to be worth it. */
  #declinedSize = 0;

  constructor(path: string, limits: JournalLimits, othersSequence: () => number = () => 0) {
    this.path = path;
    this.#limits = limits;
    this.#othersSequence = othersSequence;
  }

  /** Bytes that replays have taken from the file so far. */
  get bytesReplayed(): number {
    return this.#played?.lines.bytesRead ?? 0;
  }

  /** Of the last line that has one; 0 when none has, or the file cannot be read. */
  lastSequence(): number {
    try {
      const state = statSync(this.path, { throwIfNoEntry: false });
      if (!state) return 0;
      if (this.#cached?.version !== versionOf(state)) this.tail();
      return this.#cached?.sequence ?? 0;
    } catch {
      return 0; // the order of lines is not worth a failed write
    }
  }

  /** For a line that is about to be written. */
  nextSequence(): number {
    return Math.max(this.lastSequence(), this.#othersSequence()) + 1;
  }

  /** Cheap: looks into the file only when it changed since the last look, and then only at its end. */
  tail(): JournalTail | undefined {
    const fd = openIfThere(this.path, constants.O_RDONLY);
    if (fd === undefined) return undefined;
    try {
      return this.#endOf(versionOf(fstatSync(fd)), fd).tail;
    } finally {
      closeSync(fd);
    }
  }

  append(record: JournalRecord): void {
    using pen = this.takePen();
    pen.append(record);
  }

  /** One opening for one change, under the target's lock: what the last line says, and a way to add the next. */
  takePen(): JournalPen {
    let fd = openIfThere(this.path);
    let state = fd === undefined ? undefined : fstatSync(fd);
    const end = fd !== undefined && state ? this.#endOf(versionOf(state), fd) : undefined;
    let last = end?.sequence ?? 0;
    const append: JournalPen["append"] = (record, { isDurable = false } = {}) => {
      fd ??= makeFile(this.path);
      state ??= fstatSync(fd);
      last = Math.max(last, this.#othersSequence()) + 1;
      const options = { knownWhole: this.#afterAppend, isDurable };
      const line = encodeRecord({ ...record, sequence: last });
      const { version, size } = appendToOpen(fd, state, [line], options);
      this.#noteAppended(record, { version, size, sequence: last });
      state = undefined; // it grew; a second line would have to look again
    };
    return { tail: end?.tail, append, [Symbol.dispose]: () => fd !== undefined && closeSync(fd) };
  }

  #endOf(version: FileVersion, fd: number): End {
    if (this.#cached?.version !== version) this.#cached = { version, ...readEnd(fd) };
    return this.#cached;
  }

  #noteAppended(
    record: JournalRecord,
    { version, size, sequence }: { version: FileVersion; size: number; sequence: number },
  ): void {
    const tail = tailOf(record);
    this.#afterAppend = version;
    this.#appendedSize = size;
    this.#cached = tail ? { version, tail, sequence } : undefined;
  }

  read(): { records: readonly JournalRecord[]; damaged: number } {
    const { values, damaged } = this.#orUnreadable(() => readJsonLines(this.path));
    const records = values.flatMap((value) => decodeRecord(value) ?? []);
    return { records, damaged: damaged + values.length - records.length };
  }

  #orUnreadable<T>(look: () => T): T {
    try {
      return look();
    } catch (cause) {
      const message = `The journal ${this.path} cannot be read: ${describeCause(cause)}.`;
      throw new HermesError("journal-unreadable", message, { hint: "'hermes doctor' looks at it.", cause });
    }
  }

  /** Reads and plays only what was appended since the last time. `currentHash`: see `replayJournal`. */
  replay(currentHash: string | null | undefined | (() => string | null | undefined)): Replay {
    const played = this.#orUnreadable(() => this.#playOn());
    return played.view(typeof currentHash === "function" ? currentHash() : currentHash);
  }

  #playOn(): Replayer {
    this.#played ??= { lines: new GrowingLines(this.path), replayer: new Replayer() };
    const { values, isRestart } = this.#played.lines.next();
    if (isRestart) this.#played.replayer = new Replayer();
    for (const value of values) {
      const record = decodeRecord(value);
      if (record) this.#played.replayer.push(record);
    }
    return this.#played.replayer;
  }

  rewrite(records: readonly JournalRecord[]): void {
    this.rewriteLines(records.map((record) => JSON.stringify(encodeRecord(record))));
  }

  rewriteLines(lines: readonly string[]): void {
    this.#cached = undefined;
    this.#declinedSize = 0;
    writeFileAtomic(this.path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
  }

  /** Call under the lock, after an append. Returns how many lines were dropped. */
  compactIfLarge(currentHash: string | null, clock: Clock): number {
    if (this.#appendedSize <= Math.max(this.#limits.maxBytes, this.#declinedSize * 1.2)) return 0;
    const { records } = this.read();
    const compacted = compactRecords(records, currentHash, this.#limits.keepChanges, clock.now());
    // When the changes to keep are themselves larger than the cap, a rewrite for each new line would cost more than it frees.
    if (records.length - compacted.length < Math.max(1, this.#limits.keepChanges / 2)) {
      this.#declinedSize = this.#appendedSize;
      return 0;
    }
    this.rewrite(compacted);
    return records.length - compacted.length;
  }
}

/** True when the journal already tells of the file with this hash, whether or not its last line took effect. */
export function isInStep(tail: JournalTail | undefined, hash: string | null): boolean {
  if (!tail) return hash === null;
  // What others did is noted afterwards, so such a line cannot have been cut off before its change.
  return tail.fileAfter === hash || (!tail.isExternal && tail.fileBefore === hash);
}

function tailOf(record: JournalRecord): JournalTail | undefined {
  if (record.kind === "refusal") return undefined;
  // Forgetting that found its text in the journal only, and a note of an edit that is in a backup now, say nothing about
  // who wrote the file.
  if (record.kind === "change" && isAside(record.action) && record.fileBefore === record.fileAfter)
    return undefined;
  const fileBefore = record.kind === "change" ? record.fileBefore : record.fileAfter;
  const isExternal = record.kind === "change" && record.action === "external";
  const isOurs = record.kind === "change" && record.action !== "external" && record.action !== "forget";
  return { fileBefore, fileAfter: record.fileAfter, isExternal, isOurs };
}

function isAside(action: string): boolean {
  return action === "forget" || action === "external";
}

function readEnd(fd: number): End {
  const { size } = fstatSync(fd);
  for (let window = FIRST_WINDOW_BYTES; ; window *= 8) {
    const length = Math.min(window, size);
    const bytes = Buffer.alloc(length);
    readSync(fd, bytes, 0, length, size - length);
    const end = endIn(bytes.toString("utf8"));
    if (end.tail || length === size) return end;
  }
}

function openIfThere(path: string, flags = APPENDING): number | undefined {
  try {
    return openSync(path, flags);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}

function makeFile(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return openSync(path, "a+", 0o600);
}

/** Unless the text starts the file, its first piece is probably half a line; that fails to parse and is passed over. */
function endIn(text: string): End {
  let sequence = 0;
  for (const value of parseJsonLines(text).values.toReversed()) {
    const record = decodeRecord(value);
    if (!record) continue;
    sequence = Math.max(sequence, record.sequence ?? 0);
    const tail = tailOf(record);
    if (tail) return { tail, sequence };
  }
  return { tail: undefined, sequence };
}

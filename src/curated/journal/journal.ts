// The journal of one target on disk: appended to under the target's lock, never rewritten except to compact or to forget.
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import {
  appendToOpen,
  type Clock,
  describeCause,
  errnoCode,
  type FileVersion,
  HermesError,
  type JsonLines,
  parseJsonLines,
  readJsonLines,
  versionOf,
  writeFileAtomic,
} from "../../lib/index.ts";
import { compactRecords } from "./compact.ts";
import { decodeRecord, encodeRecord, type JournalRecord } from "./record.ts";
import { type Replay, replayJournal } from "./replay.ts";

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

export class Journal {
  readonly path: string;
  readonly #limits: JournalLimits;
  #cached: { version: FileVersion; tail: JournalTail | undefined } | undefined;

  #afterAppend: FileVersion | undefined;
  #appendedSize = 0;
  /** Size at which compacting was last found not to be worth it. */
  #declinedSize = 0;

  constructor(path: string, limits: JournalLimits) {
    this.path = path;
    this.#limits = limits;
  }

  /** Cheap: looks into the file only when it changed since the last look, and then only at its end. */
  tail(): JournalTail | undefined {
    const fd = openIfThere(this.path, constants.O_RDONLY);
    if (fd === undefined) return undefined;
    try {
      return this.#tailOf(versionOf(fstatSync(fd)), fd);
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
    const tail = fd !== undefined && state ? this.#tailOf(versionOf(state), fd) : undefined;
    const append: JournalPen["append"] = (record, { isDurable = false } = {}) => {
      fd ??= makeFile(this.path);
      state ??= fstatSync(fd);
      const options = { knownWhole: this.#afterAppend, isDurable };
      const { version, size } = appendToOpen(fd, state, [encodeRecord(record)], options);
      this.#noteAppended(record, version, size);
      state = undefined; // it grew; a second line would have to look again
    };
    return { tail, append, [Symbol.dispose]: () => fd !== undefined && closeSync(fd) };
  }

  #tailOf(version: FileVersion, fd: number): JournalTail | undefined {
    if (this.#cached?.version !== version) this.#cached = { version, tail: readTail(fd) };
    return this.#cached.tail;
  }

  #noteAppended(record: JournalRecord, version: FileVersion, size: number): void {
    const tail = tailOf(record);
    this.#afterAppend = version;
    this.#appendedSize = size;
    this.#cached = tail ? { version, tail } : undefined;
  }

  read(): { records: readonly JournalRecord[]; damaged: number } {
    const { values, damaged } = this.#readLines();
    const records = values.flatMap((value) => decodeRecord(value) ?? []);
    return { records, damaged: damaged + values.length - records.length };
  }

  #readLines(): JsonLines {
    try {
      return readJsonLines(this.path);
    } catch (cause) {
      const message = `The journal ${this.path} cannot be read: ${describeCause(cause)}.`;
      throw new HermesError("journal-unreadable", message, { hint: "'hermes doctor' looks at it.", cause });
    }
  }

  replay(currentHash: string | null): Replay {
    return replayJournal(this.read().records, currentHash);
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
  // Forgetting that found its text in the journal only says nothing about who wrote the file.
  if (record.kind === "change" && record.action === "forget" && record.fileBefore === record.fileAfter)
    return undefined;
  const fileBefore = record.kind === "change" ? record.fileBefore : record.fileAfter;
  const isExternal = record.kind === "change" && record.action === "external";
  const isOurs = record.kind === "change" && record.action !== "external" && record.action !== "forget";
  return { fileBefore, fileAfter: record.fileAfter, isExternal, isOurs };
}

function readTail(fd: number): JournalTail | undefined {
  const { size } = fstatSync(fd);
  for (let window = FIRST_WINDOW_BYTES; ; window *= 8) {
    const length = Math.min(window, size);
    const bytes = Buffer.alloc(length);
    readSync(fd, bytes, 0, length, size - length);
    const tail = lastTailIn(bytes.toString("utf8"));
    if (tail || length === size) return tail;
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
function lastTailIn(text: string): JournalTail | undefined {
  for (const value of parseJsonLines(text).values.toReversed()) {
    const record = decodeRecord(value);
    const tail = record && tailOf(record);
    if (tail) return tail;
  }
  return undefined;
}

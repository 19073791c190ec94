// The journal of one target on disk: appended to under the target's lock, never rewritten except to compact or to forget.
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import {
  appendJsonLines,
  errnoCode,
  parseJsonLines,
  readJsonLines,
  writeFileAtomic,
} from "../../lib/index.ts";
import type { WriteOrigin } from "../types.ts";
import { compactRecords } from "./compact.ts";
import { decodeRecord, encodeRecord, type JournalRecord } from "./record.ts";
import { type Replay, replayJournal } from "./replay.ts";

export type JournalLimits = { readonly maxBytes: number; readonly keepChanges: number };

/** The newest line that speaks of the file: enough to tell whether somebody else has written since. */
export type JournalTail = {
  readonly fileBefore: string | null;
  readonly fileAfter: string | null;
  readonly origin: WriteOrigin;
};

const FIRST_WINDOW_BYTES = 8192;

export class Journal {
  readonly path: string;
  readonly #limits: JournalLimits;
  #cached: { key: string; tail: JournalTail | undefined } | undefined;

  constructor(path: string, limits: JournalLimits) {
    this.path = path;
    this.#limits = limits;
  }

  /** Cheap: reads the end of the file only, and only when it grew since the last look. */
  tail(): JournalTail | undefined {
    let fd: number;
    try {
      fd = openSync(this.path, "r");
    } catch (cause) {
      if (errnoCode(cause) === "ENOENT") return undefined;
      throw cause;
    }
    try {
      const stats = fstatSync(fd);
      const key = `${stats.dev}:${stats.ino}:${stats.size}`;
      if (this.#cached?.key !== key) this.#cached = { key, tail: readTail(fd, stats.size) };
      return this.#cached.tail;
    } finally {
      closeSync(fd);
    }
  }

  append(record: JournalRecord): void {
    const file = appendJsonLines(this.path, [encodeRecord(record)]);
    const tail = tailOf(record);
    if (tail) this.#cached = { key: `${file.identity}:${file.size}`, tail };
  }

  read(): { records: readonly JournalRecord[]; damaged: number } {
    const { values, damaged } = readJsonLines(this.path);
    const records = values.flatMap((value) => decodeRecord(value) ?? []);
    return { records, damaged: damaged + values.length - records.length };
  }

  replay(currentHash: string | null): Replay {
    return replayJournal(this.read().records, currentHash);
  }

  rewrite(records: readonly JournalRecord[]): void {
    this.#cached = undefined;
    const lines = records.map((record) => `${JSON.stringify(encodeRecord(record))}\n`);
    writeFileAtomic(this.path, lines.join(""), { mode: 0o600 });
  }

  /** Call under the lock, after a committed change. Returns how many lines were dropped. */
  compactIfLarge(currentHash: string | null, now: Date): number {
    const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= this.#limits.maxBytes) return 0;
    const { records } = this.read();
    const compacted = compactRecords(records, currentHash, this.#limits.keepChanges, now);
    // When the changes to keep are themselves larger than the cap, a rewrite for each new line would cost more than it frees.
    if (records.length - compacted.length < Math.max(1, this.#limits.keepChanges / 2)) return 0;
    this.rewrite(compacted);
    return records.length - compacted.length;
  }
}

/** True when the journal already tells of the file with this hash, whether or not its last line took effect. */
export function isInStep(tail: JournalTail | undefined, hash: string | null): boolean {
  if (!tail) return hash === null;
  // What others did is noted afterwards, so such a line cannot have been cut off before its change.
  return tail.fileAfter === hash || (tail.origin !== "external" && tail.fileBefore === hash);
}

function tailOf(record: JournalRecord): JournalTail | undefined {
  if (record.kind === "refusal") return undefined;
  const fileBefore = record.kind === "change" ? record.fileBefore : record.fileAfter;
  return { fileBefore, fileAfter: record.fileAfter, origin: record.origin };
}

function readTail(fd: number, size: number): JournalTail | undefined {
  for (let window = FIRST_WINDOW_BYTES; ; window *= 8) {
    const length = Math.min(window, size);
    const bytes = Buffer.alloc(length);
    readSync(fd, bytes, 0, length, size - length);
    // Unless it starts the file, the first piece is probably half a line; it then fails to parse and is passed over.
    const { values } = parseJsonLines(bytes.toString("utf8"));
    for (const value of values.toReversed()) {
      const record = decodeRecord(value);
      const tail = record && tailOf(record);
      if (tail) return tail;
    }
    if (length === size) return undefined;
  }
}

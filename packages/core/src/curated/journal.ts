// The journal of one target: a file of JSON lines, appended to under the target's lock and rewritten only to compact it or to
// forget a text. journal-replay.ts says what the lines mean.
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  appendToOpen,
  type Clock,
  codePointLength,
  describeCause,
  errnoCode,
  type FileVersion,
  GrowingLines,
  HermesError,
  isRecord,
  isStringList,
  parseJsonLines,
  readJsonLines,
  sha256,
  versionOf,
  writeFileAtomic,
} from "../lib/index.ts";
import { maskStoredSecrets, redactSecrets, withoutSecretsOf } from "../security/index.ts";
import {
  type ChangeAction,
  type ChangeRecord,
  type CheckpointRecord,
  compactRecords,
  difference,
  FIRST_SEEN,
  type JournalRecord,
  type KnownEntry,
  type RecordHead,
  type RefusalRecord,
  type Replay,
  Replayer,
} from "./journal-replay.ts";
import type { Change, MemoryErrorFields, MemoryErrorKind, WriteOrigin } from "./types.ts";

type JournalLimits = { readonly maxBytes: number; readonly keepChanges: number };

/** The newest line about the file: enough to tell whether another program has written since. */
export type JournalTail = {
  readonly fileBefore: string | null;
  readonly fileAfter: string | null;
  /** The line notes an edit by another program after the fact. */
  readonly isExternal: boolean;
  /** The whole file was written by us. Forgetting may cut a text out of a file that another program wrote. */
  readonly isOurs: boolean;
};

/** The opened journal. Dispose of it before the next await. */
export type OpenJournal = Disposable & {
  readonly tail: JournalTail | undefined;
  /** `isDurable`: on disk before this returns. */
  append(record: JournalRecord, options?: { isDurable?: boolean }): void;
};

const FIRST_WINDOW_BYTES = 8192;
const APPENDING = constants.O_RDWR | constants.O_APPEND;

type End = { readonly tail: JournalTail | undefined; readonly sequence: number };

export class Journal {
  readonly path: string;
  readonly #limits: JournalLimits;
  /** The last sequence number of the other target's journal. */
  readonly #othersSequence: () => number;
  #cached: ({ readonly version: FileVersion } & End) | undefined;
  /** The replay so far, and the reader that continues it. Undefined until the first replay. */
  #replayed: { readonly lines: GrowingLines; replayer: Replayer } | undefined;
  #afterAppend: FileVersion | undefined;
  #appendedSize = 0;
  /** Size at which compacting last freed too little. */
  #declinedSize = 0;

  constructor(path: string, limits: JournalLimits, othersSequence: () => number = () => 0) {
    this.path = path;
    this.#limits = limits;
    this.#othersSequence = othersSequence;
  }

  /** Bytes that replays have read from the file so far. */
  get bytesReplayed(): number {
    return this.#replayed?.lines.bytesRead ?? 0;
  }

  /** The last sequence number; 0 when no line has one, or the file cannot be read. */
  lastSequence(): number {
    try {
      const state = statSync(this.path, { throwIfNoEntry: false });
      if (!state) return 0;
      if (this.#cached?.version !== versionOf(state)) this.tail();
      return this.#cached?.sequence ?? 0;
    } catch {
      return 0; // a wrong order of lines is better than a failed write
    }
  }

  /** The sequence number for a line that is about to be written. */
  nextSequence(): number {
    return Math.max(this.lastSequence(), this.#othersSequence()) + 1;
  }

  /** Cheap: reads the file only when it changed since the last call, and then only its end. */
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
    using opened = this.open();
    opened.append(record);
  }

  /** Call under the target's lock. Opens the file once for one change, to read the last line and to append the next. */
  open(): OpenJournal {
    let fd = openIfThere(this.path);
    let state = fd === undefined ? undefined : fstatSync(fd);
    const end = fd !== undefined && state ? this.#endOf(versionOf(state), fd) : undefined;
    let last = end?.sequence ?? 0;
    const append: OpenJournal["append"] = (record, { isDurable = false } = {}) => {
      fd ??= makeFile(this.path);
      state ??= fstatSync(fd);
      last = Math.max(last, this.#othersSequence()) + 1;
      const options = { knownWhole: this.#afterAppend, isDurable };
      const line = encodeRecord({ ...record, sequence: last });
      const { version, size } = appendToOpen(fd, state, [line], options);
      const tail = tailOf(record);
      this.#afterAppend = version;
      this.#appendedSize = size;
      this.#cached = tail ? { version, tail, sequence: last } : undefined;
      state = undefined; // the file grew; a second append needs a new one
    };
    return { tail: end?.tail, append, [Symbol.dispose]: () => fd !== undefined && closeSync(fd) };
  }

  #endOf(version: FileVersion, fd: number): End {
    if (this.#cached?.version !== version) this.#cached = { version, ...readEnd(fd) };
    return this.#cached;
  }

  read(): { records: readonly JournalRecord[]; damaged: number } {
    const { values, damaged } = this.#orUnreadable(() => readJsonLines(this.path));
    const records = values.flatMap((value) => decodeRecord(value) ?? []);
    return { records, damaged: damaged + values.length - records.length };
  }

  #orUnreadable<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      const message = `The journal ${this.path} cannot be read: ${describeCause(cause)}.`;
      throw new HermesError("journal-unreadable", message, { hint: "'hermes doctor' looks at it.", cause });
    }
  }

  /**
   * Reads and replays only the lines appended since the last call. `currentHash`: see `replayJournal`; a function is called after the
   * lines are read, so that a change committed in between looks like a later edit, not like one that was cut off.
   */
  replay(currentHash: string | null | undefined | (() => string | null | undefined)): Replay {
    const replayer = this.#orUnreadable(() => this.#replayNewLines());
    return replayer.view(typeof currentHash === "function" ? currentHash() : currentHash);
  }

  #replayNewLines(): Replayer {
    this.#replayed ??= { lines: new GrowingLines(this.path), replayer: new Replayer() };
    const { values, isRestart } = this.#replayed.lines.next();
    if (isRestart) this.#replayed.replayer = new Replayer();
    for (const value of values) {
      const record = decodeRecord(value);
      if (record) this.#replayed.replayer.push(record);
    }
    return this.#replayed.replayer;
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
    // When the changes to keep are themselves larger than the limit, rewriting for each new line would cost more than it frees.
    if (records.length - compacted.length < Math.max(1, this.#limits.keepChanges / 2)) {
      this.#declinedSize = this.#appendedSize;
      return 0;
    }
    this.rewrite(compacted);
    return records.length - compacted.length;
  }
}

/** True when the journal already knows the file with this hash, whether or not its last line took effect. */
export function knowsFile(tail: JournalTail | undefined, hash: string | null): boolean {
  if (!tail) return hash === null;
  // An edit by another program is noted after the fact, so such a line cannot have been cut off before its change.
  return tail.fileAfter === hash || (!tail.isExternal && tail.fileBefore === hash);
}

function tailOf(record: JournalRecord): JournalTail | undefined {
  if (record.kind === "refusal") return undefined;
  const { fileAfter } = record;
  if (record.kind === "checkpoint")
    return { fileBefore: fileAfter, fileAfter, isExternal: false, isOurs: false };
  const { action, fileBefore } = record;
  const isOurs = action !== "external" && action !== "forget";
  // These two lines say nothing about who wrote the file: forgetting found its text only in the journal, or an edit by another
  // program is now in a backup.
  if (!isOurs && fileBefore === fileAfter) return undefined;
  return { fileBefore, fileAfter, isExternal: action === "external", isOurs };
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

/** Unless the text starts the file, its first piece is probably half a line; that fails to parse and is skipped. */
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

// ---- Lines that note edits by other programs ----

// A longer line would hold a pasted document, not memory. Then only the fact is noted.
const MAX_TEXT_UNITS = 256 * 1024;

/** A file before another program changed it. */
export type FileBefore = { readonly hash: string | null; readonly entries: readonly string[] };

/**
 * The line for a file that the journal does not know; undefined when it knows this content. `before` is given when the last line
 * is about a change of ours that we gave up, because another program replaced the file at the last moment: it is the content
 * until then.
 */
export function externalRecord(
  journal: Journal,
  hash: string | null,
  entries: readonly string[],
  head: RecordHead,
  before?: FileBefore,
): ChangeRecord | undefined {
  const tail = journal.tail();
  if (knowsFile(tail, hash)) return undefined;
  const previous = before?.entries ?? (tail ? journal.replay(hash).entries : []);
  const base = {
    ...head,
    kind: "change",
    reason: tail ? head.reason : FIRST_SEEN,
    action: "external",
    fileBefore: before ? before.hash : (tail?.fileAfter ?? null),
    fileAfter: hash,
  } as const;
  const size = [...entries, ...(previous ?? [])].reduce((sum, entry) => sum + entry.length, 0);
  if (size > MAX_TEXT_UNITS) return { ...base, changes: [], isIncomplete: true };
  return { ...base, changes: previous ? difference(previous, entries) : [], entries };
}

// ---- The form of a line ----

/** Keeps findings, length and hash of the refused text, never the text. */
export function refusalRecord(
  head: RecordHead,
  action: string,
  error: MemoryErrorFields,
  text: string,
): RefusalRecord {
  return {
    kind: "refusal",
    ...head,
    reason: head.reason === undefined ? undefined : withoutSecretsOf([text], head.reason),
    action,
    error: error.kind,
    ids: error.kind === "blocked" ? error.ids : [],
    length: codePointLength(text),
    sha256: sha256(text),
  };
}

const VERSION = 1;

/** The JSON form; undefined fields are not written. A single change is written flat, which is easier to read in a pager and with jq. */
export function encodeRecord(record: JournalRecord): Record<string, unknown> {
  const { id, sequence: seq, time, kind, origin, sessionId: session } = record;
  const action = kind === "checkpoint" ? undefined : record.action;
  const reason = writtenReason(record);
  return { v: VERSION, id, seq, time, kind, action, origin, session, reason, ...encodeRest(record) };
}

function encodeRest(record: JournalRecord): object {
  switch (record.kind) {
    case "change": {
      const { group, changes, entries, archived, undoes } = record;
      const only = changes.length === 1 ? changes[0] : undefined;
      return {
        group,
        at: only?.at,
        before: only?.before,
        after: only?.after,
        into: only?.into,
        changes: only ? undefined : changes,
        file_before: record.fileBefore,
        file_after: record.fileAfter,
        entries,
        archived,
        undoes,
        incomplete: record.isIncomplete,
      };
    }
    case "refusal": {
      const { error, ids, length, sha256 } = record;
      return { error, ids, length, sha256 };
    }
    case "checkpoint": {
      const known = record.known.map(({ sessionId, ...rest }) => ({ ...rest, session: sessionId }));
      const { fileAfter: file_after, dropped, isIncomplete: incomplete } = record;
      return { known, file_after, dropped, incomplete };
    }
    default:
      return record satisfies never;
  }
}

/** A reason is free text from the writer. Every line is made here, so no secret quoted in a reason reaches a journal. */
function writtenReason(record: JournalRecord): string | undefined {
  if (record.reason === undefined) return undefined;
  const texts =
    record.kind === "change" ? record.changes.flatMap(({ before, after }) => [before, after]) : [];
  const reason = withoutSecretsOf(
    texts.filter((text) => text !== null),
    record.reason,
  );
  return redactSecrets(maskStoredSecrets(reason).text);
}

/** Undefined for a line that is no record: a damaged line must not make the journal unreadable. */
export function decodeRecord(value: unknown): JournalRecord | undefined {
  if (!isRecord(value) || !isToken(value.id) || !isTime(value.time)) return undefined;
  const head: RecordHead = {
    id: value.id,
    sequence: isSequence(value.seq) ? value.seq : undefined,
    time: value.time,
    origin: originOf(value.origin),
    sessionId: stringOrUndefined(value.session),
    reason: stringOrUndefined(value.reason),
    group: isToken(value.group) ? value.group : undefined,
  };
  if (value.kind === "change") return decodeChange(head, value);
  if (value.kind === "refusal") return decodeRefusal(head, value);
  if (value.kind === "checkpoint") return decodeCheckpoint(head, value);
  return undefined;
}

function decodeChange(head: RecordHead, value: Record<string, unknown>): ChangeRecord | undefined {
  const listed = Array.isArray(value.changes) ? value.changes : "at" in value ? [value] : [];
  const changes = listed.flatMap((item) => decodeStep(item) ?? []);
  if (changes.length !== listed.length || !isToken(value.action)) return undefined;
  return {
    ...head,
    kind: "change",
    action: value.action as ChangeAction,
    changes,
    fileBefore: stringOrNull(value.file_before),
    fileAfter: stringOrNull(value.file_after),
    entries: isStringList(value.entries) ? value.entries : undefined,
    archived: isStringList(value.archived) ? value.archived : undefined,
    undoes: stringOrUndefined(value.undoes),
    isIncomplete: value.incomplete === true || undefined,
  };
}

function decodeStep(value: unknown): Change | undefined {
  if (!isRecord(value) || typeof value.at !== "number") return undefined;
  return {
    at: value.at,
    before: stringOrNull(value.before),
    after: stringOrNull(value.after),
    into: stringOrUndefined(value.into),
  };
}

function decodeRefusal(head: RecordHead, value: Record<string, unknown>): RefusalRecord {
  return {
    ...head,
    kind: "refusal",
    action: isToken(value.action) ? value.action : "unknown",
    error: (isToken(value.error) ? value.error : "io") as MemoryErrorKind,
    ids: isStringList(value.ids) ? value.ids.filter(isToken) : [],
    length: typeof value.length === "number" ? value.length : 0,
    sha256: String(value.sha256),
  };
}

function decodeCheckpoint(head: RecordHead, value: Record<string, unknown>): CheckpointRecord {
  const listed: unknown[] = Array.isArray(value.known) ? value.known : [];
  return {
    ...head,
    kind: "checkpoint",
    known: listed.flatMap((item) => decodeKnownEntry(item, head) ?? []),
    fileAfter: stringOrNull(value.file_after),
    dropped: typeof value.dropped === "number" ? value.dropped : 0,
    isIncomplete: value.incomplete === true || undefined,
  };
}

function decodeKnownEntry(value: unknown, head: RecordHead): KnownEntry | undefined {
  if (!isRecord(value) || typeof value.text !== "string") return undefined;
  return {
    text: value.text,
    since: isTime(value.since) ? value.since : head.time,
    id: isToken(value.id) ? value.id : head.id,
    origin: originOf(value.origin),
    sessionId: stringOrUndefined(value.session),
  };
}

/** Newer programs may use origins that we do not know. */
function originOf(value: unknown): WriteOrigin {
  return (isToken(value) ? value : "external") as WriteOrigin;
}

function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** A name that is harmless on a terminal and in a path. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\w.+:-]{1,80}$/.test(value);
}

export function isTime(value: unknown): value is string {
  return isToken(value) && !Number.isNaN(Date.parse(value));
}

function stringOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function stringOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

// The journal of one target: a file of JSON lines, appended to under the target's lock and rewritten only to compact it or to
// forget a text. journal-replay.ts says what the lines mean.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import {
  appendJsonLines,
  type Clock,
  codePointLength,
  describeCause,
  HermesError,
  isRecord,
  isStringList,
  parseJsonLines,
  readJsonLines,
  sha256,
  writeFileAtomic,
} from "../lib/index.ts";
import { maskStoredSecrets, redactSecrets, withoutSecretsOf } from "../security/index.ts";
import {
  type ChangeAction,
  compactRecords,
  type JournalRecord,
  type KnownEntry,
  type RecordHead,
  type RefusalRecord,
  type Replay,
  replayJournal,
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

/** `sequence`: the last sequence number; 0 when no line has one. */
export type JournalEnd = { readonly tail: JournalTail | undefined; readonly sequence: number };

export class Journal {
  readonly path: string;
  readonly #limits: JournalLimits;
  /** The last sequence number of the other target's journal. */
  readonly #othersSequence: () => number;

  constructor(path: string, limits: JournalLimits, othersSequence: () => number = () => 0) {
    this.path = path;
    this.#limits = limits;
    this.#othersSequence = othersSequence;
  }

  /** 0 also when the file cannot be read. */
  lastSequence(): number {
    try {
      return readEnd(this.path).sequence;
    } catch {
      return 0; // a wrong order of lines is better than a failed write
    }
  }

  end(): JournalEnd {
    return readEnd(this.path);
  }

  /**
   * Call under the target's lock. `end`: of the file now, when it is known. `isDurable`: on disk before this returns. Returns the
   * size of the file.
   */
  append(
    record: JournalRecord,
    { end, isDurable }: { readonly end?: JournalEnd | undefined; readonly isDurable?: boolean } = {},
  ): number {
    return appendJsonLines(this.path, [encodeRecord(this.#numbered(record, end))], { isDurable });
  }

  /** A line that `rewriteLines` adds as the last one. */
  lineOf(record: JournalRecord): string {
    return JSON.stringify(encodeRecord(this.#numbered(record)));
  }

  #numbered<R extends JournalRecord>(record: R, end?: JournalEnd): R {
    const last = end?.sequence ?? this.lastSequence();
    return { ...record, sequence: Math.max(last, this.#othersSequence()) + 1 };
  }

  read(): { records: readonly JournalRecord[]; damaged: number } {
    try {
      const { values, damaged } = readJsonLines(this.path);
      const records = values.flatMap((value) => decodeRecord(value) ?? []);
      return { records, damaged: damaged + values.length - records.length };
    } catch (cause) {
      const message = `The journal ${this.path} cannot be read: ${describeCause(cause)}.`;
      throw new HermesError("journal-unreadable", message, { hint: "'hermes doctor' looks at it.", cause });
    }
  }

  /**
   * `currentHash`: see `replayJournal`; a function is called after the lines are read, so that a change committed in between looks
   * like a later edit, not like one that was cut off.
   */
  replay(currentHash: string | null | undefined | (() => string | null | undefined)): Replay {
    const { records } = this.read();
    return replayJournal(records, typeof currentHash === "function" ? currentHash() : currentHash);
  }

  rewriteLines(lines: readonly string[]): void {
    writeFileAtomic(this.path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
  }

  /** `size`: as `append` returned it. */
  isLarge(size: number): boolean {
    return size > this.#limits.maxBytes;
  }

  /** Call under the lock. */
  compact(clock: Clock): void {
    const { records } = this.read();
    const compacted = compactRecords(records, this.#limits.keepChanges, clock.now());
    // When the changes to keep are themselves larger than the limit, rewriting for each new line would cost more than it frees.
    if (records.length - compacted.length < Math.max(1, this.#limits.keepChanges / 2)) return;
    this.rewriteLines(compacted.map((record) => JSON.stringify(encodeRecord(record))));
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

/** An ordinary line is far shorter. */
const FIRST_WINDOW_BYTES = 8192;

/** Reads the end of the file, as far back as the newest line about the curated file: every write does, and a journal may have 1 MB. */
function readEnd(path: string): JournalEnd {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return { tail: undefined, sequence: 0 };
  const fd = openSync(path, "r");
  try {
    for (let window = FIRST_WINDOW_BYTES; ; window *= 8) {
      const bytes = Buffer.alloc(Math.min(window, size));
      const count = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      const end = endIn(bytes.toString("utf8", 0, count));
      if (end.tail || bytes.length === size) return end;
    }
  } finally {
    closeSync(fd);
  }
}

/** Unless the text starts the file, its first piece is probably half a line; that fails to parse and is skipped. */
function endIn(text: string): JournalEnd {
  let sequence = 0;
  for (const line of text.split("\n").reverse()) {
    const record = decodeRecord(parseJsonLines(line).values[0]);
    if (!record) continue;
    sequence = Math.max(sequence, record.sequence ?? 0);
    const tail = tailOf(record);
    if (tail) return { tail, sequence };
  }
  return { tail: undefined, sequence };
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
  const head = { v: VERSION, id, seq, time, kind };
  const rest = { origin, session, reason: writtenReason(record) };
  if (record.kind === "refusal") {
    const { action, error, ids, length, sha256 } = record;
    return { ...head, action, ...rest, error, ids, length, sha256 };
  }
  const { fileAfter: file_after, isIncomplete: incomplete } = record;
  if (record.kind === "checkpoint") {
    const known = record.known.map(({ sessionId, ...entry }) => ({ ...entry, session: sessionId }));
    return { ...head, ...rest, known, file_after, dropped: record.dropped, incomplete };
  }
  const { action, group, changes, fileBefore: file_before, entries, archived, undoes } = record;
  const steps = changes.length === 1 ? changes[0] : { changes };
  const files = { file_before, file_after };
  return { ...head, action, ...rest, group, ...steps, ...files, entries, archived, undoes, incomplete };
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
  const isIncomplete = value.incomplete === true || undefined;
  const fileAfter = stringOrNull(value.file_after);
  const list = (field: unknown): string[] | undefined => (isStringList(field) ? field : undefined);
  switch (value.kind) {
    case "change": {
      const listed: unknown[] = Array.isArray(value.changes) ? value.changes : "at" in value ? [value] : [];
      const changes = listed.flatMap((item) => decodeStep(item) ?? []);
      if (changes.length !== listed.length || !isToken(value.action)) return undefined;
      return {
        ...head,
        kind: "change",
        action: value.action as ChangeAction,
        changes,
        fileBefore: stringOrNull(value.file_before),
        fileAfter,
        entries: list(value.entries),
        archived: list(value.archived),
        undoes: stringOrUndefined(value.undoes),
        isIncomplete,
      };
    }
    case "refusal":
      return {
        ...head,
        kind: "refusal",
        action: isToken(value.action) ? value.action : "unknown",
        error: (isToken(value.error) ? value.error : "io") as MemoryErrorKind,
        ids: list(value.ids)?.filter(isToken) ?? [],
        length: typeof value.length === "number" ? value.length : 0,
        sha256: String(value.sha256),
      };
    case "checkpoint": {
      const listed: unknown[] = Array.isArray(value.known) ? value.known : [];
      const known = listed.flatMap((item) => decodeKnownEntry(item, head) ?? []);
      const dropped = typeof value.dropped === "number" ? value.dropped : 0;
      return { ...head, kind: "checkpoint", known, fileAfter, dropped, isIncomplete };
    }
    default:
      return undefined;
  }
}

function decodeStep(value: unknown): Change | undefined {
  if (!isRecord(value) || typeof value.at !== "number") return undefined;
  const { at, before, after, into } = value;
  return { at, before: stringOrNull(before), after: stringOrNull(after), into: stringOrUndefined(into) };
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

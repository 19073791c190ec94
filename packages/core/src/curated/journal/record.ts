// The lines of a journal: what they hold, how they are written and read back.
import { codePointLength, isRecord, sha256 } from "../../lib/index.ts";
import { maskStoredSecrets, redactSecrets, withoutSecretsOf } from "../../security/index.ts";
import type { Change, MemoryError, MemoryErrorKind, WriteOrigin } from "../types.ts";

export type ChangeAction =
  | "add"
  | "replace"
  | "remove"
  | "group" // several operations as one change
  | "restore" // an archived entry came back
  | "undo"
  | "reset"
  | "forget"
  | "external";

/** The reason of a line that notes what a file held when it was first seen. */
export const FIRST_SEEN = "first seen";

type Head = {
  readonly id: string;
  /**
   * Counts the lines of both targets' journals, so that their order does not depend on a clock. A writer takes one more than
   * the last line of either; two that write to both targets at once may take the same. Lines of version 0.1.0 have none.
   */
  readonly sequence?: number | undefined;
  readonly time: string;
  readonly origin: WriteOrigin;
  readonly sessionId?: string | undefined;
  readonly reason?: string | undefined;
  readonly group?: string | undefined;
};

export type ChangeRecord = Head & {
  readonly kind: "change";
  readonly action: ChangeAction;
  readonly changes: readonly Change[];
  /** SHA-256 of the file's bytes before and after; null where there was no file. */
  readonly fileBefore: string | null;
  readonly fileAfter: string | null;
  /** The whole list afterwards, where the changes alone do not tell it. */
  readonly entries?: readonly string[];
  /** Texts moved to the archive by this change. */
  readonly archived?: readonly string[] | undefined;
  /** Id of the change this one takes back. */
  readonly undoes?: string | undefined;
  /** True when texts of this line were erased or were too long to keep; it can no longer be undone. */
  readonly isIncomplete?: true;
};

/** A write that was turned down. Never its text. */
export type RefusalRecord = Head & {
  readonly kind: "refusal";
  readonly action: string;
  readonly error: MemoryErrorKind;
  readonly ids: readonly string[];
  readonly length: number;
  readonly sha256: string;
};

export type KnownEntry = {
  readonly text: string;
  readonly since: string;
  readonly id: string;
  readonly origin: WriteOrigin;
  readonly sessionId?: string;
};

/** Stands at the top of a compacted journal for everything that was dropped before it. */
export type CheckpointRecord = Head & {
  readonly kind: "checkpoint";
  readonly known: readonly KnownEntry[];
  readonly fileAfter: string | null;
  readonly dropped: number;
  /** True when the list at this point was not known. */
  readonly isIncomplete?: true;
};

export type JournalRecord = ChangeRecord | RefusalRecord | CheckpointRecord;

/** What may be kept of a refused text: findings, length and hash. */
export function refusalRecord(head: Head, action: string, error: MemoryError, text: string): RefusalRecord {
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

/** Wire form; fields that are undefined do not get written. A single change lies flat, which reads well in a pager and with jq. */
export function encodeRecord(record: JournalRecord): Record<string, unknown> {
  const { id, sequence: seq, time, kind, origin, sessionId: session, group } = record;
  const reason = writtenReason(record);
  switch (record.kind) {
    case "change": {
      const { action, changes, fileBefore, fileAfter, entries, archived, undoes, isIncomplete } = record;
      const only = changes.length === 1 ? changes[0] : undefined;
      return {
        v: VERSION,
        id,
        seq,
        time,
        kind,
        action,
        origin,
        session,
        reason,
        group,
        at: only?.at,
        before: only?.before,
        after: only?.after,
        into: only?.into,
        changes: only ? undefined : changes,
        file_before: fileBefore,
        file_after: fileAfter,
        entries,
        archived,
        undoes,
        incomplete: isIncomplete,
      };
    }
    case "refusal": {
      const { action, error, ids, length, sha256 } = record;
      return { v: VERSION, id, seq, time, kind, action, origin, session, reason, error, ids, length, sha256 };
    }
    case "checkpoint": {
      const { fileAfter, dropped, isIncomplete } = record;
      const known = record.known.map(({ sessionId, ...rest }) => ({ ...rest, session: sessionId }));
      const rest = { known, file_after: fileAfter, dropped, incomplete: isIncomplete };
      return { v: VERSION, id, seq, time, kind, origin, session, reason, ...rest };
    }
    default:
      return record satisfies never;
  }
}

/** A reason is free text of whoever writes. Every line is made here, so no secret that it quotes reaches a journal. */
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

/** Undefined for a line that is no record of ours: reading forgives. */
export function decodeRecord(value: unknown): JournalRecord | undefined {
  if (!isRecord(value) || !isToken(value.id) || !isTime(value.time)) return undefined;
  const head: Head = {
    id: value.id,
    ...(isSequence(value.seq) ? { sequence: value.seq } : {}),
    time: value.time,
    origin: (isToken(value.origin) ? value.origin : "external") as WriteOrigin,
    ...(typeof value.session === "string" ? { sessionId: value.session } : {}),
    ...(typeof value.reason === "string" ? { reason: value.reason } : {}),
    ...(isToken(value.group) ? { group: value.group } : {}),
  };
  if (value.kind === "change") return decodeChange(head, value);
  if (value.kind === "refusal") return decodeRefusal(head, value);
  if (value.kind === "checkpoint") return decodeCheckpoint(head, value);
  return undefined;
}

function decodeChange(head: Head, value: Record<string, unknown>): ChangeRecord | undefined {
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
    ...(isStringList(value.entries) ? { entries: value.entries } : {}),
    ...(isStringList(value.archived) ? { archived: value.archived } : {}),
    ...(typeof value.undoes === "string" ? { undoes: value.undoes } : {}),
    ...(value.incomplete === true ? { isIncomplete: true as const } : {}),
  };
}

function decodeStep(value: unknown): Change | undefined {
  if (!isRecord(value) || typeof value.at !== "number") return undefined;
  return {
    at: value.at,
    before: stringOrNull(value.before),
    after: stringOrNull(value.after),
    ...(typeof value.into === "string" ? { into: value.into } : {}),
  };
}

function decodeRefusal(head: Head, value: Record<string, unknown>): RefusalRecord {
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

function decodeCheckpoint(head: Head, value: Record<string, unknown>): CheckpointRecord {
  const listed: unknown[] = Array.isArray(value.known) ? value.known : [];
  const known = listed.flatMap((item): KnownEntry[] => {
    if (!isRecord(item) || typeof item.text !== "string") return [];
    return [
      {
        text: item.text,
        since: isTime(item.since) ? item.since : head.time,
        id: isToken(item.id) ? item.id : head.id,
        origin: (isToken(item.origin) ? item.origin : "external") as WriteOrigin,
        ...(typeof item.session === "string" ? { sessionId: item.session } : {}),
      },
    ];
  });
  const dropped = typeof value.dropped === "number" ? value.dropped : 0;
  return {
    ...head,
    kind: "checkpoint",
    known,
    fileAfter: stringOrNull(value.file_after),
    dropped,
    ...(value.incomplete === true ? { isIncomplete: true as const } : {}),
  };
}

function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** A name without anything a terminal or a path could take amiss. Newer programs may use names we do not know. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\w.+:-]{1,80}$/.test(value);
}

export function isTime(value: unknown): value is string {
  return isToken(value) && !Number.isNaN(Date.parse(value));
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function stringOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

// The lines of a journal and their meaning: which changes took effect, the list after them, and since when each entry is known.
// Pure; journal.ts reads and writes the lines.
import { randomHex } from "../lib/index.ts";
import type { Change, MemoryErrorKind, WriteOrigin } from "./types.ts";

// ---- The lines ----

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

/** The reason of a line that notes the content of a file when it was first seen. */
const FIRST_SEEN = "first seen";

export type RecordHead = {
  readonly id: string;
  /**
   * Counts the lines of both targets' journals, so that their order does not depend on a clock. A writer takes one more than the
   * last line of either; two processes that write to both targets at once may take the same number. Lines of version 0.1.0 have
   * none.
   */
  readonly sequence?: number;
  readonly time: string;
  readonly origin: WriteOrigin;
  readonly sessionId?: string;
  readonly reason?: string;
  readonly group?: string;
};

export type ChangeRecord = RecordHead & {
  readonly kind: "change";
  readonly action: ChangeAction;
  readonly changes: readonly Change[];
  /** SHA-256 of the file's bytes before and after; null where there was no file. */
  readonly fileBefore: string | null;
  readonly fileAfter: string | null;
  /** The whole list afterwards, where it does not follow from the changes. */
  readonly entries?: readonly string[];
  /** Texts moved to the archive by this change. */
  readonly archived?: readonly string[];
  /** Id of the change this one takes back. */
  readonly undoes?: string;
  /** Texts of this line were erased or were too long to keep; it can no longer be undone. */
  readonly isIncomplete?: true;
};

/** A write that was turned down. Never holds its text. */
export type RefusalRecord = RecordHead & {
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

/** First line of a compacted journal; replaces all lines that were dropped before it. */
type CheckpointRecord = RecordHead & {
  readonly kind: "checkpoint";
  readonly known: readonly KnownEntry[];
  readonly fileAfter: string | null;
  readonly dropped: number;
  /** The list at this point was not known. */
  readonly isIncomplete?: true;
};

export type JournalRecord = ChangeRecord | RefusalRecord | CheckpointRecord;

// ---- Replay ----

/** `position`: the line's number in its journal. `sequence`: the highest sequence number up to this line. */
type Placed = { readonly position: number; readonly sequence: number };

/** A journal entry, and whether it took effect. */
export type ReplayedChange = ChangeRecord &
  Placed & {
    /** `aborted`: the line was written, then the process died before the file was replaced. */
    readonly status: "committed" | "aborted";
    /** Id of the change that took this one back, if one did. */
    readonly undoneBy?: string;
  };

export type ReplayedRefusal = RefusalRecord & Placed;

export type Replay = {
  /** In the order of the journal. */
  readonly changes: readonly ReplayedChange[];
  readonly refusals: readonly ReplayedRefusal[];
  /** The list after the last line that took effect; undefined when it does not follow from the journal. */
  readonly entries: readonly string[] | undefined;
  /** For each text of that list, since when it is there and by which change. */
  readonly known: ReadonlyMap<string, KnownEntry>;
  change(id: string): ReplayedChange | undefined;
  /** The change that `undo` without an id takes back: the last one that took effect and is not undone. Skips undos. */
  newestUndoable(): ReplayedChange | undefined;
};

/** `currentHash` is the hash of the file now; it decides about the last line. Undefined when the file cannot be read. */
export function replayJournal(
  records: readonly JournalRecord[],
  currentHash: string | null | undefined,
): Replay {
  const placed = placeAll(records);
  const changes = withVerdicts(
    placed.filter((record) => record.kind === "change"),
    currentHash,
  );
  const committed = new Map(changes.map((change) => [change.position, change]));
  let known = new Map<string, KnownEntry>();
  let entries: readonly string[] | undefined = [];
  for (const record of placed) {
    if (record.kind === "checkpoint") {
      known = new Map(record.known.map((entry) => [entry.text, entry]));
      entries = record.isIncomplete ? undefined : record.known.map(({ text }) => text);
    }
    const change = committed.get(record.position);
    if (change?.status !== "committed") continue;
    noteKnown(known, change);
    entries = change.entries ?? (change.isIncomplete || !entries ? undefined : applySteps(entries, change));
  }
  return {
    changes,
    refusals: placed.filter((record) => record.kind === "refusal"),
    entries,
    known,
    change: (id) => changes.findLast((change) => change.id === id),
    newestUndoable: () =>
      changes.findLast((change) => change.action !== "undo" && whyNotUndoable(change) === undefined),
  };
}

function placeAll(records: readonly JournalRecord[]): readonly (JournalRecord & Placed)[] {
  let highest = 0;
  return records.map((record, position) => {
    highest = Math.max(highest, record.sequence ?? 0);
    return { ...record, position, sequence: highest };
  });
}

/** A line was cut off when the file, as the next line or the disk has it, is what it was before that line. */
function withVerdicts(
  placed: readonly (ChangeRecord & Placed)[],
  currentHash: string | null | undefined,
): readonly ReplayedChange[] {
  const judged = placed.map((change, index): ReplayedChange => {
    const next = placed[index + 1];
    const hash = next === undefined ? currentHash : next.fileBefore;
    // An edit by another program is noted after the fact, so its line cannot have been cut off.
    const isCutOff = change.action !== "external" && change.fileAfter !== hash && change.fileBefore === hash;
    return { ...change, status: isCutOff ? "aborted" : "committed" };
  });
  const undoneBy = new Map<string, string>();
  const later = new Set<string>();
  // From the newest back: an undo that was itself undone makes its change effective again. An id of a later line is ignored.
  for (const { id, undoes, status } of judged.toReversed()) {
    later.add(id);
    if (undoes === undefined || status === "aborted" || undoneBy.has(id) || later.has(undoes)) continue;
    if (!undoneBy.has(undoes)) undoneBy.set(undoes, id);
  }
  return judged.map((change) => ({ ...change, undoneBy: undoneBy.get(change.id) }));
}

function noteKnown(known: Map<string, KnownEntry>, change: ReplayedChange): void {
  const { id, time: since, origin, sessionId } = change;
  const note = (text: string) => known.set(text, { text, since, id, origin, sessionId });
  for (const { before, after } of change.changes) {
    if (before !== null) known.delete(before);
    if (after !== null) note(after);
  }
  for (const text of change.entries ?? []) if (!known.has(text)) note(text);
}

function applySteps(entries: readonly string[], { changes }: ChangeRecord): readonly string[] {
  const list = entries.slice();
  for (const { at, before, after } of changes)
    list.splice(at, before === null ? 0 : 1, ...(after === null ? [] : [after]));
  return list;
}

export function whyNotUndoable(change: ReplayedChange): string | undefined {
  if (change.status === "aborted")
    return "it never took effect (the process died before the file was written)";
  if (change.undoneBy !== undefined) return `it was taken back already, by ${change.undoneBy}`;
  if (change.isIncomplete) return "its text is no longer kept";
  if (change.action === "forget") return "forgotten text is erased everywhere";
  if (change.reason === FIRST_SEEN) return "it only notes what the file held when it was first seen";
  if (change.changes.length === 0) return "it changed no entry";
  return undefined;
}

/** Removals from the end forward, then additions in order. A mere change of order shows only in the list noted beside them. */
export function difference(previous: readonly string[], next: readonly string[]): Change[] {
  const [old, young] = [new Set(previous), new Set(next)];
  const gone = previous.flatMap((before, at) => (young.has(before) ? [] : [{ at, before, after: null }]));
  const added = next.flatMap((after, at) => (old.has(after) ? [] : [{ at, before: null, after }]));
  return [...gone.reverse(), ...added];
}

// A longer line would hold a pasted document, not memory. Then only the fact is noted.
const MAX_TEXT_UNITS = 256 * 1024;

/** The line for a file that the journal does not know. `previous`: the list before; undefined when it is not known. */
export function externalRecord(
  head: RecordHead,
  isFirst: boolean,
  {
    previous,
    entries,
    hashes,
  }: {
    readonly previous: readonly string[] | undefined;
    readonly entries: readonly string[];
    readonly hashes: Pick<ChangeRecord, "fileBefore" | "fileAfter">;
  },
): ChangeRecord {
  const reason = isFirst ? FIRST_SEEN : head.reason;
  const base = { ...head, kind: "change", reason, action: "external", ...hashes } as const;
  const size = [...entries, ...(previous ?? [])].reduce((sum, entry) => sum + entry.length, 0);
  if (size > MAX_TEXT_UNITS) return { ...base, changes: [], isIncomplete: true };
  return { ...base, changes: previous ? difference(previous, entries) : [], entries };
}

// ---- Compaction: the newest changes stay unchanged, one checkpoint line replaces everything before them ----

/** Keeps the newest `keepChanges` changes undoable, and the refusals among them. */
export function compactRecords(
  records: readonly JournalRecord[],
  keepChanges: number,
  now: Date,
): readonly JournalRecord[] {
  const changeIndexes = records.flatMap((record, index) => (record.kind === "change" ? [index] : []));
  const cut = changeIndexes.at(-keepChanges) ?? 0;
  const kept = records.slice(cut);
  const refusals = kept.filter((record) => record.kind === "refusal");
  // A client that is stuck in a loop of refused writes must not fill the disk either.
  const dropRefusals = new Set(refusals.slice(0, Math.max(0, refusals.length - keepChanges)));
  const survivors = kept.filter((record) => record.kind !== "refusal" || !dropRefusals.has(record));
  const older = records.slice(0, cut);
  if (older.length === 0) return survivors;
  const hashAtCut = (kept[0] as ChangeRecord).fileBefore;
  const past = replayJournal(older, hashAtCut);
  const former = older[0]?.kind === "checkpoint" ? older[0].dropped - 1 : 0;
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    id: randomHex(4),
    sequence: older.reduce((highest, { sequence = 0 }) => Math.max(highest, sequence), 0) || undefined,
    time: now.toISOString(),
    origin: "tool",
    known: (past.entries ?? []).flatMap((text) => past.known.get(text) ?? []),
    fileAfter: hashAtCut,
    dropped: older.length + former,
    isIncomplete: past.entries === undefined ? true : undefined,
  };
  return [checkpoint, ...survivors];
}

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
export const FIRST_SEEN = "first seen";

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
export type CheckpointRecord = RecordHead & {
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

/** Valid until the journal is read again. */
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
  const replayer = new Replayer();
  for (const record of records) replayer.push(record);
  return replayer.view(currentHash);
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

/**
 * Takes records one at a time, so that only the new lines of a journal that grew are replayed. The cost of a record depends on
 * its own changes, not on the number of records before it.
 */
export class Replayer {
  readonly #records: JournalRecord[] = [];
  readonly #changes: ReplayedChange[] = [];
  readonly #refusals: ReplayedRefusal[] = [];
  readonly #indexes = new Map<string, number>();
  /** By the id of a change: the last undo that names it. That undo may itself be taken back. */
  readonly #undos = new Map<string, string>();
  /** Ascending indexes of changes that were undoable when they were added. Those that no longer are get dropped when met. */
  readonly #undoable: number[] = [];
  #entries: string[] | undefined = [];
  #known = new Map<string, KnownEntry>();
  #sequence = 0;
  /** Steps that remove the latest change again, in case it turns out to be aborted. */
  #revert: (() => void)[] = [];

  push(record: JournalRecord): void {
    this.#sequence = Math.max(this.#sequence, record.sequence ?? 0);
    const placed = { position: this.#records.length, sequence: this.#sequence };
    this.#records.push(record);
    if (record.kind === "refusal") this.#refusals.push({ ...record, ...placed });
    else if (record.kind === "checkpoint") {
      this.#known = new Map(record.known.map((entry) => [entry.text, entry]));
      this.#entries = record.isIncomplete ? undefined : record.known.map(({ text }) => text);
      this.#revert = [];
    } else {
      const last = this.#changes.at(-1);
      if (last && wasCutOff(last, record.fileBefore)) this.#abortLast();
      this.#apply({ ...record, ...placed, status: "committed" });
    }
  }

  view(currentHash: string | null | undefined): Replay {
    const last = this.#changes.at(-1);
    if (last?.status === "committed" && currentHash !== undefined && wasCutOff(last, currentHash)) {
      // A later line may still show that the file was replaced, so this verdict is not kept.
      const copy = new Replayer();
      for (const record of this.#records) copy.push(record);
      copy.#abortLast();
      return copy.#asReplay();
    }
    return this.#asReplay();
  }

  #asReplay(): Replay {
    return {
      changes: this.#changes,
      refusals: this.#refusals,
      entries: this.#entries,
      known: this.#known,
      change: (id) => this.#changes[this.#indexes.get(id) ?? -1],
      newestUndoable: () => this.#newestUndoable(),
    };
  }

  #apply(change: ReplayedChange): void {
    const { id, time, origin, sessionId } = change;
    this.#revert = [];
    const set = (text: string, entry: KnownEntry | undefined): void => {
      const before = this.#known.get(text);
      this.#revert.push(() => (before ? this.#known.set(text, before) : this.#known.delete(text)));
      if (entry) this.#known.set(text, entry);
      else this.#known.delete(text);
    };
    const note = (text: string): void => set(text, { text, since: time, id, origin, sessionId });
    for (const { before, after } of change.changes) {
      if (before !== null) set(before, undefined);
      if (after !== null) note(after);
    }
    for (const text of change.entries ?? []) if (!this.#known.has(text)) note(text);
    this.#applyToList(change);
    const index = this.#changes.push(change) - 1;
    this.#indexes.set(id, index);
    this.#noteUndo(change, index);
    if (isUndoTarget(change)) this.#undoable.push(index);
  }

  #applyToList({ isIncomplete, entries, changes }: ReplayedChange): void {
    const list = this.#entries;
    if (entries || isIncomplete || !list) {
      this.#entries = entries?.slice();
      this.#revert.push(() => {
        this.#entries = list;
      });
      return;
    }
    for (const { at, before, after } of changes) {
      const start = at < 0 ? Math.max(0, list.length + at) : Math.min(at, list.length);
      const gone = list.splice(start, before === null ? 0 : 1, ...(after === null ? [] : [after]));
      this.#revert.push(() => list.splice(start, after === null ? 0 : 1, ...gone));
    }
  }

  /** Undoing an undo makes the change it had undone effective again. An id of a later line is ignored. */
  #noteUndo({ id, undoes }: ReplayedChange, index: number): void {
    const target = undoes === undefined ? undefined : this.#indexes.get(undoes);
    if (undoes === undefined || target === undefined || target >= index) return;
    const before = this.#undos.get(undoes);
    this.#undos.set(undoes, id);
    this.#updateUndone(undoes);
    this.#revert.push(() => {
      if (before === undefined) this.#undos.delete(undoes);
      else this.#undos.set(undoes, before);
      this.#updateUndone(undoes);
    });
  }

  /** Decides again whether a change is undone; then the same for the change that it had undone itself, and so on. */
  #updateUndone(id: string): void {
    for (let next: string | undefined = id; next !== undefined; ) {
      const index: number = this.#indexes.get(next) ?? -1;
      const change: ReplayedChange | undefined = this.#changes[index];
      if (!change) return;
      const by = this.#undos.get(next);
      const undo = by === undefined ? undefined : this.#changes[this.#indexes.get(by) ?? -1];
      const undoneBy = undo?.status === "committed" && undo.undoneBy === undefined ? undo.id : undefined;
      if (undoneBy === change.undoneBy) return;
      const updated: ReplayedChange = { ...change, undoneBy };
      this.#changes[index] = updated;
      if (isUndoTarget(updated)) this.#insertUndoable(index);
      next = change.undoes;
    }
  }

  #insertUndoable(index: number): void {
    let [low, high] = [0, this.#undoable.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#undoable[middle] as number) < index) low = middle + 1;
      else high = middle;
    }
    if (this.#undoable[low] !== index) this.#undoable.splice(low, 0, index);
  }

  #newestUndoable(): ReplayedChange | undefined {
    for (let index = this.#undoable.at(-1); index !== undefined; index = this.#undoable.at(-1)) {
      const change = this.#changes[index];
      if (change && isUndoTarget(change)) return change;
      this.#undoable.pop();
    }
    return undefined;
  }

  #abortLast(): void {
    const index = this.#changes.length - 1;
    const last = this.#changes[index];
    if (!last) return;
    this.#changes[index] = { ...last, status: "aborted" };
    for (const step of this.#revert.toReversed()) step();
    this.#revert = [];
  }
}

function isUndoTarget(change: ReplayedChange): boolean {
  return change.action !== "undo" && whyNotUndoable(change) === undefined;
}

/** True when the file still has the content from before this line, so its rename never happened. */
function wasCutOff(record: ChangeRecord, hashAfterwards: string | null): boolean {
  if (record.action === "external") return false; // noted after the fact
  return record.fileAfter !== hashAfterwards && record.fileBefore === hashAfterwards;
}

/** Removals from the end forward, then additions in order. A mere change of order shows only in the list noted beside them. */
export function difference(previous: readonly string[], next: readonly string[]): Change[] {
  const [old, young] = [new Set(previous), new Set(next)];
  const gone = previous.flatMap((before, at) => (young.has(before) ? [] : [{ at, before, after: null }]));
  const added = next.flatMap((after, at) => (old.has(after) ? [] : [{ at, before: null, after }]));
  return [...gone.reverse(), ...added];
}

// ---- Compaction: the newest changes stay unchanged, one checkpoint line replaces everything before them ----

/** Keeps the newest `keepChanges` changes undoable, and the refusals among them. */
export function compactRecords(
  records: readonly JournalRecord[],
  currentHash: string | null,
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
  const first = kept[0];
  const hashAtCut = first?.kind === "change" ? first.fileBefore : currentHash;
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

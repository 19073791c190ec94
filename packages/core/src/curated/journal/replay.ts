// Plays a journal forward: which lines took effect, what the list was afterwards, and since when each entry is known.
import {
  type ChangeRecord,
  FIRST_SEEN,
  type JournalRecord,
  type KnownEntry,
  type RefusalRecord,
} from "./record.ts";

/** Where a line stands: its number in its own journal, and the highest sequence number up to it. */
type Placed = { readonly position: number; readonly sequence: number };

export type ReplayedChange = ChangeRecord &
  Placed & {
    /** `aborted`: the line was written, then the process died before the file was replaced. */
    readonly status: "committed" | "aborted";
    /** Id of the change that took this one back, if one did. */
    readonly undoneBy?: string;
  };

export type ReplayedRefusal = RefusalRecord & Placed;

/** Good until the journal is read again. */
export type Replay = {
  /** In the order of the journal. */
  readonly changes: readonly ReplayedChange[];
  readonly refusals: readonly ReplayedRefusal[];
  /** The list after the last line that took effect; undefined when the journal cannot tell. */
  readonly entries: readonly string[] | undefined;
  /** Since when, and through whom, each text of that list is in it. */
  readonly known: ReadonlyMap<string, KnownEntry>;
  change(id: string): ReplayedChange | undefined;
  /** The change a bare `undo` means: the last that took effect and is not taken back yet. Undos themselves do not count. */
  newestUndoable(): ReplayedChange | undefined;
};

/** `currentHash` is that of the file now; it decides about the last line. Undefined when the file cannot be read. */
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
 * Takes records one at a time, so that a journal that grew is played on from where it ended before. Each record costs as
 * much as it changes, whatever came before it.
 */
export class Replayer {
  readonly #records: JournalRecord[] = [];
  readonly #changes: ReplayedChange[] = [];
  readonly #refusals: ReplayedRefusal[] = [];
  readonly #indexes = new Map<string, number>();
  /** By the id of a change: the last undo that names it. That undo may itself be taken back. */
  readonly #undos = new Map<string, string>();
  /** Indexes of changes that could be taken back, ascending. Some of them no longer can; they are dropped when met. */
  readonly #open: number[] = [];
  #entries: string[] | undefined = [];
  #known = new Map<string, KnownEntry>();
  #sequence = 0;
  /** How the latest change is taken out again, should it turn out to have been cut off. */
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
    const note = (text: string): void =>
      set(text, { text, since: time, id, origin, ...(sessionId === undefined ? {} : { sessionId }) });
    for (const { before, after } of change.changes) {
      if (before !== null) set(before, undefined);
      if (after !== null) note(after);
    }
    for (const text of change.entries ?? []) if (!this.#known.has(text)) note(text);
    this.#step(change);
    const index = this.#changes.push(change) - 1;
    this.#indexes.set(id, index);
    this.#takeBack(change, index);
    if (isOpen(change)) this.#open.push(index);
  }

  #step({ isIncomplete, entries, changes }: ReplayedChange): void {
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

  /** Taking back an undo brings the change it undid to life again. Names of lines that come later are not believed. */
  #takeBack({ id, undoes }: ReplayedChange, index: number): void {
    const target = undoes === undefined ? undefined : this.#indexes.get(undoes);
    if (undoes === undefined || target === undefined || target >= index) return;
    const before = this.#undos.get(undoes);
    this.#undos.set(undoes, id);
    this.#settle(undoes);
    this.#revert.push(() => {
      if (before === undefined) this.#undos.delete(undoes);
      else this.#undos.set(undoes, before);
      this.#settle(undoes);
    });
  }

  /** Decides anew whether a change is undone, and with it the change that it had undone itself, and so on. */
  #settle(id: string): void {
    for (let next: string | undefined = id; next !== undefined; ) {
      const index: number = this.#indexes.get(next) ?? -1;
      const change: ReplayedChange | undefined = this.#changes[index];
      if (!change) return;
      const by = this.#undos.get(next);
      const undo = by === undefined ? undefined : this.#changes[this.#indexes.get(by) ?? -1];
      const undoneBy = undo?.status === "committed" && undo.undoneBy === undefined ? undo.id : undefined;
      if (undoneBy === change.undoneBy) return;
      const { undoneBy: _old, ...rest } = change;
      const now: ReplayedChange = undoneBy === undefined ? rest : { ...rest, undoneBy };
      this.#changes[index] = now;
      if (isOpen(now)) this.#reopen(index);
      next = change.undoes;
    }
  }

  #reopen(index: number): void {
    let [low, high] = [0, this.#open.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#open[middle] as number) < index) low = middle + 1;
      else high = middle;
    }
    if (this.#open[low] !== index) this.#open.splice(low, 0, index);
  }

  #newestUndoable(): ReplayedChange | undefined {
    for (let index = this.#open.at(-1); index !== undefined; index = this.#open.at(-1)) {
      const change = this.#changes[index];
      if (change && isOpen(change)) return change;
      this.#open.pop();
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

function isOpen(change: ReplayedChange): boolean {
  return change.action !== "undo" && whyNotUndoable(change) === undefined;
}

/** The file still was what it had been before this line, so its rename never happened. */
function wasCutOff(record: ChangeRecord, hashAfterwards: string | null): boolean {
  if (record.action === "external") return false; // noted afterwards
  return record.fileAfter !== hashAfterwards && record.fileBefore === hashAfterwards;
}

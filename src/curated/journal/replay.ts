// Plays a journal forward: which lines took effect, what the list was afterwards, and since when each entry is known.
import { applyChange } from "../change.ts";
import type { ChangeRecord, JournalRecord, KnownEntry, RefusalRecord } from "./record.ts";

export type ReplayedChange = ChangeRecord & {
  /** `aborted`: the line was written, then the process died before the file was replaced. */
  readonly status: "committed" | "aborted";
  /** Id of the change that took this one back, if one did. */
  readonly undoneBy?: string;
};

export type Replay = {
  readonly changes: readonly ReplayedChange[];
  readonly refusals: readonly RefusalRecord[];
  /** Place of each record in the journal, by id: the one order that several lines of a millisecond have. */
  readonly order: ReadonlyMap<string, number>;
  /** The list after the last line that took effect; undefined when the journal cannot tell. */
  readonly entries: readonly string[] | undefined;
  /** Since when, and through whom, each text of that list is in it. */
  readonly known: ReadonlyMap<string, KnownEntry>;
};

type State = { entries: readonly string[] | undefined; known: Map<string, KnownEntry> };

/** `currentHash` is that of the file now; it decides about the last line. Undefined when the file cannot be read. */
export function replayJournal(
  records: readonly JournalRecord[],
  currentHash: string | null | undefined,
): Replay {
  const changes: { record: ChangeRecord; status: "committed" | "aborted" }[] = [];
  const refusals: RefusalRecord[] = [];
  let state: State = { entries: [], known: new Map() };
  let previous = state; // before the latest change, in case it turns out to have been cut off
  for (const record of records) {
    if (record.kind === "refusal") {
      refusals.push(record);
    } else if (record.kind === "checkpoint") {
      const known = new Map(record.known.map((entry) => [entry.text, entry]));
      const entries = record.isIncomplete ? undefined : record.known.map(({ text }) => text);
      state = { entries, known };
      previous = state;
    } else {
      const last = changes.at(-1);
      if (last && wasCutOff(last.record, record.fileBefore)) {
        last.status = "aborted";
        state = previous;
      }
      changes.push({ record, status: "committed" });
      previous = state;
      state = step(state, record);
    }
  }
  const last = changes.at(-1);
  if (last && currentHash !== undefined && wasCutOff(last.record, currentHash)) {
    last.status = "aborted";
    state = previous;
  }
  const order = new Map(records.map(({ id }, index) => [id, index]));
  return { changes: markUndone(changes), refusals, order, entries: state.entries, known: state.known };
}

/** The file still was what it had been before this line, so its rename never happened. */
function wasCutOff(record: ChangeRecord, hashAfterwards: string | null): boolean {
  if (record.action === "external") return false; // noted afterwards
  return record.fileAfter !== hashAfterwards && record.fileBefore === hashAfterwards;
}

function step(state: State, record: ChangeRecord): State {
  const { id, time, origin, sessionId } = record;
  const known = new Map(state.known);
  const note = (text: string): void => {
    known.set(text, { text, since: time, id, origin, ...(sessionId === undefined ? {} : { sessionId }) });
  };
  for (const { before, after } of record.changes) {
    if (before !== null) known.delete(before);
    if (after !== null) note(after);
  }
  const base = record.isIncomplete ? undefined : state.entries;
  const entries = record.entries ?? (base && record.changes.reduce<readonly string[]>(applyChange, base));
  for (const text of record.entries ?? []) if (!known.has(text)) note(text);
  return { entries, known };
}

function markUndone(
  changes: readonly { record: ChangeRecord; status: "committed" | "aborted" }[],
): ReplayedChange[] {
  const undoneBy = new Map<string, string>();
  for (const { record, status } of changes) {
    if (record.undoes === undefined || status === "aborted") continue;
    undoneBy.set(record.undoes, record.id);
  }
  // Taking back an undo brings the change it undid to life again.
  const isLive = (id: string): boolean => !undoneBy.has(id) || !isLive(undoneBy.get(id) as string);
  return changes.map(({ record, status }) => {
    const by = undoneBy.get(record.id);
    return { ...record, status, ...(by !== undefined && isLive(by) ? { undoneBy: by } : {}) };
  });
}

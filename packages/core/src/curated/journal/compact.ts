// Shrinks a journal: the newest changes stay as they are, everything before them becomes one checkpoint line.
import { randomHex } from "../../lib/index.ts";
import type { CheckpointRecord, JournalRecord } from "./record.ts";
import { replayJournal } from "./replay.ts";

/** Keeps the newest `keepChanges` changes undoable, and the refusals that happened among them. */
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
  // A client stuck in a loop of refused writes must not fill the disk either.
  const dropRefusals = new Set(refusals.slice(0, Math.max(0, refusals.length - keepChanges)));
  const survivors = kept.filter((record) => record.kind !== "refusal" || !dropRefusals.has(record));
  const older = records.slice(0, cut);
  if (older.length === 0) return survivors;
  const first = kept[0];
  const hashAtCut = first?.kind === "change" ? first.fileBefore : currentHash;
  const past = replayJournal(older, hashAtCut);
  const checkpoint: CheckpointRecord = {
    kind: "checkpoint",
    id: randomHex(4),
    sequence: older.reduce((highest, { sequence = 0 }) => Math.max(highest, sequence), 0) || undefined,
    time: now.toISOString(),
    origin: "tool",
    known: (past.entries ?? []).flatMap((text) => past.known.get(text) ?? []),
    fileAfter: hashAtCut,
    dropped: older.length + alreadyDropped(older),
    ...(past.entries === undefined ? { isIncomplete: true as const } : {}),
  };
  return [checkpoint, ...survivors];
}

function alreadyDropped(records: readonly JournalRecord[]): number {
  const [first] = records;
  return first?.kind === "checkpoint" ? first.dropped - 1 : 0;
}

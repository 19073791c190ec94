// Takes back changes that belong together, to the byte where nothing else has happened since.
import { readFileSync } from "node:fs";
import { err, normalizeNewlines, ok, type Result, sha256 } from "../lib/index.ts";
import { listBackups } from "./backup.ts";
import { committedWrites } from "./committed-write.ts";
import type { ScanOptions } from "./content-check.ts";
import { parseEntries, withoutDuplicates } from "./format.ts";
import type { ReplayedChange } from "./journal/replay.ts";
import { outcomeOf } from "./outcome.ts";
import type { Planner, TargetStore } from "./target-store.ts";
import type { CommittedWrite, MemoryError, MemoryTarget, WriteMeta } from "./types.ts";
import { planUndo, undoPlanner } from "./undo.ts";

export type GroupUndone = {
  /** Ids of the changes that were taken back. */
  readonly changes: readonly string[];
  /** Texts that left the files by it. */
  readonly removed: readonly string[];
  /** Targets whose file is what it was before the group, byte for byte. */
  readonly exact: readonly MemoryTarget[];
  /** What was written to do so, for whoever mirrors memory elsewhere. */
  readonly writes: readonly CommittedWrite[];
};

type Part = { readonly store: TargetStore; readonly changes: readonly ReplayedChange[] };

export async function undoGroup(
  stores: readonly TargetStore[],
  group: string,
  scan: ScanOptions,
  meta: WriteMeta,
): Promise<Result<GroupUndone, MemoryError>> {
  const parts = stores.map((store) => ({ store, changes: liveChanges(store, group) }));
  if (parts.every(({ changes }) => changes.length === 0))
    return err({ kind: "no_match", message: `Nothing of group '${group}' is left to take back in memory.` });
  for (const part of parts) {
    const objection = tryOut(part, scan);
    if (objection) return err(objection);
  }
  const undone: string[] = [];
  const exact: MemoryTarget[] = [];
  const writes: CommittedWrite[] = [];
  const removed: string[] = [];
  for (const { store, changes } of parts) {
    const before = store.entries;
    for (const change of changes.toReversed()) {
      if (change.changes.length === 0) continue; // only the bytes were other; they come back below
      const outcome = await store.transact(undoPlanner(store, change, scan, { isRestoring: true }), {
        ...meta,
        group,
      });
      if (!outcome.ok) return outcome;
      writes.push(...committedWrites(outcomeOf(store, outcome.value)));
      undone.push(change.id);
    }
    const first = changes[0];
    if (!first) continue;
    const restored = await store.transact(bytesPlanner(store, first, changes), { ...meta, group });
    if (!restored.ok) return restored;
    undone.push(...changes.filter((change) => change.changes.length === 0).map(({ id }) => id));
    if (sha256OfFile(store.paths.file) === first.fileBefore) exact.push(store.target);
    removed.push(...before.filter((text) => !store.entries.includes(text)));
  }
  return ok({ changes: undone, removed, exact, writes });
}

function liveChanges(store: TargetStore, group: string): ReplayedChange[] {
  const { changes } = store.replay();
  return changes.filter(
    (change) =>
      change.group === group &&
      change.action !== "undo" &&
      change.status === "committed" &&
      change.undoneBy === undefined,
  );
}

/** Plays the whole way back on a copy first: half a group taken back would be neither the old state nor the new one. */
function tryOut({ store, changes }: Part, scan: ScanOptions): MemoryError | undefined {
  if (changes.length === 0) return undefined;
  store.load();
  let { entries } = store;
  for (const change of changes.toReversed()) {
    if (change.changes.length === 0) continue;
    const plan = planUndo(entries, change, { limit: store.limit, scan, isRestoring: true });
    if (!plan.ok) return plan.error;
    entries = plan.value.entries;
  }
  return undefined;
}

/** A backup of the file as it was is put back when it holds the same entries; otherwise the file stays as undo left it. */
function bytesPlanner(
  store: TargetStore,
  first: ReplayedChange,
  changes: readonly ReplayedChange[],
): Planner {
  return ({ entries, hash }) => {
    const same = { action: "undo", entries, changes: [], message: "Nothing else to restore." } as const;
    if (first.fileBefore === null || hash === first.fileBefore) return ok(same);
    const bytes = backupWith(store.paths.file, first.fileBefore);
    if (!bytes || !isDeepEqual(entriesIn(bytes), entries)) return ok(same);
    const rewrite = changes.find((change) => change.changes.length === 0);
    const message = "The file is what it was, byte for byte.";
    return ok({ ...same, message, bytes, ...(rewrite ? { undoes: rewrite.id } : {}) });
  };
}

function backupWith(file: string, wanted: string): Uint8Array | undefined {
  return listBackups(file)
    .map((path) => readFileSync(path))
    .find((bytes) => sha256(bytes) === wanted);
}

function entriesIn(bytes: Uint8Array): string[] {
  return withoutDuplicates(parseEntries(normalizeNewlines(Buffer.from(bytes).toString("utf8"))));
}

function isDeepEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

function sha256OfFile(path: string): string | undefined {
  try {
    return sha256(readFileSync(path));
  } catch {
    return undefined;
  }
}

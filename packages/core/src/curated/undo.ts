// Takes recorded changes back: one change, if the current list still allows it, or all changes of a group together.
import { readFileSync } from "node:fs";
import { err, normalizeNewlines, ok, preview, type Result, sha256 } from "../lib/index.ts";
import { distinctEntries, problemComingBack, type ScanOptions } from "./entries.ts";
import { listBackups } from "./file-errors.ts";
import { type ReplayedChange, whyNotUndoable } from "./journal-replay.ts";
import { readMemoryFile } from "./memory-file.ts";
import type { TargetStore } from "./target-store.ts";
import {
  type Change,
  type CommittedWrite,
  type MemoryError,
  type MemoryTarget,
  memoryError,
  refused,
  type WriteMeta,
} from "./types.ts";
import { applyChange, checkBudget, committedWrites, type Plan, type Planner } from "./write-plan.ts";

// ---- One change ----

type UndoOptions = {
  /**
   * A whole group is taken back, and the file becomes what it was before: neither scanner nor budget apply, because its texts were
   * stored then. The snapshot still keeps dangerous texts out of a prompt.
   */
  readonly isRestoring?: boolean;
};

/** Looks the change up again under the lock: another process may have taken it back a moment ago. */
export function undoPlanner(
  store: TargetStore,
  candidate: ReplayedChange,
  scan: ScanOptions,
  options: UndoOptions = {},
): Planner {
  return ({ entries, hash }) => {
    const replay = store.journal.replay(hash);
    const change = replay.change(candidate.id);
    if (!change) return err(cannotUndo(candidate, "it is not in the journal any more"));
    // Undoing a restore moves the entry back to the archive. Undoing an undo repeats a change, and with it what that change archived.
    const repeated = change.undoes === undefined ? undefined : replay.change(change.undoes);
    const toArchive =
      change.action === "restore" ? change.changes.flatMap(({ after }) => after ?? []) : repeated?.archived;
    return planUndo(entries, change, { limit: store.limit, scan, toArchive, ...options });
  };
}

/** Texts that come back are scanned again: the scanner or its settings may have changed. */
function planUndo(
  entries: readonly string[],
  change: ReplayedChange,
  options: UndoOptions & { limit: number; scan: ScanOptions; toArchive?: readonly string[] },
): Result<Plan, MemoryError> {
  const { limit, scan, toArchive = [], isRestoring = false } = options;
  const reason = whyNotUndoable(change);
  if (reason) return err(cannotUndo(change, reason));
  let list = entries;
  const changes: Change[] = [];
  for (const done of change.changes.toReversed()) {
    const step = invert(list, done);
    if (!step.ok) return err(cannotUndo(change, step.error));
    const problem =
      step.value.after === null || isRestoring ? undefined : problemComingBack(step.value.after, scan);
    if (problem) return err(problem);
    list = applyChange(list, step.value);
    changes.push(step.value);
  }
  const plan: Plan = {
    action: "undo",
    entries: list,
    changes,
    archive: toArchive.filter((text) => entries.includes(text) && !list.includes(text)),
    undoes: change.id,
    message: `Took back ${change.action} ${change.id}.`,
  };
  const tooMuch = isRestoring ? undefined : checkBudget(entries, plan, undefined, limit);
  return tooMuch ? err(tooMuch) : ok(plan);
}

function invert(list: readonly string[], { at, before, after }: Change): Result<Change, string> {
  if (before !== null && list.includes(before)) return err(`${quote(before)} is stored again`);
  if (after === null) return ok({ at: Math.min(at, list.length), before: null, after: before });
  const index = list.indexOf(after);
  if (index < 0) return err(`${quote(after)} is not in memory any more`);
  return ok({ at: index, before: after, after: before });
}

function cannotUndo(change: ReplayedChange, why: string): MemoryError {
  return memoryError({
    kind: "no_match",
    message: `Cannot take back ${change.action} ${change.id}: ${why}. 'hermes memory history' lists the changes.`,
  });
}

function quote(text: string): string {
  return `'${preview(text, 40)}'`;
}

// ---- A group of changes ----

export type GroupUndone = {
  /** Ids of the changes that were taken back. */
  readonly changes: readonly string[];
  /** Texts that left the files by it. */
  readonly removed: readonly string[];
  /** Targets whose file is what it was before the group, byte for byte. */
  readonly exact: readonly MemoryTarget[];
  /** The writes that did it, for mirroring them elsewhere. */
  readonly writes: readonly CommittedWrite[];
};

type Part = { readonly store: TargetStore; readonly changes: readonly ReplayedChange[] };

/** Newest change first: all of them or, when one has been built upon since, none. */
export async function undoGroup(
  stores: readonly TargetStore[],
  group: string,
  scan: ScanOptions,
  meta: WriteMeta,
): Promise<Result<GroupUndone, MemoryError>> {
  const parts = stores.map((store) => ({ store, changes: effectiveChanges(store, group) }));
  if (parts.every(({ changes }) => changes.length === 0))
    return refused({
      kind: "no_match",
      message: `Nothing of group '${group}' is left to take back in memory.`,
    });
  for (const part of parts) {
    const objection = rehearse(part, scan);
    if (objection) return err(objection);
  }
  const undone: string[] = [];
  const exact: MemoryTarget[] = [];
  const writes: CommittedWrite[] = [];
  const removed: string[] = [];
  const groupMeta = { ...meta, group };
  for (const { store, changes } of parts) {
    const [first] = changes;
    if (!first) continue;
    const before = store.entries;
    const [rewrites, edits] = [changes.filter(isRewrite), changes.filter((change) => !isRewrite(change))];
    for (const change of edits.toReversed()) {
      const planner = undoPlanner(store, change, scan, { isRestoring: true });
      const outcome = await store.transact(planner, groupMeta);
      if (!outcome.ok) return outcome;
      writes.push(...committedWrites(outcome.value));
      undone.push(change.id);
    }
    const restored = await store.transact(restoreBytes(store, first, rewrites[0]), groupMeta);
    if (!restored.ok) return restored;
    undone.push(...rewrites.map(({ id }) => id));
    const now = readMemoryFile(store.paths.file);
    if (now.kind === "text" && now.hash === first.fileBefore) exact.push(store.target);
    removed.push(...before.filter((text) => !store.entries.includes(text)));
  }
  return ok({ changes: undone, removed, exact, writes });
}

function effectiveChanges(store: TargetStore, group: string): ReplayedChange[] {
  return store
    .replay()
    .changes.filter(
      (change) =>
        change.group === group &&
        change.action !== "undo" &&
        change.status === "committed" &&
        change.undoneBy === undefined,
    );
}

/** True for a change that only changed bytes of the file, such as identical copies, and no entry. */
function isRewrite(change: ReplayedChange): boolean {
  return change.changes.length === 0;
}

/** Undoes everything on a copy of the list first: half a group taken back would be neither the old state nor the new one. */
function rehearse({ store, changes }: Part, scan: ScanOptions): MemoryError | undefined {
  if (changes.length === 0) return undefined;
  store.load();
  let { entries } = store;
  for (const change of changes.toReversed()) {
    if (isRewrite(change)) continue;
    const plan = planUndo(entries, change, { limit: store.limit, scan, isRestoring: true });
    if (!plan.ok) return plan.error;
    entries = plan.value.entries;
  }
  return undefined;
}

/** Puts a backup of the file from before the group back, when it holds the same entries. Otherwise the file stays. */
function restoreBytes(
  store: TargetStore,
  first: ReplayedChange,
  rewrite: ReplayedChange | undefined,
): Planner {
  return ({ entries, hash }) => {
    const same = { action: "undo", entries, changes: [], message: "Nothing else to restore." } as const;
    if (first.fileBefore === null || hash === first.fileBefore) return ok(same);
    const backups = listBackups(store.paths.file).map((path) => readFileSync(path));
    const bytes = backups.find((each) => sha256(each) === first.fileBefore);
    const held = bytes && distinctEntries(normalizeNewlines(bytes.toString("utf8")));
    if (JSON.stringify(held) !== JSON.stringify(entries)) return ok(same);
    const message = "The file is what it was, byte for byte.";
    return ok({ ...same, message, bytes, undoes: rewrite?.id });
  };
}

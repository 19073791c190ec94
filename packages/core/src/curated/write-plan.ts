// Decides what a write does to the list of entries, and describes afterwards what it did. Pure: no files, no clock. The only
// code that carries a plan out is TargetStore.transact.
import { codePointLength, err, ok, preview, type Result, sha256, withoutUndefined } from "../lib/index.ts";
import {
  cleanText,
  findEntry,
  formatEntries,
  formatFraction,
  isOver,
  measure,
  newTextProblem,
  problemComingBack,
  type ScanOptions,
  usageWarning,
} from "./entries.ts";
import type { ChangeAction } from "./journal-replay.ts";
import { isPinned, type Pins } from "./pins.ts";
import {
  type Change,
  type CommittedWrite,
  type MemoryCuration,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryTarget,
  memoryError,
  refused,
} from "./types.ts";

/** The state on disk that a planner decides on. */
export type PlanInput = {
  readonly entries: readonly string[];
  /** SHA-256 of the file; null when there is none. */
  readonly hash: string | null;
  /** Reads the pin file; most plans do not need it. */
  readonly pins: () => Pins;
};

/** The new state of the file. Without changes nothing is written, unless a flag below says so. */
export type Plan = {
  readonly action: ChangeAction;
  readonly entries: readonly string[];
  readonly changes: readonly Change[];
  readonly message: string;
  /** Texts to add to the archive. */
  readonly archive?: readonly string[];
  /** Id of the change that this plan takes back. */
  readonly undoes?: string;
  /** Delete the file, not only its entries. */
  readonly isFileRemoved?: boolean;
  /** Keep a copy of the old file. */
  readonly isBackedUp?: boolean;
  /** Write the file even when its entries stay, to drop content that reading ignores, such as identical copies. */
  readonly isRewritten?: boolean;
  /** Exact content of the new file. Reads back as `entries`. */
  readonly bytes?: Uint8Array;
};

export type Planner = (input: PlanInput) => Result<Plan, MemoryError>;

/** True when carrying the plan out would leave the file unchanged. */
export function isIdle(plan: Plan, hash: string | null): boolean {
  if (plan.changes.length > 0 || plan.isFileRemoved) return false;
  if (plan.bytes) return sha256(plan.bytes) === hash;
  return !plan.isRewritten || sha256(formatEntries(plan.entries)) === hash;
}

// ---- Add, replace, remove ----

export type OpsContext = {
  readonly target: MemoryTarget;
  readonly limit: number;
  readonly overflow: "refuse" | "archive";
  /** The writer is a background review, which may not remove entries. */
  readonly isReview: boolean;
};

/** Several operations are one change: all of them or none, the budget checked on the final list. `ops` passed `checkOp`. */
export function planOps(
  input: PlanInput,
  ops: readonly MemoryOp[],
  context: OpsContext,
): Result<Plan, MemoryError> {
  const plan = planEdits(input, ops, context);
  if (!plan.ok || !context.isReview) return plan;
  const { entries, changes, archive = [] } = plan.value;
  // The user does not watch a review, so a merge that drops an entry counts as a loss too, and so does the archive.
  const isRemoving = changes.some((change) => change.before !== null && change.after === null);
  if (!isRemoving && entries.length >= input.entries.length && archive.length === 0) return plan;
  const message =
    "A review may add entries and correct them, but this would take one away. Nothing was changed. The curator merges and archives.";
  return refused({ kind: "denied", message });
}

function planEdits(
  { entries: before, pins }: PlanInput,
  ops: readonly MemoryOp[],
  { target, limit, overflow }: OpsContext,
): Result<Plan, MemoryError> {
  const edited = editAll(before, ops);
  if (!edited.ok) return edited;
  const edit = edited.value;
  const only = ops.length === 1 ? ops[0] : undefined;
  const action = only?.action ?? "group";
  const tooMuch = checkBudget(before, edit, only, limit);
  if (!tooMuch) return ok({ action, ...edit });
  if (overflow === "refuse" || !ops.some((op) => op.action === "add")) return err(tooMuch);
  const pinned = pins();
  const written = new Set(edit.changes.map(({ after }) => after));
  const isKept = (entry: string): boolean => written.has(entry) || isPinned(pinned, target, entry);
  const fitting = archiveOldest(edit, limit, isKept);
  if (!fitting) return err(tooMuch);
  const message = `${edit.message} ${archivedMessage(fitting.archive.length)}`;
  return ok({ action, ...fitting, message });
}

type Edit = Pick<Plan, "entries" | "changes" | "message">;

function editAll(before: readonly string[], ops: readonly MemoryOp[]): Result<Edit, MemoryError> {
  let total: Edit = { entries: before, changes: [], message: "" };
  for (const [index, op] of ops.entries()) {
    const step = editEntries(total.entries, op);
    if (!step.ok) return ops.length === 1 ? step : err(atStep(step.error, index));
    const { entries, changes, message } = step.value;
    total = { entries, changes: [...total.changes, ...changes], message };
  }
  return ok(ops.length === 1 ? total : { ...total, message: `${ops.length} operations applied.` });
}

const MERGED_MESSAGE = "Entry replaced. The new text was stored already, so the two entries were merged.";

/** One operation, without its budget check. */
function editEntries(entries: readonly string[], op: MemoryOp): Result<Edit, MemoryError> {
  const unchanged = (message: string) => ok({ entries, changes: [], message });
  const changed = (change: Change, message: string) =>
    ok({ entries: applyChange(entries, change), changes: [change], message });
  if (op.action === "add") {
    if (entries.includes(op.content)) return unchanged("Entry already exists (no duplicate added).");
    return changed({ at: entries.length, before: null, after: op.content }, "Entry added.");
  }
  const found = findEntry(entries, op.oldText, op.match);
  if (!found.ok) return found;
  const at = found.value;
  const before = entries[at] as string;
  if (op.action === "remove") return changed({ at, before, after: null }, "Entry removed.");
  if (before === op.content) return unchanged("Entry replaced.");
  if (entries.includes(op.content))
    return changed({ at, before, after: null, into: op.content }, MERGED_MESSAGE);
  return changed({ at, before, after: op.content }, "Entry replaced.");
}

export function applyChange(entries: readonly string[], { at, after, before }: Change): string[] {
  return entries.toSpliced(at, before === null ? 0 : 1, ...(after === null ? [] : [after]));
}

/** Says which of several operations failed. */
export function atStep<E extends Pick<MemoryError, "message">>(error: E, index: number): E {
  const message = `Operation ${index + 1}: ${error.message} None of the operations was applied.`;
  return Object.assign(error instanceof Error ? new Error() : {}, { ...error, message });
}

// ---- The budget ----

/** A change may end over the limit only when the file gets shorter by it. */
export function checkBudget(
  before: readonly string[],
  next: Pick<Plan, "entries" | "changes">,
  op: MemoryOp | undefined,
  limit: number,
): MemoryError | undefined {
  const total = measure(next.entries, limit);
  if (!isOver(total) || next.changes.length === 0) return undefined;
  const current = measure(before, limit);
  if (total.used < current.used) return undefined;
  return memoryError({
    kind: "over_limit",
    message: overLimitMessage(formatFraction(current), formatFraction(total), op),
    currentEntries: before,
    usedChars: current.used,
    charLimit: limit,
  });
}

function overLimitMessage(current: string, total: string, op: MemoryOp | undefined): string {
  if (op?.action === "add") {
    const length = codePointLength(op.content);
    return (
      `Memory at ${current} chars. Adding this entry (${length} chars) would exceed the limit. ` +
      "Merge related entries with 'replace' or drop stale ones with 'remove' (all entries are listed below), then retry in this same turn."
    );
  }
  if (op?.action === "replace") {
    return (
      `Replacement would put memory at ${total} chars. ` +
      "Shorten the new text or 'remove' other entries, then retry in this same turn."
    );
  }
  return (
    `Together these changes would put memory at ${total} chars and exceed the limit. ` +
    "Nothing was changed; shorten or remove entries, then retry."
  );
}

/**
 * Moves entries to the archive until the rest fits, the oldest first: those stand first in the file. Entries for which `isKept`
 * holds (pinned, or written by this change) stay. Undefined when the rest does not fit even then.
 */
function archiveOldest(
  edit: Edit,
  limit: number,
  isKept: (entry: string) => boolean,
): (Pick<Plan, "entries" | "changes"> & { readonly archive: readonly string[] }) | undefined {
  let entries = edit.entries;
  const changes: Change[] = [...edit.changes];
  const archive: string[] = [];
  while (isOver(measure(entries, limit))) {
    const at = entries.findIndex((entry) => !isKept(entry));
    const before = entries[at];
    if (before === undefined) return undefined;
    const change = { at, before, after: null };
    entries = applyChange(entries, change);
    changes.push(change);
    archive.push(before);
  }
  return { entries, changes, archive };
}

function archivedMessage(count: number): string {
  const moved = count === 1 ? "1 older entry was" : `${count} older entries were`;
  return `${moved} moved to the archive to make room (the memory tool's 'search_archive' and 'hermes memory archive list' show them, 'hermes memory archive restore' brings them back).`;
}

// ---- Restore, reset ----

export function planRestore(
  entries: readonly string[],
  text: string,
  limit: number,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  const problem = problemComingBack(text, scan);
  if (problem) return err(problem);
  const op = { action: "add", content: text } as const;
  const edited = editEntries(entries, op);
  if (!edited.ok) return edited;
  const tooMuch = checkBudget(entries, edited.value, op, limit);
  if (tooMuch) return err(tooMuch);
  return ok({ action: "restore", ...edited.value, message: "Entry restored from the archive." });
}

/** Deletes the file. A backup is kept when `undo` would refuse to bring the entries back, because of the scanner or the budget. */
export function planReset(
  { entries, hash }: PlanInput,
  limit: number,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  if (hash === null)
    return ok({ action: "reset", entries: [], changes: [], message: "There was no file to delete." });
  const canComeBack =
    !isOver(measure(entries, limit)) && entries.every((entry) => !problemComingBack(entry, scan));
  return ok({
    action: "reset",
    entries: [],
    changes: entries.map((before) => ({ at: 0, before, after: null })),
    message: canComeBack
      ? "File deleted."
      : "File deleted. Undo could not bring all of it back, so a backup was kept.",
    isFileRemoved: true,
    isBackedUp: !canComeBack,
  });
}

// ---- Tidying steps of the curator ----

/** The step was proposed earlier, perhaps days ago, so every assumption it rests on is checked again. */
export function planCuration(
  { entries, hash, pins }: PlanInput,
  curation: MemoryCuration,
  { target, limit }: Pick<OpsContext, "target" | "limit">,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  const remove = [...new Set(curation.remove)];
  const gone = [...remove, ...(curation.keep ?? [])].find((text) => !entries.includes(text));
  if (gone !== undefined) return err(outdatedStep(gone, "is not stored any more"));
  const pinned = pins();
  const held = remove.find((text) => isPinned(pinned, target, text));
  if (held !== undefined) return err({ ...outdatedStep(held, "is pinned"), kind: "denied" });
  const lost = curation.keep?.find((text) => remove.includes(text));
  if (lost !== undefined) return err(outdatedStep(lost, "would have to stay and to go"));
  const text = curation.text === undefined ? undefined : cleanText(curation.text);
  if (text === "") return refused({ kind: "empty", message: "Content cannot be empty." });
  const problem = text === undefined || entries.includes(text) ? undefined : newTextProblem(text, scan);
  if (problem) return err(problem);
  if (text !== undefined && remove.length === 0)
    return err(outdatedStep(text, "has no entry to stand in for"));
  const { list, changes } = removeAndMerge(entries, remove, text);
  const plan: Plan = {
    action: changes.length === 1 ? (changes[0]?.after === null ? "remove" : "replace") : "group",
    entries: list,
    changes,
    message: curationMessage(curation, changes.length),
    isRewritten: true,
    // A file edited by hand may hold content that undo cannot bring back: empty lines, identical copies.
    isBackedUp: hash !== null && sha256(formatEntries(entries)) !== hash,
    archive: curation.isArchived ? changes.flatMap(({ before }) => before ?? []) : undefined,
  };
  const tooMuch = checkBudget(entries, plan, undefined, limit);
  return tooMuch ? err(tooMuch) : ok(plan);
}

/** `text`, when given, takes the place of the first removed entry. It may be one of the removed entries, or stored already. */
function removeAndMerge(
  entries: readonly string[],
  remove: readonly string[],
  text: string | undefined,
): { list: readonly string[]; changes: Change[] } {
  let list = entries;
  const changes: Change[] = [];
  for (const [index, before] of remove.entries()) {
    const at = list.indexOf(before);
    const isStored = text !== undefined && list.includes(text);
    const after = index === 0 && text !== undefined && (text === before || !isStored) ? text : null;
    if (after === before || (text === before && index > 0)) continue; // the merged text is one of the sources
    const change: Change = { at, before, after, into: after === null ? text : undefined };
    list = applyChange(list, change);
    changes.push(change);
  }
  return { list, changes };
}

function curationMessage({ isArchived, text }: MemoryCuration, count: number): string {
  if (count === 0) return "Identical copies removed.";
  if (isArchived) return count === 1 ? "Entry archived." : `${count} entries archived.`;
  if (text !== undefined) return "Entries merged.";
  return count === 1 ? "Entry removed." : `${count} entries removed.`;
}

function outdatedStep(text: string, why: string): MemoryError & { kind: "no_match" } {
  return memoryError({
    kind: "no_match",
    message: `The step no longer fits: '${preview(text, 40)}' ${why}.`,
  });
}

// ---- What a write did ----

/** `changeId` is absent when nothing was written. */
export function outcomeOf(
  { target, limit }: Pick<OpsContext, "target" | "limit">,
  plan: Plan,
  written: { readonly changeId?: string; readonly warning?: string; readonly lockWarning?: string } = {},
): MemoryOpOutcome {
  const { changeId, warning, lockWarning } = written;
  const budget = measure(plan.entries, limit);
  const warnings = [warning, usageWarning(budget), lockWarning].filter((each) => each !== undefined);
  const removed = changeId === undefined ? [] : removedTexts(plan);
  return withoutUndefined<MemoryOpOutcome>({
    target,
    message: plan.message,
    entries: plan.entries.slice(),
    entryCount: plan.entries.length,
    usedChars: budget.used,
    charLimit: budget.limit,
    warning: warnings.length > 0 ? warnings.join(" ") : undefined,
    archived: plan.archive?.length ? plan.archive : undefined,
    changeId,
    changes: changeId === undefined ? undefined : plan.changes,
    madeRoom: changeId !== undefined && isMakingRoom(plan) ? true : undefined,
    removed: removed.length > 0 ? removed : undefined,
  });
}

/** A tidying step and an undo archive the entries they are about; an ordinary write archives others to make room. */
function isMakingRoom({ action, archive = [], isRewritten = false }: Plan): boolean {
  return (
    archive.length > 0 && !isRewritten && (action === "add" || action === "replace" || action === "group")
  );
}

/** In the order they went, each once. Archived texts are reported separately. */
function removedTexts({ changes, entries, archive = [] }: Plan): string[] {
  const gone = changes.flatMap(({ before }) => (before === null ? [] : [before]));
  return [...new Set(gone)].filter((text) => !entries.includes(text) && !archive.includes(text));
}

/**
 * One write for each entry that was added, removed or replaced, with its whole text, for mirroring memory elsewhere. Entries that
 * moved to the archive only to make room are kept, so they are not among them. Empty for an outcome that changed nothing.
 */
export function committedWrites(outcome: MemoryOpOutcome): CommittedWrite[] {
  const { target, changeId, changes = [], archived = [], madeRoom = false } = outcome;
  if (changeId === undefined) return [];
  const isKept = ({ before, after }: Change): boolean =>
    madeRoom && after === null && before !== null && archived.includes(before);
  return changes
    .filter((change) => !isKept(change))
    .map((change) => ({ target, op: operationOf(change), changeId }));
}

export type CommitListener = (write: CommittedWrite) => void;

/** Tells the listener about each committed write. */
export function announce(outcome: MemoryOpOutcome, listener: CommitListener | undefined): void {
  for (const write of committedWrites(outcome)) {
    try {
      listener?.(write);
    } catch {
      // The write is on disk and stays there; a listener handles its own failures.
    }
  }
}

function operationOf({ before, after }: Change): MemoryOp {
  if (before === null) return { action: "add", content: after ?? "" };
  if (after === null) return { action: "remove", oldText: before };
  return { action: "replace", oldText: before, content: after };
}

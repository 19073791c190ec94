// What one operation does to a list of entries. Pure: no files, no clock.
import { codePointLength, ok, type Result } from "../lib/index.ts";
import { formatFraction, isOver, measure } from "./budget.ts";
import { findEntry } from "./match.ts";
import type { Change, MemoryError, MemoryOp } from "./types.ts";

export type Edit = {
  readonly entries: readonly string[];
  readonly changes: readonly Change[];
  readonly message: string;
};

const MERGED_MESSAGE = "Entry replaced. The new text was stored already, so the two entries were merged.";

/** The operation without its budget check. Arguments are checked and stripped already. */
export function editEntries(entries: readonly string[], op: MemoryOp): Result<Edit, MemoryError> {
  if (op.action === "add") {
    if (entries.includes(op.content)) {
      return ok({ entries, changes: [], message: "Entry already exists (no duplicate added)." });
    }
    return ok(edit(entries, { at: entries.length, before: null, after: op.content }, "Entry added."));
  }
  const found = findEntry(entries, op.oldText, op.match);
  if (!found.ok) return found;
  const at = found.value;
  const before = entries[at] as string;
  if (op.action === "remove") return ok(edit(entries, { at, before, after: null }, "Entry removed."));
  if (before === op.content) return ok({ entries, changes: [], message: "Entry replaced." });
  if (entries.includes(op.content))
    return ok(edit(entries, { at, before, after: null, into: op.content }, MERGED_MESSAGE));
  return ok(edit(entries, { at, before, after: op.content }, "Entry replaced."));
}

/** A change may end over the limit only when it leaves less than there was. */
export function checkBudget(
  before: readonly string[],
  next: Edit,
  op: MemoryOp | undefined,
  limit: number,
): MemoryError | undefined {
  const total = measure(next.entries, limit);
  if (!isOver(total) || next.changes.length === 0) return undefined;
  const current = measure(before, limit);
  if (total.used < current.used) return undefined;
  return {
    kind: "over_limit",
    message: overLimitMessage(current, total, op),
    currentEntries: before,
    usedChars: current.used,
    charLimit: limit,
  };
}

export function applyChange(entries: readonly string[], { at, after, before }: Change): string[] {
  return entries.toSpliced(at, before === null ? 0 : 1, ...(after === null ? [] : [after]));
}

function edit(entries: readonly string[], change: Change, message: string): Edit {
  return { entries: applyChange(entries, change), changes: [change], message };
}

function overLimitMessage(
  current: { used: number; limit: number },
  total: { used: number; limit: number },
  op: MemoryOp | undefined,
): string {
  if (op?.action === "add") {
    const length = codePointLength(op.content);
    return (
      `Memory at ${formatFraction(current)} chars. Adding this entry (${length} chars) would exceed the limit. ` +
      "Merge related entries with 'replace' or drop stale ones with 'remove' (all entries are listed below), then retry in this same turn."
    );
  }
  if (op?.action === "replace") {
    return (
      `Replacement would put memory at ${formatFraction(total)} chars. ` +
      "Shorten the new text or 'remove' other entries, then retry in this same turn."
    );
  }
  return (
    `Together these changes would put memory at ${formatFraction(total)} chars and exceed the limit. ` +
    "Nothing was changed; shorten or remove entries, then retry."
  );
}

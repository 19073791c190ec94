// Plans for the rarer changes: an archived entry coming back, a file being reset.
import { err, ok, type Result } from "../lib/index.ts";
import type { ArchivedEntry } from "./archive.ts";
import { isOver, measure } from "./budget.ts";
import { checkBudget, editEntries } from "./change.ts";
import { problemComingBack, type ScanOptions } from "./content-check.ts";
import type { Plan } from "./target-store.ts";
import type { MemoryError } from "./types.ts";

export function planRestore(
  entries: readonly string[],
  { text }: ArchivedEntry,
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

/** What `undo` would refuse to bring back (the scanner's or the budget's doing) is kept as a backup. */
export function planReset(
  entries: readonly string[],
  hash: string | null,
  limit: number,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  if (hash === null)
    return ok({ action: "reset", entries: [], changes: [], message: "There was no file to delete." });
  const changes = entries.map((before) => ({ at: 0, before, after: null }));
  const canComeBack =
    !isOver(measure(entries, limit)) && entries.every((entry) => !problemComingBack(entry, scan));
  const message = canComeBack
    ? "File deleted."
    : "File deleted. Undo could not bring all of it back, so a backup was kept.";
  return ok({
    action: "reset",
    entries: [],
    changes,
    message,
    isFileRemoved: true,
    isBackedUp: !canComeBack,
  });
}

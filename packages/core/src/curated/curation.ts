// Plans a tidying step on whole entries. The step was thought up earlier, so everything it rests on is checked again.
import { err, ok, preview, type Result, sha256 } from "../lib/index.ts";
import { applyChange, checkBudget } from "./change.ts";
import { cleanText, newTextProblem, type ScanOptions } from "./content-check.ts";
import { formatEntries } from "./format.ts";
import { isPinned } from "./pins.ts";
import type { Plan, PlanInput, TargetStore } from "./target-store.ts";
import type { Change, MemoryCuration, MemoryError, WriteMeta } from "./types.ts";

export function planCuration(
  { entries, hash, pins }: PlanInput,
  curation: MemoryCuration,
  { target, limit }: Pick<TargetStore, "target" | "limit">,
  scan: ScanOptions,
): Result<Plan, MemoryError> {
  const remove = [...new Set(curation.remove)];
  const gone = [...remove, ...(curation.keep ?? [])].find((text) => !entries.includes(text));
  if (gone !== undefined) return err(refusal(gone, "is not stored any more"));
  const pinned = pins();
  const held = remove.find((text) => isPinned(pinned, target, text));
  if (held !== undefined) return err({ ...refusal(held, "is pinned"), kind: "denied" });
  const lost = curation.keep?.find((text) => remove.includes(text));
  if (lost !== undefined) return err(refusal(lost, "would have to stay and to go"));
  const text = curation.text === undefined ? undefined : cleanText(curation.text);
  const isNew = text !== undefined && !entries.includes(text);
  const problem = text === "" ? EMPTY : isNew ? newTextProblem(text, scan) : undefined;
  if (problem) return err(problem);
  if (text !== undefined && remove.length === 0) return err(refusal(text, "has no entry to stand in for"));
  const { list, changes } = carriedOut(entries, remove, text);
  const plan: Plan = {
    action: changes.length === 1 ? (changes[0]?.after === null ? "remove" : "replace") : "group",
    entries: list,
    changes,
    message: messageOf(curation, changes),
    isRewritten: true,
    // A file that people wrote may hold what undo cannot bring back: empty lines, identical copies.
    isBackedUp: hash !== null && sha256(formatEntries(entries)) !== hash,
    ...(curation.isArchived ? { archive: changes.flatMap(({ before }) => before ?? []) } : {}),
  };
  const tooMuch = checkBudget(entries, plan, undefined, limit);
  return tooMuch ? err(tooMuch) : ok(plan);
}

/** Who does this, unless it is told. */
export function curationMeta(meta: WriteMeta): WriteMeta {
  return { origin: "curator", ...meta };
}

const EMPTY: MemoryError = { kind: "empty", message: "Content cannot be empty." };

function carriedOut(
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
    const merged = after === null && text !== undefined ? { into: text } : {};
    const change: Change = { at, before, after, ...merged };
    list = applyChange(list, change);
    changes.push(change);
  }
  return { list, changes };
}

function messageOf({ isArchived, text }: MemoryCuration, changes: readonly Change[]): string {
  const count = changes.length;
  if (count === 0) return "Identical copies removed.";
  if (isArchived) return count === 1 ? "Entry archived." : `${count} entries archived.`;
  if (text !== undefined) return "Entries merged.";
  return count === 1 ? "Entry removed." : `${count} entries removed.`;
}

function refusal(text: string, why: string): MemoryError & { kind: "no_match" } {
  return { kind: "no_match", message: `The step no longer fits: '${preview(text, 40)}' ${why}.` };
}

// Makes room for an entry that does not fit by choosing which older ones move to the archive.
import { isOver, measure } from "./budget.ts";
import { applyChange, type Edit } from "./change.ts";
import type { Change } from "./types.ts";

/**
 * The oldest entries stand first in the file. Those in `isKept` (pinned, or written by this very change) stay. Undefined
 * when there is no room to be made that way; then nothing moves.
 */
export function makeRoom(
  edit: Edit,
  limit: number,
  isKept: (entry: string) => boolean,
): { readonly edit: Edit; readonly archived: readonly string[] } | undefined {
  let entries = edit.entries;
  const changes: Change[] = [...edit.changes];
  const archived: string[] = [];
  while (isOver(measure(entries, limit))) {
    const at = entries.findIndex((entry) => !isKept(entry));
    const before = entries[at];
    if (before === undefined) return undefined;
    const change = { at, before, after: null };
    entries = applyChange(entries, change);
    changes.push(change);
    archived.push(before);
  }
  return { edit: { ...edit, entries, changes }, archived };
}

export function archivedMessage(count: number): string {
  const moved = count === 1 ? "1 older entry was" : `${count} older entries were`;
  return `${moved} moved to the archive to make room (the memory tool's 'search_archive' and 'hermes memory archive list' show them, 'hermes memory archive restore' brings them back).`;
}

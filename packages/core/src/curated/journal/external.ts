// Turns "the file is not what the journal says" into a line that tells what somebody else did.
import type { Change } from "../types.ts";
import { isInStep, type Journal } from "./journal.ts";
import { type ChangeRecord, FIRST_SEEN } from "./record.ts";

// A line longer than this would hold a pasted document, not memory. Then only the fact is noted.
const MAX_TEXT_UNITS = 256 * 1024;

/** A file as it was before somebody else changed it. */
export type FileBefore = { readonly hash: string | null; readonly entries: readonly string[] };

/**
 * Nothing when the journal already knows this content. `before`: the last line tells of a change that we gave up, because
 * somebody put another file there at the last moment; this is what was there until then.
 */
export function externalRecord(
  journal: Journal,
  hash: string | null,
  entries: readonly string[],
  head: Pick<ChangeRecord, "id" | "time" | "origin">,
  before?: FileBefore,
): ChangeRecord | undefined {
  const tail = journal.tail();
  if (isInStep(tail, hash)) return undefined;
  const previous = before?.entries ?? (tail ? journal.replay(hash).entries : []);
  const base = {
    kind: "change",
    ...head,
    ...(tail ? {} : { reason: FIRST_SEEN }),
    action: "external",
    fileBefore: before ? before.hash : (tail?.fileAfter ?? null),
    fileAfter: hash,
  } as const;
  const size = [...entries, ...(previous ?? [])].reduce((sum, entry) => sum + entry.length, 0);
  if (size > MAX_TEXT_UNITS) return { ...base, changes: [], isIncomplete: true };
  return { ...base, changes: previous ? difference(previous, entries) : [], entries };
}

/** Removals from the end forward, then additions in order. A mere change of order shows in the list that goes with them. */
export function difference(previous: readonly string[], next: readonly string[]): Change[] {
  const [old, young] = [new Set(previous), new Set(next)];
  const gone = previous.flatMap((before, at) => (young.has(before) ? [] : [{ at, before, after: null }]));
  const come = next.flatMap((after, at) => (old.has(after) ? [] : [{ at, before: null, after }]));
  return [...gone.reverse(), ...come];
}

// From an id to the entry that has it, or to the entry that took the place of the one that had it.
import { preview } from "../lib/index.ts";
import { entryIds, hasId } from "./entry-id.ts";
import type { ReplayedChange } from "./journal/replay.ts";
import type { TargetStore } from "./target-store.ts";
import type { MemoryError } from "./types.ts";

export type FoundById =
  | {
      readonly kind: "entry";
      readonly text: string;
      /** Ids of the changes that led from the text with the asked id to this one. Empty when it has the id itself. */
      readonly followed: readonly string[];
    }
  /** The journal knows the text, but no entry stands in for it any more. */
  | { readonly kind: "gone"; readonly text: string; readonly error: MemoryError }
  | { readonly kind: "several"; readonly error: MemoryError }
  | { readonly kind: "unknown"; readonly error: MemoryError };

/** Looks at the journal only when no entry has the id. As far back as the journal goes. */
export function findById(store: TargetStore, entries: readonly string[], id: string): FoundById {
  const { target, archive } = store;
  const present = entries.filter((entry) => hasId(target, entry, id));
  if (present.length > 1) return { kind: "several", error: several(entryIds(target, entries), present, id) };
  if (present[0] !== undefined) return { kind: "entry", text: present[0], followed: [] };
  const { changes } = store.replay();
  const start = lastDeparture(changes, (text) => hasId(target, text, id));
  if (!start) {
    const error = noMatch(`No entry has the id '${id}'. 'hermes memory show --ids' lists them.`);
    return { kind: "unknown", error };
  }
  const followed: string[] = [];
  for (let step: Departure | undefined = start; step; ) {
    const { change, index, after } = step;
    if (after === undefined) {
      const isArchived = archive.entries().some(({ text }) => text === step?.text);
      const how = isArchived ? "moved to the archive" : "removed";
      const message = `The entry with the id '${id}' was ${how} by change ${change.id}: '${preview(step.text, 80)}'.`;
      return { kind: "gone", text: start.text, error: noMatch(message) };
    }
    followed.push(change.id);
    if (entries.includes(after)) return { kind: "entry", text: after, followed };
    step = nextDeparture(changes, index, after);
  }
  const error = noMatch(`The entry with the id '${id}' is gone, and the journal does not tell how.`);
  return { kind: "gone", text: start.text, error };
}

/** A text leaving the list. `after`: the text that took its place, if one did. */
type Departure = {
  readonly change: ReplayedChange;
  readonly index: number;
  readonly text: string;
  readonly after: string | undefined;
};

function lastDeparture(
  changes: readonly ReplayedChange[],
  isWanted: (text: string) => boolean,
): Departure | undefined {
  for (let index = changes.length - 1; index >= 0; index -= 1) {
    const change = changes[index] as ReplayedChange;
    const found = departuresOf(change, index).findLast(({ text }) => isWanted(text));
    if (found) return found;
  }
  return undefined;
}

/** Moves forward only, so that a text that comes and goes cannot keep it for ever. */
function nextDeparture(
  changes: readonly ReplayedChange[],
  from: number,
  wanted: string,
): Departure | undefined {
  for (let index = from + 1; index < changes.length; index += 1) {
    const found = departuresOf(changes[index] as ReplayedChange, index).find(({ text }) => text === wanted);
    if (found) return found;
  }
  return undefined;
}

function departuresOf(change: ReplayedChange, index: number): Departure[] {
  if (change.status === "aborted") return [];
  return change.changes.flatMap(({ before, after, into }, step) =>
    before === null ? [] : [{ change, index, text: before, after: lastOf(change, step, after ?? into) }],
  );
}

/** What a text has become by the end of the change: a group may exchange it more than once. */
function lastOf({ changes }: ReplayedChange, step: number, text: string | undefined): string | undefined {
  let now = text;
  for (const { before, after, into } of changes.slice(step + 1))
    if (before !== null && before === now) now = after ?? into;
  return now;
}

function several(ids: readonly string[], matches: readonly string[], id: string): MemoryError {
  const longer = ids.filter((each) => each.startsWith(id)).join(", ");
  const message = `Several entries have an id that begins with '${id}': ${longer}. Give more of it.`;
  return { kind: "ambiguous", message, matches: matches.map((text) => preview(text, 80)), entries: matches };
}

function noMatch(message: string): MemoryError {
  return { kind: "no_match", message };
}

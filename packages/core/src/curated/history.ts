// The journal of one target as people and programs read it.

import { entryId } from "./entry-id.ts";
import type { ReplayedChange, ReplayedRefusal } from "./journal/replay.ts";
import type { TargetStore } from "./target-store.ts";
import type { Change, MemoryTarget, WriteOrigin } from "./types.ts";

/** With the ids of both texts, as other commands take them. */
export type HistoryChange = Change & { readonly before_id?: string; readonly after_id?: string };

export type HistoryLine = {
  readonly id: string;
  readonly time: string;
  readonly target: MemoryTarget;
  readonly action: string;
  readonly origin: WriteOrigin;
  readonly status: "committed" | "aborted" | "undone" | "refused";
  readonly session?: string;
  readonly reason?: string;
  /** Of changes that can be taken back as one. */
  readonly group?: string;
  readonly changes: readonly HistoryChange[];
  readonly archived?: readonly string[];
  readonly undoes?: string;
  readonly undone_by?: string;
  /** Of a refusal: the kind of error, the scanner's findings, length and hash of the text. */
  readonly refusal?: {
    readonly error: string;
    readonly ids: readonly string[];
    readonly length: number;
    readonly sha256: string;
  };
};

type Moment = { readonly sequence: number; readonly time: string };
/** The line is made when it is wanted: most callers want a few of many. */
type Placed = Moment & { readonly line: () => HistoryLine; readonly position: number };

/**
 * Newest first, by the place in the journal: a clock that was set back changes nothing. Lines of two journals are put in order
 * by their sequence numbers; where those are equal or missing, by their times, and each journal keeps its own order.
 */
export function historyOf(stores: readonly TargetStore[], limit = Number.POSITIVE_INFINITY): HistoryLine[] {
  const waiting = stores.map(linesOf);
  const merged: HistoryLine[] = [];
  while (merged.length < limit) {
    let newest: Placed[] | undefined;
    for (const lines of waiting) if (isLater(lines.at(-1), newest?.at(-1))) newest = lines;
    const next = newest?.pop();
    if (!next) break;
    merged.push(next.line());
  }
  return merged;
}

/** Of two that are equal in everything the second counts as later. */
export function isLater(one: Moment | undefined, other: Moment | undefined): boolean {
  if (!one || !other) return one !== undefined;
  return one.sequence === other.sequence ? one.time >= other.time : one.sequence > other.sequence;
}

/** Oldest first. */
function linesOf(store: TargetStore): Placed[] {
  const { changes, refusals } = store.replay();
  const { target } = store;
  const done = changes.map((change) => ({ ...placeOf(change), line: () => changeLine(change, target) }));
  const refused = refusals.map((refusal) => ({
    ...placeOf(refusal),
    line: () => refusalLine(refusal, target),
  }));
  return [...done, ...refused].sort((a, b) => a.position - b.position);
}

function placeOf({ position, sequence, time }: ReplayedChange | ReplayedRefusal): Omit<Placed, "line"> {
  return { position, sequence, time };
}

function changeLine(change: ReplayedChange, target: MemoryTarget): HistoryLine {
  const { id, time, action, origin, status, sessionId, reason, group, archived, undoes, undoneBy } = change;
  return {
    id,
    time,
    target,
    action,
    origin,
    status: undoneBy === undefined ? status : "undone",
    ...(sessionId === undefined ? {} : { session: sessionId }),
    ...(reason === undefined ? {} : { reason }),
    ...(group === undefined ? {} : { group }),
    changes: change.changes.map((step) => withIds(step, target)),
    ...(archived === undefined ? {} : { archived }),
    ...(undoes === undefined ? {} : { undoes }),
    ...(undoneBy === undefined ? {} : { undone_by: undoneBy }),
  };
}

function withIds(step: Change, target: MemoryTarget): HistoryChange {
  const { before, after } = step;
  return {
    ...step,
    ...(before === null ? {} : { before_id: entryId(target, before) }),
    ...(after === null ? {} : { after_id: entryId(target, after) }),
  };
}

function refusalLine(refusal: ReplayedRefusal, target: MemoryTarget): HistoryLine {
  const { id, time, action, origin, sessionId, reason, error, ids, length, sha256 } = refusal;
  return {
    id,
    time,
    target,
    action,
    origin,
    status: "refused",
    ...(sessionId === undefined ? {} : { session: sessionId }),
    ...(reason === undefined ? {} : { reason }),
    changes: [],
    refusal: { error, ids, length, sha256 },
  };
}

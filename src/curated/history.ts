// The journal of one target as people and programs read it.
import type { Change } from "./change.ts";
import type { TargetStore } from "./target-store.ts";
import type { MemoryTarget, WriteOrigin } from "./types.ts";

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
  readonly changes: readonly Change[];
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

/** Oldest first. */
export function historyOf(store: TargetStore): HistoryLine[] {
  const { changes, refusals, order } = store.replay();
  const { target } = store;
  const done = changes.map(
    ({
      id,
      time,
      action,
      origin,
      status,
      sessionId,
      reason,
      group,
      changes: steps,
      archived,
      undoes,
      undoneBy,
    }): HistoryLine => ({
      id,
      time,
      target,
      action,
      origin,
      status: undoneBy === undefined ? status : "undone",
      ...(sessionId === undefined ? {} : { session: sessionId }),
      ...(reason === undefined ? {} : { reason }),
      ...(group === undefined ? {} : { group }),
      changes: steps,
      ...(archived === undefined ? {} : { archived }),
      ...(undoes === undefined ? {} : { undoes }),
      ...(undoneBy === undefined ? {} : { undone_by: undoneBy }),
    }),
  );
  const refused = refusals.map(
    ({ id, time, action, origin, sessionId, reason, error, ids, length, sha256 }): HistoryLine => ({
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
    }),
  );
  return [...done, ...refused].sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}

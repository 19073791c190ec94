// The outbox of a home as `hermes memory status` and `hermes memory outbox` show it: how much waits for which server, and what is wrong.
import { type OutboxEntry, readOutbox } from "@hermes-memory/providers/internal";

/** A lane in `--json`. */
export type LaneJson = {
  readonly provider: string;
  /** Null for the owner of the home. */
  readonly user: string | null;
  readonly active: boolean;
  readonly waiting: number;
  readonly held: number;
  readonly dead: number;
  readonly refused: number;
  readonly last_error: { readonly message: string; readonly at: string } | null;
  readonly last_delivery_at: string | null;
  readonly blocked: string | null;
};

function laneJson({ provider, user, state }: OutboxEntry, active: string): LaneJson {
  return {
    provider,
    user: user === "" ? null : user,
    active: provider === active,
    waiting: state.waiting,
    held: state.held,
    dead: state.dead,
    refused: state.refused,
    last_error: state.lastError ?? null,
    last_delivery_at: state.lastDeliveryAt ?? null,
    blocked: state.blocked ?? null,
  };
}

/** All lanes of the home. Throws `HermesError` when the file cannot be read. */
export function lanesIn(home: string, active: string): LaneJson[] {
  return readOutbox(home).map((entry) => laneJson(entry, active));
}

type Counts = Pick<LaneJson, "waiting" | "held" | "dead" | "refused">;

export function total(lanes: readonly Counts[]): Counts {
  const sum = (of: keyof Counts): number => lanes.reduce((all, lane) => all + lane[of], 0);
  return { waiting: sum("waiting"), held: sum("held"), dead: sum("dead"), refused: sum("refused") };
}

export function hasItems({ waiting, held, dead }: LaneJson): boolean {
  return waiting + held + dead > 0;
}

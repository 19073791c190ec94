// The outbox of a home as `hermes memory status` and `hermes memory outbox` show it: how much waits for which server, what is wrong, and
// what to do about it. Only `lanesIn` reads the file; the rest is pure.
import { type OutboxEntry, readOutbox } from "@hermes-memory/providers/internal";
import type { Paint } from "../../command.ts";
import { counted, localTime, oneLine, printable } from "../../printing.ts";

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

export function laneJson({ provider, user, state }: OutboxEntry, active: string): LaneJson {
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

type Row = (name: string, value: string) => string;

const MOST_USERS = 5;
/** Room for an error with the advice at its end. */
export const MESSAGE_CHARS = 1_000;

/** Why something waits; an error of writes that were delivered or erased since is not told. */
export function troubleOf({ waiting, held, blocked, last_error }: LaneJson): string | undefined {
  return waiting + held === 0 ? undefined : (blocked ?? last_error?.message);
}

/** For the active provider: its owner's lane, then those of users that have something to tell. */
export function activeLaneLines(lanes: readonly LaneJson[], row: Row, paint: Paint): string[] {
  const own = lanes.filter(({ active }) => active);
  const users = own.filter((lane) => lane.user !== null && (hasItems(lane) || lane.blocked !== null));
  const owner = own.filter(({ user }) => user === null);
  const more = users.length - MOST_USERS;
  return [
    ...[...owner, ...users.slice(0, MOST_USERS)].flatMap((lane) => laneLines(lane, row, paint)),
    ...(more > 0 ? [row("", `and ${counted(more, "more user")}; --json lists all`)] : []),
  ];
}

/** Lanes of providers that are not active and still hold something. */
export function otherLaneLines(lanes: readonly LaneJson[], row: Row, paint: Paint): string[] {
  const others = lanes.filter((lane) => !lane.active && hasItems(lane));
  return [...new Set(others.map(({ provider }) => provider))].map((name) => {
    const sum = total(others.filter(({ provider }) => provider === name));
    const remedies = [
      ...(sum.waiting + sum.held > 0
        ? [`'hermes memory outbox send --provider ${name}' sends what waits`]
        : []),
      ...(sum.dead > 0 ? [`'hermes memory outbox drop --provider ${name}' deletes dead letters`] : []),
    ];
    const text = `'${name}', which is not active: ${counts(sum)}; ${remedies.join(", ")}`;
    return row("other outbox", paint("yellow", printable(text)));
  });
}

function laneLines(lane: LaneJson, row: Row, paint: Paint): string[] {
  const { provider, user, dead, refused, last_error, last_delivery_at } = lane;
  const blocked = troubleOf(lane) === undefined ? null : lane.blocked;
  const whose = user === null ? "" : `user ${shown(user)}: `;
  const isBad = dead > 0 || refused > 0;
  return [
    row("  outbox", whose + (isBad ? paint("yellow", counts(lane)) : counts(lane))),
    ...(blocked === null
      ? []
      : [
          row(
            "  blocked",
            `${paint("red", shown(blocked))} ${blocked.includes("hermes memory setup") ? "What" : `Correct it with 'hermes memory setup ${printable(provider)}'; what`} waits is kept.`,
          ),
        ]),
    ...(dead > 0
      ? [
          row(
            "",
            "'hermes memory outbox list' shows dead letters, 'hermes memory outbox retry' sends them again",
          ),
        ]
      : []),
    ...(refused > 0
      ? [
          row(
            "",
            "refused: the outbox was full; memory.outbox_max_items is its limit, and these writes are lost",
          ),
        ]
      : []),
    ...(last_delivery_at === null ? [] : [row("  delivered", `last ${localTime(last_delivery_at)}`)]),
    ...(last_error === null || troubleOf(lane) === undefined || last_error.message === blocked
      ? []
      : [row("  not sent", `${localTime(last_error.at)}  ${shown(last_error.message)}`)]),
  ];
}

type Counts = Pick<LaneJson, "waiting" | "held" | "dead" | "refused">;

export function counts({ waiting, held, dead, refused }: Counts): string {
  return [
    `${waiting} waiting`,
    ...(held > 0 ? [`${held} held`] : []),
    ...(dead > 0 ? [counted(dead, "dead letter")] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
  ].join(", ");
}

export function total(lanes: readonly Counts[]): Counts {
  const sum = (of: keyof Counts): number => lanes.reduce((all, lane) => all + lane[of], 0);
  return { waiting: sum("waiting"), held: sum("held"), dead: sum("dead"), refused: sum("refused") };
}

function hasItems({ waiting, held, dead }: LaneJson): boolean {
  return waiting + held + dead > 0;
}

function shown(text: string): string {
  return oneLine(text, MESSAGE_CHARS);
}

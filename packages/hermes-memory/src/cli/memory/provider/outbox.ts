// `hermes memory outbox`: the writes that wait for a provider's server. `list`, `retry` and `drop` work on the file alone; `send` starts the
// active provider, or the one that is named, first for the owner of the home and then for each user whose writes wait.
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Person } from "@hermes-memory/core/internal/memory";
import {
  type DeadLetter,
  dropWrites,
  listDead,
  listWaiting,
  readOutbox,
  retryDead,
  userOfLane,
  type WaitingWrite,
} from "@hermes-memory/providers/internal";
import { type CommandBody, type CommandContext, CommandFailure, usageFailure } from "../../command.ts";
import { confirmed } from "../../confirm.ts";
import { counted, oneLine, printable } from "../../printing.ts";
import { render } from "../../render.ts";
import { type ProgressDisplay, progressDisplay } from "../../sessions/progress.ts";
import { activeName, namedOrActive, withActiveProvider } from "./run-provider.ts";

/** A lane in `--json`. */
export type Lane = ReturnType<typeof lanesIn>[number];

/** All lanes of the home; `user` is null for its owner. Throws `HermesError` when the file cannot be read. */
export function lanesIn(home: string, active: string) {
  return readOutbox(home).map(({ provider, user, state }) => ({
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
  }));
}

/** Of each lane. */
const SHOWN_WAITING = 10;

export const list: CommandBody = async ({ flags }, context) => {
  const active = await activeName(context);
  const { home } = context.memory;
  const provider = textOf(flags.provider);
  const lanes = lanesIn(home, active).filter((lane) => provider === undefined || lane.provider === provider);
  const waiting = listWaiting(home, { provider, most: SHOWN_WAITING });
  const dead = listDead(home, provider);
  const all = lanes.reduce((sum, lane) => sum + lane.waiting + lane.held, 0);
  const ofWaiting =
    (waiting.length < all ? `The oldest of each lane, ${waiting.length} of ${all}. ` : "") +
    "'hermes memory outbox send' sends what waits (--provider NAME: of a provider that is not active), 'hermes memory outbox drop <id...>' deletes it.";
  const ofDead =
    "'hermes memory outbox retry [id...]' sends dead letters again, 'hermes memory outbox drop [id...]' deletes them.";
  return {
    json: {
      success: true,
      message: lanes.length === 0 ? "Nothing waits for a server." : undefined,
      active: active === "" ? null : active,
      lanes,
      waiting: waiting.map(writeJson),
      dead: dead.map(writeJson),
    },
    notes: [...(waiting.length === 0 ? [] : [ofWaiting]), ...(dead.length === 0 ? [] : [ofDead])],
  };
};

export const retry: CommandBody = async ({ flags, rest }, context) => {
  const provider = textOf(flags.provider);
  const chosen = named(idsIn(rest), listDead(context.memory.home, provider), "dead letter");
  if (chosen.length === 0)
    return { json: { success: true, message: "There are no dead letters.", retried: 0 } };
  // By id, so that a letter that dies meanwhile, and was not chosen, is left alone.
  const retried = retryDead(
    context.memory.home,
    chosen.map(({ id }) => id),
  );
  const active = await activeName(context);
  const others = [...new Set(chosen.map((each) => each.provider))].filter((name) => name !== active);
  return {
    json: {
      success: true,
      message: `${counted(retried, "dead letter waits", "dead letters wait")} to be sent again.`,
      retried,
    },
    notes: [
      "An agent sends what waits while it runs; 'hermes memory outbox send' does it now.",
      ...others.map((name) =>
        printable(
          `'${name}' is not the active provider: 'hermes memory outbox send --provider ${name}' sends its writes.`,
        ),
      ),
    ],
  };
};

/** Without ids: all dead letters. Writes that wait are deleted by id only. */
export const drop: CommandBody = async (input, context) => {
  const provider = textOf(input.flags.provider);
  const ids = idsIn(input.rest);
  const { home } = context.memory;
  const letters = listDead(home, provider);
  const chosen = ids.length === 0 ? letters : named(ids, [...listWaiting(home, { provider }), ...letters]);
  if (chosen.length === 0)
    return { json: { success: true, message: "There are no dead letters.", dropped: 0 } };
  const waiting = chosen.filter((each) => "state" in each);
  const dead = chosen.filter((each) => !("state" in each));
  const what = [
    ...(waiting.length > 0 ? [counted(waiting.length, "waiting write")] : []),
    ...(dead.length > 0 ? [counted(dead.length, "dead letter")] : []),
  ].join(" and ");
  const list = [
    "This cannot be undone. These writes will never reach the server:",
    ...render(chosen.map(writeJson), context.io.paint),
  ];
  const json = { waiting: waiting.map(writeJson), dead: dead.map(writeJson) };
  await confirmed({ list, question: `Delete ${what}?`, json }, input, context);
  // By id, so that a letter that dies meanwhile, and was not shown, is left alone.
  const dropped = dropWrites(
    home,
    chosen.map(({ id }) => id),
  );
  const gone = chosen.length - dropped;
  return {
    json: { success: true, message: `Deleted ${gone === 0 ? what : counted(dropped, "write")}.`, dropped },
    notes: gone === 0 ? [] : [`${counted(gone, "write was", "writes were")} gone by then, sent or deleted.`],
  };
};

/** Those with these ids, without ids all. Ends the command when an id names none. */
function named<T extends { readonly id: number }>(
  ids: readonly number[],
  known: readonly T[],
  what: "write" | "dead letter" = "write",
): readonly T[] {
  const unknown = ids.filter((id) => !known.some((each) => each.id === id));
  if (unknown.length === 0) return known.filter(({ id }) => ids.length === 0 || ids.includes(id));
  throw new CommandFailure(`There is no ${what} ${unknown.join(", ")} in the outbox.`, {
    hint: "'hermes memory outbox list' shows their ids.",
    details: { kind: "not-found", unknown },
  });
}

function idsIn(words: readonly string[]): readonly number[] {
  return words.map((word) => {
    const id = Number(word);
    if (/^\d+$/.test(word) && Number.isSafeInteger(id)) return id;
    throw usageFailure(`'${oneLine(word)}' is not the id of a write.`, {
      hint: "'hermes memory outbox list' shows their ids.",
    });
  });
}

function writeJson(write: WaitingWrite | DeadLetter): object {
  const { id, provider, user, kind, sessionId, createdAt, preview } = write;
  return {
    ...{ id, provider, user: user === "" ? null : user },
    ...("state" in write ? { state: write.state } : {}),
    ...{ kind, session_id: sessionId, created_at: createdAt },
    ...("error" in write ? { error: write.error } : {}),
    preview,
  };
}

function textOf(flag: unknown): string | undefined {
  return typeof flag === "string" ? flag : undefined;
}

// send: waits until the server has what waits, or the time is over

const SEND_SECONDS = 30;
const LOOK_EVERY_MS = 200;
/** What one lane gets at least, so that a server that is down does not take it from all of them. */
const SHORTEST_TURN_MS = 5_000;

export const send: CommandBody = async ({ flags }, context) => {
  const asked = textOf(flags.provider);
  if (asked === undefined && (await activeName(context)) === "") refuseInactive(context.memory.home);
  const name = await namedOrActive(asked, context);
  const seconds = Number(flags.timeout ?? SEND_SECONDS);
  const lanes = (): readonly Lane[] => lanesIn(context.memory.home, name).filter(({ active }) => active);
  const waiting = lanes().filter((lane) => unsent(lane) > 0);
  const progress = progressDisplay(context.io);
  const notes: string[] = [];
  const done: ReturnType<typeof sentOf>[] = [];
  const isInterrupted = await context.io.untilInterrupted(async (signal) => {
    const until = performance.now() + seconds * 1000;
    for (const [at, lane] of waiting.entries()) {
      const leftMs = until - performance.now();
      const turnMs = Math.min(leftMs, Math.max(SHORTEST_TURN_MS, leftMs / (waiting.length - at)));
      const current = (): Lane | undefined => lanes().find(({ user }) => user === lane.user);
      const turn = { name, lane, current, until: performance.now() + turnMs, signal, progress, notes };
      const isTried = leftMs > 0 && !signal.aborted;
      const problem = isTried ? await sendLane(turn, context) : "not tried";
      const late = signal.aborted ? "interrupted" : `not finished within ${seconds} s`;
      done.push(sentOf(lane, current(), problem ?? late));
    }
    return signal.aborted;
  });
  progress.clear();
  const sum = (of: "sent" | "left" | "died"): number => done.reduce((all, lane) => all + lane[of], 0);
  const dead = lanes().reduce((all, lane) => all + lane.dead, 0);
  const isDone = sum("left") === 0 && sum("died") === 0;
  const blocked = done.find((lane) => lane.blocked !== null)?.blocked ?? null;
  const sent = `Sent ${counted(sum("sent"), "write")} to '${name}'.${sum("left") > 0 ? " Nothing is lost." : ""}`;
  return {
    json: {
      success: isDone,
      message: waiting.length === 0 ? `Nothing waits for '${name}'.` : sent,
      provider: name,
      sent: sum("sent"),
      left: sum("left"),
      dead,
      blocked,
      lanes: done,
    },
    notes: [
      ...(blocked === null || blocked.includes("hermes memory setup")
        ? []
        : [printable(`Correct it with 'hermes memory setup ${name}', then send again.`)]),
      ...(dead === 0
        ? []
        : [
            `${counted(dead, "dead letter is", "dead letters are")} not sent: 'hermes memory outbox list' shows why the server refused, 'hermes memory outbox retry' sends them again.`,
          ]),
      ...new Set(notes),
    ],
    exitCode: isInterrupted ? 130 : isDone ? 0 : 1,
  };
};

type Turn = {
  readonly name: string;
  readonly lane: Lane;
  readonly current: () => Lane | undefined;
  readonly until: number;
  readonly signal: AbortSignal;
  readonly progress: ProgressDisplay;
  /** What the provider logged is added. */
  readonly notes: string[];
};

/** Resolves to the reason if the provider cannot be started for this user. */
async function sendLane(turn: Turn, context: CommandContext): Promise<string | undefined> {
  const { name, lane, current, until, signal, progress, notes } = turn;
  const person = personOf(lane.user, context);
  if (typeof person === "string") return person;
  const total = unsent(lane);
  const wait = async (): Promise<void> => {
    while (performance.now() < until && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const now = current();
      // The first look comes after the start has released held writes of processes that have ended.
      const left = now?.waiting ?? 0;
      progress.show({ step: "sending", done: Math.max(0, total - left), total });
      // The state before this start says nothing: the key may have been corrected since.
      const isNewlyBlocked = now?.blocked != null && now.last_error?.at !== lane.last_error?.at;
      if (left === 0 || isNewlyBlocked) return;
    }
  };
  notes.push(...(await withActiveProvider(context, "outbox", wait, { person, name })).notes);
  return undefined;
}

/** With no active provider, the hint says whose writes wait. */
function refuseInactive(home: string): void {
  const names = lanesIn(home, "").flatMap((lane) => (unsent(lane) > 0 ? [lane.provider] : []));
  if (names.length === 0) return;
  throw new CommandFailure("No external memory provider is active.", {
    hint: [...new Set(names)]
      .map((each) => `'hermes memory outbox send --provider ${each}' sends what waits.`)
      .join("\n"),
    details: { kind: "no-provider" },
  });
}

/** A string says why the lane is of nobody that a provider can be started for. */
function personOf(user: string | null, { memory }: CommandContext): Person | string {
  if (user === null) return memory.administrator;
  const lane = userOfLane(user);
  const unusable = `'${user}' does not name a platform and a user`;
  if (lane === undefined) return unusable;
  try {
    return memory.user(lane);
  } catch (cause) {
    if (cause instanceof HermesError) return unusable;
    throw cause;
  }
}

function unsent({ waiting, held }: Lane): number {
  return waiting + held;
}

/** What became of one lane. `died` became dead letters now; `reason`: why something is left, without a full stop. */
function sentOf(before: Lane, after: Lane | undefined, why: string) {
  const left = after === undefined ? 0 : unsent(after);
  const dead = after?.dead ?? 0;
  const died = Math.max(0, dead - before.dead);
  const blocked = after?.blocked ?? null;
  const isHeld = after !== undefined && after.waiting === 0;
  const reason = blocked ?? (isHeld ? "an agent that runs keeps them until its conversation ends" : why);
  return {
    user: before.user,
    sent: Math.max(0, unsent(before) - left - died),
    left,
    died,
    dead,
    blocked,
    last_error: after?.last_error ?? null,
    reason: left === 0 ? null : reason,
  };
}

// `hermes memory outbox`: the writes that wait for a provider's server. `list`, `retry` and `drop` work on the file; `send` starts the
// active provider and waits until it has delivered them.
import {
  type DeadLetter,
  dropDead,
  listDead,
  readOutbox,
  retryDead,
} from "@hermes-memory/core/internal/providers";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  usageFailure,
} from "../../command.ts";
import { declined } from "../../confirm.ts";
import { counted, localTime, oneLine, printable } from "../../printing.ts";
import { progressDisplay } from "../../sessions/progress.ts";
import { activeName, namedOrActive } from "./find-provider.ts";
import { counts, type LaneJson, laneJson, total } from "./outbox-state.ts";
import { withActiveProvider } from "./run-provider.ts";

const MESSAGE_CHARS = 120;

export const list: CommandBody = async (input, context) => {
  const active = await activeName(context);
  const { home } = context.memory;
  const provider = providerFlag(input);
  const lanes = lanesOf(home, active).filter((lane) => provider === undefined || lane.provider === provider);
  const dead = listDead(home, provider);
  return {
    json: { active: active === "" ? null : active, lanes, dead: dead.map(deadJson) },
    lines: [
      ...(lanes.length === 0 ? ["Nothing waits for a server."] : lanes.map(laneLine)),
      ...(dead.length === 0 ? [] : ["", "Dead letters, which the server refused:", ...dead.map(deadLine)]),
    ],
    notes:
      dead.length === 0
        ? []
        : [
            "'hermes memory outbox retry [id...]' sends them again, 'hermes memory outbox drop [id...]' deletes them.",
          ],
  };
};

export const retry: CommandBody = async (input, context) => {
  const chosen = chosenLetters(input, context);
  if (chosen.length === 0) return nothingDead("retried");
  const retried = retryDead(context.memory.home, selection(input, chosen));
  const active = await activeName(context);
  const others = [...new Set(chosen.map(({ provider }) => provider))].filter((name) => name !== active);
  return {
    json: { success: true, retried },
    lines: [`${counted(retried, "dead letter waits", "dead letters wait")} to be sent again.`],
    notes: [
      "An agent sends what waits while it runs; 'hermes memory outbox send' does it now.",
      ...others.map((name) =>
        printable(`'${name}' is not the active provider: its writes wait until it is.`),
      ),
    ],
  };
};

export const drop: CommandBody = async (input, context) => {
  const chosen = chosenLetters(input, context);
  if (chosen.length === 0) return nothingDead("dropped");
  const refused = await declined(
    {
      list: ["This cannot be undone. These writes will never reach the server:", ...chosen.map(deadLine)],
      question: `Delete ${counted(chosen.length, "dead letter")}?`,
      json: { dead: chosen.map(deadJson) },
    },
    input,
    context,
  );
  if (refused) return refused;
  const dropped = dropDead(context.memory.home, selection(input, chosen));
  return { json: { success: true, dropped }, lines: [`Deleted ${counted(dropped, "dead letter")}.`] };
};

// send

const SEND_SECONDS = 30;
const LOOK_EVERY_MS = 200;

/** Only the owner's lane: an agent that serves a user sends what waits for that user. */
export const send: CommandBody = async (input, context) => {
  const name = await namedOrActive(undefined, context);
  const { home } = context.memory;
  const seconds = typeof input.flags.timeout === "number" ? input.flags.timeout : SEND_SECONDS;
  const waits = (): LaneJson | undefined =>
    lanesOf(home, name).find(({ provider, user }) => provider === name && user === null);
  const before = waits();
  const first = before === undefined ? 0 : before.waiting + before.held;
  const users = total(lanesOf(home, name).filter(({ provider, user }) => provider === name && user !== null));
  const userNotes =
    users.waiting + users.held === 0
      ? []
      : [`Writes of users are sent by the agents that serve them: ${counts(users)}.`];
  if (first === 0)
    return {
      json: { success: true, provider: name, sent: 0, left: 0, dead: before?.dead ?? 0, blocked: null },
      lines: [printable(`Nothing waits for '${name}'.`)],
      notes: userNotes,
    };
  const progress = progressDisplay(context.io);
  const startedAt = new Date().toISOString();
  /** Of an earlier process: the key may have been corrected since. */
  const isOld = ({ last_error }: LaneJson) => (last_error?.at ?? "") < startedAt;
  const { value: isInterrupted, notes } = await withActiveProvider(context, "outbox", () =>
    context.io.untilInterrupted(async (signal) => {
      const until = performance.now() + seconds * 1000;
      for (;;) {
        const lane = waits();
        const left = lane === undefined ? 0 : lane.waiting;
        progress.show({ step: "sending", done: Math.max(0, first - left), total: first });
        const isBlocked = lane?.blocked != null && !isOld(lane);
        if (left === 0 || isBlocked || performance.now() >= until || signal.aborted) return signal.aborted;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    }),
  );
  progress.clear();
  const after = waits();
  return sentOutcome({ name, first, diedBefore: before?.dead ?? 0, after, seconds, isInterrupted }, [
    ...notes,
    ...userNotes,
  ]);
};

type Sent = {
  readonly name: string;
  readonly first: number;
  readonly diedBefore: number;
  readonly after: LaneJson | undefined;
  readonly seconds: number;
  readonly isInterrupted: boolean;
};

function sentOutcome(
  { name, first, diedBefore, after, seconds, isInterrupted }: Sent,
  notes: readonly string[],
): CommandOutcome {
  const left = after === undefined ? 0 : after.waiting + after.held;
  const died = Math.max(0, (after?.dead ?? 0) - diedBefore);
  const sent = Math.max(0, first - left - died);
  const why =
    after?.blocked == null
      ? isInterrupted
        ? "interrupted"
        : `not finished within ${seconds} s`
      : `${oneLine(after.blocked, MESSAGE_CHARS)} Correct it with 'hermes memory setup ${name}'`;
  return {
    json: {
      success: left === 0 && died === 0,
      provider: name,
      sent,
      left,
      dead: after?.dead ?? 0,
      blocked: after?.blocked ?? null,
      last_error: after?.last_error ?? null,
    },
    lines: [
      `Sent ${counted(sent, "write")} to '${printable(name)}'.`,
      ...(left > 0 ? [`${counted(left, "write is", "writes are")} left: ${why}. Nothing is lost.`] : []),
      ...(died > 0
        ? [`The server refused ${counted(died, "write")} for good: 'hermes memory outbox list' shows why.`]
        : []),
    ],
    notes: [
      ...(left > 0 && after?.last_error
        ? [`last error: ${oneLine(after.last_error.message, MESSAGE_CHARS)}`]
        : []),
      ...notes,
    ],
    exitCode: isInterrupted ? 130 : left > 0 || died > 0 ? 1 : 0,
  };
}

// Shared

function lanesOf(home: string, active: string): LaneJson[] {
  return readOutbox(home).map((entry) => laneJson(entry, active));
}

function providerFlag({ flags }: CommandInput): string | undefined {
  return typeof flags.provider === "string" ? flags.provider : undefined;
}

/** Ends the command when an id names no dead letter. */
function chosenLetters(input: CommandInput, { memory }: CommandContext): readonly DeadLetter[] {
  const dead = listDead(memory.home, providerFlag(input));
  const ids = idsIn(input);
  if (ids.length === 0) return dead;
  const unknown = ids.filter((id) => !dead.some((letter) => letter.id === id));
  if (unknown.length > 0)
    throw new CommandFailure(`There is no dead letter ${unknown.join(", ")}.`, {
      hint: "'hermes memory outbox list' shows their ids.",
      details: { kind: "not-found", unknown },
    });
  return dead.filter(({ id }) => ids.includes(id));
}

function idsIn({ rest }: CommandInput): readonly number[] {
  return rest.map((word) => {
    const id = Number(word);
    if (/^\d+$/.test(word) && Number.isSafeInteger(id)) return id;
    throw usageFailure(`'${oneLine(word)}' is not the id of a dead letter.`, {
      hint: "'hermes memory outbox list' shows their ids.",
    });
  });
}

/** By id, so that a letter that dies meanwhile, and was not shown, is left alone. */
function selection(
  input: CommandInput,
  chosen: readonly DeadLetter[],
): { readonly provider?: string; readonly ids: readonly number[] } {
  return { provider: providerFlag(input), ids: chosen.map(({ id }) => id) };
}

function nothingDead(done: "retried" | "dropped"): CommandOutcome {
  return { json: { success: true, [done]: 0 }, lines: ["There are no dead letters."] };
}

function laneLine(lane: LaneJson): string {
  const { provider, user, active, blocked, last_error } = lane;
  const whose = user === null ? "" : `, user ${oneLine(user)}`;
  const state = active ? "" : " (not active)";
  const trouble = blocked ?? last_error?.message;
  return `${printable(provider)}${whose}${state}: ${counts(lane)}${trouble === undefined ? "" : `; ${oneLine(trouble, MESSAGE_CHARS)}`}`;
}

function deadLine({ id, provider, user, kind, createdAt, error, preview }: DeadLetter): string {
  const whose = user === "" ? "" : ` (user ${oneLine(user)})`;
  return `  ${String(id).padStart(5)}  ${localTime(createdAt)}  ${printable(provider)} ${oneLine(kind)}${whose}: ${oneLine(preview)}  -> ${oneLine(error, MESSAGE_CHARS)}`;
}

function deadJson({ id, provider, user, kind, sessionId, createdAt, error, preview }: DeadLetter): object {
  return {
    id,
    provider,
    user: user === "" ? null : user,
    kind,
    session_id: sessionId,
    created_at: createdAt,
    error,
    preview,
  };
}

// `hermes memory outbox send`: starts the active provider, or the one that is named, first for the owner of the home and then for each user whose writes wait, and
// waits until its server has them.
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Person } from "@hermes-memory/core/internal/memory";
import { userOfLane } from "@hermes-memory/providers/internal";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../../command.ts";
import { counted, oneLine, printable } from "../../printing.ts";
import { type ProgressDisplay, progressDisplay } from "../../sessions/progress.ts";
import { activeName, namedOrActive } from "./find-provider.ts";
import { type LaneJson, lanesIn, MESSAGE_CHARS } from "./outbox-state.ts";
import { withActiveProvider } from "./run-provider.ts";

const SEND_SECONDS = 30;
const LOOK_EVERY_MS = 200;
/** What one lane gets at least, so that a server that is down does not take it from all of them. */
const SHORTEST_TURN_MS = 5_000;

/** What became of one lane. */
type Sent = {
  /** Null for the owner of the home. */
  readonly user: string | null;
  readonly sent: number;
  readonly left: number;
  /** Became dead letters now. */
  readonly died: number;
  /** All dead letters of the lane. */
  readonly dead: number;
  readonly blocked: string | null;
  readonly last_error: LaneJson["last_error"];
  /** Why something is left, without a full stop; null if nothing is. */
  readonly reason: string | null;
};

export const send: CommandBody = async (input, context) => {
  const { provider } = input.flags;
  const name = await namedOrActive(
    typeof provider === "string" ? provider : await onlyWaiting(context),
    context,
  );
  const seconds = typeof input.flags.timeout === "number" ? input.flags.timeout : SEND_SECONDS;
  const lanes = lanesOf(context, name);
  const waiting = lanes.filter((lane) => unsent(lane) > 0);
  if (waiting.length === 0) return nothingWaits(name, lanes);
  const progress = progressDisplay(context.io);
  const notes: string[] = [];
  const done: Sent[] = [];
  const isInterrupted = await context.io.untilInterrupted(async (signal) => {
    const until = performance.now() + seconds * 1000;
    for (const [at, lane] of waiting.entries()) {
      const leftMs = until - performance.now();
      const ms = Math.min(leftMs, Math.max(SHORTEST_TURN_MS, leftMs / (waiting.length - at)));
      const turn = { name, lane, ms, signal, progress, notes };
      const isTried = ms > 0 && !signal.aborted;
      const problem = isTried ? await sendLane(turn, context) : "not tried";
      const after = lanesOf(context, name).find(({ user }) => user === lane.user);
      const late = signal.aborted ? "interrupted" : `not finished within ${seconds} s`;
      done.push(sentOf(lane, after, problem ?? late));
    }
    return signal.aborted;
  });
  progress.clear();
  const dead = lanesOf(context, name).reduce((sum, lane) => sum + lane.dead, 0);
  return sentOutcome(name, done, { isInterrupted, dead, notes: [...new Set(notes)] });
};

/** With no active provider, the hint says whose writes wait. */
async function onlyWaiting(context: CommandContext): Promise<undefined> {
  if ((await activeName(context)) !== "") return undefined;
  const names = lanesIn(context.memory.home, "").flatMap((lane) => (unsent(lane) > 0 ? [lane.provider] : []));
  if (names.length === 0) return undefined;
  throw new CommandFailure("No external memory provider is active.", {
    hint: [...new Set(names)]
      .map((each) => `'hermes memory outbox send --provider ${each}' sends what waits.`)
      .join("\n"),
    details: { kind: "no-provider" },
  });
}

type Turn = {
  readonly name: string;
  readonly lane: LaneJson;
  readonly ms: number;
  readonly signal: AbortSignal;
  readonly progress: ProgressDisplay;
  /** What the provider logged is added. */
  readonly notes: string[];
};

/** Resolves to the reason if the provider cannot be started for this user. */
async function sendLane(
  { name, lane, ms, signal, progress, notes }: Turn,
  context: CommandContext,
): Promise<string | undefined> {
  const person = personOf(lane.user, context);
  if (typeof person === "string") return person;
  const until = performance.now() + ms;
  const total = unsent(lane);
  const logged = await withActiveProvider(
    context,
    "outbox",
    async () => {
      while (performance.now() < until && !signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
        const now = lanesOf(context, name).find(({ user }) => user === lane.user);
        // The first look comes after the start has released held writes of processes that have ended.
        const left = now?.waiting ?? 0;
        progress.show({ step: "sending", done: Math.max(0, total - left), total });
        // The state before this start says nothing: the key may have been corrected since.
        const isNewlyBlocked = now?.blocked != null && now.last_error?.at !== lane.last_error?.at;
        if (left === 0 || isNewlyBlocked) return;
      }
    },
    { person, name },
  );
  notes.push(...logged.notes);
  return undefined;
}

/** A string says why the lane is of nobody that a provider can be started for. */
function personOf(user: string | null, { memory }: CommandContext): Person | string {
  if (user === null) return memory.administrator;
  const named = userOfLane(user);
  const unusable = `'${user}' does not name a platform and a user`;
  if (named === undefined) return unusable;
  try {
    return memory.user(named);
  } catch (cause) {
    if (cause instanceof HermesError) return unusable;
    throw cause;
  }
}

function lanesOf({ memory }: CommandContext, name: string): readonly LaneJson[] {
  return lanesIn(memory.home, name).filter(({ active }) => active);
}

function unsent({ waiting, held }: LaneJson): number {
  return waiting + held;
}

function sentOf(before: LaneJson, after: LaneJson | undefined, why: string): Sent {
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

function nothingWaits(name: string, lanes: readonly LaneJson[]): CommandOutcome {
  const dead = lanes.reduce((sum, lane) => sum + lane.dead, 0);
  return {
    json: { success: true, provider: name, sent: 0, left: 0, dead, blocked: null, lanes: [] },
    lines: [printable(`Nothing waits for '${name}'.`)],
    notes: dead === 0 ? [] : [deadNote(dead)],
  };
}

function deadNote(dead: number): string {
  return `${counted(dead, "dead letter is", "dead letters are")} not sent: 'hermes memory outbox list' shows why the server refused, 'hermes memory outbox retry' sends them again.`;
}

function sentOutcome(
  name: string,
  lanes: readonly Sent[],
  {
    isInterrupted,
    dead,
    notes,
  }: { readonly isInterrupted: boolean; readonly dead: number; readonly notes: readonly string[] },
): CommandOutcome {
  const sum = (of: "sent" | "left" | "died"): number => lanes.reduce((all, lane) => all + lane[of], 0);
  const isDone = sum("left") === 0 && sum("died") === 0;
  const blocked = lanes.find((lane) => lane.blocked !== null)?.blocked ?? null;
  return {
    json: {
      success: isDone,
      provider: name,
      sent: sum("sent"),
      left: sum("left"),
      dead,
      blocked,
      lanes: lanes.map((lane) => ({ ...lane })),
    },
    lines: [
      `Sent ${counted(sum("sent"), "write")} to '${printable(name)}'.`,
      ...lanes.flatMap((lane) => laneLines(lane, lanes.length > 1 || lane.user !== null)),
      ...(sum("left") > 0 ? ["Nothing is lost."] : []),
      ...(sum("died") > 0 ? ["'hermes memory outbox list' shows why the server refused."] : []),
    ],
    notes: [
      ...(blocked === null || blocked.includes("hermes memory setup")
        ? []
        : [printable(`Correct it with 'hermes memory setup ${name}', then send again.`)]),
      ...(dead > sum("died") ? [deadNote(dead)] : []),
      ...lastErrors(lanes),
      ...notes,
    ],
    exitCode: isInterrupted ? 130 : isDone ? 0 : 1,
  };
}

function laneLines({ user, sent, left, died, reason }: Sent, isNamed: boolean): string[] {
  const parts = [
    ...(isNamed ? [`sent ${sent}`] : []),
    ...(left > 0 ? [`${left} left: ${oneLine(reason ?? "", MESSAGE_CHARS)}`] : []),
    ...(died > 0 ? [`${died} refused for good`] : []),
  ];
  if (parts.length === 0) return [];
  const whose = user === null ? "owner" : `user ${oneLine(user)}`;
  return [`  ${isNamed ? `${whose}: ` : ""}${parts.join("; ")}`];
}

function lastErrors(lanes: readonly Sent[]): string[] {
  const texts = lanes.flatMap(({ left, blocked, last_error }) =>
    left > 0 && blocked === null && last_error !== null ? [oneLine(last_error.message, MESSAGE_CHARS)] : [],
  );
  return [...new Set(texts)].map((text) => `last error: ${text}`);
}

// `hermes memory outbox list`, `retry` and `drop`: the writes that wait for a provider's server. They work on the file alone; `send` is in
// outbox-send.ts.
import {
  type DeadLetter,
  dropWrites,
  listDead,
  listWaiting,
  retryDead,
  type WaitingWrite,
} from "@hermes-memory/providers/internal";
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
import { activeName } from "./find-provider.ts";
import { counts, type LaneJson, lanesIn, MESSAGE_CHARS, troubleOf } from "./outbox-state.ts";

/** Of each lane. */
const SHOWN_WAITING = 10;
const PREVIEW_CHARS = 80;

export const list: CommandBody = async (input, context) => {
  const active = await activeName(context);
  const { home } = context.memory;
  const provider = providerFlag(input);
  const lanes = lanesIn(home, active).filter((lane) => provider === undefined || lane.provider === provider);
  const waiting = listWaiting(home, { provider, most: SHOWN_WAITING });
  const dead = listDead(home, provider);
  return {
    json: {
      success: true,
      active: active === "" ? null : active,
      lanes,
      waiting: waiting.map(waitingJson),
      dead: dead.map(deadJson),
    },
    lines: [
      ...(lanes.length === 0 ? ["Nothing waits for a server."] : []),
      ...lanes.flatMap((lane) => [laneLine(lane), ...waitingLines(lane, waiting)]),
      ...(dead.length === 0 ? [] : ["", "Dead letters, which the server refused:", ...dead.map(deadLine)]),
    ],
    notes: [
      ...(waiting.length === 0
        ? []
        : [
            "'hermes memory outbox send' sends what waits (--provider NAME: of a provider that is not active), 'hermes memory outbox drop <id...>' deletes it.",
          ]),
      ...(dead.length === 0
        ? []
        : [
            "'hermes memory outbox retry [id...]' sends dead letters again, 'hermes memory outbox drop [id...]' deletes them.",
          ]),
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
        printable(
          `'${name}' is not the active provider: 'hermes memory outbox send --provider ${name}' sends its writes.`,
        ),
      ),
    ],
  };
};

/** Without ids: all dead letters. Writes that wait are deleted by id only. */
export const drop: CommandBody = async (input, context) => {
  const provider = providerFlag(input);
  const ids = idsIn(input);
  const { home } = context.memory;
  const waiting = listWaiting(home, { provider }).filter(({ id }) => ids.includes(id));
  const dead = listDead(home, provider);
  refuseUnknown(ids, [...waiting, ...dead], "write");
  const chosen = ids.length === 0 ? dead : dead.filter(({ id }) => ids.includes(id));
  if (chosen.length + waiting.length === 0) return nothingDead("dropped");
  const what = [
    ...(waiting.length > 0 ? [counted(waiting.length, "waiting write")] : []),
    ...(chosen.length > 0 ? [counted(chosen.length, "dead letter")] : []),
  ].join(" and ");
  const refused = await declined(
    {
      list: [
        "This cannot be undone. These writes will never reach the server:",
        ...waiting.map((write) => waitingLine(write, true)),
        ...chosen.map(deadLine),
      ],
      question: `Delete ${what}?`,
      json: { waiting: waiting.map(waitingJson), dead: chosen.map(deadJson) },
    },
    input,
    context,
  );
  if (refused) return refused;
  // By id, so that a letter that dies meanwhile, and was not shown, is left alone.
  const dropped = dropWrites(
    home,
    [...waiting, ...chosen].map(({ id }) => id),
  );
  const gone = waiting.length + chosen.length - dropped;
  return {
    json: { success: true, dropped },
    lines: [`Deleted ${gone === 0 ? what : counted(dropped, "write")}.`],
    notes: gone === 0 ? [] : [`${counted(gone, "write was", "writes were")} gone by then, sent or deleted.`],
  };
};

// Shared

function providerFlag({ flags }: CommandInput): string | undefined {
  return typeof flags.provider === "string" ? flags.provider : undefined;
}

/** Without ids all. Ends the command when an id names no dead letter. */
function chosenLetters(input: CommandInput, { memory }: CommandContext): readonly DeadLetter[] {
  const dead = listDead(memory.home, providerFlag(input));
  const ids = idsIn(input);
  refuseUnknown(ids, dead, "dead letter");
  return ids.length === 0 ? dead : dead.filter(({ id }) => ids.includes(id));
}

function refuseUnknown(
  ids: readonly number[],
  known: readonly { readonly id: number }[],
  what: "write" | "dead letter",
): void {
  const unknown = ids.filter((id) => !known.some((each) => each.id === id));
  if (unknown.length === 0) return;
  throw new CommandFailure(`There is no ${what} ${unknown.join(", ")} in the outbox.`, {
    hint: "'hermes memory outbox list' shows their ids.",
    details: { kind: "not-found", unknown },
  });
}

function idsIn({ rest }: CommandInput): readonly number[] {
  return rest.map((word) => {
    const id = Number(word);
    if (/^\d+$/.test(word) && Number.isSafeInteger(id)) return id;
    throw usageFailure(`'${oneLine(word)}' is not the id of a write.`, {
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
  const { provider, user, active } = lane;
  const whose = user === null ? "" : `, user ${oneLine(user)}`;
  const state = active ? "" : " (not active)";
  const trouble = troubleOf(lane);
  return `${printable(provider)}${whose}${state}: ${counts(lane)}${trouble === undefined ? "" : `; ${oneLine(trouble, MESSAGE_CHARS)}`}`;
}

function waitingLines(lane: LaneJson, all: readonly WaitingWrite[]): string[] {
  const own = all.filter(({ provider, user }) => provider === lane.provider && user === (lane.user ?? ""));
  const more = lane.waiting + lane.held - own.length;
  return [
    ...own.map((write) => waitingLine(write, false)),
    ...(own.length > 0 && more > 0 ? [`         and ${more} more`] : []),
  ];
}

function waitingLine(
  { id, provider, kind, state, createdAt, preview }: WaitingWrite,
  isNamed: boolean,
): string {
  const where = isNamed ? `${printable(provider)} ` : "";
  const held = state === "held" ? " (held)" : "";
  return `  ${String(id).padStart(5)}  ${age(createdAt).padStart(6)}  ${where}${oneLine(kind)}${held}: ${oneLine(preview, PREVIEW_CHARS)}`;
}

function waitingJson({
  id,
  provider,
  user,
  state,
  kind,
  sessionId,
  createdAt,
  preview,
}: WaitingWrite): object {
  return {
    id,
    provider,
    user: user === "" ? null : user,
    state,
    kind,
    session_id: sessionId,
    created_at: createdAt,
    preview,
  };
}

/** `45 s`, `12 min`, `3 h`, `20 d`. */
function age(since: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
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

// `hermes memory outbox list`, `retry` and `drop`: the writes that wait for a provider's server. They work on the file alone; `send` is in
// outbox-send.ts.
import { type DeadLetter, dropDead, listDead, retryDead } from "@hermes-memory/core/internal/providers";
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
import { counts, type LaneJson, lanesIn } from "./outbox-state.ts";

const MESSAGE_CHARS = 300;

export const list: CommandBody = async (input, context) => {
  const active = await activeName(context);
  const { home } = context.memory;
  const provider = providerFlag(input);
  const lanes = lanesIn(home, active).filter((lane) => provider === undefined || lane.provider === provider);
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

// Shared

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

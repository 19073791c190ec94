// A session that is no longer this process's to go on with: another one has taken it over, or it was deleted.
import type { AgentCore } from "../core.ts";
import { goneMessage } from "../session/reserve.ts";
import type { Turn, TurnEnd } from "./turn.ts";

/** As far as one knows: while the database is away, nobody can be asked. */
export async function isOurs({ lease }: Pick<Turn, "lease">): Promise<boolean> {
  if (lease === undefined) return true;
  return lease.isTaken ? lease.isHeld() : !lease.isLost;
}

/** What came after the other process had gone on is not stored: it would stand behind words that it does not answer. */
export async function unlessTakenOver(core: AgentCore, turn: Turn, end: TurnEnd): Promise<TurnEnd> {
  const { store, transcript } = core.parts;
  if (end.exit === "session_gone") return end;
  await core.askLast();
  if (await isOurs(turn)) return end;
  transcript.dropUnsaved(turn.userMessageId);
  const id = core.sessionId;
  const isGone = (await store?.getSessionMark(id).catch(() => undefined)) === null;
  const { text, interrupted = false } = end;
  const busy = turn.lease?.refusal;
  const why = isGone ? sessionGone(id) : busy === undefined ? takenOver(id) : foundBusy(busy);
  return { ...why, text, interrupted };
}

/** The lease could not be asked for when the turn began, and when it could, somebody else had it. */
function foundBusy(busy: string): TurnEnd {
  return {
    ...sessionBusy(busy),
    error: `${busy} That could not be told when this turn began, because the session database could not be used. Nothing of the turn is stored.`,
    hint: "Send the message again when the other process is done.",
  };
}

export function sessionBusy(error: string): TurnEnd {
  return {
    exit: "session_busy",
    text: "",
    failed: true,
    error,
    hint: "Wait until its turn is over, or begin another session with /new.",
    isRefused: true,
  };
}

export function takenOver(sessionId: string): TurnEnd {
  return {
    exit: "session_busy",
    text: "",
    failed: true,
    error: `Another process has taken over session ${sessionId} while this one was not running. What was said before that is stored.`,
    hint: "Send the message again: the session is read anew first.",
    isRefused: true,
  };
}

export function sessionGone(sessionId: string): TurnEnd {
  return {
    exit: "session_gone",
    text: "",
    failed: true,
    error: goneMessage(sessionId),
    hint: "Begin a new one with /new, or go on with another one with /resume.",
    isRefused: true,
  };
}

// Taking turns back: those that the user has seen, and no others.
import { describeCause, err, errnoCode, ok, type Result } from "@hermes-memory/core/lib";
import { type Message, renderContent } from "@hermes-memory/core/message";
import type { SessionStore, UndoOutcome } from "@hermes-memory/core/sessions";
import type { AgentCore } from "../core.ts";
import { shownContent } from "../shown-message.ts";
import type { SessionProblem, UndoReport } from "../surface.ts";
import { isStored, noDatabase, notOurs, notStored } from "./leaving.ts";
import { whileReserved } from "./reserve.ts";

/** The rows stay, out of sight. */
export async function undoTurns(core: AgentCore, turns: number): Promise<Result<UndoReport, SessionProblem>> {
  const { store, transcript, todo, manager } = core.parts;
  if (store === undefined) return err(noDatabase());
  const count = Math.max(1, turns);
  const seen = newestTurns(transcript.messages, count);
  return whileReserved(core, async (hold) => {
    if (hold.kind !== "ours") return err(notOurs(hold, "nothing was taken back"));
    if (newestTurns(transcript.messages, count) !== seen) return err(CHANGED_MEANWHILE);
    if (!(await isStored(core))) return err(notStored("nothing was taken back"));
    const before = transcript.messages.length;
    const undone = await undo(core, store, count);
    if (undone !== null && "kind" in undone) return err(undone);
    if (undone === null) return err({ kind: "nothing", message: "There is no turn to take back." });
    await transcript.reload();
    todo.clear(); // the prompt stays: the session is the same one, and so is its memory
    await manager?.onSessionSwitch(core.sessionId, { parent_session_id: "", reset: false, rewound: true });
    core.emit({ type: "session-switch", from: core.sessionId, to: core.sessionId, reason: "rewind" });
    return ok({
      turns: undone.turns_undone,
      messages: before - transcript.messages.length,
      text: undone.target_text,
    });
  });
}

/** A program that compacts the session without the lease of a turn is respected as well. */
async function undo(
  { sessionId, parts: { holder } }: AgentCore,
  store: SessionStore,
  turns: number,
): Promise<UndoOutcome | SessionProblem | null> {
  try {
    return await store.undoTurns(sessionId, turns, { leaseHolder: holder });
  } catch (cause) {
    if (errnoCode(cause) !== "session-busy") throw cause;
    return { kind: "busy", message: `${describeCause(cause)} Try again when it is done.` };
  }
}

const CHANGED_MEANWHILE: SessionProblem = {
  kind: "refused",
  message:
    "Another process has gone on with this session since it was last read here, so nothing was taken back. What it wrote is " +
    "in the conversation now: look at it with /history, and repeat the command to take back the newest turn of it.",
};

/** As the user sees them: whoever takes them back means these. */
function newestTurns(messages: readonly Message[], count: number): string {
  const starts = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  const newest = messages.slice(starts.at(-count) ?? 0);
  return JSON.stringify(newest.map((message) => [message.role, renderContent(shownContent(message)) ?? ""]));
}

// The end of a session for this agent: what is missing is stored, providers hear of it, its row is ended unless somebody else
// still works in it.
import { describeCause } from "@hermes-memory/core/lib";
import type { AgentCore } from "../core.ts";
import type { SessionProblem } from "../surface.ts";
import { deleteConversation } from "./delete-conversation.ts";
import { type Hold, whileLeaving } from "./reserve.ts";

/** With the agent itself. Never rejects: the agent is closed whatever happens here. */
export async function closeSession(core: AgentCore, isDeleted: boolean): Promise<void> {
  const { log, manager } = core.parts;
  const quietly = async (work: () => Promise<void> | undefined): Promise<void> => {
    try {
      await work();
    } catch (cause) {
      log.warn(`Closing the agent met a problem: ${describeCause(cause)}`);
    }
  };
  const tellProviders = async (): Promise<void> => {
    await quietly(() => endForProviders(core));
    await quietly(() => manager?.shutdownAll());
  };
  if (isDeleted) {
    await tellProviders();
    await quietly(() => deleteConversation(core));
    return;
  }
  await quietly(() =>
    whileLeaving(core, async (hold) => {
      if ((await lossOf(core, hold, "it is lost")) !== undefined) tellOfLoss(core, hold);
      await tellProviders();
      await endRow(core, hold, "cli_close");
    }),
  );
}

function tellOfLoss(core: AgentCore, hold: Hold): void {
  const why = "message" in hold ? hold.message : "The session database cannot be written right now.";
  const text = `${why} What was said last in session ${core.sessionId} could not be stored and is lost.`;
  core.notice("warn", "lost-at-close", text);
}

/** Stores what is missing. What would be lost with the session is the reason not to leave it. */
export async function lossOf(
  core: AgentCore,
  hold: Hold,
  consequence: string,
): Promise<SessionProblem | undefined> {
  if (hold.kind === "gone" || (hold.kind === "ours" && (await isStored(core)))) return undefined;
  if (core.parts.transcript.unsaved.length === 0) return undefined;
  return notOurs(hold, `what was said here last cannot be stored yet, and ${consequence}`);
}

/** Only for a session that is ours. */
export async function isStored(core: AgentCore): Promise<boolean> {
  const { transcript, totals } = core.parts;
  return (transcript.unsaved.length === 0 && totals.owed.length === 0) || core.flush();
}

export function notOurs(hold: Hold, consequence: string): SessionProblem {
  if (hold.kind === "ours" || hold.kind === "away") return notStored(consequence);
  if (hold.kind === "gone") return { kind: "refused", message: hold.message };
  return { kind: "busy", message: `${hold.message} So ${consequence}. Try again when its turn is over.` };
}

export function notStored(consequence: string): SessionProblem {
  return {
    kind: "refused",
    message: `The session database cannot be written right now, so ${consequence}. Try again in a moment.`,
  };
}

export function noDatabase(): SessionProblem {
  return {
    kind: "no_database",
    message: "There is no session database, so there are no other sessions. 'hermes doctor' says why.",
  };
}

/** Providers hear of the end while the messages are still there. */
export async function endForProviders(core: AgentCore): Promise<void> {
  const { transcript, manager, engine } = core.parts;
  const { messages } = transcript;
  if (messages.length === 0) return;
  await manager?.onSessionEnd(messages);
  await Promise.resolve(engine.onSessionEnd?.(core.sessionId, messages)).catch((cause: unknown) =>
    core.parts.log.warn("The context engine failed at the end of the session", { cause }),
  );
}

export async function leave(core: AgentCore, hold: Hold, reason: string): Promise<void> {
  await endForProviders(core);
  await endRow(core, hold, reason);
}

/** A session in which nothing was said leaves no trace. One that somebody else works in is not over. */
async function endRow(core: AgentCore, hold: Hold, reason: string): Promise<void> {
  const { store } = core.parts;
  if (store === undefined || hold.kind !== "ours") return;
  try {
    if (await store.deleteSessionIfEmpty(core.sessionId)) return;
    await store.endSession(core.sessionId, reason);
  } catch (cause) {
    core.parts.log.warn("The end of the session could not be stored", { cause });
  }
}

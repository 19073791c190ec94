// Before anything is written to a session: its lease is ours, and what others did to it meanwhile is known. A database that
// cannot be asked leaves the lease untaken, and nothing is written until it has been.
import type { SessionMark } from "@hermes-memory/core/sessions";
import type { AgentCore } from "../core.ts";
import { tellOfContinuation } from "./compaction.ts";
import type { SessionLease } from "./lease.ts";

/** The session is another process's right now, or it was deleted. */
export type Refusal = { readonly kind: "busy" | "gone"; readonly message: string };

/** `away`: the database could not be asked. */
export type Hold = { readonly kind: "ours" } | { readonly kind: "away" } | Refusal;

/** The lease, and whatever another process has added since the last time. A lease that is refused is lost. */
export async function reserve(core: AgentCore, lease: SessionLease): Promise<Refusal | undefined> {
  const { store, transcript, prompt } = core.parts;
  if (store === undefined) return undefined;
  try {
    for (;;) {
      const id = core.sessionId;
      const busy = await lease.take(id);
      if (busy !== undefined) return await refused(lease, { kind: "busy", message: busy });
      const mark = await store.getSessionMark(id);
      if (core.hasRow && mark === null)
        return await refused(lease, { kind: "gone", message: goneMessage(id) });
      const tip = await continuationOf(core, id, mark);
      if (tip === undefined) {
        if (await transcript.catchUp())
          core.notice(
            "info",
            "caught-up",
            "Another process has written to this session; its messages were read first.",
          );
        core.noteStoreBack();
        return undefined;
      }
      // Somebody else compacted the session: the conversation goes on where they left it.
      await transcript.follow(tip);
      core.noteRow(tip);
      prompt.drop();
      core.parentSessionId = id;
      await lease.release();
      await tellOfContinuation(core, id);
      core.notice(
        "info",
        `followed:${tip}`,
        `Another process compacted this conversation; it goes on in session ${tip}.`,
      );
    }
  } catch (cause) {
    await lease.release();
    core.noteStoreTrouble(cause);
    return undefined;
  }
}

/** The lease alone, for whoever has no message to store. */
async function claim(core: AgentCore, lease: SessionLease): Promise<Refusal | undefined> {
  try {
    const busy = await lease.take(core.sessionId);
    return busy === undefined ? undefined : await refused(lease, { kind: "busy", message: busy });
  } catch (cause) {
    core.noteStoreTrouble(cause);
    return undefined;
  }
}

/** Outside of a turn, until `work` is done: the session as it is now, ours as far as that can be had. */
export function whileReserved<T>(core: AgentCore, work: (hold: Hold) => Promise<T>): Promise<T> {
  return whileHeld(core, reserve, work);
}

/** The same for leaving a session. What others did to it matters only where something is still to be stored. */
export function whileLeaving<T>(core: AgentCore, work: (hold: Hold) => Promise<T>): Promise<T> {
  const { transcript, totals } = core.parts;
  const isAllStored = transcript.unsaved.length === 0 && totals.owed.length === 0;
  return whileHeld(core, isAllStored ? claim : reserve, work);
}

async function whileHeld<T>(
  core: AgentCore,
  ask: typeof reserve,
  work: (hold: Hold) => Promise<T>,
): Promise<T> {
  const lease = core.newLease();
  core.lease = lease;
  try {
    if (lease === undefined) return await work({ kind: "ours" });
    const refusal = await ask(core, lease);
    return await work(refusal ?? { kind: lease.isTaken ? "ours" : "away" });
  } finally {
    core.lease = undefined;
    await lease?.release();
  }
}

export function goneMessage(sessionId: string): string {
  return `Session ${sessionId} has been deleted, so nothing more is stored in it.`;
}

async function refused(lease: SessionLease, refusal: Refusal): Promise<Refusal> {
  await lease.giveUp(refusal.message);
  return refusal;
}

async function continuationOf(
  { parts: { store } }: AgentCore,
  id: string,
  mark: SessionMark | null,
): Promise<string | undefined> {
  if (mark?.end_reason !== "compression") {
    // Another process closed it meanwhile; it goes on here.
    if (mark !== null && mark.ended_at !== null) await store?.reopenSession(id);
    return undefined;
  }
  const tip = await store?.getCompressionTip(id);
  if (tip !== undefined && tip !== id) return tip;
  await store?.reopenSession(id); // its continuation was deleted: it goes on here
  return undefined;
}

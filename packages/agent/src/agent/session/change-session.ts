// From one session to another: new, resume, branch, undo, close. Each story first makes sure that nothing is lost with the session
// that is left. Everything that can fail comes before it is left.
import { describeCause, err, errnoCode, ok, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import { fromRow, type Message, renderContent } from "@hermes-memory/core/internal/message";
import { newSessionId, type SessionStore, type UndoOutcome } from "@hermes-memory/core/internal/sessions";
import type { ReviewSchedule } from "../../review/index.ts";
import type { AgentParts } from "../parts.ts";
import type { SessionChange, SessionProblem, UndoReport } from "../surface.ts";
import { findSession, loadMessages, notFound } from "./choose-session.ts";
import type { Hold, Session, SessionStart, SwitchReason } from "./session.ts";
import { deleteConversation } from "./session-files.ts";
import { shownContent } from "./transcript.ts";

export type ChangeDeps = Pick<AgentParts, "home" | "manager" | "todo" | "events" | "log" | "clock"> & {
  readonly session: Session;
  /** Stored as the reason why the session ended, when the agent is closed. */
  readonly closeReason: string;
  readonly reviewSchedule: ReviewSchedule;
};

type Changed = Promise<Result<SessionChange, SessionProblem>>;

export function startNewSession(deps: ChangeDeps, title: string | undefined): Changed {
  const { session, clock } = deps;
  return session.whileLeaving(async (hold) => {
    const problem = await lossOf(session, hold, "no new session was begun");
    if (problem !== undefined) return err(problem);
    const from = session.id;
    const id = newSessionId(clock.now());
    const queued = await usableTitle(deps, id, pyStrip(title ?? ""));
    await leave(session, hold, "new_session");
    await enter(deps, { id, messages: [], hasRow: false, title: queued }, "new_session");
    return ok({ from, to: id, title: queued ?? null, messages: 0 });
  });
}

export async function resumeSession(deps: ChangeDeps, target: string): Changed {
  const { session } = deps;
  const { store } = session;
  if (store === undefined) return err(noDatabase());
  const found = await findSession(store, target);
  if (!found.ok) return found;
  const id = found.value;
  if (id === session.id) return err(sameSession(id));
  return session.whileLeaving(async (hold) => {
    const problem = await lossOf(session, hold, "this session was not left");
    if (problem !== undefined) return err(problem);
    const from = session.id;
    if (id === from) return err(sameSession(id)); // another process had compacted it, and it was followed there
    const messages = await loadMessages(store, id);
    const row = await store.getSession(id);
    if (row === null) return err(notFound(target));
    // One that another process has compacted meanwhile goes on elsewhere, and the next turn follows it there.
    if (row.end_reason !== "compression") await store.reopenSession(id);
    await leave(session, hold, "resumed_other");
    await enter(deps, { id, messages, hasRow: true, parentId: row.parent_session_id ?? undefined }, "resume");
    return ok({ from, to: id, title: row.title, messages: messages.length });
  });
}

export async function branchSession(deps: ChangeDeps, title: string | undefined): Changed {
  const { session } = deps;
  const { store } = session;
  if (store === undefined) return err(noDatabase());
  if (session.messages.length === 0)
    return err({ kind: "nothing", message: "There is nothing to branch off from yet. Say something first." });
  return session.whileReserved(async (hold) => {
    if (hold.kind !== "ours" || !(await session.flush())) return err(notOurs(hold, "it was not branched"));
    const from = session.id;
    const rows = await store.getMessages(from); // before the branch is made: nothing may fail afterwards
    const branch = await store.branchSession(from, {
      title: pyStrip(title ?? "") || undefined,
      endParent: "branched",
    });
    await tellEnd(session);
    const messages = rows
      .map((row, at) => fromRow({ ...row, id: branch.messageIds[at] ?? row.id }))
      .filter((message) => message !== undefined);
    await enter(deps, { id: branch.id, messages, hasRow: true, parentId: from }, "branch");
    return ok({ from, to: branch.id, title: branch.title, messages: messages.length });
  });
}

/** Takes back the newest turns, if they are still the ones that the user sees. Their rows stay, inactive. */
export async function undoTurns(
  { session, todo }: ChangeDeps,
  turns: number,
): Promise<Result<UndoReport, SessionProblem>> {
  const { store } = session;
  if (store === undefined) return err(noDatabase());
  const count = Math.max(1, turns);
  const seen = newestTurns(session.messages, count);
  return session.whileReserved(async (hold) => {
    if (hold.kind !== "ours") return err(notOurs(hold, "nothing was taken back"));
    if (newestTurns(session.messages, count) !== seen) return err(CHANGED_MEANWHILE);
    if (!(await isStored(session))) return err(notStored("nothing was taken back"));
    const before = session.messages.length;
    const undone = await undo(session, store, count);
    if (!undone.ok) return undone;
    if (undone.value === null) return err({ kind: "nothing", message: "There is no turn to take back." });
    todo.clear(); // the prompt stays: session and memory are the same
    const { turns_undone, target_text } = undone.value;
    await session.reloadAfterUndo(turns_undone);
    return ok({ turns: turns_undone, messages: before - session.messages.length, text: target_text });
  });
}

/** What becomes of the session when its agent is closed. `kept`: it goes on in another agent, so it does not end. */
export type SessionFate = "ended" | "kept" | "deleted";

/** For the agent's `close`. Never rejects. */
export async function closeSession(deps: ChangeDeps, fate: SessionFate): Promise<void> {
  const { session, home, manager, events, log } = deps;
  const quietly = async (work: () => Promise<void> | undefined): Promise<void> => {
    try {
      await work();
    } catch (cause) {
      log.warn(`Closing the agent met a problem: ${describeCause(cause)}`);
    }
  };
  const tellProviders = async (): Promise<void> => {
    if (fate !== "kept") await quietly(() => tellEnd(session));
    await quietly(() => manager?.shutdownAll());
  };
  if (fate === "deleted") {
    await tellProviders();
    await quietly(() => deleteConversation(session, home));
    return;
  }
  await quietly(() =>
    session.whileLeaving(async (hold) => {
      if ((await lossOf(session, hold, "it is lost")) !== undefined) {
        const why = "message" in hold ? hold.message : "The session database cannot be written right now.";
        const text = `${why} The last messages of session ${session.id} could not be stored and are lost.`;
        events.notice("warn", "lost-at-close", text);
      }
      await tellProviders();
      if (hold.kind === "ours" && fate === "ended") await session.endRow(deps.closeReason);
    }),
  );
}

// Leaving a session.

/** Stores the messages that are missing. When they cannot be stored, leaving would lose them, and the problem says so. */
async function lossOf(
  session: Session,
  hold: Hold,
  consequence: string,
): Promise<SessionProblem | undefined> {
  if (hold.kind === "gone" || (hold.kind === "ours" && (await isStored(session)))) return undefined;
  if (!session.hasUnsavedMessages) return undefined;
  return notOurs(hold, `the last messages here cannot be stored yet, and ${consequence}`);
}

async function isStored(session: Session): Promise<boolean> {
  return session.isAllStored || session.flush();
}

/** A session that another process works in does not end. */
async function leave(session: Session, hold: Hold, reason: string): Promise<void> {
  await tellEnd(session);
  if (hold.kind === "ours") await session.endRow(reason);
}

/** Providers hear of no session in which nothing was said. */
async function tellEnd(session: Session): Promise<void> {
  if (session.messages.length > 0) await session.tellEnd(session.messages);
}

// Entering a session.

type Next = SessionStart & { readonly title?: string | undefined };

/** Everything that belonged to the conversation before is forgotten. */
async function enter(
  { session, todo, reviewSchedule, events }: ChangeDeps,
  next: Next,
  reason: SwitchReason,
): Promise<void> {
  todo.clear();
  reviewSchedule.reset();
  events.forgetNotices();
  await session.switchTo(next, reason);
}

/** Undefined for none, and for one that is too long or taken: the session then begins without a title. */
async function usableTitle(
  { session, log }: ChangeDeps,
  id: string,
  title: string,
): Promise<string | undefined> {
  const { store } = session;
  if (title === "") return undefined;
  if (store === undefined) return title;
  try {
    await store.setSessionTitle(id, title); // there is no row yet, so this only checks the title
    return title;
  } catch (cause) {
    log.warn(`The title of the new session cannot be used: ${describeCause(cause)}`);
    return errnoCode(cause)?.startsWith("title-") ? undefined : title;
  }
}

// Undo.

/** A program that compacts the session without a lease refuses the undo as well. */
async function undo(
  session: Session,
  store: SessionStore,
  turns: number,
): Promise<Result<UndoOutcome | null, SessionProblem>> {
  try {
    return ok(await store.undoTurns(session.id, turns, { leaseHolder: session.holder }));
  } catch (cause) {
    if (errnoCode(cause) !== "session-busy") throw cause;
    return err({ kind: "busy", message: `${describeCause(cause)} Try again when it is done.` });
  }
}

/** The newest turns as the user sees them, for comparison. */
function newestTurns(messages: readonly Message[], count: number): string {
  const starts = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  const newest = messages.slice(starts.at(-count) ?? 0);
  return JSON.stringify(newest.map((message) => [message.role, renderContent(shownContent(message)) ?? ""]));
}

// Problems, for the user.

function notOurs(hold: Hold, consequence: string): SessionProblem {
  if (hold.kind === "ours" || hold.kind === "away") return notStored(consequence);
  if (hold.kind === "gone") return { kind: "refused", message: hold.message };
  return { kind: "busy", message: `${hold.message} So ${consequence}. Try again when its turn is over.` };
}

function notStored(consequence: string): SessionProblem {
  return {
    kind: "refused",
    message: `The session database cannot be written right now, so ${consequence}. Try again in a moment.`,
  };
}

function noDatabase(): SessionProblem {
  return {
    kind: "no_database",
    message: "There is no session database, so there are no other sessions. 'hermes doctor' says why.",
  };
}

function sameSession(id: string): SessionProblem {
  return { kind: "same_session", message: `Already on session ${id}.` };
}

const CHANGED_MEANWHILE: SessionProblem = {
  kind: "refused",
  message:
    "Another process has gone on with this session since it was last read here, so nothing was taken back. What it wrote is " +
    "in the conversation now: look at it with /history, and repeat the command to take back the newest turn of it.",
};

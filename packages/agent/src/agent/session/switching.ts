// Leaving one session and entering another: what the database, the engine and the providers are told, each once and in order.
import { describeCause, err, errnoCode, ok, pyStrip, type Result } from "@hermes-memory/core/lib";
import { fromRow, type Message } from "@hermes-memory/core/message";
import { newSessionId, type Scope, type SessionStore, scopeOfUser } from "@hermes-memory/core/sessions";
import type { AgentCore } from "../core.ts";
import type { SessionChange, SessionProblem } from "../surface.ts";
import { endForProviders, leave, lossOf, noDatabase, notOurs } from "./leaving.ts";
import { whileLeaving, whileReserved } from "./reserve.ts";

export async function startNewSession(
  core: AgentCore,
  title: string | undefined,
): Promise<Result<SessionChange, SessionProblem>> {
  return whileLeaving(core, async (hold) => {
    const problem = await lossOf(core, hold, "no new session was begun");
    if (problem !== undefined) return err(problem);
    const old = core.sessionId;
    const id = newSessionId(core.parts.clock.now());
    const queued = await usableTitle(core, id, pyStrip(title ?? ""));
    await leave(core, hold, "new_session");
    core.parentSessionId = undefined;
    core.queuedTitle = queued;
    await enter(core, id, []);
    await core.parts.manager?.onSessionSwitch(id, {
      parent_session_id: old,
      reset: true,
      reason: "new_session",
    });
    core.emit({ type: "session-switch", from: old, to: id, reason: "new_session" });
    return ok({ from: old, to: id, title: queued ?? null, messages: 0 });
  });
}

export async function resumeSession(
  core: AgentCore,
  target: string,
): Promise<Result<SessionChange, SessionProblem>> {
  const { store, user } = core.parts;
  if (store === undefined) return err(noDatabase());
  const found = await findSession(store, target, scopeOfUser(user));
  if (!found.ok) return found;
  const id = found.value;
  if (id === core.sessionId) return err(sameSession(id));
  return whileLeaving(core, async (hold) => {
    const problem = await lossOf(core, hold, "this session was not left");
    if (problem !== undefined) return err(problem);
    const old = core.sessionId;
    if (id === old) return err(sameSession(id)); // others had compacted it, and it has been followed there
    // Everything that can fail comes first: until then nothing has been left.
    const messages = await loadMessages(store, id);
    const row = await store.getSession(id);
    if (row === null) return err(notFound(target));
    // One that another process has compacted meanwhile goes on elsewhere, and the next turn follows it there.
    if (row.end_reason !== "compression") await store.reopenSession(id);
    await leave(core, hold, "resumed_other");
    core.parentSessionId = row.parent_session_id ?? undefined;
    core.queuedTitle = undefined; // it was for the session that is left
    await enter(core, id, messages);
    core.noteRow(id);
    await core.parts.manager?.onSessionSwitch(id, { parent_session_id: old, reset: false, reason: "resume" });
    core.emit({ type: "session-switch", from: old, to: id, reason: "resume" });
    return ok({ from: old, to: id, title: row.title, messages: messages.length });
  });
}

export async function branchSession(
  core: AgentCore,
  title: string | undefined,
): Promise<Result<SessionChange, SessionProblem>> {
  const { store, transcript } = core.parts;
  if (store === undefined) return err(noDatabase());
  if (transcript.messages.length === 0)
    return err({ kind: "nothing", message: "There is nothing to branch off from yet. Say something first." });
  return whileReserved(core, async (hold) => {
    if (hold.kind !== "ours" || !(await core.flush())) return err(notOurs(hold, "it was not branched"));
    const old = core.sessionId;
    const wanted = pyStrip(title ?? "");
    const rows = await store.getMessages(old); // before the branch is made: after that nothing may fail any more
    const branch = await store.branchSession(old, {
      ...(wanted === "" ? {} : { title: wanted }),
      endParent: "branched",
    });
    await endForProviders(core);
    const messages = rows
      .map((row, at) => fromRow({ ...row, id: branch.messageIds[at] ?? row.id }))
      .filter((message) => message !== undefined);
    core.parentSessionId = old;
    await enter(core, branch.id, messages);
    core.noteRow(branch.id);
    await core.parts.manager?.onSessionSwitch(branch.id, {
      parent_session_id: old,
      reset: false,
      reason: "branch",
    });
    core.emit({ type: "session-switch", from: old, to: branch.id, reason: "branch" });
    return ok({ from: old, to: branch.id, title: branch.title, messages: messages.length });
  });
}

/** An id, a unique beginning of one, or a title; then to where its conversation goes on. */
export async function findSession(
  store: SessionStore,
  target: string,
  scope: Scope,
): Promise<Result<string, SessionProblem>> {
  const wanted = pyStrip(target).replace(/^(["'[(<])(.*)(["'\])>])$/s, "$2");
  if (wanted === "") return err(notFound(wanted));
  const id =
    (await store.resolveSessionId(wanted, scope)) ?? (await store.resolveSessionByTitle(wanted, scope));
  if (id === null) {
    const ids = await store.listSessionIds({ ...scope, prefix: wanted, limit: MOST_NAMED + 1 });
    return err(ids.length > 1 ? ambiguous(wanted, ids) : notFound(wanted));
  }
  const tip = await store.getCompressionTip(id, scope);
  return ok(await store.resolveResumeSessionId(tip, scope));
}

const MOST_NAMED = 5;

function ambiguous(wanted: string, ids: readonly string[]): SessionProblem {
  const named = ids.slice(0, MOST_NAMED).join(", ");
  const more = ids.length > MOST_NAMED ? " and others" : "";
  return {
    kind: "ambiguous",
    message: `More than one session begins with '${wanted}': ${named}${more}. Give more of the id.`,
  };
}

function notFound(wanted: string): SessionProblem {
  return {
    kind: "not_found",
    message: `No session has the id or the title '${wanted}'. List them with 'hermes sessions list' or /sessions.`,
  };
}

function sameSession(id: string): SessionProblem {
  return { kind: "same_session", message: `Already on session ${id}.` };
}

export async function loadMessages(store: SessionStore, id: string): Promise<readonly Message[]> {
  const rows = await store.getMessages(id);
  return rows.map(fromRow).filter((message) => message !== undefined);
}

/** Undefined for none, and for one that is too long or taken: the session then begins without. */
async function usableTitle(core: AgentCore, id: string, title: string): Promise<string | undefined> {
  if (title === "") return undefined;
  try {
    await core.parts.store?.setSessionTitle(id, title); // there is no row yet, so this only looks whether it could be
  } catch (cause) {
    core.parts.log.warn(`The title of the new session cannot be used: ${describeCause(cause)}`);
    if (["title-taken", "title-too-long"].includes(errnoCode(cause) ?? "")) return undefined;
  }
  return title;
}

async function enter(core: AgentCore, id: string, messages: readonly Message[]): Promise<void> {
  const { transcript, prompt, totals, todo, nudges, engine, home, platform } = core.parts;
  transcript.adopt(id, messages);
  prompt.drop();
  totals.reset();
  todo.clear();
  nudges.reset();
  core.forgetNotices();
  engine.onSessionReset?.();
  await Promise.resolve(
    engine.onSessionStart?.(id, {
      hermesHome: home,
      platform,
      model: core.model.identity.model,
      contextLength: core.window.tokens,
    }),
  ).catch((cause: unknown) =>
    core.parts.log.warn("The context engine failed at the start of the session", { cause }),
  );
}

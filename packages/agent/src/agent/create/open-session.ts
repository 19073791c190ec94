// Which session an agent begins with: a new one, a named one, or the newest.
import { type Clock, HermesError } from "@hermes-memory/core/lib";
import type { Message } from "@hermes-memory/core/message";
import { checkSessionId, newSessionId, type Scope, type SessionStore } from "@hermes-memory/core/sessions";
import type { AgentOptions } from "../options.ts";
import { findSession, loadMessages } from "../session/switching.ts";
import type { Binding } from "./open-layers.ts";

export type StartingSession = {
  readonly id: string;
  readonly title: string | null;
  readonly parentId: string | undefined;
  /** Of a session that goes on; undefined for a new one. */
  readonly messages: readonly Message[] | undefined;
};

export async function chooseSession(
  {
    store,
    whole = store,
  }: { readonly store: SessionStore | undefined; readonly whole: SessionStore | undefined },
  options: AgentOptions,
  { platform, person: { scope }, clock }: Binding & { readonly clock: Clock },
): Promise<StartingSession> {
  const { resume, continueLast, sessionId, delegatedBy } = options;
  if (sessionId !== undefined) checkSessionId(sessionId); // it also names files
  if (delegatedBy !== undefined && store !== undefined)
    await checkDelegator(store, delegatedBy.sessionId, scope);
  if (resume !== undefined) return resumed(required(store), await found(required(store), resume, scope));
  const newest = continueLast && store !== undefined ? await newestOf(store, platform, scope) : undefined;
  if (newest !== undefined && store !== undefined) return resumed(store, newest);
  // An id of the caller's may have been used before: a gateway names the session of a chat.
  const used = sessionId === undefined ? undefined : await whole?.getSession(sessionId);
  if (used && store !== undefined) {
    if ((await store.getSession(used.id, scope)) === null) throw notTheirs(used.id);
    return resumed(store, await store.getCompressionTip(used.id, scope));
  }
  return {
    id: sessionId ?? newSessionId(clock.now()),
    title: null,
    parentId: undefined,
    messages: undefined,
  };
}

/** The run is stored as a child of that session, so without it nothing could be. */
async function checkDelegator(store: SessionStore, id: string, scope: Scope): Promise<void> {
  if ((await store.getSessionMark(id, scope)) !== null) return;
  throw new HermesError(
    "unknown-session",
    `The session '${id}' in delegatedBy is not in the session database.`,
    {
      hint: "Pass a session of the same user that is stored already, or store: null to store nothing.",
    },
  );
}

async function found(store: SessionStore, target: string, scope: Scope): Promise<string> {
  const session = await findSession(store, target, scope);
  if (session.ok) return session.value;
  throw new HermesError("unknown-session", session.error.message, {
    hint: "'hermes sessions list' shows what there is; without --resume a new session begins.",
  });
}

async function newestOf(store: SessionStore, platform: string, scope: Scope): Promise<string | undefined> {
  const [newest] = await store.listSessionsRich({
    source: platform,
    limit: 1,
    minMessageCount: 1,
    orderByLastActive: true,
    projectCompressionTips: true,
    ...scope,
  });
  return newest?.id;
}

async function resumed(store: SessionStore, id: string): Promise<StartingSession> {
  const row = await store.getSession(id);
  // One that another process has compacted this moment goes on elsewhere, and the first turn follows it there.
  if (!store.readOnly && row?.end_reason !== "compression") await store.reopenSession(id);
  return {
    id,
    title: row?.title ?? null,
    parentId: row?.parent_session_id ?? undefined,
    messages: await loadMessages(store, id),
  };
}

/** Going on would show the conversation, a new session under the same id would write into it. */
function notTheirs(id: string): HermesError {
  return new HermesError("unknown-session", `The session '${id}' is not one of this user's.`, {
    hint: "Give each user's chat a session id of its own.",
  });
}

function required(store: SessionStore | undefined): SessionStore {
  if (store !== undefined) return store;
  throw new HermesError(
    "no-session-database",
    "There is no session database, so no session can be resumed.",
    {
      hint: "'hermes doctor' says what is wrong with it.",
    },
  );
}

// Finding a session: by the id or title that a user typed, and the one an agent begins with.
import { type Clock, err, HermesError, ok, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import { chatSessionId, findChat, type Person } from "@hermes-memory/core/internal/memory";
import { fromRow, type Message } from "@hermes-memory/core/internal/message";
import { checkSessionId, newSessionId, type SessionStore } from "@hermes-memory/core/internal/sessions";
import type { AgentOptions } from "../agent-options.ts";
import type { SessionProblem } from "../surface.ts";

/** An id, a unique beginning of one, or a title. Gives the session in which that conversation goes on. */
export async function findSession(
  store: SessionStore,
  target: string,
): Promise<Result<string, SessionProblem>> {
  const wanted = pyStrip(target).replace(/^(["'[(<])(.*)(["'\])>])$/s, "$2");
  if (wanted === "") return err(notFound(wanted));
  const id = (await store.resolveSessionId(wanted)) ?? (await store.resolveSessionByTitle(wanted));
  if (id === null) {
    const ids = await store.listSessionIds({ prefix: wanted, limit: MOST_NAMED + 1 });
    return err(ids.length > 1 ? ambiguous(wanted, ids) : notFound(wanted));
  }
  const tip = await store.getCompressionTip(id);
  return ok(await store.resolveResumeSessionId(tip));
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

export function notFound(wanted: string): SessionProblem {
  return {
    kind: "not_found",
    message: `No session has the id or the title '${wanted}'. List them with 'hermes sessions list' or /sessions.`,
  };
}

export async function loadMessages(store: SessionStore, id: string): Promise<readonly Message[]> {
  const rows = await store.getMessages(id);
  return rows.map(fromRow).filter((message) => message !== undefined);
}

export type StartingSession = {
  readonly id: string;
  readonly title: string | null;
  readonly parentId: string | undefined;
  /** Undefined for a new session. */
  readonly messages: readonly Message[] | undefined;
};

type StartBasics = {
  readonly platform: string;
  readonly person: Person;
  readonly clock: Clock;
};

/** A new session, the one that the options name, or the newest of the platform. */
export async function chooseSession(
  {
    store,
    whole = store,
  }: { readonly store: SessionStore | undefined; readonly whole: SessionStore | undefined },
  options: AgentOptions,
  { platform, person, clock }: StartBasics,
): Promise<StartingSession> {
  const { resume, continueLast, chatId, delegatedBy } = options;
  const chat =
    chatId === undefined || store === undefined ? undefined : await findChat(store, person, chatId);
  if (chat !== undefined && store !== undefined) return resumed(store, chat.id);
  const sessionId = chatId === undefined ? options.sessionId : chatSessionId(person.user, chatId);
  if (sessionId !== undefined) checkSessionId(sessionId); // it is part of file names
  if (delegatedBy !== undefined && store !== undefined) await checkDelegator(store, delegatedBy.sessionId);
  if (resume !== undefined) return resumed(required(store), await found(required(store), resume));
  const newest = continueLast && store !== undefined ? await newestOf(store, platform) : undefined;
  if (newest !== undefined && store !== undefined) return resumed(store, newest);
  // The caller's id may exist already: a gateway names the session of a chat.
  const used = sessionId === undefined ? undefined : await whole?.getSession(sessionId);
  if (used && store !== undefined) {
    // Resuming would show another user's conversation; a new session under the same id would write into it.
    if ((await store.getSession(used.id)) === null)
      throw unknownSession(
        `The session '${used.id}' is not one of this user's.`,
        "Give each user's chat a session id of its own.",
      );
    return resumed(store, await store.getCompressionTip(used.id));
  }
  return {
    id: sessionId ?? newSessionId(clock.now()),
    title: null,
    parentId: undefined,
    messages: undefined,
  };
}

/** The run is stored as a child of that session, so it must exist. */
async function checkDelegator(store: SessionStore, id: string): Promise<void> {
  if ((await store.getSessionMark(id)) !== null) return;
  const hint = "Pass a session of the same user that is stored already, or store: null to store nothing.";
  throw unknownSession(`The session '${id}' in delegatedBy is not in the session database.`, hint);
}

async function found(store: SessionStore, target: string): Promise<string> {
  const session = await findSession(store, target);
  if (session.ok) return session.value;
  const hint = "'hermes sessions list' shows what there is; without --resume a new session begins.";
  throw unknownSession(session.error.message, hint);
}

async function newestOf(store: SessionStore, platform: string): Promise<string | undefined> {
  const [newest] = await store.listSessionsRich({
    source: platform,
    limit: 1,
    minMessageCount: 1,
    orderByLastActive: true,
    projectCompressionTips: true,
  });
  return newest?.id;
}

async function resumed(store: SessionStore, id: string): Promise<StartingSession> {
  const row = await store.getSession(id);
  // One that another process has just compacted goes on elsewhere, and the first turn follows it there.
  if (!store.readOnly && row?.end_reason !== "compression") await store.reopenSession(id);
  return {
    id,
    title: row?.title ?? null,
    parentId: row?.parent_session_id ?? undefined,
    messages: await loadMessages(store, id),
  };
}

function unknownSession(message: string, hint: string): HermesError {
  return new HermesError("unknown-session", message, { hint });
}

function required(store: SessionStore | undefined): SessionStore {
  if (store !== undefined) return store;
  const hint = "'hermes doctor' says what is wrong with it.";
  const message = "There is no session database, so no session can be resumed.";
  throw new HermesError("no-session-database", message, { hint });
}

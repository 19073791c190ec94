// The stored side of a chat: its session, its messages, and the right to change it. Within a process one call at a time works on a
// chat; between processes the session's lease decides.
import { setTimeout as sleep } from "node:timers/promises";
import { isHandoff, isTaskList, withoutHandoff } from "../context/index.ts";
import { errnoCode, HermesError } from "../lib/index.ts";
import { fromRow, fromRows, type Message, textOf } from "../message/index.ts";
import {
  checkSessionId,
  describeHolder,
  forgetHolder,
  INTERNAL_SOURCES,
  isDeadHere,
  type MessageKey,
  newHolder,
  type SessionRow,
  type SessionStore,
  transcriptMark,
} from "../sessions/index.ts";
import { chatSessionId, findChat } from "./chat-id.ts";
import { badOption } from "./options.ts";
import type { Person } from "./types.ts";

export type OpenChat = { readonly store: SessionStore; readonly row: SessionRow };

/** How the session of a new chat is made. */
export type NewChat = {
  readonly source?: string | undefined;
  readonly sessionId?: string | undefined;
  /** The chat whose subagent this one is. */
  readonly parentChatId?: string | undefined;
  readonly forkOf?: readonly string[] | undefined;
};

/** The session in which the chat goes on, which is a new one for a new chat. Throws `bad-option` for options that no chat can have. */
export async function openChat(
  person: Person,
  chatId: string,
  options: NewChat = {},
): Promise<OpenChat & { readonly isNew: boolean }> {
  const id = newSessionId(person, chatId, options);
  const source = options.source ?? sourceOf(person);
  if (INTERNAL_SOURCES.includes(source))
    throw badOption(
      `The source '${source}' is that of sessions which programs start for themselves.`,
      "Pass the name of the program that the chat comes from. For a subagent's chat pass 'parentChatId'.",
    );
  const store = await person.sessions({ mode: "write", create: true });
  const known =
    options.sessionId === undefined
      ? await findChat(store, person, chatId)
      : await followedChat(store, person, chatId, options.sessionId);
  if (known !== undefined) return { store, row: known, isNew: false };
  const { parentChatId, forkOf = [] } = options;
  const origin = forkOf.length === 0 ? null : await store.gateway.findMark(forkOf);
  if (origin !== null) {
    await store.branchSession(origin.session_id, { id, title: null }).catch(async (cause: unknown) => {
      if ((await store.getSession(id)) === null) throw cause; // otherwise another request of the chat was first
    });
  } else if (parentChatId === undefined) await store.createSession(id, { source });
  else {
    const sessionId = options.sessionId === undefined ? undefined : parentChatId;
    const { row: parent } = await openChat(person, parentChatId, { source, sessionId });
    // As an import stores subagents.
    await store.createSession(id, {
      source: "subagent",
      parentSessionId: parent.id,
      modelConfig: { _delegate_from: parent.id },
    });
  }
  if (options.sessionId !== undefined) await noteFollowed(store, id, options.sessionId);
  const row = await store.getSession(id);
  if (row === null) throw new Error(`The session ${id} is gone right after it was created.`);
  return { store, row, isNew: true };
}

/**
 * The session in which this one goes on. A session that is named by its id goes on in itself, although an import may have found that the
 * program continued it in another one of its own.
 */
async function currentSession(store: SessionStore, id: string, isNamed: boolean): Promise<SessionRow | null> {
  const tip = await store.getNewestSession(id);
  const isOfProgram = tip?.id !== id && tip?.model_config?.includes('"_import"') === true;
  return isNamed && isOfProgram ? store.getSession(id) : tip;
}

/** Where the conversation of another program goes on: its session has the mark of that id, the chat's own id (until 0.3.0), or that id. */
async function followedChat(
  store: SessionStore,
  person: Person,
  chatId: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const marked = (await store.gateway.findMark([transcriptMark(sessionId)]))?.session_id;
  for (const id of marked === undefined ? [chatSessionId(person.user, chatId), sessionId] : [marked]) {
    const row = await currentSession(store, id, true);
    if (row === null) continue;
    if (marked === undefined) await noteFollowed(store, id, sessionId);
    return row;
  }
  return undefined;
}

/** An import of the program's transcript is merged with the session. */
async function noteFollowed(store: SessionStore, id: string, sessionId: string): Promise<void> {
  await store.gateway.saveMarks(id, [transcriptMark(sessionId)]);
}

/** Throws `bad-chat-id`, `bad-session-id` and `bad-option`. */
function newSessionId({ user }: Person, chatId: string, { sessionId, parentChatId }: NewChat): string {
  const id = chatSessionId(user, chatId);
  if (parentChatId === chatId)
    throw badOption("A chat cannot be its own subagent.", "Pass the chat that started it as 'parentChatId'.");
  if (sessionId === undefined) return id;
  if (user !== undefined)
    throw badOption(
      "'sessionId' was set for the chat of a user: ids of sessions are the owner's.",
      "Leave it out: the chat's id is enough.",
    );
  if (sessionId !== chatId)
    throw badOption(
      "'sessionId' differs from the chat's id, which would not find the session again.",
      "Pass the same text as chat id and 'sessionId', or leave 'sessionId' out.",
    );
  return checkSessionId(sessionId);
}

/** The same for a chat that must be there. Rejects with `unknown-chat`. */
export async function openKnownChat(person: Person, chatId: string): Promise<OpenChat> {
  const found = await findOpenChat(person, chatId);
  if (found !== undefined) return found;
  throw new HermesError("unknown-chat", `There is no chat '${chatId}'.`, {
    hint: "List the chats with chats(); remember() and context() create one.",
  });
}

/** Undefined, and nothing is created, if there is no such chat. */
export async function findOpenChat(person: Person, chatId: string): Promise<OpenChat | undefined> {
  chatSessionId(person.user, chatId); // throws `bad-chat-id` also while there is no database
  const store = await person.sessions({ mode: "write" });
  const row = store && (await findChat(store, person, chatId));
  return store === undefined || row === undefined ? undefined : { store, row };
}

/** Sessions of some sources are hidden from listings and searches: a user's platform with such a name must not hide their chats. */
function sourceOf({ user }: Person): string {
  return user === undefined || INTERNAL_SOURCES.includes(user.platform) ? "library" : user.platform;
}

/** Active messages, oldest first, with the ids of their rows. */
export async function loadChat(store: SessionStore, sessionId: string): Promise<readonly Message[]> {
  return fromRows(await store.getMessages(sessionId));
}

export type LoadedChat = {
  readonly messages: readonly Message[];
  /** The newest active row, whether it is a message that we read or not; null for none. */
  readonly last: number | null;
  /** All rows were just read. */
  readonly isFresh: boolean;
};

/** Below this, reading a chat again costs less than keeping it. */
const LEAST_KEPT = 200;
const MOST_KEPT = 4;
const MOST_KEPT_CHARS = 12_000_000;
const KEPT_MS = 5 * 60_000;
/** Newest rows that are always read again: other programs edit them in place, if any. */
const READ_AGAIN = 32;

/**
 * Long chats that were read before. Whether rows were added, deleted, taken back or restored since is seen from their ids. An edit of an
 * older row in place is not: `context` may give its earlier text for `KEPT_MS`, and for a write what is found here may show that nothing
 * differs, and not that something does (`isFresh`).
 */
export class LoadedChats {
  /** By session, the least recently used first. */
  readonly #kept = new Map<string, { readonly messages: readonly Message[]; readonly chars: number }>();
  #idle: NodeJS.Timeout | undefined;

  async load(store: SessionStore, sessionId: string): Promise<LoadedChat> {
    const kept = this.#kept.get(sessionId)?.messages;
    const messages = kept && (await refreshed(store, sessionId, kept));
    if (messages === undefined) return this.loadAgain(store, sessionId);
    this.#keep(sessionId, messages);
    return { messages, last: messages.at(-1)?.meta.rowId ?? null, isFresh: false };
  }

  async loadAgain(store: SessionStore, sessionId: string): Promise<LoadedChat> {
    const rows = await store.getMessages(sessionId);
    const messages = fromRows(rows);
    this.#keep(sessionId, messages);
    return { messages, last: rows.at(-1)?.id ?? null, isFresh: true };
  }

  /** With the rows that were just stored behind the messages. */
  async append(
    store: SessionStore,
    sessionId: string,
    messages: readonly Message[],
    added: readonly number[],
  ): Promise<readonly Message[]> {
    if (added.length === 0) return messages;
    const all = [...messages, ...fromRows(await store.getMessagesById(added))];
    this.#keep(sessionId, all);
    return all;
  }

  #keep(sessionId: string, messages: readonly Message[]): void {
    this.#kept.delete(sessionId);
    if (messages.length < LEAST_KEPT) return;
    const chars = messages.reduce((sum, { content }) => sum + textOf(content).length, 0);
    if (chars <= MOST_KEPT_CHARS) this.#kept.set(sessionId, { messages, chars });
    let total = [...this.#kept.values()].reduce((sum, each) => sum + each.chars, 0);
    for (const [oldest, each] of this.#kept) {
      if (this.#kept.size <= MOST_KEPT && total <= MOST_KEPT_CHARS) break;
      this.#kept.delete(oldest);
      total -= each.chars;
    }
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#kept.clear(), KEPT_MS).unref();
  }

  clear(): void {
    clearTimeout(this.#idle);
    this.#kept.clear();
  }
}

/** Undefined if other rows are stored now. */
async function refreshed(
  store: SessionStore,
  sessionId: string,
  kept: readonly Message[],
): Promise<readonly Message[] | undefined> {
  const keys = await store.listMessageKeys([sessionId]);
  const isSame =
    keys.length === kept.length &&
    keys.every(({ id, origin_id }, at) => {
      const { rowId, originId } = kept[at]?.meta ?? {};
      return rowId === id && originId === (origin_id ?? undefined);
    });
  if (!isSame) return undefined;
  const again = fromRows(await store.getMessagesById(keys.slice(-READ_AGAIN).map(({ id }) => id)));
  return again.length === Math.min(kept.length, READ_AGAIN)
    ? [...kept.slice(0, -READ_AGAIN), ...again]
    : undefined;
}

/**
 * Every message since the chat began, each once, without the summaries of compactions. `newest`: the messages of the newest session;
 * `summary`: that of the last compaction among them.
 */
export async function loadWholeChat(
  store: SessionStore,
  sessionId: string,
  newest: readonly Message[],
  summary: Message | undefined,
): Promise<readonly Message[]> {
  if (summary === undefined) return newest;
  const tail = newest.slice(newest.indexOf(summary) + 1);
  const taken = new Set(tail.map(originOf));
  const { rows } = await listChatRows(store, sessionId);
  const before = rows.flatMap(({ id, origin }) => (taken.has(origin) ? [] : [id]));
  return [...fromRows(await store.getMessagesById(before)), ...tail];
}

/**
 * The summary of the last compaction among the messages of a session. Not every text with its marker is one: a user may have typed or
 * pasted it. A compaction stores its summary next to the copies of the messages that stay.
 */
export async function findSummary(
  store: SessionStore,
  sessionId: string,
  messages: readonly Message[],
): Promise<Message | undefined> {
  const last = messages.findLast(isHandoff);
  if (last === undefined) return undefined;
  const copies = messages.findLastIndex(({ meta }) => meta.originId !== undefined) + 1;
  if (copies > 0) return messages.slice(0, copies + 1).findLast(isHandoff);
  // Other programs do not record which rows are copies.
  if ((await store.listContinued(sessionId)).length > 1) return last;
  const keys = await store.listMessageKeys([sessionId], { includeInactive: true });
  return keys.some(({ compacted }) => compacted === 1) ? last : undefined;
}

/** A message of a chat without its text. */
export type ChatRow = {
  /** Its first row in the chat, which stays the same when a compaction copies the message. */
  readonly id: number;
  /** The row of which all its rows are copies. It differs from `id` in a branch. */
  readonly origin: number;
};

/** The session in which the chat began, and every message since then, once, without the summaries of compactions; oldest first. */
export async function listChatRows(
  store: SessionStore,
  sessionId: string,
): Promise<{ readonly root: string; readonly rows: readonly ChatRow[] }> {
  const chain = await store.listContinued(sessionId);
  const keys = await store.listMessageKeys(chain, { includeInactive: true });
  const [first] = chain;
  const summaries = await findSummaries(store, keys, first);
  const archived = new Set(keys.flatMap(({ compacted, session_id: id }) => (compacted ? [id] : [])));
  const shown = new Set<number>();
  for (const id of archived) for (const row of await store.getDisplayHistory(id)) shown.add(row.id);
  const rows = new Map<number, ChatRow & { readonly isTold: boolean }>();
  for (const { id, origin_id, session_id, active } of keys) {
    const origin = origin_id ?? id;
    // The newest row of a message decides: in the continuation it may have been taken back.
    const isTold = archived.has(session_id) ? shown.has(id) : active === 1;
    rows.set(origin, { id: rows.get(origin)?.id ?? id, origin, isTold });
  }
  return {
    root: first ?? sessionId,
    rows: [...rows.values()].filter(({ id, isTold }) => isTold && !summaries.has(id)),
  };
}

/** Summaries and repeated task lists are stored with the copies of the messages that stay. Only rows at such places are read. */
async function findSummaries(
  store: SessionStore,
  keys: readonly MessageKey[],
  first: string | undefined,
): Promise<ReadonlySet<number>> {
  const found: number[] = [];
  for (const [session, rows] of Map.groupBy(keys, ({ session_id }) => session_id)) {
    const own = (from: number, to?: number) =>
      rows.slice(from, to).flatMap(({ id, origin_id }) => (origin_id === null ? [id] : []));
    const copies = rows.findLastIndex(({ origin_id }) => origin_id !== null) + 1;
    // Other programs do not record which rows are copies; a branch begins with copies of another chat's rows.
    const isForeign = copies === 0 && session !== first;
    if (session === first && copies === 0 && !rows.some(({ compacted }) => compacted === 1)) continue;
    const copied = session === first ? rows.slice(0, copies).map(({ id }) => id) : own(0, copies);
    found.push(...(isForeign ? own(0) : [...copied, ...own(copies, copies + 1)]));
  }
  const candidates = await store.getMessagesById([...new Set(found)]);
  return new Set(
    candidates.flatMap((row) => {
      const message = fromRow(row);
      const isAdded = message !== undefined && (withoutHandoff(message) === undefined || isTaskList(message));
      return isAdded ? [row.id] : [];
    }),
  );
}

export type TranscriptPage = {
  readonly messages: readonly Message[];
  /** How many older messages there are, and the row from which the next page goes back. */
  readonly leftOut: number;
  readonly next: number | undefined;
};

/** The newest `limit` messages before the row `before`, and as many more as complete the turn of the first one. */
export async function loadTranscript(
  store: SessionStore,
  sessionId: string,
  { limit, before = Number.POSITIVE_INFINITY }: { readonly limit: number; readonly before?: number },
): Promise<TranscriptPage> {
  const { rows } = await listChatRows(store, sessionId);
  const older = rows.filter(({ id }) => id < before);
  let from = Math.max(0, older.length - limit);
  const messages = [...(await loadShown(store, older.slice(from)))];
  while (from > 0 && messages[0]?.role !== "user") {
    const more = await loadShown(store, older.slice(Math.max(0, from - STEP_BACK), from));
    const start = more.findLast(({ role }) => role === "user");
    from = start ? older.findIndex(({ id }) => id === start.meta.rowId) : Math.max(0, from - STEP_BACK);
    messages.unshift(...(start ? more.slice(more.indexOf(start)) : more));
  }
  return { messages, leftOut: from, next: from === 0 ? undefined : older[from]?.id };
}

/** To the beginning of a turn. */
const STEP_BACK = 8;

/** Without rows that only models see. */
async function loadShown(store: SessionStore, rows: readonly ChatRow[]): Promise<readonly Message[]> {
  const found = await store.getMessagesById(rows.map(({ id }) => id));
  return found.flatMap((row) => {
    const message = row.display_kind === "hidden" ? undefined : fromRow(row);
    // What is nothing but a summary is not among the rows.
    return message === undefined ? [] : (withoutHandoff(message) ?? message);
  });
}

/** The row of the message, or of the message that it is a copy of. */
export function originOf({ meta }: Message): number | undefined {
  return meta.originId ?? meta.rowId;
}

// ---- One at a time ----

const LEASE_SECONDS = 60;
const WAIT_MS = 10_000;
const PAUSE_MS = { least: 20, most: 150 };

/** `isReleased`: the last write gave the lease back. */
export type HeldChat = OpenChat & { readonly holder: string; isReleased?: boolean };

type Waiting = {
  readonly signal?: AbortSignal | undefined;
  readonly waitMs?: number;
  /** Of the lease. Default: a new one for this call. */
  readonly holder?: string;
  /** The chat must be there: otherwise the call rejects with `unknown-chat`. Default: it is created. */
  readonly isKnown?: boolean;
  /** How it is created. */
  readonly create?: NewChat;
  /** What the caller has found before in the same turn. */
  readonly opened?: OpenChat | undefined;
};

/** The calls that work on a chat now, by its first session. */
export class ChatTurns {
  readonly #person: Person;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(person: Person) {
    this.#person = person;
  }

  /** Rejects with `chat-busy` if another process works on the chat for longer than the wait. */
  async alone<T>(chatId: string, work: (chat: HeldChat) => Promise<T>, waiting: Waiting = {}): Promise<T> {
    const key = chatSessionId(this.#person.user, chatId);
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(() => this.#leased(chatId, work, waiting));
    const ended = mine.catch(() => undefined); // the caller gets the error
    this.#last.set(key, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }

  /** Resolves when nothing is being stored any more. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }

  async #leased<T>(
    chatId: string,
    work: (chat: HeldChat) => Promise<T>,
    { signal, waitMs = WAIT_MS, holder: given, isKnown = false, create, opened }: Waiting,
  ): Promise<T> {
    const holder = given ?? newHolder();
    const until = performance.now() + waitMs;
    let known = opened;
    try {
      for (;;) {
        signal?.throwIfAborted();
        const { store, row } =
          known ??
          (isKnown
            ? await openKnownChat(this.#person, chatId)
            : await openChat(this.#person, chatId, create));
        known = undefined; // the next round looks again
        const lease = await store.acquireSessionLease(row.id, holder, { ttl: LEASE_SECONDS });
        if (lease.acquired) {
          let isLocked = false;
          const held: HeldChat = { store, row, holder };
          try {
            // A compaction may have continued the chat in another session before the lease was ours.
            const now = await currentSession(store, row.id, create?.sessionId !== undefined);
            if (now?.id === row.id) return await work(Object.assign(held, { row: now }));
          } catch (cause) {
            isLocked = errnoCode(cause) === "session-db-locked";
            throw cause;
          } finally {
            // A lease that cannot be given back runs out by itself: what was stored is stored. Nobody waits for a lock twice.
            const released =
              held.isReleased || store.releaseSessionLease(row.id, holder).catch(() => undefined);
            if (!isLocked) await released;
          }
          continue;
        }
        if (isDeadHere(lease.holder) && (await store.breakSessionLease(row.id, lease.holder))) continue;
        if (performance.now() >= until) throw busy(chatId, lease.holder);
        await sleep(PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least), undefined, { signal });
      }
    } finally {
      if (given === undefined) forgetHolder(holder);
    }
  }
}

function busy(chatId: string, holder: string): HermesError {
  return new HermesError("chat-busy", `The chat '${chatId}' is in use by ${describeHolder(holder)}.`, {
    hint: "Nothing was stored. Try again when that turn has ended; what was stored already is recognised.",
  });
}

// The stored side of a chat: its session, its messages, and the right to change it. Within a process one call at a time works on a
// chat; between processes the session's lease decides.
import { setTimeout as sleep } from "node:timers/promises";
import { isHandoff } from "../context/index.ts";
import { HermesError } from "../lib/index.ts";
import { fromRow, type Message } from "../message/index.ts";
import {
  describeHolder,
  forgetHolder,
  isDeadHere,
  newHolder,
  type SessionRow,
  type SessionStore,
} from "../sessions/index.ts";
import { chatSessionId, findChat } from "./chat-id.ts";
import type { Person } from "./types.ts";

export type OpenChat = { readonly store: SessionStore; readonly row: SessionRow };

/** The session in which the chat goes on, which is a new one for a new chat. */
export async function openChat(person: Person, chatId: string): Promise<OpenChat> {
  const id = chatSessionId(person.user, chatId);
  const store = await person.sessions({ mode: "write", create: true });
  const known = await findChat(store, person, chatId);
  if (known !== undefined) return { store, row: known };
  await store.createSession(id, { source: person.user?.platform ?? "library" });
  const row = await store.getSession(id);
  if (row === null) throw new Error(`The session ${id} is gone right after it was created.`);
  return { store, row };
}

/** Active messages, oldest first, with the ids of their rows. */
export async function loadChat(store: SessionStore, sessionId: string): Promise<readonly Message[]> {
  const rows = await store.getMessages(sessionId);
  return rows.map(fromRow).filter((message) => message !== undefined);
}

export type WholeChat = {
  /** Every message since the chat began, each once, without the summaries of compactions. */
  readonly messages: readonly Message[];
  /** Rows of the newest session that a rewind may take back: those after its summary. */
  readonly changeable: ReadonlySet<number>;
};

/** `newest`: the messages of the newest session. */
export async function loadWholeChat(
  store: SessionStore,
  sessionId: string,
  newest: readonly Message[],
): Promise<WholeChat> {
  const summary = newest.findLastIndex(isHandoff);
  const tail = newest.slice(summary + 1);
  const changeable = new Set(tail.flatMap(({ meta }) => meta.rowId ?? []));
  if (summary < 0) return { messages: newest, changeable };
  const taken = new Set(tail.map(originOf));
  const before: Message[] = [];
  for (const id of (await store.listContinued(sessionId)).filter((each) => each !== sessionId)) {
    for (const message of await loadChat(store, id)) {
      if (isHandoff(message) && message.meta.originId === undefined) continue;
      const origin = originOf(message);
      if (taken.has(origin)) continue;
      taken.add(origin);
      before.push(message);
    }
  }
  return { messages: [...before, ...tail], changeable };
}

/** The row of the message, or of the message that it is a copy of. */
export function originOf({ meta }: Message): number | undefined {
  return meta.originId ?? meta.rowId;
}

// ---- One at a time ----

const LEASE_SECONDS = 60;
const WAIT_MS = 10_000;
const PAUSE_MS = { least: 20, most: 150 };

export type HeldChat = OpenChat & { readonly holder: string };

type Waiting = {
  readonly signal?: AbortSignal | undefined;
  readonly waitMs?: number;
  /** Of the lease. Default: a new one for this call. */
  readonly holder?: string;
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
    { signal, waitMs = WAIT_MS, holder: given }: Waiting,
  ): Promise<T> {
    const holder = given ?? newHolder();
    const until = performance.now() + waitMs;
    try {
      for (;;) {
        signal?.throwIfAborted();
        const chat = await openChat(this.#person, chatId);
        const { store, row } = chat;
        const lease = await store.acquireSessionLease(row.id, holder, { ttl: LEASE_SECONDS });
        if (lease.acquired) {
          try {
            // A compaction may have continued the chat in another session before the lease was ours.
            const now = await store.getSession(await store.getCompressionTip(row.id));
            if (now?.id === row.id) return await work({ store, row: now, holder });
          } finally {
            await store.releaseSessionLease(row.id, holder);
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

// The live list and its rows. Messages are stored in the order they were said, each once, together with what was not stored
// before; a message knows its row, so nothing has to be counted or compared to tell what is missing.
import { errnoCode, HermesError, randomHex } from "@hermes-memory/core/lib";
import {
  fromRow,
  type Message,
  parseMessage,
  REFUSED_BY_POLICY,
  toNewMessage,
  withMeta,
} from "@hermes-memory/core/message";
import { notedResult, type SessionStore, withoutResultNote } from "@hermes-memory/core/sessions";

/** What the database held when this process last looked or wrote. */
type KnownState = { readonly messages: number; readonly rewinds: number; readonly lastId: number | null };

export class Transcript {
  readonly #store: SessionStore | undefined;
  readonly #onTrouble: (cause: unknown) => void;
  #list: readonly Message[] = [];
  #known: KnownState | undefined;
  /** Rows whose mark is not stored yet. */
  readonly #toMark = new Set<number>();
  #sessionId: string;
  #isClosed = false;
  #flushing: Promise<unknown> = Promise.resolve();

  constructor(sessionId: string, store: SessionStore | undefined, onTrouble: (cause: unknown) => void) {
    this.#sessionId = sessionId;
    this.#store = store;
    this.#onTrouble = onTrouble;
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get messages(): readonly Message[] {
    return this.#list;
  }

  /** Another program compacted the session and closed it: what is not stored belongs into its continuation. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Said, and not stored yet. */
  get unsaved(): readonly Message[] {
    return this.#list.filter(({ meta }) => meta.rowId === undefined && meta.ephemeral === undefined);
  }

  append(...messages: readonly Message[]): void {
    this.#list = [...this.#list, ...messages];
  }

  /** The scaffolding of a turn goes; what is stored, or will be, stays. */
  dropEphemeral(): void {
    this.#list = this.#list.filter(({ meta }) => meta.ephemeral === undefined);
  }

  /** A model's provider refused to read these. They stay in the list and in the database, marked; requests leave them out. */
  refuse(ids: ReadonlySet<string>): void {
    for (const { meta } of this.#list)
      if (ids.has(meta.id) && meta.rowId !== undefined) this.#toMark.add(meta.rowId);
    this.#list = this.#list.map((message) =>
      ids.has(message.meta.id) ? withMeta(message, { finishReason: REFUSED_BY_POLICY }) : message,
    );
  }

  /** Without a database: the list after a compaction. */
  replace(messages: readonly Message[]): void {
    this.#list = messages;
  }

  /** Another session from now on, with the rows it has. */
  adopt(sessionId: string, messages: readonly Message[]): void {
    this.#sessionId = sessionId;
    this.#list = messages;
    this.#known = undefined;
    this.#isClosed = false;
    this.#toMark.clear();
  }

  /** Another session from now on, with the rows it has and everything that has none yet. When they cannot be read, nothing has changed. */
  async follow(sessionId: string): Promise<void> {
    if (this.#store === undefined) return;
    const stored = await this.#load(this.#store, sessionId);
    this.adopt(sessionId, [...stored, ...this.#list.filter(hasNoRow)]);
  }

  /** Everything said since the last time, in one transaction. False when it could not be stored; the next call tries again. */
  flush(leaseHolder?: string): Promise<boolean> {
    // One after the other: two at once would both find the same messages missing.
    const flushed = this.#flushing.then(() => this.#flush(leaseHolder));
    this.#flushing = flushed;
    return flushed;
  }

  async #flush(leaseHolder: string | undefined): Promise<boolean> {
    const store = this.#store;
    if (store === undefined) return true;
    const missing = this.unsaved;
    const marks = [...this.#toMark];
    if (missing.length === 0 && marks.length === 0) return true;
    try {
      const lease = leaseHolder === undefined ? {} : { leaseHolder };
      if (marks.length > 0) await store.setFinishReason(this.#sessionId, marks, REFUSED_BY_POLICY, lease);
      for (const row of marks) this.#toMark.delete(row);
      if (missing.length === 0) return true;
      const ids = await store.appendMany(this.#sessionId, missing.map(toNewMessage), lease);
      const rows = new Map(missing.map(({ meta }, index) => [meta.id, ids[index]]));
      this.#list = this.#list.map((message) => {
        const rowId = rows.get(message.meta.id);
        return rowId === undefined ? message : withMeta(message, { rowId });
      });
      this.#noteWritten(ids);
      return true;
    } catch (cause) {
      // Not the database's trouble: somebody else goes on with the session, or has closed it, and the turn is about to notice.
      const code = errnoCode(cause);
      this.#isClosed = code === "session-closed";
      if (code !== "lease-lost" && code !== "session-closed") this.#onTrouble(cause);
      return false;
    }
  }

  /** Rows another process wrote, or took back, since we last looked: they are read before anything is added. True when the list changed. */
  async catchUp(): Promise<boolean> {
    const store = this.#store;
    if (store === undefined) return false;
    const mark = await store.getSessionMark(this.#sessionId);
    if (mark === null) return false;
    const state = { messages: mark.message_count, rewinds: mark.rewind_count, lastId: mark.last_message_id };
    const isSame =
      this.#known !== undefined &&
      this.#known.messages === state.messages &&
      this.#known.rewinds === state.rewinds &&
      this.#known.lastId === state.lastId;
    if (isSame) return false;
    const isFirstLook = this.#known === undefined;
    const before = this.#list.map(({ meta }) => meta.rowId).filter((id) => id !== undefined);
    const unsaved = this.#list.filter(hasNoRow);
    const stored = await this.#load(store, this.#sessionId);
    this.#known = state;
    // On the first look the list is usually what was loaded a moment ago; keeping it keeps the ids of its messages.
    const isUnchanged =
      isFirstLook &&
      stored.length === before.length &&
      stored.every(({ meta }, at) => meta.rowId === before[at]);
    if (isUnchanged) return false;
    this.#list = [...stored, ...unsaved];
    return true;
  }

  /** From this message on, what is not stored goes: it belongs to a turn that somebody else cut off. */
  dropUnsaved(fromId: string): void {
    const from = this.#list.findIndex(({ meta }) => meta.id === fromId); // not there: stored long ago
    this.#list = this.#list.filter((message, at) => !hasNoRow(message) || at < from);
  }

  /** The list as the database has it, and what it does not have yet. */
  async reload(): Promise<void> {
    if (this.#store === undefined) return;
    const stored = await this.#load(this.#store, this.#sessionId);
    this.#list = [...stored, ...this.unsaved];
    this.#known = undefined;
  }

  async #load(store: SessionStore, sessionId: string): Promise<readonly Message[]> {
    const rows = await store.getMessages(sessionId);
    return rows
      .map((row) => fromRow(this.#toMark.has(row.id) ? { ...row, finish_reason: REFUSED_BY_POLICY } : row))
      .filter((message) => message !== undefined);
  }

  #noteWritten(ids: readonly number[]): void {
    const known = this.#known;
    if (known === undefined) return;
    this.#known = { ...known, messages: known.messages + ids.length, lastId: ids.at(-1) ?? known.lastId };
  }
}

function hasNoRow({ meta }: Message): boolean {
  return meta.rowId === undefined;
}

/**
 * Messages a caller brings along in the option of this name: chat rows, or messages of another agent, whose rows and ephemeral messages
 * are not ours. What the model reads is what is stored.
 */
export function givenMessages(option: string, values: unknown, nowSeconds: number): readonly Message[] {
  if (!Array.isArray(values))
    throw new HermesError("bad-message", `The option ${option} is not a list of messages.`, {
      hint: 'Pass messages as chat APIs have them: [{ role: "user", content: "..." }].',
    });
  return values.flatMap((value: unknown, index) => {
    const parsed = parseMessage(value);
    if (!parsed.ok)
      throw new HermesError("bad-message", `Entry ${index} of ${option} ${parsed.error.message}.`, {
        hint: 'Pass messages as chat APIs have them: { role: "user", content: "..." }.',
      });
    const { atSeconds, ephemeral } = parsed.value.meta;
    if (ephemeral !== undefined) return [];
    const own = { id: randomHex(6), rowId: undefined, originId: undefined, storedContent: undefined };
    const said = withMeta(parsed.value, { ...own, atSeconds: atSeconds > 0 ? atSeconds : nowSeconds });
    return [withoutNote(said)];
  });
}

/** Only what this agent, or the database, says about a file counts: a program's text must not open one of another user's. */
function withoutNote(message: Message): Message {
  if (message.role !== "tool" || typeof message.content !== "string") return message;
  return { ...message, content: withoutResultNote(message.content, message.toolCallId) };
}

/** Ids of the long results that these messages name. */
export function keptResults(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    const noted = message.role === "tool" ? notedResult(message.content, message.toolCallId) : undefined;
    return noted === undefined ? [] : [noted.id];
  });
}

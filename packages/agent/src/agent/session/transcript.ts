// The live list and its rows. Messages are stored in the order they were said, each once, together with what was not stored
// before; a message knows its row, so nothing has to be counted or compared to tell what is missing.
import type { ContextMessage } from "@hermes-memory/core/context";
import { errnoCode } from "@hermes-memory/core/lib";
import { REFUSED_BY_POLICY, type SessionStore } from "@hermes-memory/core/sessions";
import { type AgentMessage, newMessage } from "../message.ts";
import { fromRow, toRow } from "../rows.ts";

/** What the database held when this process last looked or wrote. */
type KnownState = { readonly messages: number; readonly rewinds: number; readonly lastId: number | null };

export class Transcript {
  readonly #store: SessionStore | undefined;
  readonly #onTrouble: (cause: unknown) => void;
  #list: readonly AgentMessage[] = [];
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

  get messages(): readonly AgentMessage[] {
    return this.#list;
  }

  /** Another program compacted the session and closed it: what is not stored belongs into its continuation. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Said, and not stored yet. */
  get unsaved(): readonly AgentMessage[] {
    return this.#list.filter(({ _row_id, _ephemeral }) => _row_id === undefined && !_ephemeral);
  }

  append(...messages: readonly AgentMessage[]): void {
    this.#list = [...this.#list, ...messages];
  }

  /** The scaffolding of a turn goes; what is stored, or will be, stays. */
  dropEphemeral(): void {
    this.#list = this.#list.filter(({ _ephemeral }) => _ephemeral === undefined);
  }

  /** A model's provider refused to read these. They stay in the list and in the database, marked; requests leave them out. */
  refuse(ids: ReadonlySet<string>): void {
    for (const { _id, _row_id } of this.#list)
      if (ids.has(_id) && _row_id !== undefined) this.#toMark.add(_row_id);
    this.#list = this.#list.map((message) =>
      ids.has(message._id) ? { ...message, finish_reason: REFUSED_BY_POLICY } : message,
    );
  }

  /** Without a database: the list after a compaction. */
  replace(messages: readonly AgentMessage[]): void {
    this.#list = messages;
  }

  /** Another session from now on, with the rows it has. */
  adopt(sessionId: string, messages: readonly AgentMessage[]): void {
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
    this.adopt(sessionId, [...stored, ...this.#list.filter(({ _row_id }) => _row_id === undefined)]);
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
      const ids = await store.appendMany(this.#sessionId, missing.map(toRow), lease);
      const rows = new Map(missing.map(({ _id }, index) => [_id, ids[index]]));
      this.#list = this.#list.map((message) => {
        const row = rows.get(message._id);
        return row === undefined ? message : { ...message, _row_id: row };
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
    const before = this.#list.map(({ _row_id }) => _row_id).filter((id) => id !== undefined);
    const unsaved = this.#list.filter(({ _row_id }) => _row_id === undefined);
    const stored = await this.#load(store, this.#sessionId);
    this.#known = state;
    // On the first look the list is usually what was loaded a moment ago; keeping it keeps the ids of its messages.
    const isUnchanged =
      isFirstLook &&
      stored.length === before.length &&
      stored.every(({ _row_id }, at) => _row_id === before[at]);
    if (isUnchanged) return false;
    this.#list = [...stored, ...unsaved];
    return true;
  }

  /** From this message on, what is not stored goes: it belongs to a turn that somebody else cut off. */
  dropUnsaved(fromId: string): void {
    const from = this.#list.findIndex(({ _id }) => _id === fromId); // not there: stored long ago
    this.#list = this.#list.filter(({ _row_id }, at) => _row_id !== undefined || at < from);
  }

  /** The list as the database has it, and what it does not have yet. */
  async reload(): Promise<void> {
    if (this.#store === undefined) return;
    const stored = await this.#load(this.#store, this.#sessionId);
    this.#list = [...stored, ...this.unsaved];
    this.#known = undefined;
  }

  async #load(store: SessionStore, sessionId: string): Promise<readonly AgentMessage[]> {
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

/** Messages a caller brings along, as the list has them. Another agent's have rows and scaffolding, which are not ours. */
export function adopted(messages: readonly ContextMessage[], nowSeconds: number): readonly AgentMessage[] {
  return messages
    .filter(({ _ephemeral }) => _ephemeral === undefined)
    .map(({ _row_id, ...message }) => newMessage(message, nowSeconds));
}

// The list of messages and its rows in the database. Messages are stored in order and once. Each message knows its row, so the
// ones that are not stored yet are found without counting or comparing. Below: messages as a caller gives them, as they are
// kept (without secrets) and as people see them.
import { isDeepStrictEqual } from "node:util";
import {
  errnoCode,
  HermesError,
  isRecord,
  parseOutsideJson,
  randomHex,
} from "@hermes-memory/core/internal/lib";
import {
  type AnyAiSdkMessage,
  type AssistantMessage,
  type Content,
  fromAiSdk,
  fromRow,
  isAiSdkMessage,
  type Message,
  type OpenAiMessage,
  type Part,
  parseContent,
  parseMessage,
  partsOf,
  REFUSED_BY_POLICY,
  toNewMessage,
  toOpenAi,
  withMeta,
} from "@hermes-memory/core/internal/message";
import { masked, redactSecrets } from "@hermes-memory/core/internal/security";
import { notedResult, type SessionStore, withoutResultNote } from "@hermes-memory/core/internal/sessions";
import type { UserInput } from "../surface.ts";

/** The state of the session's rows when this process last read or wrote them. */
type KnownState = { readonly messages: number; readonly rewinds: number; readonly lastId: number | null };

export class Transcript {
  readonly #store: SessionStore | undefined;
  readonly #onTrouble: (cause: unknown) => void;
  #list: readonly Message[] = [];
  #known: KnownState | undefined;
  /** Rows of refused messages whose mark is not stored yet. */
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

  /** Another program compacted and closed the session: unstored messages belong into its continuation. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get unsaved(): readonly Message[] {
    return this.#list.filter(({ meta }) => meta.rowId === undefined && meta.ephemeral === undefined);
  }

  append(...messages: readonly Message[]): void {
    this.#list = [...this.#list, ...messages];
  }

  /** Drops the messages that were only for the model in this turn. */
  dropEphemeral(): void {
    this.#list = this.#list.filter(({ meta }) => meta.ephemeral === undefined);
  }

  /** The model's provider refused to read these. They stay in the list and in the database with a mark; requests leave them out. */
  refuse(ids: ReadonlySet<string>): void {
    for (const { meta } of this.#list)
      if (ids.has(meta.id) && meta.rowId !== undefined) this.#toMark.add(meta.rowId);
    this.#list = this.#list.map((message) =>
      ids.has(message.meta.id) ? withMeta(message, { finishReason: REFUSED_BY_POLICY }) : message,
    );
  }

  /** Another session from now on, with the rows it has. */
  adopt(sessionId: string, messages: readonly Message[]): void {
    this.#sessionId = sessionId;
    this.#list = messages;
    this.#known = undefined;
    this.#isClosed = false;
    this.#toMark.clear();
  }

  /** Another session from now on: its rows, and the messages that have none yet. When the rows cannot be read, nothing has changed. */
  async follow(sessionId: string): Promise<void> {
    if (this.#store === undefined) return;
    const stored = await this.#load(this.#store, sessionId);
    this.adopt(sessionId, [...stored, ...this.#list.filter(hasNoRow)]);
  }

  /** Stores all new messages in one transaction. False when that failed; the next call tries again. */
  flush(leaseHolder?: string): Promise<boolean> {
    // One after the other: two at once would store the same messages twice.
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
      const lease = { leaseHolder };
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
      // These two are no database trouble: another process has the session or has closed it, and the turn will notice.
      const code = errnoCode(cause);
      this.#isClosed = code === "session-closed";
      if (code !== "lease-lost" && code !== "session-closed") this.#onTrouble(cause);
      return false;
    }
  }

  /** Reads the rows that another process wrote or took back since this one last looked. True when the list changed. */
  async catchUp(): Promise<boolean> {
    const store = this.#store;
    if (store === undefined) return false;
    const mark = await store.getSessionMark(this.#sessionId);
    if (mark === null) return false;
    const state = { messages: mark.message_count, rewinds: mark.rewind_count, lastId: mark.last_message_id };
    if (isDeepStrictEqual(this.#known, state)) return false;
    const isFirstLook = this.#known === undefined;
    const before = this.#list.map(({ meta }) => meta.rowId).filter((id) => id !== undefined);
    const unsaved = this.#list.filter(hasNoRow);
    const stored = await this.#load(store, this.#sessionId);
    this.#known = state;
    // At the first look the list was usually loaded a moment ago; keeping it keeps the ids of its messages.
    const rows = stored.map(({ meta }) => meta.rowId);
    if (isFirstLook && isDeepStrictEqual(rows, before)) return false;
    this.#list = [...stored, ...unsaved];
    return true;
  }

  /** Drops the unstored messages from this one on: another process has cut off their turn. */
  dropUnsaved(fromId: string): void {
    const from = this.#list.findIndex(({ meta }) => meta.id === fromId); // -1: stored long ago
    this.#list = this.#list.filter((message, at) => !hasNoRow(message) || at < from);
  }

  /** Reads the rows again; unstored messages stay. */
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
 * The messages that a caller passes in the option of this name: chat rows, AI SDK messages, or messages of another agent. Row ids,
 * ephemeral messages and replaced contents of another agent are dropped, so that the model reads what is stored.
 */
export function givenMessages(option: string, values: unknown, nowSeconds: number): readonly Message[] {
  if (!Array.isArray(values)) throw badMessage(`The option ${option} is not a list of messages.`);
  return values.flatMap((value: unknown, index) =>
    givenMessage(value, `Entry ${index} of ${option}`).flatMap((message) => {
      const { atSeconds, ephemeral } = message.meta;
      if (ephemeral !== undefined) return [];
      const own = { id: randomHex(6), rowId: undefined, originId: undefined, storedContent: undefined };
      const said = withMeta(message, { ...own, atSeconds: atSeconds > 0 ? atSeconds : nowSeconds });
      return [withoutNote(said)];
    }),
  );
}

/** A tool message of the AI SDK holds several results, and becomes one message each. */
function givenMessage(value: unknown, where: string): readonly Message[] {
  const fields = isRecord(value) ? value : {};
  if (fields.content === undefined && Array.isArray(fields.parts))
    throw badMessage(
      `${where} is a message of a user interface, with 'parts' and no 'content'.`,
      "Convert it with convertToModelMessages of the AI SDK, and pass the result.",
    );
  if (isAiSdkMessage(fields)) {
    try {
      return fromAiSdk([value as AnyAiSdkMessage]);
    } catch (cause) {
      if (!(cause instanceof HermesError)) throw cause;
      throw badMessage(cause.message.replace("Entry 0 of the AI SDK's messages", where));
    }
  }
  const parsed = parseMessage(value);
  if (!parsed.ok) throw badMessage(`${where} ${parsed.error.message}.`);
  return [parsed.value];
}

function badMessage(
  message: string,
  hint = 'Pass messages as chat APIs have them, { role: "user", content: "..." }, or as the AI SDK has them.',
): HermesError {
  return new HermesError("bad-message", message, { hint });
}

/** Only notes of this agent and of the database name files of kept results: a caller's text must not open another user's file. */
function withoutNote(message: Message): Message {
  if (message.role !== "tool" || typeof message.content !== "string") return message;
  return { ...message, content: withoutResultNote(message.content, message.toolCallId) };
}

/** Ids of the kept results that these messages name. */
export function keptResults(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    const noted = message.role === "tool" ? notedResult(message.content, message.toolCallId) : undefined;
    return noted === undefined ? [] : [noted.id];
  });
}

/** A reply as it is kept: a model may have written keys that it was given into the arguments of a call. */
export function withMaskedArguments(message: AssistantMessage): AssistantMessage {
  const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: maskedJson(call.arguments) }));
  return { ...message, toolCalls };
}

/** Value by value: in JSON text a key at the beginning of a line is not recognised, because of the `\n` before it. */
function maskedJson(text: string): string {
  const parsed = parseOutsideJson(text);
  if (parsed.ok) {
    const safe = JSON.stringify(masked(parsed.value));
    return safe === JSON.stringify(parsed.value) ? text : safe;
  }
  const plain = text.replace(/\\[nrt]/g, "\n");
  // Unreadable or too deep, so the call was refused; dropping the arguments is better than keeping a secret.
  return redactSecrets(plain) === plain ? text : "{}";
}

/** The content as it was typed and is stored, without what a platform added for the model. */
export function shownContent({ content, meta }: Message): Content {
  return meta.storedContent === undefined ? content : meta.storedContent;
}

/** A chat row for people and files. The tool's name stands under both keys that other programs read. */
export function shownRow(message: Message): OpenAiMessage {
  const row = toOpenAi({ ...message, content: shownContent(message) }, { forOthers: true });
  const name = message.role === "tool" ? message.toolName : undefined;
  return name === undefined ? row : { ...row, name, tool_name: name };
}

// What a caller sends.

/** Parts may be those of chat APIs or those of a message of the list, so that a message can be sent again. */
export function contentOf(input: UserInput): Content {
  if (typeof input === "string") return input.toWellFormed();
  if (!input.some(isPart)) return parseContent(input);
  return input.flatMap((part) => (isPart(part) ? [part] : partsOf(parseContent([part]))));
}

function isPart(part: unknown): part is Part {
  if (!isRecord(part)) return false;
  if (part.type === "image") return typeof part.url === "string";
  return part.type === "other" ? "value" in part : part.type === "text" && isRecord(part.vendor);
}

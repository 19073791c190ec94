// Chat rows (`OpenAiMessage`) for engines that work on messages, and messages for plugin engines that work on chat rows.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../lib/index.ts";
import {
  isMessage,
  type Message,
  type OpenAiMessage,
  parseMessage,
  readRow,
  toOpenAi,
} from "../message/index.ts";
import type { CompressOutcome, ContextEngine } from "./engine.ts";

// Lists given to a built-in engine: chat rows become messages, and the outcome becomes chat rows again.

/** The kind of message in the outcome: the kind the engine was given. */
export type InKind<M extends Message | OpenAiMessage> = M extends Message ? Message : OpenAiMessage;

type ReadList<M extends Message | OpenAiMessage> = {
  /** The list itself when it holds only messages. */
  readonly messages: readonly Message[];
  /** Gives chat rows when the list held no message. An unchanged message becomes the same row object it was read from. */
  readonly inKind: (outcome: CompressOutcome) => CompressOutcome<InKind<M>>;
};

/** A row of any depth, or without a role, becomes a message of an unknown role. Entries that are no objects are left out. */
export function readList<M extends Message | OpenAiMessage>(list: readonly M[]): ReadList<M> {
  const asItIs = (outcome: CompressOutcome) => outcome as CompressOutcome<InKind<M>>;
  if (list.every((entry): entry is M & Message => isMessage(entry)))
    return { messages: list, inKind: asItIs };
  const rows = new Map<Message, OpenAiMessage>();
  const messages = list.filter(isRecord).map((entry): Message => {
    if (isMessage(entry)) return entry;
    const message = readRow(entry);
    rows.set(message, entry as OpenAiMessage);
    return message;
  });
  if (list.some(isMessage)) return { messages, inKind: asItIs };
  return { messages, inKind: (outcome) => asRows(outcome, list, rows) as CompressOutcome<InKind<M>> };
}

function asRows(
  outcome: CompressOutcome,
  list: readonly unknown[],
  rows: ReadonlyMap<Message, OpenAiMessage>,
): CompressOutcome<OpenAiMessage> {
  const byId = new Map(Array.from(rows, ([{ meta }, row]) => [meta.id, row]));
  const messages = outcome.messages.map(
    (message) => rows.get(message) ?? { ...ownKeys(byId.get(message.meta.id)), ...toOpenAi(message) },
  );
  const isSame = messages.length === list.length && messages.every((row, at) => row === list[at]);
  if (isSame) return { ...outcome, messages: list as readonly OpenAiMessage[] };
  return { ...outcome, kind: outcome.kind === "unchanged" ? "pruned" : outcome.kind, messages };
}

/** Keys the caller added for its own use; a message has no field for them. */
function ownKeys(row: OpenAiMessage = { role: "" }): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).filter(([key]) => key.startsWith("_") && key !== "_compressed_summary"),
  );
}

// Plugin engines of contract version 1 work on chat rows. Each row carries the id of its message, so that the rows the engine
// returns can be matched with the messages.

/** Returns the engine itself when it already works on messages. */
export function onMessages(engine: ContextEngine): ContextEngine {
  if ((engine.contract ?? 1) >= 2) return engine;
  const table = new RowTable();
  const translated = translatedMembers(engine as unknown as RowEngine, table);
  return new Proxy(engine, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (member === "contract") return 2;
      if (typeof value !== "function") return value;
      if (Object.hasOwn(translated, member)) return translated[member as keyof typeof translated];
      return value.bind(target); // a class may have private members, which need the real `this`
    },
  });
}

type Rows = readonly OpenAiMessage[];

/** The members whose signature differs from `ContextEngine`. */
type RowEngine = {
  compress(rows: Rows, options?: unknown): Promise<unknown>;
  hasContentToCompress(rows: Rows): boolean;
  onSessionEnd(sessionId: string, rows: Rows): void | Promise<void>;
  handleToolCall(name: string, args: unknown, rows: Rows): Promise<string> | string;
};

function translatedMembers(engine: RowEngine, table: RowTable) {
  return {
    compress: async (messages: readonly Message[], options?: unknown): Promise<unknown> => {
      const rows = table.rowsOf(messages);
      const outcome = await engine.compress(rows, options);
      // The caller (GuardedEngine of the agent) refuses an outcome without messages.
      if (!isRecord(outcome) || !Array.isArray(outcome.messages)) return outcome;
      return { ...outcome, messages: table.messagesOf(outcome.messages, messages) };
    },
    hasContentToCompress: (messages: readonly Message[]) =>
      engine.hasContentToCompress(table.rowsOf(messages)),
    onSessionEnd: (sessionId: string, messages: readonly Message[]) =>
      engine.onSessionEnd(sessionId, table.rowsOf(messages)),
    handleToolCall: (name: string, args: unknown, messages: readonly Message[] = []) =>
      engine.handleToolCall(name, args, table.rowsOf(messages)),
  };
}

class RowTable {
  /** A message gives the same row object at every call, unless the engine changed that row. */
  readonly #rows = new WeakMap<Message, OpenAiMessage>();

  rowsOf(messages: readonly Message[]): Rows {
    return messages.map((message) => {
      const known = this.#rows.get(message);
      const row = { ...toOpenAi(message), _id: message.meta.id };
      if (known !== undefined && isDeepStrictEqual(known, row)) return known;
      this.#rows.set(message, row);
      return row;
    });
  }

  /**
   * An unchanged row gives its message, a changed row keeps the meta of its message, a new row is parsed and has no stored row
   * whatever it claims. Returns `given` when all rows are unchanged.
   */
  messagesOf(rows: readonly unknown[], given: readonly Message[]): readonly Message[] {
    const byId = new Map(given.map((message) => [message.meta.id, message]));
    const messages = rows.map((row): Message => {
      const isHandoff = isRecord(row) && row._compressed_summary === true;
      const parsed = parseMessage(row, { meta: isHandoff ? { isHandoff } : {} });
      if (!parsed.ok || !isRecord(row)) return row as Message; // GuardedEngine refuses it
      const original = byId.get(String(row._id));
      if (original === undefined) return parsed.value;
      byId.delete(original.meta.id); // a second row with the same id is a new message
      return isDeepStrictEqual(row, { ...toOpenAi(original), _id: original.meta.id })
        ? original
        : withOriginalMeta(parsed.value, original);
    });
    const isSame = messages.length === given.length && messages.every((message, at) => message === given[at]);
    return isSame ? given : messages;
  }
}

/** Role and handoff flag come from the engine's row. */
function withOriginalMeta(changed: Message, { meta }: Message): Message {
  const { isHandoff: _was, writtenRole: _role, ...kept } = meta;
  const atSeconds = changed.meta.atSeconds || meta.atSeconds;
  return { ...changed, meta: { ...kept, ...changed.meta, id: meta.id, atSeconds } };
}

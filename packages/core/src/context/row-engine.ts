// An engine of version 1 of the contract, which works on chat rows, behind the contract of today. Its rows carry the id of their
// message, so that what it gives back is found again.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../lib/index.ts";
import { type Message, type OpenAiMessage, parseMessage, toOpenAi } from "../message/index.ts";
import type { ContextEngine } from "./engine.ts";

/** The engine itself when it works on messages. */
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
      return value.bind(target); // a class may have private members
    },
  });
}

type Rows = readonly OpenAiMessage[];

/** The members that differ from those of `ContextEngine`. */
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
      // GuardedEngine refuses an outcome without messages.
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
  /** The same message is the same row at every call, as far as the engine leaves it alone. */
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
   * An unchanged row is its message again, a changed one keeps the meta of its message, a new one is parsed: it has no row, whatever
   * it says. `given` when all are unchanged.
   */
  messagesOf(rows: readonly unknown[], given: readonly Message[]): readonly Message[] {
    const byId = new Map(given.map((message) => [message.meta.id, message]));
    const messages = rows.map((row): Message => {
      const isHandoff = isRecord(row) && row._compressed_summary === true;
      const parsed = parseMessage(row, { meta: isHandoff ? { isHandoff } : {} });
      if (!parsed.ok || !isRecord(row)) return row as Message; // GuardedEngine refuses it
      const original = byId.get(String(row._id));
      if (original === undefined) return parsed.value;
      byId.delete(original.meta.id); // a second row with the same id is a message of its own
      return isDeepStrictEqual(row, { ...toOpenAi(original), _id: original.meta.id })
        ? original
        : withOriginalMeta(parsed.value, original);
    });
    const isSame = messages.length === given.length && messages.every((message, at) => message === given[at]);
    return isSame ? given : messages;
  }
}

/** The role and whether it is a handoff are as the engine says. */
function withOriginalMeta(changed: Message, { meta }: Message): Message {
  const { isHandoff: _was, writtenRole: _role, ...kept } = meta;
  const atSeconds = changed.meta.atSeconds || meta.atSeconds;
  return { ...changed, meta: { ...kept, ...changed.meta, id: meta.id, atSeconds } };
}

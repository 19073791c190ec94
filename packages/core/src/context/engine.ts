// The contract of a context engine, which keeps a conversation within the model's window. The agent owns the loop; an engine
// decides when to compact and how the list looks afterwards. The agent waits for every hook, so all but `compress` must be
// quick. Below the contract: chat rows for the built-in engines, and messages for plugin engines that work on chat rows.
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
import type { ToolDefinition } from "../tools/index.ts";

/**
 * The version of this contract: 2 works on `Message`. An engine without `contract` is treated as version 1, which works on chat
 * rows (`OpenAiMessage`).
 */
export const ENGINE_CONTRACT = 2;

/** Decides when a conversation is compacted, and makes the shorter list. Implement it for an engine of your own. */
export interface ContextEngine {
  readonly contract?: number;
  /** The value of `context.engine` that selects this engine. */
  readonly name: string;

  readonly lastPromptTokens: number;
  readonly lastCompletionTokens: number;
  readonly lastTotalTokens: number;
  readonly thresholdTokens: number;
  readonly contextLength: number;
  readonly compressionCount: number;

  /** Called after every reply of the model. Must not throw. */
  updateFromResponse(usage: ResponseUsage): void;

  /** Without an argument, the prompt tokens of the last reply are used. Must not throw. */
  shouldCompress(promptTokens?: number): boolean;

  /**
   * Makes the list shorter. A failing summariser or a malformed message is reported in the outcome. Rejects only when the signal
   * is aborted, with the signal's reason; the list is unchanged then.
   */
  compress(messages: readonly Message[], options?: CompressOptions): Promise<CompressOutcome>;

  /** True when the rough estimate of the next request is known to be too high. Absent: false. */
  shouldDeferPreflightToRealUsage?(roughTokens: number): boolean;

  /** True when a compaction would gain anything. Absent: true. */
  hasContentToCompress?(messages: readonly Message[]): boolean;

  /** Called when the compacted list is in use. `roughTokens` is the estimate of the request made from it. */
  onCompacted?(roughTokens: number): void;

  onSessionStart?(sessionId: string, options?: SessionStartOptions): void | Promise<void>;
  /** Called when a session really ends or is rotated, not after each turn. */
  onSessionEnd?(sessionId: string, messages: readonly Message[]): void | Promise<void>;
  onSessionReset?(): void;
  carryOverNewSessionContext?(oldSessionId: string, newSessionId: string): void | Promise<void>;

  getToolSchemas?(): readonly ToolDefinition[];
  /** Returns JSON text. */
  handleToolCall?(
    name: string,
    args: Readonly<Record<string, unknown>>,
    messages: readonly Message[],
  ): Promise<string> | string;

  getStatus(): EngineStatus;

  updateModel?(model: ModelWindow): void;
}

/** What the caller knows about the request, and how hard the engine has to try. */
export type CompressOptions = {
  /** Tokens the request has now, counted or estimated by the caller. */
  readonly currentTokens?: number;
  /**
   * Limit for the list alone, in tokens of the model's server: the window without system prompt, tools and reply. To stay below
   * it, protected head and tail messages are given up too.
   */
  readonly roomTokens?: number;
  /** The topic the user wants kept in detail. */
  readonly focusTopic?: string;
  /** Ask the models even if one failed a moment ago. */
  readonly force?: boolean;
  /** Text the memory providers want considered in the summary. */
  readonly providerText?: string;
  /**
   * Asked when no model gave a summary, before a digest written without a model is used instead. When it answers false, the
   * outcome is `aborted`, with the reason in `failure`; `notices` does not repeat the failure. Absent: the digest is used and a
   * notice reports it.
   */
  readonly confirmDigest?: ConfirmDigest;
  /** Where the messages that leave the list can still be read. Model and user are told so. Absent: nowhere. */
  readonly stored?: StoredMessages;
  readonly signal?: AbortSignal;
};

/** `searchable`: in the session store, and the model has the tool `session_search`. `kept`: in the session store only. */
export type StoredMessages = "searchable" | "kept";

/** Asked when no model could summarise: may a digest made without one replace these messages? */
export type DigestQuestion = {
  readonly failure: SummaryFailure;
  /** How many messages the digest would replace. */
  readonly messages: number;
};

/** Answers a `DigestQuestion`. False: the conversation stays as it is. */
export type ConfirmDigest = (question: DigestQuestion) => Promise<boolean>;

/** The counts are disjoint where the host knows them; prompt and completion tokens are always given. */
export type ResponseUsage = {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
};

/** What an engine learns about the session that starts. */
export type SessionStartOptions = {
  readonly hermesHome?: string;
  readonly platform?: string;
  readonly model?: string;
  readonly contextLength?: number;
  /** The gateway's key for the conversation. */
  readonly conversationId?: string;
  /** Set after a rotation. */
  readonly boundaryReason?: "compression";
  readonly oldSessionId?: string;
  readonly carryOverContext?: boolean;
};

/** A model and the size of its context window, in tokens. */
export type ModelWindow = {
  readonly model: string;
  readonly contextLength: number;
  readonly provider?: string;
  readonly baseUrl?: string;
};

/** Snake case, because `--json` and tools show these fields. */
export type EngineStatus = {
  readonly last_prompt_tokens: number;
  readonly threshold_tokens: number;
  readonly context_length: number;
  /** 0 to 100; 0 when the window is not known. */
  readonly usage_percent: number;
  readonly compression_count: number;
};

// The outcome of a compaction: what was summarised, what was left out, and why.

/** `M`: chat rows in, chat rows out. */
export type CompressOutcome<M = Message> = {
  readonly kind: "compacted" | "pruned" | "unchanged" | "aborted";
  /** Always valid for the model. The input array itself when nothing changed. */
  readonly messages: readonly M[];
  /** Why nothing was summarised; set unless the list was compacted. */
  readonly reason?: UnchangedReason;
  /** Input indices [from, to) that the handoff replaces; absent when there is no handoff. */
  readonly summarised?: Span;
  /** Index of the handoff in `messages`. */
  readonly summaryIndex?: number;
  /** Body of the handoff, without prefix and end marker. */
  readonly summary?: string;
  /** `local`: written without a model, for the reason in `failure`. */
  readonly method?: "model" | "local";
  /** Messages that neither the list nor the summary contains in full. */
  readonly leftOut: readonly LeftOut[];
  readonly prunedResults: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Why no model gave a summary. */
  readonly failure?: SummaryFailure;
  /** For the user; each cause once per session. */
  readonly notices: readonly Notice[];
};

/** Messages by their index in the list, `to` not included. */
export type Span = { readonly from: number; readonly to: number };

/** Why a compaction left the list as it was. */
export type UnchangedReason =
  | "too_short"
  | "nothing_to_gain"
  | "summary_failed"
  /** One message alone is larger than the window. */
  | "message_too_large"
  /** Messages that would have to leave are not in the session store, or the store cannot keep summaries. */
  | "not_stored";

/** Messages that are neither in the new list nor in its summary, and why. */
export type LeftOut = {
  readonly count: number;
  /** `no_call`: tool results that answer no call and fit into no summary. */
  readonly reason: "summary_failed" | "summary_shortened" | "no_call";
  /** Rows of the session store, where the messages carry row ids. */
  readonly firstRowId?: number;
  readonly lastRowId?: number;
};

/** Why no summary could be made. */
export type SummaryFailure = {
  readonly kind:
    | "no_model"
    | "timeout"
    | "connection"
    | "empty"
    | "refused"
    | "cooldown"
    | "too_long"
    | "failed";
  /** One line without secrets. */
  readonly message: string;
};

/** A text for the user about a compaction, with a key for its cause. */
export type Notice = {
  /** A host may show each cause once. */
  readonly cause: string;
  readonly text: string;
};

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

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

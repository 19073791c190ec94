// The contract of a context engine, which keeps a conversation within the model's window. The agent owns the loop; an engine
// decides when to compact and how the list looks afterwards. The agent waits for every hook, so all but `compress` must be
// quick.
import type { Message } from "../message/index.ts";
import type { ToolDefinition } from "../tools/index.ts";

/**
 * The version of this contract: 2 works on `Message`. An engine without `contract` is treated as version 1, which works on chat
 * rows (`OpenAiMessage`); see chat-rows.ts.
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

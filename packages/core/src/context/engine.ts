// What keeps a conversation within the model's window. The agent owns the loop; an engine decides when to compact and what
// the list looks like afterwards. Every hook but `compress` is called on the agent's path and must be quick.
import type { Message } from "../message/index.ts";
import type { ToolDefinition } from "../tools/index.ts";

/**
 * The version of this contract: 2 works on `Message`. An engine without `contract` is taken for version 1, which works on chat rows
 * (`OpenAiMessage`); see row-engine.ts.
 */
export const ENGINE_CONTRACT = 2;

export interface ContextEngine {
  readonly contract?: number;
  /** Equals the value of `context.engine` that selects it. */
  readonly name: string;

  readonly lastPromptTokens: number;
  readonly lastCompletionTokens: number;
  readonly lastTotalTokens: number;
  readonly thresholdTokens: number;
  readonly contextLength: number;
  readonly compressionCount: number;

  /** After every reply of the model. Must not throw. */
  updateFromResponse(usage: ResponseUsage): void;

  /** Without an argument the prompt tokens of the last reply count. Must not throw. */
  shouldCompress(promptTokens?: number): boolean;

  /**
   * Makes the list shorter. Never rejects for what a summariser or a strange message does: the outcome says what happened. Rejects with the
   * signal's reason when it is aborted; the list is then as it was.
   */
  compress(messages: readonly Message[], options?: CompressOptions): Promise<CompressOutcome>;

  /** Is the rough estimate of the next request known to be too high? Absent: no. */
  shouldDeferPreflightToRealUsage?(roughTokens: number): boolean;

  /** Would a compaction gain anything? Absent: yes. */
  hasContentToCompress?(messages: readonly Message[]): boolean;

  /** The compacted list is in use: `roughTokens` is the estimate of the request it makes. */
  onCompacted?(roughTokens: number): void;

  onSessionStart?(sessionId: string, options?: SessionStartOptions): void | Promise<void>;
  /** A real boundary or a rotation, never per turn. */
  onSessionEnd?(sessionId: string, messages: readonly Message[]): void | Promise<void>;
  onSessionReset?(): void;
  carryOverNewSessionContext?(oldSessionId: string, newSessionId: string): void | Promise<void>;

  /** Bare function schemas. */
  getToolSchemas?(): readonly ToolDefinition[];
  /** A JSON text. */
  handleToolCall?(
    name: string,
    args: Readonly<Record<string, unknown>>,
    messages: readonly Message[],
  ): Promise<string> | string;

  getStatus(): EngineStatus;

  updateModel?(model: ModelWindow): void;
}

export type CompressOptions = {
  /** What the caller knows or estimates that the request costs now. */
  readonly currentTokens?: number;
  /**
   * What the list itself may cost, as the model's server counts: the window less system prompt, tools and reply. More than the usual
   * head and tail give way where it would cost more.
   */
  readonly roomTokens?: number;
  /** What the user wants kept in detail. */
  readonly focusTopic?: string;
  /** Also right after a failure. */
  readonly force?: boolean;
  /** What memory providers want in the summary. */
  readonly providerText?: string;
  /**
   * Asked when no model gave a summary, before a digest made without a model takes its place. False: the outcome is `aborted`, with
   * the reason in `failure`. Whoever answers knows, so `notices` does not repeat it. Absent: the digest is made, and told.
   */
  readonly confirmDigest?: ConfirmDigest;
  readonly signal?: AbortSignal;
};

export type DigestQuestion = {
  readonly failure: SummaryFailure;
  /** How many the digest would stand for. */
  readonly messages: number;
};

export type ConfirmDigest = (question: DigestQuestion) => Promise<boolean>;

/** Disjoint buckets where the host knows them; the first three are always there. */
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

export type SessionStartOptions = {
  readonly hermesHome?: string;
  readonly platform?: string;
  readonly model?: string;
  readonly contextLength?: number;
  /** The gateway's key of the conversation. */
  readonly conversationId?: string;
  /** After a rotation. */
  readonly boundaryReason?: "compression";
  readonly oldSessionId?: string;
  readonly carryOverContext?: boolean;
};

export type ModelWindow = {
  readonly model: string;
  readonly contextLength: number;
  readonly provider?: string;
  readonly baseUrl?: string;
};

/** Snake case: shown by `--json` and by tools. */
export type EngineStatus = {
  readonly last_prompt_tokens: number;
  readonly threshold_tokens: number;
  readonly context_length: number;
  /** 0 to 100; 0 when the window is not known. */
  readonly usage_percent: number;
  readonly compression_count: number;
};

// ----
// What a compaction did. A caller can always tell what was summarised, what was left out, and why.

/** `M`: an engine that was given chat rows answers with chat rows. */
export type CompressOutcome<M = Message> = {
  readonly kind: "compacted" | "pruned" | "unchanged" | "aborted";
  /** Valid for the model in every case. The same array as the input when nothing changed. */
  readonly messages: readonly M[];
  /** Why nothing was summarised; always there unless the list was compacted. */
  readonly reason?: UnchangedReason;
  /** Input indices [from, to) that the handoff stands for; absent when there is none. */
  readonly summarised?: Span;
  /** Where the handoff stands in `messages`. */
  readonly summaryIndex?: number;
  /** The handoff's body, without prefix and end marker. */
  readonly summary?: string;
  /** How the summary came about. `local`: without a model, see `failure`. */
  readonly method?: "model" | "local";
  /** What is in neither list nor summary in full, and how to read it. */
  readonly leftOut: readonly LeftOut[];
  readonly prunedResults: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Why the model gave no summary, when it was asked or would have been. */
  readonly failure?: SummaryFailure;
  /** For the user, each cause once per session. */
  readonly notices: readonly Notice[];
};

export type Span = { readonly from: number; readonly to: number };

export type UnchangedReason =
  | "too_short"
  | "nothing_to_gain"
  | "summary_failed"
  /** One message alone is larger than the window. */
  | "message_too_large"
  /** Messages that would have to go are not in the session store, or it cannot keep summaries of them. */
  | "not_stored";

export type LeftOut = {
  readonly count: number;
  /** `no_call`: tool results that answer no call and that no summary could take in. */
  readonly reason: "summary_failed" | "summary_shortened" | "no_call";
  /** Rows of the session store, where the messages carry their ids. */
  readonly firstRowId?: number;
  readonly lastRowId?: number;
};

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

export type Notice = {
  /** The cause; a host may show each one once. */
  readonly cause: string;
  readonly text: string;
};

// What the methods of an agent take and give.
import type { CompressFeedback, ConfirmDigest } from "@hermes-memory/core/internal/context";
import type { RecallAnswer } from "@hermes-memory/core/internal/memory";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { CacheSavings, Usage } from "../models/index.ts";
import type { EventListener } from "./events.ts";

/** Text, or parts: as chat APIs have them (`{ type: "text", text }`, `{ type: "image_url", image_url }`), or as `content` of a `Message`. */
export type UserInput = string | readonly Readonly<Record<string, unknown>>[];

/** Options of one turn. */
export type RunOptions = {
  /** Aborting it interrupts the turn. */
  readonly signal?: AbortSignal;
  /** A listener for this turn only. */
  readonly onEvent?: EventListener;
  /** Stored, synced and searched instead of the input, when a platform adds text for the model only. */
  readonly persistUserMessage?: UserInput;
  /** When the message was sent, in seconds since 1970. Default: now. */
  readonly persistUserTimestamp?: number;
  readonly taskId?: string;
  /**
   * Tools of the caller for this turn. A reply that calls some of them ends the turn with `client_tool_calls`: the agent's own calls of
   * that reply have run, and `continueWith` takes the results of the others. One with the name of a tool of the agent, or a name that
   * reads like it, is left out with a notice. Otherwise the agent leaves out its own `todo` and `delegate_task` beside them.
   */
  readonly clientTools?: readonly ToolDefinition[];
  /** The caller's id of the message, stored with it (`meta.platformMessageId`), so that a repeated request is recognised. */
  readonly messageId?: string;
  /**
   * Instructions of the caller for this conversation, "" for none. Part of the prompt of a new session. If they change later, the stored
   * prompt stays as it is and requests have the new ones behind it, until a compaction builds a new prompt. Absent: as before.
   */
  readonly instructions?: string;
  /**
   * The most tokens of each model call of this turn, instead of `agent.max_output_tokens`. A text that reaches it is the reply
   * (`truncated_response`, partial): the model is not asked to go on. Not stored.
   */
  readonly maxOutputTokens?: number;
  /** Of the model calls of this turn; left out if the model refuses it. Not stored. Default: the model's own. */
  readonly temperature?: number;
  /**
   * Told once, before the first model call, if memory was asked: what was looked for, and what was added to the user's message in the
   * requests of this turn. The turn does not wait for it.
   */
  readonly onRecall?: (
    recalled: RecallAnswer & { readonly sessionId: string; readonly query: string },
  ) => void;
};

/** The result of a call that the client ran. `output`: text, or parts as in `UserInput`. */
export type ClientToolResult = {
  readonly id: string;
  readonly output: UserInput;
  readonly isError?: boolean;
};

/** Why a command about sessions failed. `message` says what happened and what to do. */
export type SessionProblem = {
  readonly kind: "not_found" | "ambiguous" | "same_session" | "busy" | "nothing" | "no_database" | "refused";
  readonly message: string;
};

/** The agent went on in another session. */
export type SessionChange = {
  readonly from: string;
  readonly to: string;
  readonly title: string | null;
  readonly messages: number;
};

/** The turns that were taken back. */
export type UndoReport = {
  readonly turns: number;
  readonly messages: number;
  /** The text of the first turn taken back, for editing and sending again. */
  readonly text: string;
};

/** What `/compress` did, for the user. */
export type CompressReport = {
  readonly kind: "compacted" | "pruned" | "unchanged" | "aborted" | "busy" | "failed";
  readonly feedback: CompressFeedback;
  readonly notices: readonly string[];
  readonly sessionId: string;
};

/** How `/compress` asks and reports. */
export type CompressChoices = {
  /** Asked before a digest made without a model replaces messages that no model could summarise. Absent: it does, with a notice. */
  readonly confirmDigest?: ConfirmDigest;
  /** The caller shows the notices of the report, so no events repeat them. */
  readonly showsNotices?: boolean;
};

/** Snake case: `--json` prints it. */
export type AgentStatus = {
  readonly session_id: string;
  readonly title: string | null;
  readonly model: string;
  readonly provider: string;
  readonly turns: number;
  readonly messages: number;
  readonly context: {
    readonly used_tokens: number;
    readonly limit_tokens: number;
    readonly percent: number;
    readonly threshold_tokens: number;
    readonly engine: string;
    readonly compactions: number;
  };
  /** Null: switched off. */
  readonly memory: {
    readonly memory: { readonly used: number; readonly limit: number } | null;
    readonly user: { readonly used: number; readonly limit: number } | null;
    /** The external provider's name, or null. */
    readonly provider: string | null;
  };
  readonly usage: Usage;
  readonly api_calls: number;
  readonly cost_usd: number | null;
  readonly caching: { readonly enabled: boolean; readonly ttl: "5m" | "1h" };
  /** Null before the first call, or when the prices are unknown. */
  readonly savings: CacheSavings | null;
};

/** How `close` leaves the session. */
export type CloseOptions = {
  readonly deleteSession?: boolean;
  /** The conversation goes on, in another agent: the session does not end, and the memory provider hears of no end. */
  readonly keepSession?: boolean;
};

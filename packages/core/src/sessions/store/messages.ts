// The contract of a session store, part 2 of 7: messages, and what can be taken back of them.
import type { MessageInput, MessageRow, OpenAiMessage } from "../../message/index.ts";
import type { AnchoredView, KeptResult, MessageKey, MessageWindow, UserMessagePreview } from "../rows.ts";
import type { Scope } from "../scope.ts";
import type { EditOptions } from "./claims.ts";

export type RewindOutcome = {
  readonly rewound_count: number;
  /** As it was before. */
  readonly target_message: MessageRow;
  readonly new_head_id: number | null;
};

export type UndoOutcome = {
  readonly rewound_count: number;
  readonly turns_undone: number;
  readonly target_text: string;
};

export interface MessageRecords {
  /**
   * Resolves when the message is on disk; every search from then on finds it. Rejects with `unknown-session`, and with
   * `session-closed` when the conversation goes on in another session.
   */
  appendMessage(sessionId: string, message: MessageInput): Promise<number>;
  /** All of them or none, in one transaction. */
  appendMany(
    sessionId: string,
    messages: readonly MessageInput[],
    options?: {
      /** Nothing is stored when another holder has the session's lease by now: rejects with `lease-lost`. */
      readonly leaseHolder?: string;
    },
  ): Promise<number[]>;
  /**
   * Sets `finish_reason` of messages of this session, all of them or none; ids of other sessions are left alone. `leaseHolder` as
   * for `appendMany`.
   */
  setFinishReason(
    sessionId: string,
    messageIds: readonly number[],
    finishReason: string,
    options?: { readonly leaseHolder?: string },
  ): Promise<void>;
  /**
   * The messages of the conversation. What today's Hermes put away when it compacted the session stays, and in its files what was taken
   * back stays too. Rejects with `session-busy`, like everything below that takes `EditOptions`.
   */
  replaceMessages(sessionId: string, messages: readonly MessageInput[], options?: EditOptions): Promise<void>;
  /** All messages but those that a compaction put away. */
  clearMessages(sessionId: string, options?: EditOptions): Promise<void>;

  // Reading
  getMessages(
    sessionId: string,
    options?: Scope & { readonly includeInactive?: boolean },
  ): Promise<MessageRow[]>;
  /** Messages that were not taken back, in the order of the ids; one that is not there, or may not be seen, is left out. */
  getMessagesById(ids: readonly number[], scope?: Scope): Promise<MessageRow[]>;
  /** What a person sees: live messages and those that compactions within the session put away, each once, in order. One with `display_kind` hidden is for models. */
  getDisplayHistory(sessionId: string, scope?: Scope): Promise<MessageRow[]>;
  getMessagesAround(
    sessionId: string,
    messageId: number,
    options?: Scope & { readonly window?: number },
  ): Promise<MessageWindow>;
  getAnchoredView(
    sessionId: string,
    messageId: number,
    options?: Scope & {
      readonly window?: number;
      readonly bookend?: number;
      readonly keepRoles?: readonly string[] | null;
    },
  ): Promise<AnchoredView>;
  getMessagesAsConversation(
    sessionId: string,
    options?: Scope & { readonly includeAncestors?: boolean; readonly includeInactive?: boolean },
  ): Promise<OpenAiMessage[]>;
  listRecentUserMessages(
    sessionId: string,
    options?: Scope & { readonly limit?: number; readonly includeInactive?: boolean },
  ): Promise<UserMessagePreview[]>;
  /** The active messages of the sessions, session by session in the order given, each in the order of ids. */
  listMessageKeys(sessionIds: readonly string[], scope?: Scope): Promise<MessageKey[]>;
  /** Of one session, or of all. Counts rewound rows too. */
  messageCount(sessionId?: string, scope?: Scope): Promise<number>;
  /**
   * Tool results in files that rows of these sessions name: session by session, each in the order of ids. `ownFilesOnly` with a user:
   * without those that a row of another user's named before, because the file is theirs. It reads every message.
   */
  listKeptResults(
    sessionIds: readonly string[],
    options?: Scope & { readonly includeInactive?: boolean; readonly ownFilesOnly?: boolean },
  ): Promise<KeptResult[]>;
  /** Of every user and session, rewound rows included: a file whose id is not among them is named by nobody. */
  listAllKeptResultIds(): Promise<ReadonlySet<string>>;

  // Taking turns back
  /** Rejects with `unknown-message` or `not-a-user-message`. Messages that a compaction put away cannot be gone back to. */
  rewindToMessage(sessionId: string, messageId: number, options?: EditOptions): Promise<RewindOutcome>;
  /** In files of today's Hermes only what a rewind of ours took, and only while no compaction has come after it. */
  restoreRewound(sessionId: string, sinceId: number, options?: EditOptions): Promise<number>;
  /** Null when there is no user message to go back to. */
  undoTurns(sessionId: string, turns?: number, options?: EditOptions): Promise<UndoOutcome | null>;
}

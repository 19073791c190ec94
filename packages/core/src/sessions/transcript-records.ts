// The port of an import of transcripts: sessions that come from the files of another agent and follow them as they grow. The backend of the
// session store holds their rows, so that deleting, erasing and repairing reach them.
import type { MessageRow } from "../message/index.ts";

/** The mark `_import` in the settings of an imported session. */
export type TranscriptOrigin = {
  readonly source: string;
  readonly native_id: string;
  readonly path?: string;
  readonly [key: string]: unknown;
};

export type StoredTranscript = {
  readonly id: string;
  readonly source: string;
  readonly origin: TranscriptOrigin;
};

export type TranscriptState =
  | { readonly kind: "none" }
  /** A session of this id that no import made. */
  | { readonly kind: "own" }
  /** It was imported, and then got messages or lost them here. */
  | { readonly kind: "continued" }
  /** A gateway stores it too, from the requests of the program that writes the transcript: in the session with its `transcriptMark`. */
  | { readonly kind: "followed"; readonly session: string; readonly origin?: TranscriptOrigin }
  | { readonly kind: "imported"; readonly origin: TranscriptOrigin; readonly messages: number };

/** A stored message of a transcript, as far as an import compares it. */
export type TranscriptRow = Pick<
  MessageRow,
  | "id"
  | "role"
  | "tool_call_id"
  | "tool_name"
  | "timestamp"
  | "finish_reason"
  | "reasoning"
  | "platform_message_id"
> &
  TranscriptPlace & { readonly content: string | null; readonly tool_calls: string | null };

/** Where a message of an imported transcript stands. */
export type TranscriptPlace = {
  readonly line: number | null;
  /** Null: the file of the session. */
  readonly path: string | null;
};

export type TranscriptInput = {
  readonly role: string;
  readonly content: string;
  readonly platformMessageId: string;
  /** In seconds. */
  readonly timestamp: number;
  /** JSON text. */
  readonly toolCalls?: string | undefined;
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly finishReason?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly line?: number | undefined;
  /** If it is another file than the `path` of the session's origin. */
  readonly path?: string | undefined;
};

export type NewTranscript = {
  readonly id: string;
  readonly source: string;
  readonly origin: TranscriptOrigin;
  /** The session that ran this one as a subagent. It may be stored later. */
  readonly delegateFrom?: string | undefined;
  readonly startedAt: number;
};

export type TranscriptWrite = {
  readonly session: NewTranscript;
  /** Messages with a higher id are deleted, except those a compaction has archived. */
  readonly removeAfter?: number | undefined;
  readonly update?: readonly (TranscriptInput & { readonly id: number })[];
  /** Messages that are the same but stand elsewhere in the transcript now. */
  readonly moved?: readonly (TranscriptPlace & { readonly id: number })[];
  readonly append?: readonly TranscriptInput[];
  /** For a session that is `followed`, instead of the three fields above. */
  readonly merge?: TranscriptMerge;
  /**
   * Unclaimed chats that are the same conversation. Unless it is `followed` already, the first one is from now on, in the place of what was
   * imported before. The others go: all they have is in the transcript. `rows`: how many messages were compared; with another number
   * of them nothing is written, and the outcome is `busy`.
   */
  readonly claim?: readonly { readonly id: string; readonly rows: number }[] | undefined;
  readonly finish?: TranscriptFinish;
};

/** How the messages of a transcript and the rows that a gateway stored become one conversation. */
export type TranscriptMerge = {
  /** Rows in the order they get: the id of a stored row, or a new message. Rows that are not named come last. */
  readonly order: readonly (number | TranscriptInput)[];
  /** Stored rows that are messages of the transcript, whose id, time and place they get; with `isLonger` its text too. */
  readonly known: readonly {
    readonly id: number;
    readonly message: TranscriptInput;
    readonly isLonger: boolean;
  }[];
};

export type TranscriptFinish = {
  readonly title: string | null;
  /** Taken when another session has `title`. */
  readonly otherTitle: string | null;
  readonly model: string | null;
  readonly cwd: string | null;
  readonly gitBranch: string | null;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Native ids of the messages on abandoned branches. All others are active. */
  readonly branches: readonly string[];
  readonly usage: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cacheReadTokens?: number;
    readonly cacheWriteTokens?: number;
    readonly reasoningTokens?: number;
  };
};

/** A chat that a gateway stores for the owner, of which no transcript is known. Times are in seconds. */
export type UnclaimedChat = {
  readonly id: string;
  readonly startedAt: number;
  readonly endedAt: number;
};

/** A session that goes on from an earlier one, which a compaction closed. */
export type TranscriptLink = { readonly id: string; readonly parent: string };

export interface TranscriptRecords {
  getTranscriptState(id: string): Promise<TranscriptState>;
  listTranscripts(): Promise<StoredTranscript[]>;
  /** By the time they began. Chats that a compaction has continued in another session are left out. */
  listUnclaimedChats(): Promise<UnclaimedChat[]>;
  /** In stored order, after the row `after`. */
  listTranscriptRows(
    id: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<TranscriptRow[]>;
  /**
   * In one transaction: creates the session if there is none, then changes its messages. Returns the state in which it was found: for
   * `own` and `continued` nothing is written, nor for `followed` without `merge`. `busy`: it is followed, and being written to; nothing
   * was written.
   */
  writeTranscript(write: TranscriptWrite): Promise<TranscriptState["kind"] | "busy">;
  /** Connects subagents with their parents, and continuations with the sessions they go on from. Returns how many. */
  linkTranscripts(continuations: readonly TranscriptLink[]): Promise<number>;
  /** Which of these imported sessions has the message with this native id; undefined if none. */
  findTranscriptMessage(ids: readonly string[], platformMessageId: string): Promise<string | undefined>;
  /** Ids of the sessions in the notes that the importer keeps under keys that begin so. Those that are not stored any more were deleted. */
  listNotedTranscripts(keyPrefix: string): Promise<string[]>;
  /** Where imported messages come from. Others are left out. */
  listProvenance(
    messageIds: readonly number[],
  ): Promise<{ readonly messageId: number; readonly path: string; readonly line: number | null }[]>;
}

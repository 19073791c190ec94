// The session store: every conversation, durably. One contract, several backends, one conformance suite (testing/session-store.ts).
// The contract has seven groups, each in a file of store/ with its types. A backend writes the members of each; the store has them
// all, flat.
//
// Every method rejects with a `HermesError` when the database cannot be used (`session-db-locked`, `session-db-full`,
// `session-db-damaged`, `session-db-read-only`, ...) and when the arguments make no sense; the codes are in errors.ts.
// A read with `userId` sees the sessions of that user only: those of others, and those without an owner, do not exist. Any member
// that is passed `userId: undefined` rejects with `bad-user-id` (scope.ts). A store for one user alone: bound-store.ts.

import type { SessionFiles } from "../home.ts";
import type { MessageInput, MessageRow, OpenAiMessage } from "../message/index.ts";
import type { LostRows } from "./errors.ts";
import type { Page, Scope, SessionUser } from "./identity.ts";
import type {
  ActiveSession,
  AnchoredView,
  ExportedSession,
  HandoffState,
  KeptResult,
  ListedSession,
  MessageKey,
  MessageWindow,
  SessionRow,
  SummaryHit,
  SummaryNode,
  UserMessagePreview,
} from "./rows.ts";
import type { SearchAnswer, SearchOptions, SearchRow } from "./search/types.ts";

export interface SessionStore
  extends SessionRecords,
    MessageRecords,
    Lineage,
    SummaryNodes,
    SessionSearch,
    SessionClaims,
    StoreMaintenance,
    AsyncDisposable {
  /** A file path, or the address of a server without its password. */
  readonly location: string;
  readonly readOnly: boolean;
  /**
   * Whose rules hold where the original's rules of June 2026 and of today disagree: `today` when the file has the columns of
   * schema 17 and later. Absent: `june`.
   */
  readonly rules?: "june" | "today";
  /** Whose sessions alone there are (bound-store.ts). Absent: everybody's. */
  readonly user?: SessionUser;
  /** What opening had to work around. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

// ----
// The contract of a session store, part 1 of 7: the rows of sessions, with their prompts, titles and flags.

export type NewSession = {
  readonly source?: string;
  readonly model?: string | null;
  /** An empty object is stored as NULL. */
  readonly modelConfig?: Readonly<Record<string, unknown>> | null;
  readonly systemPrompt?: string | null;
  /** Default with a parent: the parent's, so that nothing of a user's leaves the user's sight. */
  readonly userId?: string | null;
  /** The platform the user's id belongs to. Default: `source`; with a parent's user, the parent's. */
  readonly userPlatform?: string;
  readonly parentSessionId?: string | null;
  /** Default with a parent: the parent's. */
  readonly cwd?: string | null;
  /** Seconds since 1970. Default: now. */
  readonly startedAt?: number;
};

export type TokenUpdate = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly apiCallCount?: number;
  readonly estimatedCostUsd?: number | null;
  readonly actualCostUsd?: number | null;
  /** Last writer wins, like the next two. */
  readonly costStatus?: string | null;
  readonly costSource?: string | null;
  readonly pricingVersion?: string | null;
  /** First writer wins, like the next three. */
  readonly model?: string | null;
  readonly billingProvider?: string | null;
  readonly billingBaseUrl?: string | null;
  readonly billingMode?: string | null;
  /** Set the counters instead of adding to them. */
  readonly absolute?: boolean;
};

/** A system prompt this program made, with the version of what made it. */
export type OwnPrompt = { readonly text: string; readonly version: number };

export interface SessionRecords {
  /**
   * An existing row keeps what it has; in a file of today's Hermes it gets what it lacks (the source counts as missing when it is
   * `unknown`; source, owner and settings only while there are no messages). Rejects with `unknown-parent`.
   */
  createSession(id: string, options?: NewSession): Promise<string>;
  /** The first reason wins. A reset of a gateway's session also begins the next generation of its chat, where the file counts them. */
  endSession(id: string, reason: string): Promise<void>;
  reopenSession(id: string): Promise<void>;
  updateSessionModel(id: string, model: string | null): Promise<void>;
  updateTokenCounts(id: string, update: TokenUpdate): Promise<void>;
  getSession(id: string, scope?: Scope): Promise<SessionRow | null>;

  // System prompts
  /**
   * Kept apart from what other programs write. The session's `system_prompt` becomes the same unless it holds a text that was not
   * saved here. Rejects with `unknown-session`.
   */
  saveOwnPrompt(id: string, text: string, version: number): Promise<void>;
  getOwnPrompt(id: string, scope?: Scope): Promise<OwnPrompt | null>;

  // Titles
  /**
   * False for an unknown session, and for a title made by a model (`llm`) where a person has given one. Rejects with
   * `title-too-long` or `title-taken`.
   */
  setSessionTitle(
    id: string,
    title: string | null,
    options?: { readonly source?: "user" | "llm" },
  ): Promise<boolean>;
  getSessionTitle(id: string, scope?: Scope): Promise<string | null>;
  /** Free in the whole file; numbered after the titles that may be seen. */
  getNextTitleInLineage(base: string, scope?: Scope): Promise<string>;
  /** `ignoreCase`: also a title that differs in case, accents and the like only, where none is the same. */
  resolveSessionByTitle(
    title: string,
    options?: Scope & { readonly ignoreCase?: boolean },
  ): Promise<string | null>;

  // Flags
  /** The whole chain of continuations follows. True when any row changed. */
  setSessionArchived(id: string, archived: boolean): Promise<boolean>;
  /** The same for sessions that stay at hand. A pinned one is not hidden. False where the file cannot note it. */
  setSessionPinned(id: string, pinned: boolean): Promise<boolean>;
  /** The same for sessions that listings leave out. They are found and resumed as before. */
  setSessionHidden(id: string, hidden: boolean): Promise<boolean>;
}

// ----
// The contract of a session store, part 2 of 7: messages, and what can be taken back of them.

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

/** Enough to tell whether anybody wrote to a session since the last look. */
export type SessionMark = {
  readonly message_count: number;
  readonly rewind_count: number;
  /** Of the messages that are not rewound. */
  readonly last_message_id: number | null;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
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
  /** Changes whenever a process adds messages to the session, rewinds it, or ends it. */
  getSessionMark(id: string, scope?: Scope): Promise<SessionMark | null>;
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

// ----
// The contract of a session store, part 3 of 7: which session goes on where.

export type ContinueOptions = EditOptions & {
  /** Default: a new id. */
  readonly id?: string;
  readonly systemPrompt?: string | null;
  /** Kept for the continuation as by `saveOwnPrompt`; goes before `systemPrompt`. */
  readonly ownPrompt?: OwnPrompt | undefined;
  readonly model?: string | null;
  readonly messages?: readonly MessageInput[];
  /** When given, the compression lock must still be held by it, or nothing happens. */
  readonly lockHolder?: string;
};

export type BranchOptions = {
  readonly id?: string;
  /** Default: the next free title of the parent's lineage. */
  readonly title?: string;
  /** Copy up to and including this message. Default: all. */
  readonly untilMessageId?: number;
  /** End the parent with this reason; default: it stays as it is. */
  readonly endParent?: string;
  /** Default: the parent's own prompt, if it has one. */
  readonly ownPrompt?: OwnPrompt | undefined;
};

export type NewLineageSession = {
  readonly id: string;
  readonly title: string | null;
  readonly messageIds: readonly number[];
};

export interface Lineage {
  getCompressionTip(id: string, scope?: Scope): Promise<string>;
  resolveResumeSessionId<T extends string | null | undefined>(id: T, scope?: Scope): Promise<T | string>;
  /** An exact id or a unique beginning of one. */
  resolveSessionId(text: string, scope?: Scope): Promise<string | null>;
  /** Every session connected with this one by parents of any kind, in both directions. */
  listLineage(id: string, scope?: Scope): Promise<string[]>;
  /** The session and those it continues after compaction, root first. Branches and subagent runs begin anew. Empty for an unknown id. */
  listContinued(id: string, scope?: Scope): Promise<string[]>;
  /**
   * Ends the parent with `compression` and starts its continuation, in one transaction. Rejects with `lock-lost`,
   * `already-continued`, and with `session-busy` while another process has a turn running in it or compacts it.
   */
  continueSession(parentId: string, options?: ContinueOptions): Promise<NewLineageSession>;
  /** A fork with copies of the parent's active messages, in one transaction. */
  branchSession(parentId: string, options?: BranchOptions): Promise<NewLineageSession>;
}

// ----
// The contract of a session store, part 4 of 7: what the lossless context engine knows about messages that left the context.

export type BetterSummary = Pick<SummaryNode, "summary" | "tokens" | "method">;

export interface SummaryNodes {
  /**
   * All of them or none, in one transaction. False, and nothing stored, when another writer was first: a message is covered by a
   * leaf already, or a source belongs to another node or is gone. Rejects with `unknown-session`, `no-summary-nodes`.
   */
  insertSummaryNodes(nodes: readonly SummaryNode[]): Promise<boolean>;
  /** Puts a model's text in place of one made without. False when the node is gone or has a model's text already. */
  improveSummaryNode(nodeId: string, better: BetterSummary): Promise<boolean>;
  /** Of these sessions, in the order they were made. */
  listSummaryNodes(sessionIds: readonly string[], scope?: Scope): Promise<SummaryNode[]>;
  getSummaryNode(nodeId: string, scope?: Scope): Promise<SummaryNode | null>;
  /** Best first, then newest first. Takes the query language of `search`. */
  searchSummaryNodes(
    query: string,
    options?: Scope & { readonly sessionIds?: readonly string[]; readonly limit?: number },
  ): Promise<SummaryHit[]>;
}

// ----
// The contract of a session store, part 5 of 7: finding sessions and messages. Queries, filters and answers of a search over messages
// are in ../search/types.ts.

export type SessionFilter = Scope & {
  readonly source?: string;
  readonly excludeSources?: readonly string[];
  readonly minMessageCount?: number;
  readonly includeArchived?: boolean;
  /** Wins over `includeArchived`. */
  readonly archivedOnly?: boolean;
  /** Sessions that today's Hermes was told to hide. Default: not in listings, but counted. */
  readonly includeHidden?: boolean;
};

export type ListOptions = SessionFilter &
  Page & {
    readonly includeChildren?: boolean;
    readonly projectCompressionTips?: boolean;
    readonly orderByLastActive?: boolean;
    /** Part of an id of the conversation; only with `orderByLastActive`. */
    readonly idQuery?: string;
  };

export interface SessionSearch {
  /** The messages that answer a query, best first, with how they were found. Never rejects because of the query's text. */
  search(query: string, options?: SearchOptions): Promise<SearchAnswer>;
  /** The same, as the original's rows. */
  searchMessages(query: string, options?: SearchOptions): Promise<SearchRow[]>;

  // Sessions
  sessionCount(options?: SessionFilter & { readonly excludeChildren?: boolean }): Promise<number>;
  listSessionsRich(options?: ListOptions): Promise<ListedSession[]>;
  searchSessions(options?: Scope & Page & { readonly source?: string }): Promise<ActiveSession[]>;
  searchSessionsById(
    query: string,
    options?: Scope & { readonly limit?: number; readonly includeArchived?: boolean },
  ): Promise<ListedSession[]>;
  listCronJobRuns(jobId: string, options?: Scope & Page): Promise<ListedSession[]>;
  /** Ids alone, most recently active first: of every kind, or of those that begin with `prefix`. */
  listSessionIds(
    options?: Scope & { readonly prefix?: string; readonly source?: string; readonly limit?: number },
  ): Promise<string[]>;
}

// ----
// The contract of a session store, part 6 of 7: who may work on a session. Leases for turns, locks for compactions, handoffs between
// platforms.

/** `ttl` in seconds, 60 unless told. */
export type LeaseOptions = { readonly ttl?: number };

export type HeldLease = {
  readonly holder: string;
  readonly acquired_at: number;
  readonly expires_at: number;
};

type LeaseOutcome = { readonly acquired: true } | ({ readonly acquired: false } & HeldLease);

/** Who changes rows, where that takes a lease: the turn of anybody else is respected. */
export type EditOptions = { readonly leaseHolder?: string };

export interface SessionClaims {
  // Leases: one process at a time works on a session, which need not exist yet. Where they cannot be kept, because another
  // program uses the name of their table, everybody gets every lease, with one warning.
  // In files of today's Hermes its own leases, by conversation, are honoured and held as well.
  /** Takes it when it is free or has run out; its holder prolongs it. Rejects with `bad-session-id`. */
  acquireSessionLease(sessionId: string, holder: string, options?: LeaseOptions): Promise<LeaseOutcome>;
  /** Also after it has run out, as long as nobody else has had it since; false when it is not ours any more. */
  renewSessionLease(sessionId: string, holder: string, options?: LeaseOptions): Promise<boolean>;
  /** Only one's own. */
  releaseSessionLease(sessionId: string, holder: string): Promise<void>;
  /** Null when nobody holds it, or it has run out. */
  getSessionLease(sessionId: string): Promise<HeldLease | null>;
  /** Takes it away from exactly this holder, whose process is known to be gone. False when another has it by now. */
  breakSessionLease(sessionId: string, holder: string): Promise<boolean>;

  // Compression locks: one process at a time compacts a session
  /** `ttl` in seconds, 300 unless told. */
  tryAcquireCompressionLock(
    sessionId: string,
    holder: string,
    options?: { readonly ttl?: number },
  ): Promise<boolean>;
  /** Prolongs a lock that is still ours; false when it is not. */
  renewCompressionLock(
    sessionId: string,
    holder: string,
    options?: { readonly ttl?: number },
  ): Promise<boolean>;
  releaseCompressionLock(sessionId: string, holder: string): Promise<void>;
  getCompressionLockHolder(sessionId: string): Promise<string | null>;

  // Handoff between platforms
  requestHandoff(id: string, platform: string): Promise<boolean>;
  claimHandoff(id: string): Promise<boolean>;
  completeHandoff(id: string): Promise<void>;
  failHandoff(id: string, error: string): Promise<void>;
  getHandoffState(id: string, scope?: Scope): Promise<HandoffState | null>;
  listPendingHandoffs(): Promise<SessionRow[]>;
}

// ----
// The contract of a session store, part 7 of 7: deleting, pruning, moving sessions between databases, and the care of the database.

export type AutoMaintenance = {
  readonly skipped: boolean;
  readonly pruned: number;
  readonly vacuumed: boolean;
  readonly error?: string;
};

export type StoreStats = {
  /** Without archived ones. */
  readonly sessions: number;
  readonly archived: number;
  readonly messages: number;
  /** Seconds since 1970; null without sessions. */
  readonly oldestStartedAt: number | null;
  readonly sources: readonly { readonly source: string; readonly sessions: number }[];
  readonly bytes: number;
  /** `building`: older messages are still to be indexed, which goes on in the background. `missing`: no process has written one yet. */
  readonly index: "ready" | "building" | "missing";
};

export type Progress = { readonly step: string; readonly done: number; readonly total: number };

export type LongWork = { readonly onProgress?: (progress: Progress) => void; readonly signal?: AbortSignal };

export type OptimizeOutcome = {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** `in-use`: another process has the file open, so that it was not rewritten. */
  readonly vacuum: "done" | "in-use" | "not-asked";
  /** False when the signal stopped the work; the next call goes on where this one stopped. */
  readonly finished: boolean;
};

/** What an export of a damaged database could not read. */
export type ExportLoss = {
  readonly lost: readonly LostRows[];
  /** Sessions whose row is lost; they are exported with what indexes and messages tell. */
  readonly standIns: readonly string[];
  readonly notes: readonly string[];
};

export type Health = {
  readonly ok: boolean;
  readonly problems: readonly string[];
  /** False when the search index could not be compared with the messages: that takes a file that may be written. */
  readonly indexChecked: boolean;
};

export type ImportOutcome = {
  readonly imported: number;
  readonly messages: number;
  /** Sessions that were left alone, and why. */
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
  /** Titles that were taken and got a number, or were too long and were cut. */
  readonly renamed: readonly { readonly id: string; readonly title: string | null }[];
};

export interface StoreMaintenance {
  // Deleting. With directories, the files that belong to what was deleted go as well, after the commit: JSON snapshots,
  // transcripts of the original, and tool results that no other session's row names.
  /** Rejects with `session-busy` while another process runs a turn in it, like the next one. */
  deleteSession(id: string, options?: SessionFiles & EditOptions): Promise<boolean>;
  deleteSessions(ids: readonly unknown[], options?: SessionFiles & EditOptions): Promise<number>;
  deleteSessionIfEmpty(id: string): Promise<boolean>;
  /** The subagent runs that go when these sessions are deleted, runs of runs included. */
  listDelegates(ids: readonly string[], scope?: Scope): Promise<string[]>;

  // Export and import
  exportSession(
    id: string,
    options?: Scope & { readonly includeInactive?: boolean },
  ): Promise<ExportedSession | null>;
  /**
   * One session after the other, most recently active first, without holding them all in memory.
   * On a damaged file it fails, unless `onLoss` is given: then everything that can be read is exported, and `onLoss` is
   * told, before the first session that needed it, what cannot.
   */
  exportEach(
    options?: Scope & {
      readonly source?: string;
      readonly includeInactive?: boolean;
      readonly onLoss?: (loss: ExportLoss) => void;
    },
  ): AsyncIterable<ExportedSession & { readonly last_active: number }>;
  /** Each session in one transaction; one that exists is left alone. */
  importSessions(
    sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
    work?: LongWork,
  ): Promise<ImportOutcome>;

  // Pruning
  deleteEmptySessions(): Promise<number>;
  countEmptySessions(): Promise<number>;
  pruneSessions(
    options?: SessionFiles & { readonly olderThanDays?: number; readonly source?: string },
  ): Promise<number>;
  /** What `pruneSessions` would remove. */
  listPrunable(options?: {
    readonly olderThanDays?: number;
    readonly source?: string;
  }): Promise<SessionRow[]>;
  pruneEmptyGhostSessions(): Promise<number>;
  finalizeOrphanedCompressionSessions(): Promise<number>;
  /** Hides untitled short sessions that look like runs of subagents, as the original's upgrade does. How many. */
  hideOrphanedDelegates(): Promise<number>;
  /** Never rejects. */
  maybeAutoPruneAndVacuum(
    options?: SessionFiles & {
      readonly retentionDays?: number;
      readonly minIntervalHours?: number;
      readonly vacuum?: boolean;
    },
  ): Promise<AutoMaintenance>;

  // The database
  /** Finishes and merges the search index, then gives free space back. Interruptible. */
  optimize(work?: LongWork & { readonly vacuum?: boolean }): Promise<OptimizeOutcome>;
  checkHealth(): Promise<Health>;
  stats(): Promise<StoreStats>;
  getMeta(key: string): Promise<string | null>;
  setMeta(key: string, value: string): Promise<void>;
}

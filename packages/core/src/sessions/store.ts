// The contract of the session store: every conversation, stored durably. Every backend passes the same conformance suite
// (testing/session-store.ts). Its members are in six groups, each with its types; the store has all of them, flat. What only the lossless
// engine, a gateway or an import needs are ports beside them, which the same backend holds.
// Every method rejects with a `HermesError` when the database cannot be used (`session-db-locked`, `session-db-full`,
// `session-db-damaged`, `session-db-read-only`, ...) and when the arguments are invalid; the codes are in errors.ts.
// A store that was opened is that of the whole home: its reads and writes reach the sessions of everybody. `forUser` gives the store of one
// person, in which the sessions of others do not exist: reads do not find them, and writes do what they do for an unknown id.
import type { SessionFiles } from "../home.ts";
import type { MessageInput, MessageRow, OpenAiMessage } from "../message/index.ts";
import type { LostRows } from "./errors.ts";
import type { Ask, GatewayRecords } from "./gateway-records.ts";
import type { Page, Scope, SessionUser, WITHOUT_USER } from "./identity.ts";
import type {
  ActiveSession,
  AnchoredView,
  ExportedSession,
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
import type { TranscriptPlace, TranscriptRecords } from "./transcript-records.ts";
import type { TurnRecords } from "./turn-records.ts";

/** The sessions of one person, or of everybody. Rows have the column names of the database. */
export interface SessionStore
  extends SessionRecords,
    MessageRecords,
    Lineage,
    SessionSearch,
    SessionClaims,
    SessionCopies,
    AsyncDisposable {
  /** A file path, or the address of a server without its password. */
  readonly location: string;
  readonly readOnly: boolean;
  /**
   * Which rules of Hermes Agent apply: `today` when the file has the columns of schema 17 or later, otherwise `june` (schema 16).
   * Absent: `june`.
   */
  readonly rules?: "june" | "today";
  /** The only sessions that exist here. Empty: those of everybody. */
  readonly scope: Scope;
  /** The user of `scope`. Absent: everybody, or the owner of the home. */
  readonly user?: SessionUser;
  /** Problems that opening had to work around. */
  readonly warnings: readonly string[];
  readonly summaries: SummaryNodes;
  readonly turns: TurnRecords;
  readonly gateway: GatewayRecords;
  /** Closing the store of one person leaves the store of the home open. */
  close(): Promise<void>;
}

/** The store of a whole home, for administration. */
export interface HomeStore extends SessionStore, HomeUpkeep {
  /** Throws `bad-user-id` if it names nobody. `WITHOUT_USER` is the owner of the home. */
  forUser(person: SessionUser | typeof WITHOUT_USER): SessionStore;
  readonly transcripts: TranscriptRecords;
  /** Only where the database is a file. */
  readonly file?: DatabaseFile;
}

// ---- 1. Sessions: rows, prompts, titles and flags ----

/** The columns of a new session. */
export type NewSession = {
  readonly source?: string;
  readonly model?: string | null;
  /** An empty object is stored as NULL. */
  readonly modelConfig?: Readonly<Record<string, unknown>> | null;
  readonly systemPrompt?: string | null;
  /** Default with a parent: the parent's owner, so that a user's sessions stay visible to that user. */
  readonly userId?: string | null;
  /** The platform of the user id. Default: `source`; with an inherited user, the parent's platform. */
  readonly userPlatform?: string;
  readonly parentSessionId?: string | null;
  /** Default with a parent: the parent's folder. */
  readonly cwd?: string | null;
  /** Seconds since 1970. Default: now. */
  readonly startedAt?: number;
};

/** What a model call used and cost, to add to a session's counters. */
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

/** A system prompt made by this program, with the version of the code that made it. */
export type OwnPrompt = { readonly text: string; readonly version: number };

export interface SessionRecords {
  /**
   * An existing row stays unchanged; with schema 17, missing values are filled (a source of `unknown` counts as missing; source,
   * owner and settings only while there are no messages). Rejects with `unknown-parent`.
   */
  createSession(id: string, options?: NewSession): Promise<string>;
  /** The first reason wins. If the file counts generations of a chat, the reset of a gateway's session starts the next one. */
  endSession(id: string, reason: string): Promise<void>;
  reopenSession(id: string): Promise<void>;
  updateSessionModel(id: string, model: string | null): Promise<void>;
  updateTokenCounts(id: string, update: TokenUpdate): Promise<void>;
  getSession(id: string): Promise<SessionRow | null>;

  // System prompts
  /**
   * Stored apart from what other programs write. The session's `system_prompt` is set too, unless it contains a text that was not
   * saved here. Rejects with `unknown-session`.
   */
  saveOwnPrompt(id: string, text: string, version: number): Promise<void>;
  getOwnPrompt(id: string): Promise<OwnPrompt | null>;

  // Extraction of facts
  /** Messages up to this one were looked at for facts. For a copy, its original's id counts. Rejects with `unknown-session`. */
  setExtractedId(id: string, messageId: number): Promise<void>;
  /** Null: none was looked at. */
  getExtractedId(id: string): Promise<number | null>;

  // Titles
  /**
   * False for an unknown session, and for a title made by a model (`llm`) when a user has set one. Rejects with `title-too-long`,
   * and with `title-taken` when another session of the same person has it, also if this one is not created yet. Titles of others
   * do not matter.
   */
  setSessionTitle(
    id: string,
    title: string | null,
    options?: { readonly source?: "user" | "llm" },
  ): Promise<boolean>;
  getSessionTitle(id: string): Promise<string | null>;
  /** Free among the titles the caller may see, and numbered after them. */
  getNextTitleInLineage(base: string): Promise<string>;
  /** The newest, if several persons have the title. `ignoreCase`: if no title is equal, also finds one that differs only in case, accents and the like. */
  resolveSessionByTitle(title: string, options?: { readonly ignoreCase?: boolean }): Promise<string | null>;

  // Flags
  /** Changes all continuations of the conversation too. True when any row changed. */
  setSessionArchived(id: string, archived: boolean): Promise<boolean>;
  /** The same for pinned sessions. Pinning unhides a session. False when the file has no such column. */
  setSessionPinned(id: string, pinned: boolean): Promise<boolean>;
  /** The same for sessions that listings leave out. They can still be found and resumed. */
  setSessionHidden(id: string, hidden: boolean): Promise<boolean>;
}

// ---- 2. Messages, and taking them back ----

/** What a rewind hid. */
export type RewindOutcome = {
  readonly rewound_count: number;
  /** As it was before the rewind. */
  readonly target_message: MessageRow;
  readonly new_head_id: number | null;
};

/** What undoing turns took back, with the text to send again. */
export type UndoOutcome = {
  readonly rewound_count: number;
  readonly turns_undone: number;
  readonly target_text: string;
};

/** Two marks differ when a process has written to the session in between. */
export type SessionMark = {
  readonly message_count: number;
  readonly rewind_count: number;
  /** Without rewound messages. */
  readonly last_message_id: number | null;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
};

export interface MessageRecords {
  /**
   * Resolves when the message is on disk; every search from then on finds it. Rejects with `unknown-session`, and with
   * `session-closed` when the conversation continues in another session.
   */
  appendMessage(sessionId: string, message: MessageInput): Promise<number>;
  /** All of them or none, in one transaction. */
  appendMany(
    sessionId: string,
    messages: readonly MessageInput[],
    options?: {
      /** Rejects with `lease-lost`, and stores nothing, unless this holder took the session's lease and nobody has had it since. */
      readonly leaseHolder?: string;
      /** Gives the lease back in the same transaction. */
      readonly endsLease?: boolean;
      /** An active message: it and what comes after it are taken back first, as by `rewindToMessage`, in the same transaction. */
      readonly takeBackFrom?: number;
      /** False: the messages are kept as ones that were taken back. Default: they are part of the conversation. */
      readonly isShown?: boolean;
      /** The newest active message, null for none. Rejects with `session-changed`, and stores nothing, when it is another one now. */
      readonly ifLast?: number | null;
      /** Becomes the session's newest ask. Without `rowId`, the last of `messages` is what was asked. */
      readonly ask?: Pick<Ask, "token" | "request"> & { readonly rowId?: number };
    },
  ): Promise<number[]>;
  /**
   * Sets `finish_reason` of messages of this session, all of them or none. Ids of other sessions are ignored. `leaseHolder` as
   * for `appendMany`.
   */
  setFinishReason(
    sessionId: string,
    messageIds: readonly number[],
    finishReason: string,
    options?: { readonly leaseHolder?: string },
  ): Promise<void>;
  /**
   * Replaces the messages of the conversation. Messages archived by a compaction stay and, with schema 17, rewound messages too.
   * Rejects with `session-busy`, like everything below that takes `EditOptions`.
   */
  replaceMessages(sessionId: string, messages: readonly MessageInput[], options?: EditOptions): Promise<void>;
  /** Deletes all messages except those archived by a compaction. */
  clearMessages(sessionId: string, options?: EditOptions): Promise<void>;

  // Reading
  getMessages(sessionId: string, options?: { readonly includeInactive?: boolean }): Promise<MessageRow[]>;
  /** Messages that were not taken back, in the order of `ids`. Unknown and invisible ones are left out. */
  getMessagesById(ids: readonly number[]): Promise<MessageRow[]>;
  /**
   * The messages that users see: active messages and those that compactions archived in the session, each once, in order. Messages with
   * `display_kind` hidden are for models only.
   */
  getDisplayHistory(sessionId: string): Promise<MessageRow[]>;
  getMessagesAround(
    sessionId: string,
    messageId: number,
    options?: { readonly window?: number },
  ): Promise<MessageWindow>;
  getAnchoredView(
    sessionId: string,
    messageId: number,
    options?: {
      readonly window?: number;
      readonly bookend?: number;
      readonly keepRoles?: readonly string[] | null;
    },
  ): Promise<AnchoredView>;
  getMessagesAsConversation(
    sessionId: string,
    options?: { readonly includeAncestors?: boolean; readonly includeInactive?: boolean },
  ): Promise<OpenAiMessage[]>;
  listRecentUserMessages(
    sessionId: string,
    options?: { readonly limit?: number; readonly includeInactive?: boolean },
  ): Promise<UserMessagePreview[]>;
  /** The active messages of the sessions: in the order of the sessions, then by id. */
  listMessageKeys(
    sessionIds: readonly string[],
    options?: { readonly includeInactive?: boolean },
  ): Promise<MessageKey[]>;
  /** Changes whenever a process adds messages to the session, rewinds it, or ends it. */
  getSessionMark(id: string): Promise<SessionMark | null>;
  /** Of one session, or of all. Includes rewound messages. */
  messageCount(sessionId?: string): Promise<number>;
  /**
   * Kept tool results that rows of these sessions name: in the order of the sessions, then by id. `ownFilesOnly` with a user:
   * without those that a row of another user named first, because those files belong to that user; this reads every message.
   */
  listKeptResults(
    sessionIds: readonly string[],
    options?: { readonly includeInactive?: boolean; readonly ownFilesOnly?: boolean },
  ): Promise<KeptResult[]>;

  // Taking turns back
  /** Rejects with `unknown-message` or `not-a-user-message`. Messages archived by a compaction are not valid targets. */
  rewindToMessage(sessionId: string, messageId: number, options?: EditOptions): Promise<RewindOutcome>;
  /** With schema 17, restores only what our rewind took back, and only if no compaction came after it. */
  restoreRewound(sessionId: string, sinceId: number, options?: EditOptions): Promise<number>;
  /** Null when there is no user message to go back to. */
  undoTurns(sessionId: string, turns?: number, options?: EditOptions): Promise<UndoOutcome | null>;
}

// ---- 3. Lineage: which session continues where ----

/** The messages and the prompt that a compacted session goes on with. */
export type ContinueOptions = EditOptions & {
  /** Default: a new id. */
  readonly id?: string;
  readonly systemPrompt?: string | null;
  /** Stored for the continuation as by `saveOwnPrompt`; wins over `systemPrompt`. */
  readonly ownPrompt?: OwnPrompt | undefined;
  readonly model?: string | null;
  readonly messages?: readonly MessageInput[];
  /** If given, this holder must still have the compression lock; otherwise nothing happens. */
  readonly lockHolder?: string;
};

/** Where a branch leaves its parent, and what it is called. */
export type BranchOptions = {
  readonly id?: string;
  /** Default: the next free title of the parent's lineage. Null: none. */
  readonly title?: string | null;
  /** Copy up to and including this message. Default: all. */
  readonly untilMessageId?: number;
  /** End the parent with this reason. Default: it stays as it is. */
  readonly endParent?: string;
  /** Default: the parent's own prompt, if it has one. */
  readonly ownPrompt?: OwnPrompt | undefined;
};

/** A session that continues or branches from another one. */
export type NewLineageSession = {
  readonly id: string;
  readonly title: string | null;
  readonly messageIds: readonly number[];
};

export interface Lineage {
  getCompressionTip(id: string): Promise<string>;
  /** The session in which a conversation goes on after its compactions; null for an unknown id. */
  getNewestSession(id: string): Promise<SessionRow | null>;
  resolveResumeSessionId<T extends string | null | undefined>(id: T): Promise<T | string>;
  /** An exact id or a unique prefix of one. */
  resolveSessionId(text: string): Promise<string | null>;
  /** Every session connected with this one by parents of any kind, in both directions. */
  listLineage(id: string): Promise<string[]>;
  /**
   * The session and those it continues after compaction, root first. Stops at branches and subagent runs. Empty for an unknown
   * id.
   */
  listContinued(id: string): Promise<string[]>;
  /**
   * Ends the parent with `compression` and starts its continuation, in one transaction. Rejects with `lock-lost`,
   * `already-continued`, and with `session-busy` while another process has a turn running in it or compacts it.
   */
  continueSession(parentId: string, options?: ContinueOptions): Promise<NewLineageSession>;
  /** A fork with copies of the parent's active messages, in one transaction. */
  branchSession(parentId: string, options?: BranchOptions): Promise<NewLineageSession>;
}

// ---- 4. Finding sessions and messages ----
// Options and answers of a search over messages are in search/types.ts.

/** Which sessions are meant. */
export type SessionFilter = {
  readonly source?: string;
  readonly excludeSources?: readonly string[];
  readonly minMessageCount?: number;
  readonly includeArchived?: boolean;
  /** Overrides `includeArchived`. */
  readonly archivedOnly?: boolean;
  /** Sessions that the user hid. Default: not in listings, but counted. */
  readonly includeHidden?: boolean;
};

/** Which sessions a listing has, and in which order. */
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
  /** The same, as rows in the format of Hermes Agent. */
  searchMessages(query: string, options?: SearchOptions): Promise<SearchRow[]>;

  // Sessions
  sessionCount(options?: SessionFilter & { readonly excludeChildren?: boolean }): Promise<number>;
  listSessionsRich(options?: ListOptions): Promise<ListedSession[]>;
  searchSessions(options?: Page & { readonly source?: string }): Promise<ActiveSession[]>;
  searchSessionsById(
    query: string,
    options?: { readonly limit?: number; readonly includeArchived?: boolean },
  ): Promise<ListedSession[]>;
  listCronJobRuns(jobId: string, options?: Page): Promise<ListedSession[]>;
  /** Only ids, most recently active first: of all sessions, or of those that begin with `prefix`. */
  listSessionIds(options?: {
    readonly prefix?: string;
    readonly source?: string;
    readonly limit?: number;
  }): Promise<string[]>;
}

// ---- 5. Claims: leases for turns, locks for compactions ----

/** `ttl` in seconds, default 60. */
export type LeaseOptions = { readonly ttl?: number };

export type HeldLease = {
  readonly holder: string;
  readonly acquired_at: number;
  readonly expires_at: number;
};

type LeaseOutcome = { readonly acquired: true } | ({ readonly acquired: false } & HeldLease);

/**
 * The lease holder that makes the change. A turn of any other holder blocks it, and it rejects with `lease-lost` if another one has
 * had the session's lease since.
 */
export type EditOptions = { readonly leaseHolder?: string };

export interface SessionClaims {
  // Leases: one process at a time works on a session, which need not exist yet. If they cannot be stored, because another program
  // uses the name of their table, every request succeeds, with one warning. With schema 17, the turn leases of Hermes Agent, by
  // conversation, are respected and held as well.
  /** Succeeds when the lease is free or expired; its holder renews it this way. Rejects with `bad-session-id`. */
  acquireSessionLease(sessionId: string, holder: string, options?: LeaseOptions): Promise<LeaseOutcome>;
  /** Also works after it expired, if no other holder has had it since. False when another holder has it. */
  renewSessionLease(sessionId: string, holder: string, options?: LeaseOptions): Promise<boolean>;
  /** Has no effect when another holder has it. */
  releaseSessionLease(sessionId: string, holder: string): Promise<void>;
  /** Null when it is free or expired. */
  getSessionLease(sessionId: string): Promise<HeldLease | null>;
  /** Removes the lease of exactly this holder, whose process is known to have ended. False when another holder has it now. */
  breakSessionLease(sessionId: string, holder: string): Promise<boolean>;

  // Compression locks: one process at a time compacts a session.
  /** `ttl` in seconds, default 300. */
  tryAcquireCompressionLock(
    sessionId: string,
    holder: string,
    options?: { readonly ttl?: number },
  ): Promise<boolean>;
  /** Extends a lock that this holder still has; false when it has not. */
  renewCompressionLock(
    sessionId: string,
    holder: string,
    options?: { readonly ttl?: number },
  ): Promise<boolean>;
  releaseCompressionLock(sessionId: string, holder: string): Promise<void>;
  getCompressionLockHolder(sessionId: string): Promise<string | null>;
}

// ---- 6. Deleting, export and import ----

/** How far long work has come. */
export type Progress = { readonly step: string; readonly done: number; readonly total: number };

/** For work that takes long: progress and a signal to stop it. */
export type LongWork = { readonly onProgress?: (progress: Progress) => void; readonly signal?: AbortSignal };

/** Rows of a damaged database that an export could not read. */
export type ExportLoss = {
  readonly lost: readonly LostRows[];
  /** Sessions whose row is lost. They are exported with what indexes and messages tell. */
  readonly standIns: readonly string[];
  readonly notes: readonly string[];
};

/** What an import stored, skipped and renamed. */
export type ImportOutcome = {
  readonly imported: number;
  readonly messages: number;
  /** Sessions that were not imported, and why. */
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
  /** Titles that got a number because they were taken, or were cut because they were too long. */
  readonly renamed: readonly { readonly id: string; readonly title: string | null }[];
  /** With `extend`: sessions that were stored already. `messages` were added to `sessions` of them; the others had nothing new. */
  readonly extended?: { readonly sessions: number; readonly messages: number; readonly unchanged: number };
};

export type ErasedSessions = {
  readonly sessions: number;
  readonly messages: number;
  /** Kept results, snapshots and transcripts. */
  readonly files: number;
  /** What is left, why, and what to do about it: one or two sentences each, without any text of a message. */
  readonly remaining: readonly string[];
};

export interface SessionCopies {
  // Deleting. If directories are passed, the files of deleted sessions are removed after the commit: JSON snapshots, transcripts
  // of Hermes Agent, and kept results that no other row names.
  /** Rejects with `session-busy` while another process runs a turn in it; so does deleteSessions. */
  deleteSession(id: string, options?: SessionFiles & EditOptions): Promise<boolean>;
  deleteSessions(ids: readonly unknown[], options?: SessionFiles & EditOptions): Promise<number>;
  deleteSessionIfEmpty(id: string): Promise<boolean>;
  /**
   * Erases every session of the person whose store this is with all messages, also archived and rewound ones, and overwrites the bytes of
   * deleted rows. Sessions of others stay, also those that come from one of these. Unlike the members above
   * it goes on if a session is busy, removes files before their rows, and can be repeated after a failure. Rejects with
   * `bad-user-id` in the store of the whole home: it never erases the sessions of all.
   */
  eraseSessions(options?: SessionFiles & { readonly dryRun?: boolean }): Promise<ErasedSessions>;
  /** The subagent runs, at any depth, that are deleted with these sessions. */
  listDelegates(ids: readonly string[]): Promise<string[]>;

  // Export and import
  exportSession(
    id: string,
    options?: { readonly includeInactive?: boolean },
  ): Promise<ExportedSession | null>;
  /** Yields one session at a time, most recently active first. */
  exportEach(options?: {
    readonly source?: string;
    readonly includeInactive?: boolean;
  }): AsyncIterable<ExportedSession & { readonly last_active: number }>;
  /**
   * One transaction per session. An existing session is left unchanged. With `extend`, it gets the messages that were added to the other
   * copy since, if it was not changed here; otherwise it is in `skipped`. Inactive messages must then be in the export. `placeOf` is asked
   * for messages of imported transcripts, by their id in the export: without their place, they count as written here.
   */
  importSessions(
    sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
    work?: LongWork & {
      readonly extend?: boolean;
      readonly placeOf?: (messageId: number) => TranscriptPlace | undefined;
    },
  ): Promise<ImportOutcome>;
}

// ---- The store of a whole home ----

/** Figures about the database. */
export type StoreStats = {
  /** Without archived ones. */
  readonly sessions: number;
  readonly archived: number;
  readonly messages: number;
  /** Seconds since 1970; null without sessions. */
  readonly oldestStartedAt: number | null;
  readonly sources: readonly { readonly source: string; readonly sessions: number }[];
  readonly bytes: number;
  /** `building`: older messages are still being indexed in the background. `missing`: no process has created an index yet. */
  readonly index: "ready" | "building" | "missing";
};

/** What was used of a gateway's models. */
export type Spend = {
  readonly requests: number;
  readonly tokens: number;
  /** In US dollars. */
  readonly cost: number;
};

/** Which ended sessions are old enough to go. */
type PruneFilter = {
  readonly olderThanDays?: number;
  readonly source?: string;
  /** Transcripts of other programs too, which are otherwise kept. Naming their `source` includes them as well. */
  readonly includeImported?: boolean;
};

export interface HomeUpkeep {
  deleteEmptySessions(): Promise<number>;
  countEmptySessions(): Promise<number>;
  pruneSessions(options?: SessionFiles & PruneFilter): Promise<number>;
  /** The sessions that `pruneSessions` would remove. */
  listPrunable(options?: PruneFilter): Promise<SessionRow[]>;
  /** For all users and sessions, including rewound messages. A file whose id is not in the set is named by no row. */
  listAllKeptResultIds(): Promise<ReadonlySet<string>>;
  /** Returns how many. */
  pruneTurns(olderThanDays: number): Promise<number>;
  stats(): Promise<StoreStats>;
  getMeta(key: string): Promise<string | null>;
  setMeta(key: string, value: string): Promise<void>;
  /**
   * Adds to what a token or a user has used on a day (UTC; rows of earlier days are deleted), or makes a user a member of a group (no day).
   * If an amount of `most` has been reached, nothing is added, and its name is returned. `key`: the id of a token, or `personKey` of a
   * user, whose rows `eraseSessions` deletes.
   */
  addSpend(
    row: { readonly day?: string; readonly kind: string; readonly key: string },
    spend: Partial<Spend>,
    most?: Partial<Spend & { readonly members: number }>,
  ): Promise<keyof Spend | "members" | undefined>;
}

/** What automatic pruning did. */
export type AutoMaintenance = {
  readonly skipped: boolean;
  readonly pruned: number;
  readonly vacuumed: boolean;
  readonly error?: string;
};

/** The size of the file before and after. */
export type OptimizeOutcome = {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** `in-use`: another process has the file open, so it was not rewritten. */
  readonly vacuum: "done" | "in-use" | "not-asked";
  /** False when the signal stopped the work; the next call continues where it stopped. */
  readonly finished: boolean;
};

/** Whether the database passed its checks. */
export type Health = {
  readonly ok: boolean;
  readonly problems: readonly string[];
  /** False when the search index could not be compared with the messages, because there is none this version can use. */
  readonly indexChecked: boolean;
};

/** What only a database in a file needs. */
export interface DatabaseFile {
  /** Completes and merges the search index, then runs VACUUM. Can be interrupted. */
  optimize(work?: LongWork & { readonly vacuum?: boolean }): Promise<OptimizeOutcome>;
  checkHealth(): Promise<Health>;
  pruneEmptyGhostSessions(): Promise<number>;
  finalizeOrphanedCompressionSessions(): Promise<number>;
  /** Hides untitled short sessions that look like subagent runs, as Hermes Agent's upgrade does. Returns how many. */
  hideOrphanedDelegates(): Promise<number>;
  /** Never rejects. */
  maybeAutoPruneAndVacuum(
    options?: SessionFiles & {
      readonly retentionDays?: number;
      readonly minIntervalHours?: number;
      readonly vacuum?: boolean;
    },
  ): Promise<AutoMaintenance>;
}

// ---- Summary nodes of the lossless context engine ----

/** A summary that replaces an earlier one of the same messages. */
export type BetterSummary = Pick<SummaryNode, "summary" | "tokens" | "method">;

export interface SummaryNodes {
  /**
   * All of them or none, in one transaction. False, and nothing stored, when another writer was first: a message is already
   * covered by a leaf, or a source belongs to another node or was deleted. Rejects with `unknown-session`, `no-summary-nodes`.
   */
  insertSummaryNodes(nodes: readonly SummaryNode[]): Promise<boolean>;
  /** Replaces a summary made without a model by a model's text. False when the node was deleted or already has a model's text. */
  improveSummaryNode(nodeId: string, better: BetterSummary): Promise<boolean>;
  /** The nodes of these sessions, oldest first. */
  listSummaryNodes(sessionIds: readonly string[]): Promise<SummaryNode[]>;
  getSummaryNode(nodeId: string): Promise<SummaryNode | null>;
  /** Best first, then newest first. Same query language as `search`. */
  searchSummaryNodes(
    query: string,
    options?: { readonly sessionIds?: readonly string[]; readonly limit?: number },
  ): Promise<SummaryHit[]>;
}

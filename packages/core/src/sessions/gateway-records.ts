// The port of a gateway: what it keeps about conversations besides their messages. Every record belongs to a session: whoever sees the
// session sees it, and it is deleted and erased with it. Members that store one reject with `unknown-session`.

/** A conversation that a gateway keeps open. Times in seconds since 1970. */
export type LiveSession = {
  /** Names the conversation for its client. Unique for each person: two users may use the same key. */
  readonly key: string;
  readonly session_id: string;
  readonly source: string;
  readonly started_at: number;
  readonly last_active_at: number;
  readonly last_prompt_tokens: number;
  /** When its end was told to the memory provider; null while that is to be done. */
  readonly finalized_at: number | null;
  /** Why the next request of this key begins a new session; null if it goes on. */
  readonly reset_reason: string | null;
};

export type FoundMark = {
  readonly mark: string;
  readonly session_id: string;
  /** The session has not gone on since this mark was saved. */
  readonly is_newest: boolean;
};

/** Tool calls and results that a gateway ran itself, as JSON of one wire. */
type HiddenRound = {
  readonly session_id: string;
  /** The message behind which they belong. */
  readonly mark: string;
  readonly wire: string;
  /** JSON. */
  readonly items: string;
};

/** The newest request of a conversation: what it asked, and whether its reply arrived. */
export type Ask = {
  /** Of this request alone. */
  readonly token: string;
  /** The same for a request that is sent again. */
  readonly request: string;
  /** The message that was asked; null if it was stored in another way. */
  readonly row_id: number | null;
  /** The client got the whole reply. */
  readonly delivered: boolean;
};

export interface GatewayRecords {
  // What was asked (`appendMany` saves it with the messages)
  /** Becomes the session's newest ask. */
  saveAsk(sessionId: string, ask: Pick<Ask, "token" | "request">): Promise<void>;
  getAsk(sessionId: string): Promise<Ask | null>;
  /** Does nothing if the session has a newer ask. */
  saveDelivered(sessionId: string, token: string): Promise<void>;

  // Live sessions
  /** Replaces the record of this person with this key. */
  saveLiveSession(live: LiveSession): Promise<void>;
  /** If several persons have the key, the most recently active one. */
  getLiveSession(key: string): Promise<LiveSession | null>;
  /** The longest inactive first. `activeBefore`: only those that were last active before. */
  listLiveSessions(options?: {
    readonly activeBefore?: number;
    readonly isFinalized?: boolean;
    readonly limit?: number;
  }): Promise<LiveSession[]>;
  /** The session stays. False: there is no such record. */
  deleteLiveSession(key: string): Promise<boolean>;

  // Marks: texts such as `prefix:<hash>` and `response:<id>`, by which a later request finds its session
  /** The marks of the newest call are the session's newest ones. */
  saveMarks(sessionId: string, marks: readonly string[]): Promise<void>;
  /** The first of `marks` that is known. Of several sessions with it, one whose newest mark it is, then the most recent. */
  findMark(
    marks: readonly string[],
    /** `calls`: ids of tool calls. Of several sessions with the mark, one that has such a call comes first. */
    options?: { readonly calls?: readonly string[] },
  ): Promise<FoundMark | null>;

  // Tool rounds that the client never sees
  /** Replaces the one with the same session, mark and wire. */
  saveRound(round: HiddenRound): Promise<void>;
  /** In the order of `marks`, which is called only if the chat has rounds: most have none. */
  findRounds(
    sessionId: string,
    marks: () => readonly string[],
    wire: string,
  ): Promise<{ readonly mark: string; readonly items: string }[]>;
}

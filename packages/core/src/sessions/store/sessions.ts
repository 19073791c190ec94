// The contract of a session store, part 1 of 7: the rows of sessions, with their prompts, titles and flags.
import type { SessionRow } from "../rows.ts";
import type { Scope } from "../scope.ts";

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

/** Enough to tell whether anybody wrote to a session since the last look. */
export type SessionMark = {
  readonly message_count: number;
  readonly rewind_count: number;
  /** Of the messages that are not rewound. */
  readonly last_message_id: number | null;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
};

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
  getSessionMark(id: string, scope?: Scope): Promise<SessionMark | null>;

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

// The contract of a session store, part 3 of 7: which session goes on where.
import type { Scope } from "../scope.ts";
import type { EditOptions } from "./claims.ts";
import type { MessageInput } from "./messages.ts";
import type { OwnPrompt } from "./sessions.ts";

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

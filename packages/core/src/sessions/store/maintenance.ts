// The contract of a session store, part 7 of 7: deleting, pruning, moving sessions between databases, and the care of the database.
import type { SessionFiles } from "../../home.ts";
import type { LostRows } from "../loss.ts";
import type { ExportedSession, SessionRow } from "../rows.ts";
import type { Scope } from "../scope.ts";
import type { EditOptions } from "./claims.ts";

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

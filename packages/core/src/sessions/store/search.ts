// The contract of a session store, part 5 of 7: finding sessions and messages. Queries, filters and answers of a search over messages
// are in ../search/types.ts.
import type { ActiveSession, ListedSession } from "../rows.ts";
import type { Page, Scope } from "../scope.ts";
import type { SearchAnswer, SearchOptions, SearchRow } from "../search/types.ts";

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

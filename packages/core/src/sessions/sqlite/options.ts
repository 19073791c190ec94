// Options of the SQLite store. In a separate file, so that the published types do not need Node's types.
import type { Clock } from "../../lib/index.ts";

/** The path of a database in memory: without a file, and another one for each store. */
export const IN_MEMORY = ":memory:";

export type OpenOptions = {
  /** A file, created when it is missing; or `:memory:` for a database that exists until the store is closed. */
  readonly path: string;
  readonly readOnly?: boolean;
  /**
   * With `readOnly`: no program changes the file meanwhile, so SQLite locks nothing and creates no log files beside it. For a file whose
   * log is empty or missing.
   */
  readonly isUnchanging?: boolean;
  /** How long to wait for a lock of another process. Default 15 seconds. */
  readonly waitLimitMs?: number;
};

export type SqliteStoreOptions = OpenOptions & {
  readonly clock?: Clock;
  /** The profile the sessions belong to. Default: from the path; null for a file outside of every profile's home. */
  readonly profile?: string | null;
  /** Called with one line, without any content, about data that could not be read. */
  readonly onWarning?: (message: string) => void;
  /** @internal Small limits for tests, so that a small database is searched like a large one. */
  readonly searchBounds?: Partial<Bounds>;
};

// ---- Limits of a search ----
// They limit how many messages are compared by their text before the best are shown. No limit prevents a match from being found.

export type Bounds = {
  /** Up to this many matches of a single word (half as many of an expression) are all considered; of more, the newest. */
  readonly matchesRanked: number;
  /** How many of them are read and ranked: the newest and the shortest. */
  readonly matchesRead: number;
  /** For a term in more messages than this, the newest are considered first; the others only if rarer terms do not decide. */
  readonly probeRows: number;
  /** The longest list of keys that is read for one term. */
  readonly listRows: number;
  /** Messages that are read and ranked regardless of their length; more for later pages. */
  readonly rowsRead: number;
  /** Messages that are read as long as their texts have at most `textRead` bytes in total. */
  readonly shortRowsRead: number;
  readonly textRead: number;
  /** Up to this many candidates, all are read. */
  readonly readAll: number;
  /** Messages with all words of the question that are always read. */
  readonly fullMatches: number;
  /** Longer lists of sessions are filtered row by row. */
  readonly sessionTokens: number;
  /** Rows in the first step of a walk; each further step takes twice as many. */
  readonly firstStep: number;
};

export const BOUNDS: Bounds = {
  matchesRanked: 2000,
  matchesRead: 160,
  probeRows: 2000,
  listRows: 60_000,
  rowsRead: 80,
  shortRowsRead: 400,
  textRead: 100_000,
  readAll: 160,
  fullMatches: 80,
  sessionTokens: 100,
  firstStep: 64,
};

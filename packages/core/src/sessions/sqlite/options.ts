// How a SQLite store is opened. Apart from everything else, so that the published types need none of Node's.
import type { Clock } from "../../lib/index.ts";

export type OpenOptions = {
  readonly path: string;
  readonly readOnly?: boolean;
  /** How long to wait for a lock of another process. Default 15 seconds. */
  readonly waitLimitMs?: number;
};

export type SqliteStoreOptions = OpenOptions & {
  readonly clock?: Clock;
  /** The profile whose sessions these are. Default: by the place of the file; null for a file outside of every profile's home. */
  readonly profile?: string | null;
  /** Told, in one line without any content, about data that could not be read as it should. */
  readonly onWarning?: (message: string) => void;
  /** @internal Small bounds for tests, so that a small database is searched the way a large one is. */
  readonly searchBounds?: Partial<Bounds>;
};

// ----
// How much of a large database one search looks at. None of these decides whether a match can be found: they bound how many
// messages are compared with each other by their text before the best are shown.

export type Bounds = {
  /** Up to so many matches of a single word, half as many of an expression, are all looked at; of more, the newest. */
  readonly matchesRanked: number;
  /** So many of them are read and ranked: the newest, and those that say little else. */
  readonly matchesRead: number;
  /** Of a term with more holders than these, the newest are looked at first; the rest only where rarer terms do not decide. */
  readonly probeRows: number;
  /** The longest list of holders that is looked at. */
  readonly listRows: number;
  /** How many messages are read and ranked, however long they are; more for later pages. */
  readonly rowsRead: number;
  /** So many are read while their texts have no more than `textRead` bytes. */
  readonly shortRowsRead: number;
  readonly textRead: number;
  /** With no more candidates than these, all are read. */
  readonly readAll: number;
  /** Messages with all words of the question that are read in any case. */
  readonly fullMatches: number;
  /** Longer lists of sessions are filtered row by row. */
  readonly sessionTokens: number;
  /** Rows looked at in the first step of a walk; each further step takes twice as many. */
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

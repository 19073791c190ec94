// Options of the SQLite store. In a separate file, so that the published types do not need Node's types.
import type { Clock } from "../../lib/index.ts";
import type { Bounds } from "../search/candidates.ts";

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

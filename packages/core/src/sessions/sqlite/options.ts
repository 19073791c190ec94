// How a SQLite store is opened. Apart from everything else, so that the published types need none of Node's.
import type { Clock } from "../../lib/index.ts";
import type { Bounds } from "./search/bounds.ts";

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

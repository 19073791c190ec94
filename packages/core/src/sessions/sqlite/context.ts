// The context that every group of store operations gets.
import type { Clock } from "../../lib/index.ts";
import type { Connection } from "./connection.ts";
import type { SearchIndex } from "./index/search-index.ts";

export type StoreContext = {
  readonly connection: Connection;
  readonly index: SearchIndex;
  readonly clock: Clock;
  /** The profile whose home contains the file; null when it is in none. Newer versions of Hermes Agent list sessions by it. */
  readonly profile: string | null;
  /** Reports unreadable data in one line that contains none of it. */
  warn(message: string): void;
};

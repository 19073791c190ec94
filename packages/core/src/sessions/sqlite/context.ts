// What every group of store operations works with.
import type { Clock } from "../../lib/index.ts";
import type { Connection } from "./connection.ts";
import type { SearchIndex } from "./index/search-index.ts";

export type StoreContext = {
  readonly connection: Connection;
  readonly index: SearchIndex;
  readonly clock: Clock;
  /** The profile whose home the file is in; null outside of any. Today's original lists by it. */
  readonly profile: string | null;
  /** One line about data that could not be read as it should; never holds any of it. */
  warn(message: string): void;
};

// What every request of the server works with.
import type { InOrder } from "./in-order.ts";
import type { Log } from "./log.ts";
import type { ProviderMirror } from "./provider-mirror.ts";
import type { SessionDatabase } from "./session-database.ts";

export type Dependencies = {
  readonly home: string;
  readonly log: Log;
  readonly sessions: SessionDatabase;
  /** Everything that reads or writes curated memory. */
  readonly inOrder: InOrder;
  /** Tells the active memory provider what was written. */
  readonly mirror: ProviderMirror;
};

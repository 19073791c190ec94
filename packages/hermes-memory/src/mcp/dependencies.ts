// What every request of the server works with.
import type { CommittedWrite } from "@hermes-memory/core/curated";
import type { Memory } from "@hermes-memory/core/memory";
import type { InOrder } from "./in-order.ts";
import type { Log } from "./log.ts";

export type Dependencies = {
  /** The home the server serves, for its owner. Its config is read for each request. */
  readonly memory: Memory;
  readonly log: Log;
  /** Everything that reads or writes curated memory. */
  readonly inOrder: InOrder;
  /** Tells the active memory provider what was written, after the client has its answer. */
  readonly mirror: ProviderMirror;
};

export type ProviderMirror = {
  /** Returns at once. What goes wrong is logged: the file is written, and the client was told so. */
  push(writes: readonly CommittedWrite[]): void;
  /** Everything that was pushed so far is handed over, or the time is up. */
  drained(timeoutMs: number): Promise<void>;
};
